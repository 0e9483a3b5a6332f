//! The system's part of a stack, put together.

use std::sync::Arc;

use ostrakon_cell::{
    BoxedIterator, IteratorEnvironment, IteratorScope, VisibilityEvaluator, VisibilityExpression,
};

use super::{ColumnFilter, CountingIterator, DeletingIterator, EntryCounter, VisibilityFilter};
use crate::iterator::MergeIterator;

/// What [`system_stack`] has to know besides the environment.
#[derive(Debug, Clone, Default)]
pub struct SystemOptions {
    /// The label of entries without one: `table.security.scan.visibility.default`. Default: the
    /// empty label, which everybody may read.
    pub default_label: VisibilityExpression,
    /// Scans that meet a delete marker fail, and no compaction drops one, so that they go on
    /// failing: `table.delete.behavior=fail`. Default: no.
    pub deletes_fail: bool,
    /// Counts the entries read from the sources, before any filter. Default: not counted.
    pub read: Option<Arc<EntryCounter>>,
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
    let merged = MergeIterator::new(sources);
    let propagate =
        DeletingIterator::<MergeIterator>::must_propagate(environment) || options.deletes_fail;
    let refusing = (options.deletes_fail && environment.scope == IteratorScope::Scan)
        .then(|| environment.table.clone());
    match &options.read {
        None => filtered(
            DeletingIterator::new(merged, propagate).refusing(refusing),
            environment,
            options,
        ),
        Some(counter) => {
            let counted = CountingIterator::new(merged, Arc::clone(counter));
            filtered(
                DeletingIterator::new(counted, propagate).refusing(refusing),
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
        // A compaction keeps what is there, whoever may read it.
        return Box::new(selected);
    }
    let mut evaluator = VisibilityEvaluator::new(&environment.authorizations);
    if !options.default_label.is_empty() {
        evaluator = evaluator.with_default_label(&options.default_label);
    }
    Box::new(VisibilityFilter::new(selected, evaluator))
}
