//! The base of all filters: an entry passes or is dropped.

use std::marker::PhantomData;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, IteratorClass, IteratorEnvironment,
    IteratorOptions, Range, Slot, SortedKeyValueIterator,
};

use super::options;
use crate::error::StoreResult;
use crate::iterator::filter::read_filtered;

/// Decides about one entry at a time. A clone starts with fresh state.
pub trait EntryFilter: Clone + Send + 'static {
    /// Called before each batch: positions in the previous batch are invalid.
    fn begin_batch(&mut self) {}

    /// Whether the entry at `slot` of `batch` passes.
    fn accept(&mut self, batch: &Batch, slot: &Slot) -> bool;
}

/// Keeps the entries that an [`EntryFilter`] accepts, or, negated, those it does not. Delete
/// markers always pass: they apply to entries in other files, which this filter has not seen.
pub struct Filter<I, F> {
    source: I,
    filter: F,
    negate: bool,
}

impl<I: SortedKeyValueIterator, F: EntryFilter> Filter<I, F> {
    /// Filters `source`.
    pub fn new(source: I, filter: F, negate: bool) -> Self {
        Self {
            source,
            filter,
            negate,
        }
    }
}

impl<I: SortedKeyValueIterator + 'static, F: EntryFilter> SortedKeyValueIterator for Filter<I, F> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let (filter, negate) = (&mut self.filter, self.negate);
        read_filtered(&mut self.source, out, limit, |batch, first, _| {
            filter.begin_batch();
            batch.retain_from(first, |batch, at| {
                batch
                    .slots()
                    .get(at)
                    .is_some_and(|slot| slot.deleted || filter.accept(batch, slot) != negate)
            });
        })
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Filter::new(
            self.source.deep_copy(),
            self.filter.clone(),
            self.negate,
        ))
    }
}

/// The option that every filter has.
pub(super) const NEGATE: &str = "negate";

/// What a stock filter's class adds to the filter itself.
pub(super) trait FilterClass: EntryFilter + Sync {
    const NAMES: &'static [&'static str];
    const DESCRIPTION: &'static str;
    /// `negate` included.
    const OPTIONS: &'static [&'static str];

    fn from_options(
        options: &IteratorOptions,
        environment: Option<&IteratorEnvironment>,
    ) -> StoreResult<Self>;
}

/// The iterator class of the filter `F`.
pub(super) struct ClassOf<F>(PhantomData<fn() -> F>);

impl<F> ClassOf<F> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<F: FilterClass> IteratorClass for ClassOf<F> {
    fn names(&self) -> &[&str] {
        F::NAMES
    }

    fn describe(&self) -> &str {
        F::DESCRIPTION
    }

    fn validate(&self, options: &IteratorOptions) -> StoreResult<()> {
        options::only(options, F::OPTIONS)?;
        options::flag(options, NEGATE, false)?;
        F::from_options(options, None).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        environment: &IteratorEnvironment,
    ) -> StoreResult<BoxedIterator> {
        options::only(options, F::OPTIONS)?;
        let negate = options::flag(options, NEGATE, false)?;
        let filter = F::from_options(options, Some(environment))?;
        Ok(Box::new(Filter::new(source, filter, negate)))
    }
}
