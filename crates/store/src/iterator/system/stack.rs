//! The system's part of a stack, put together.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ostrakon_cell::{
    Authorizations, BoxedIterator, IteratorEnvironment, IteratorScope, VisibilityEvaluator,
    VisibilityExpression,
};

use super::{
    ColumnFilter, CountingIterator, DeletingIterator, EntryCounter, InterruptibleIterator, LastRow,
    RefusingIterator, SteppingIterator, VisibilityFilter,
};
use crate::iterator::MergeIterator;

/// What [`system_stack`] has to know besides the environment.
#[derive(Debug, Clone, Default)]
pub struct SystemOptions {
    /// The label of entries without one: `table.security.scan.visibility.default`. Default: the
    /// empty label, which every reader satisfies.
    pub default_label: VisibilityExpression,
    /// Scans that meet a delete marker fail, and no compaction drops one, so that they go on
    /// failing: `table.delete.behavior=fail`. Default: no.
    pub deletes_fail: bool,
    /// Bytes the merge may read ahead of its sources together, roughly. Default: as much as is useful.
    pub look_ahead_bytes: Option<usize>,
    /// Scans hand out what they have after each batch of their sources. Default: no, batches are filled
    /// by visible entries.
    pub yields: bool,
    /// Scans hand on one entry at a time, and remember here which row it was of. Default: no.
    pub steps: Option<LastRow>,
    /// Counts the entries read from the sources, before any filter. Default: not counted.
    pub read: Option<Arc<EntryCounter>>,
    /// Counts the malformed labels that scans meet, each once per batch. Default: not counted.
    pub malformed: Option<Arc<AtomicU64>>,
}

impl SystemOptions {
    /// The visibility filter of a reader with `authorizations`.
    #[must_use]
    pub fn evaluator(&self, authorizations: &Authorizations) -> VisibilityEvaluator {
        let evaluator = VisibilityEvaluator::new(authorizations);
        if self.default_label.is_empty() {
            evaluator
        } else {
            evaluator.with_default_label(&self.default_label)
        }
    }
}

/// Merges `sources` (newest first) and puts the system's filters on top: deletes, then columns,
/// then, in scans, visibility. User iterators come above; see
/// [`IteratorRegistry::stack`](ostrakon_cell::IteratorRegistry::stack).
#[must_use]
pub fn system_stack(
    sources: Vec<BoxedIterator>,
    environment: &IteratorEnvironment,
    options: &SystemOptions,
) -> BoxedIterator {
    let merged = InterruptibleIterator::new(
        MergeIterator::within(sources, options.look_ahead_bytes),
        environment.interrupt.clone(),
    );
    let propagate =
        DeletingIterator::<MergeIterator>::must_propagate(environment) || options.deletes_fail;
    match &options.read {
        None => filtered(
            DeletingIterator::new(merged, propagate),
            environment,
            options,
        ),
        Some(counter) => {
            let counted = CountingIterator::new(merged, Arc::clone(counter));
            filtered(
                DeletingIterator::new(counted, propagate),
                environment,
                options,
            )
        }
    }
}

fn filtered<I>(
    live: DeletingIterator<I>,
    environment: &IteratorEnvironment,
    options: &SystemOptions,
) -> BoxedIterator
where
    I: ostrakon_cell::SortedKeyValueIterator + 'static,
{
    let selected = ColumnFilter::new(live);
    if environment.scope != IteratorScope::Scan {
        // A compaction keeps all entries, whatever their labels.
        return Box::new(selected);
    }
    let visible = VisibilityFilter::new(selected, options.evaluator(&environment.authorizations))
        .yielding(options.yields)
        .counting(options.malformed.clone());
    let handed_on: BoxedIterator = match &options.steps {
        None if !options.deletes_fail => return Box::new(visible),
        None => Box::new(visible),
        Some(last) => Box::new(SteppingIterator::new(visible, last.clone())),
    };
    if options.deletes_fail {
        return Box::new(RefusingIterator::new(handed_on, environment.table.clone()));
    }
    handed_on
}
