//! Column selection.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, Slot, SortedKeyValueIterator,
};

use crate::error::StoreResult;
use crate::iterator::filter::read_filtered;

/// Keeps the columns the seek asked for. Sources may leave out families already; this decides.
pub struct ColumnFilter<I> {
    source: I,
    wanted: ColumnSelection,
}

impl<I: SortedKeyValueIterator> ColumnFilter<I> {
    /// Filters `source`.
    pub fn new(source: I) -> Self {
        Self {
            source,
            wanted: ColumnSelection::all(),
        }
    }
}

fn apply(batch: &mut Batch, first: usize, wanted: &ColumnSelection) {
    let qualified = wanted.has_qualifiers();
    // Neighbours mostly share the bytes of their family, and then the verdict.
    let mut judged: Option<(Slot, bool)> = None;
    batch.retain_from(first, |batch, at| {
        let Some(slot) = batch.slots().get(at) else {
            return false;
        };
        match &judged {
            Some((last, verdict))
                if last.family == slot.family
                    && (!qualified || last.qualifier == slot.qualifier) =>
            {
                *verdict
            }
            _ => {
                let family = batch.bytes(slot.family);
                let verdict = if qualified {
                    wanted.contains(family, batch.bytes(slot.qualifier))
                } else {
                    wanted.contains_family(family)
                };
                judged = Some((*slot, verdict));
                verdict
            }
        }
    });
}

impl<I: SortedKeyValueIterator + 'static> SortedKeyValueIterator for ColumnFilter<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> StoreResult<()> {
        if self.wanted != *columns {
            self.wanted = columns.clone();
        }
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        if self.wanted.is_all() {
            return self.source.next_batch(out, limit);
        }
        read_filtered(&mut self.source, out, limit, |batch, first, _| {
            apply(batch, first, &self.wanted);
        })
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(ColumnFilter::new(self.source.deep_copy()))
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::Column;

    use super::*;
    use crate::iterator::testing::{MemorySource, entry, read, show};

    #[test]
    fn only_the_columns_asked_for_are_left() {
        let mut entries = vec![
            entry("a", "q", "", 1, "fq"),
            entry("a", "r", "", 1, "fr"),
            entry("b", "q", "", 1, "fq"),
            entry("b", "q", "", 1, "gq"),
        ];
        entries[3].key.family = b"g".to_vec();
        let mut filter = ColumnFilter::new(MemorySource::boxed(entries, 2));
        let mut left = |columns: &[Column]| {
            let columns = ColumnSelection::new(columns.to_vec());
            show(&read(&mut filter, &Range::all(), &columns, 10).expect("reads"))
        };
        assert_eq!(left(&[]).len(), 4);
        assert_eq!(left(&[Column::family("f")]), ["a@1=fq", "a@1=fr", "b@1=fq"]);
        assert_eq!(
            left(&[Column::new("f", "r"), Column::family("g")]),
            ["a@1=fr", "b@1=gq"]
        );
        assert!(left(&[Column::new("g", "r")]).is_empty());
    }
}
