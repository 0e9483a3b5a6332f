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
/// side, the one written last first: the number is the entry's place in the one order of all writes
/// and imports.
pub(super) type Content = BTreeMap<(Key, Reverse<u64>), Stored>;

/// An entry as the model keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) value: Vec<u8>,
    /// Whether the table set the timestamp.
    pub(super) by_table: bool,
    /// A compaction may have dropped it: it lay behind as many versions as a compaction keeps.
    pub(super) weak: bool,
    /// It is weak and was not found when it should have shown.
    pub(super) gone: bool,
    /// It was found although a delete marker written before this place in the order covers it. The
    /// marker was dropped by a compaction, and cannot hide the entry again.
    pub(super) confirmed: u64,
}

/// What delete markers do to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Live,
    /// A marker that was written later has a timestamp not below the entry's.
    Deleted,
    /// A marker that was written earlier has. It hides the entry until a compaction of the whole
    /// tablet drops the marker, as in Accumulo; when that happens no two stores need to agree on.
    Covered,
}

/// The markers met so far in the column under the cursor. Markers stand before the puts that they
/// cover.
#[derive(Debug, Clone, Default)]
pub(super) struct Markers(Vec<Marker>);

/// One delete marker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marker {
    pub(super) place: u64,
    pub(super) timestamp: i64,
    by_table: bool,
}

impl Markers {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn add(&mut self, key: &Key, place: u64, stored: &Stored) {
        self.0.push(Marker {
            place,
            timestamp: key.timestamp,
            by_table: stored.by_table,
        });
    }

    /// Those that were written after the entry at `place` and cover it.
    pub(super) fn later(&self, place: u64, stored: &Stored) -> impl Iterator<Item = &Marker> {
        let from = place.max(stored.confirmed);
        self.0.iter().filter(move |marker| marker.place > from)
    }

    /// What becomes of an entry that stands behind these markers. Where the table set both
    /// timestamps a marker hides what was written before it and nothing written after it; otherwise
    /// it hides every timestamp not above its own.
    pub(super) fn fate(&self, place: u64, stored: &Stored) -> Fate {
        if self.later(place, stored).next().is_some() {
            return Fate::Deleted;
        }
        let covers = |marker: &&Marker| {
            marker.place > stored.confirmed && !(marker.by_table && stored.by_table)
        };
        if self.0.iter().any(|marker| covers(&marker)) {
            Fate::Covered
        } else {
            Fate::Live
        }
    }
}

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

/// The last key of the column in which `key` stands.
pub(super) fn last_of_column(key: &Key) -> Key {
    Key {
        timestamp: i64::MIN,
        deleted: false,
        ..key.clone()
    }
}

/// The entries of `range` that no delete marker hides and that the reader may see, in order.
pub(super) fn visible(content: &Content, range: &Range, reader: &Reader) -> Vec<Entry> {
    let from = range.start().map_or(Bound::Unbounded, |start| {
        Bound::Included((first_of_column(start), Reverse(u64::MAX)))
    });
    let mut seen = Vec::new();
    let mut column: Option<&Key> = None;
    let mut markers = Markers::default();
    for ((key, Reverse(place)), stored) in content.range((from, Bound::Unbounded)) {
        if range.after_end(key.as_ref()) {
            break;
        }
        if !column.is_some_and(|column| column.as_ref().same(key.as_ref(), KeyPart::Visibility)) {
            column = Some(key);
            markers.clear();
        }
        if key.deleted {
            markers.add(key, *place, stored);
            continue;
        }
        if markers.fate(*place, stored) == Fate::Live
            && !stored.gone
            && range.contains(key.as_ref())
            && reader.columns.contains_key(key.as_ref())
            && reader.sees(&key.visibility)
        {
            seen.push(Entry {
                key: key.clone(),
                value: stored.value.clone(),
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
