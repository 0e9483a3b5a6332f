//! The entries of one table, and what of them a reader may see.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use ostrakon_cell::iterator::{BoxedIterator, SortedKeyValueIterator};
use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, ColumnSelection, Entry, EntryRef, Key, KeyPart, Range,
    Result, VisibilityExpression,
};

/// Every entry ever written and not deleted by row range. Entries with equal keys stand side by
/// side, the one written last first.
pub(super) type Content = BTreeMap<(Key, Reverse<u64>), Vec<u8>>;

/// Who reads: what [`visible`] needs to know.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    /// `None` for a compaction, which sees every entry.
    pub(super) authorizations: Option<Arc<Authorizations>>,
    /// Counts as the label of entries without one.
    pub(super) default_label: Vec<u8>,
    /// Asked for by the scan; iterators may ask for less, never for more.
    pub(super) columns: ColumnSelection,
}

impl Reader {
    fn sees(&self, label: &[u8]) -> bool {
        let Some(authorizations) = &self.authorizations else {
            return true;
        };
        let label = if label.is_empty() {
            &self.default_label
        } else {
            label
        };
        VisibilityExpression::parse(label)
            .is_ok_and(|expression| expression.evaluate(authorizations))
    }
}

/// The first key of the column (all its versions) in which `key` stands: deletes and versions are
/// decided from there, wherever a range begins.
pub(super) fn first_of_column(key: &Key) -> Key {
    Key {
        timestamp: i64::MAX,
        deleted: true,
        ..key.clone()
    }
}

/// The entries of `range` that no delete marker hides and that the reader may see, in order.
pub(super) fn visible(content: &Content, range: &Range, reader: &Reader) -> Vec<Entry> {
    let from = range.start().map_or(Bound::Unbounded, |start| {
        Bound::Included((first_of_column(start), Reverse(u64::MAX)))
    });
    let mut seen = Vec::new();
    // The column under the cursor, and the newest delete marker in it.
    let mut hidden: Option<(Key, i64)> = None;
    for ((key, _), value) in content.range((from, Bound::Unbounded)) {
        if range.after_end(key.as_ref()) {
            break;
        }
        let newest_delete = hidden
            .as_ref()
            .filter(|(column, _)| column.as_ref().same(key.as_ref(), KeyPart::Visibility))
            .map(|(_, timestamp)| *timestamp);
        if key.deleted {
            if newest_delete.is_none() {
                hidden = Some((key.clone(), key.timestamp));
            }
            continue;
        }
        if newest_delete.is_some_and(|timestamp| key.timestamp <= timestamp) {
            continue;
        }
        if range.contains(key.as_ref())
            && reader.columns.contains_key(key.as_ref())
            && reader.sees(&key.visibility)
        {
            seen.push(Entry {
                key: key.clone(),
                value: value.clone(),
            });
        }
    }
    seen
}

/// Hands out the visible entries of one snapshot: the floor of the iterator stack.
pub(super) struct ContentIterator {
    content: Arc<Content>,
    reader: Reader,
    found: std::vec::IntoIter<Entry>,
}

impl ContentIterator {
    pub(super) fn new(content: Arc<Content>, reader: Reader) -> Self {
        Self {
            content,
            reader,
            found: Vec::new().into_iter(),
        }
    }
}

impl SortedKeyValueIterator for ContentIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        let mut found = visible(&self.content, range, &self.reader);
        found.retain(|entry| columns.contains_key(entry.key.as_ref()));
        self.found = found.into_iter();
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        push_some(&mut self.found, out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(self.content.clone(), self.reader.clone()))
    }
}

/// Appends entries until the batch is full; `false` when there are no more.
pub(super) fn push_some(
    entries: &mut std::vec::IntoIter<Entry>,
    out: &mut Batch,
    limit: BatchLimit,
) -> Result<bool> {
    while !out.is_full(limit) {
        let Some(entry) = entries.next() else {
            return Ok(false);
        };
        out.push(entry.key.as_ref(), &entry.value)?;
    }
    Ok(true)
}

/// Everything an iterator gives for `range`.
pub(super) fn drain(
    source: &mut dyn SortedKeyValueIterator,
    range: &Range,
    columns: &ColumnSelection,
) -> Result<Vec<Entry>> {
    source.seek(range, columns)?;
    let (mut batch, mut all) = (Batch::new(), Vec::new());
    loop {
        batch.clear();
        let more = source.next_batch(&mut batch, BatchLimit::default())?;
        all.extend(batch.iter().map(EntryRef::to_entry));
        if !more {
            return Ok(all);
        }
    }
}
