//! Who may see what.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, SortedKeyValueIterator,
    VisibilityEvaluator,
};

use crate::error::StoreResult;
use crate::iterator::filter::read_filtered;

/// Takes out the entries whose label the reader's authorizations do not satisfy, and those whose
/// label cannot be parsed. Nothing above ever sees them.
///
/// Each label of a batch is judged once. The bytes of hidden entries stay in the batch's arena,
/// where no slot leads to them: whoever sends a batch out of the process must send its entries,
/// never its arena.
pub struct VisibilityFilter<I> {
    source: I,
    evaluator: VisibilityEvaluator,
    /// Verdicts by dictionary id; `None` is not asked yet.
    verdicts: Vec<Option<bool>>,
}

impl<I: SortedKeyValueIterator> VisibilityFilter<I> {
    /// Filters `source` by what `evaluator` says; a default label for unlabelled entries is the
    /// evaluator's business.
    pub fn new(source: I, evaluator: VisibilityEvaluator) -> Self {
        Self {
            source,
            evaluator,
            verdicts: Vec::new(),
        }
    }

    /// The evaluator, for its count of labels nobody can read.
    pub fn evaluator(&self) -> &VisibilityEvaluator {
        &self.evaluator
    }
}

fn apply(
    batch: &mut Batch,
    first: usize,
    evaluator: &mut VisibilityEvaluator,
    verdicts: &mut Vec<Option<bool>>,
) {
    // Ids are the batch's own, and the next batch may be another one.
    verdicts.clear();
    verdicts.resize(batch.visibility_count(), None);
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
    // Most scans see everything: then no slot needs to move.
    let slots = batch.slots().get(first..).unwrap_or_default();
    let hidden = slots.iter().position(|slot| !judge(batch, slot.visibility));
    if let Some(hidden) = hidden {
        batch.retain_from(first + hidden, |batch, at| {
            batch
                .slots()
                .get(at)
                .is_some_and(|slot| judge(batch, slot.visibility))
        });
    }
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for VisibilityFilter<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        read_filtered(&mut self.source, out, limit, |batch, first, _| {
            apply(batch, first, &mut self.evaluator, &mut self.verdicts);
        })
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(VisibilityFilter::new(
            self.source.deep_copy(),
            self.evaluator.clone(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::{Authorizations, VisibilityExpression};

    use super::*;
    use crate::iterator::testing::{MemorySource, entry, read_all};

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

    #[test]
    fn a_batch_full_of_hidden_bytes_does_not_block_the_scan() {
        let entries = (0..100)
            .map(|i| {
                entry(
                    &format!("{i:02}"),
                    "q",
                    if i == 99 { "" } else { "B" },
                    1,
                    "value",
                )
            })
            .collect();
        let evaluator = VisibilityEvaluator::new(&Authorizations::default());
        let mut filter = VisibilityFilter::new(MemorySource::boxed(entries, 1000), evaluator);
        filter
            .seek(&Range::all(), &ColumnSelection::all())
            .expect("seeks");
        let limit = BatchLimit {
            entries: 1000,
            bytes: 64,
        };
        let mut batch = Batch::new();
        let mut calls = 0;
        while batch.is_empty() && calls < 1000 {
            filter.next_batch(&mut batch, limit).expect("reads");
            calls += 1;
        }
        assert_eq!(batch.len(), 1, "after {calls} calls");
        assert_eq!(batch.row(0), b"99");
    }
}
