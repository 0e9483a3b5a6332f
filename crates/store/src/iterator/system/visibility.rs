//! The filter that enforces cell-level security.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Mark, Range, SortedKeyValueIterator,
    VisibilityEvaluator,
};

use crate::error::StoreResult;

/// Removes the entries whose label the reader's authorizations do not satisfy, and those whose
/// label is malformed. Nothing above ever sees them.
///
/// Its output is a function of the visible entries alone: hidden ones leave neither bytes nor
/// labels in the batch, and a batch ends where it would end without them. So everything above
/// (iterators, encoders, counts) may depend on batches without disclosing anything hidden. To that
/// end it reads on through hidden entries until the batch is full; code that ends a scan early has
/// to be below.
///
/// Each label of a batch is evaluated once, and entries are not checked if all labels are visible.
pub struct VisibilityFilter<I> {
    source: I,
    evaluator: VisibilityEvaluator,
    /// Verdicts by dictionary id; `None` is not evaluated yet.
    verdicts: Vec<Option<bool>>,
    /// Visible entries that the source appended beyond the limit.
    beyond: Batch,
    exhausted: bool,
    /// Whether a batch may be returned before it is full.
    yields: bool,
    /// Where malformed labels are counted.
    malformed: Option<Arc<AtomicU64>>,
}

impl<I: SortedKeyValueIterator> VisibilityFilter<I> {
    /// Filters `source` with `evaluator`, which also applies a default label to unlabelled entries.
    pub fn new(source: I, evaluator: VisibilityEvaluator) -> Self {
        Self {
            source,
            evaluator,
            verdicts: Vec::new(),
            beyond: Batch::new(),
            exhausted: true,
            yields: false,
            malformed: None,
        }
    }

    /// Makes it count the malformed labels that it meets, each once per batch.
    #[must_use]
    pub fn counting(mut self, malformed: Option<Arc<AtomicU64>>) -> Self {
        self.malformed = malformed;
        self
    }

    /// Makes it return after each batch of its source, for a scan that must return soon: the
    /// borders of its batches then depend on how long it reads.
    #[must_use]
    pub fn yielding(mut self, yields: bool) -> Self {
        self.yields = yields;
        self
    }

    /// The evaluator, for its count of malformed labels.
    pub fn evaluator(&self) -> &VisibilityEvaluator {
        &self.evaluator
    }

