//! A source that ends with the work it is read for.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Interrupt, Range, SortedKeyValueIterator,
};

use crate::error::StoreResult;

/// Asks whether to go on before each call. Under all other iterators, because one of them, a filter that lets nothing
/// through, may read for long before it hands out anything.
pub struct InterruptibleIterator<I> {
    source: I,
    interrupt: Interrupt,
}

impl<I> InterruptibleIterator<I> {
    /// Reads `source` until the interrupt is set.
    pub fn new(source: I, interrupt: Interrupt) -> Self {
        Self { source, interrupt }
    }
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for InterruptibleIterator<I> {
    #[inline]
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.interrupt.check()?;
        self.source.seek(range, columns)
    }

    #[inline]
    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        self.interrupt.check()?;
        self.source.next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(InterruptibleIterator::new(
            self.source.deep_copy(),
            self.interrupt.clone(),
        ))
    }
}