    /// Removes the hidden entries of those appended since `mark`.
    fn hide(&mut self, out: &mut Batch, mark: Mark) -> StoreResult<()> {
        let Self {
            evaluator,
            verdicts,
            malformed,
            ..
        } = self;
        let malformed_before = evaluator.unparsable();
        // Ids belong to the batch, and the next batch may be a different one.
        verdicts.clear();
        verdicts.resize(out.visibility_count(), None);
        let mut judge = |batch: &Batch, id: u32| match verdicts.get(id as usize) {
            Some(Some(verdict)) => *verdict,
            _ => {
                let verdict = evaluator.evaluate(batch.visibility(id)).is_visible();
                if let Some(place) = verdicts.get_mut(id as usize) {
                    *place = Some(verdict);
                }
                verdict
            }
        };
        let all = (0..out.visibility_count() as u32).all(|id| judge(out, id));
        let hidden = match all {
            true => out.forget_dropped_since(mark),
            false => out.retain_since(mark, |batch, at| {
                let slot = batch.slots().get(at);
                slot.is_some_and(|slot| judge(batch, slot.visibility))
            }),
        };
        let met = evaluator.unparsable() - malformed_before;
        if met > 0
            && let Some(malformed) = malformed
        {
            malformed.fetch_add(met, Ordering::Relaxed);
        }
        hidden
    }
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for VisibilityFilter<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.beyond.clear();
        self.exhausted = true;
        self.source.seek(range, columns)?;
        self.exhausted = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        if !self.beyond.is_empty() {
            out.take_within(limit, &mut self.beyond)?;
        }
        while !out.is_full(limit) {
            if self.exhausted {
                return Ok(false);
            }
            let mark = out.mark();
            let more = self.source.next_batch(out, limit);
            // Also after an error: hidden entries must stay hidden.
            self.hide(out, mark)?;
            self.exhausted = !more?;
            if out.is_full(limit) {
                out.move_beyond(limit, mark, &mut self.beyond)?;
            }
            if self.yields {
                return Ok(!self.exhausted || !self.beyond.is_empty());
            }
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        let copy = VisibilityFilter::new(self.source.deep_copy(), self.evaluator.clone())
            .yielding(self.yields)
            .counting(self.malformed.clone());
        Box::new(copy)
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::{Authorizations, Entry, EntryRef, Span, VisibilityExpression};

    use super::*;
    use crate::iterator::testing::{MemorySource, entry, read, read_all};

    fn sample(step: usize) -> BoxedIterator {
        let labels = ["", "A", "B", "A|B", "A&", "A&B"];
        let entries = (0..30)
            .map(|i| entry(&format!("{i:02}"), "q", labels[i % 6], 1, labels[i % 6]))
            .collect();
        MemorySource::boxed(entries, step)
    }

    #[test]
    fn only_what_the_reader_may_see_comes_through() {
        for step in [1, 7, 100] {
            let held = Authorizations::new(["A"]).expect("a name");
            let mut filter = VisibilityFilter::new(sample(step), VisibilityEvaluator::new(&held));
            let seen = read_all(&mut filter);
            assert_eq!(seen.len(), 15);
            assert_eq!(seen[..4], ["00@1=", "01@1=A", "03@1=A|B", "06@1="]);
            assert!(filter.evaluator().unparsable() > 0);
        }
    }

    #[test]
    fn a_default_label_stands_in_for_none() {
        let label = VisibilityExpression::parse("B").expect("sound");
        let evaluator =
            VisibilityEvaluator::new(&Authorizations::default()).with_default_label(&label);
        assert!(read_all(&mut VisibilityFilter::new(sample(4), evaluator)).is_empty());
    }

    /// A reader of a store with labels may not learn from a batch what was hidden: no label, no
    /// byte, no border.
    #[test]
    fn batches_are_those_of_the_visible_entries_alone() {
        let visible: Vec<_> = (0..60)
            .map(|i| {
                let label = ["", "A", "A|B"][i % 3];
                entry(&format!("{i:02}"), "q", label, 1, "some value")
            })
            .collect();
        let mut mixed = visible.clone();
        for i in 0..300 {
            let label = format!("B&secret{i}");
            let row = format!("{:02}h{i}", i % 70);
            mixed.push(entry(&row, "hidden", &label, 1, "much longer value"));
        }
        let held = Authorizations::new(["A"]).expect("a name");
        let batches = |entries: &[Entry], step, limit| {
            let source = MemorySource::boxed(entries.to_vec(), step);
            let mut filter = VisibilityFilter::new(source, VisibilityEvaluator::new(&held));
            filter
                .seek(&Range::all(), &ColumnSelection::all())
                .expect("seeks");
            let mut batches = Vec::new();
            loop {
                let mut batch = Batch::new();
                let more = filter.next_batch(&mut batch, limit).expect("reads");
                let labels: Vec<Vec<u8>> = (0..batch.visibility_count() as u32)
                    .map(|id| batch.visibility(id).to_vec())
                    .collect();
                let arena = batch.bytes(Span {
                    start: 0,
                    len: batch.byte_len() as u32,
                });
                let leaks = |what: &[u8]| arena.windows(what.len()).any(|bytes| bytes == what);
                assert!(!leaks(b"secret") && !leaks(b"hidden") && !leaks(b"longer"));
                let entries: Vec<Entry> = batch.iter().map(EntryRef::to_entry).collect();
                batches.push((entries, labels, more));
                if !more {
                    return batches;
                }
            }
        };
        for (entries, bytes) in [(7, usize::MAX), (1000, 150), (1000, 1), (1000, 1 << 20)] {
            let limit = BatchLimit { entries, bytes };
            let wanted = batches(&visible, 1, limit);
            for step in [1, 5, 50, 1000] {
                assert_eq!(batches(&visible, step, limit), wanted);
                assert_eq!(batches(&mixed, step, limit), wanted, "{step}, {limit:?}");
            }
        }
    }

    /// A source that counts bytes only roughly, as blocks of a file do.
    #[test]
    fn what_a_source_appends_beyond_the_limit_is_kept() {
        struct Rough(BoxedIterator);
        impl SortedKeyValueIterator for Rough {
            fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
                self.0.seek(range, columns)
            }
            fn next_batch(&mut self, out: &mut Batch, _: BatchLimit) -> StoreResult<bool> {
                self.0.next_batch(
                    out,
                    BatchLimit {
                        entries: usize::MAX,
                        bytes: usize::MAX,
                    },
                )
            }
            fn deep_copy(&self) -> BoxedIterator {
                Box::new(Self(self.0.deep_copy()))
            }
        }
        let entries: Vec<_> = (0..50)
            .map(|i| entry(&format!("{i:02}"), "q", ["", "A"][i % 2], 1, "value"))
            .collect();
        for step in [1, 7, 100] {
            for limit in [1, 3, 49] {
                let held = Authorizations::new(["A"]).expect("a name");
                let source = Rough(MemorySource::boxed(entries.clone(), step));
                let mut filter = VisibilityFilter::new(source, VisibilityEvaluator::new(&held));
                for _ in 0..2 {
                    let all = (Range::all(), ColumnSelection::all());
                    let found = read(&mut filter, &all.0, &all.1, limit).expect("reads");
                    assert_eq!(found, entries, "{step}, {limit}");
                }
            }
        }
    }
}
