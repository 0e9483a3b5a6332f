//! Test helpers of this module: a source in memory and short ways to write entries.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Entry, IteratorEnvironment, IteratorScope,
    Key, Range, SortedKeyValueIterator,
};

use super::user::stock_iterators;
use crate::error::StoreResult;

/// Sorted entries in memory, returned at most `step` at a time.
pub(super) struct MemorySource {
    entries: Arc<Vec<Entry>>,
    step: usize,
    at: usize,
    range: Option<Range>,
}

impl MemorySource {
    pub(super) fn boxed(mut entries: Vec<Entry>, step: usize) -> BoxedIterator {
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        Box::new(Self {
            entries: Arc::new(entries),
            step,
            at: 0,
            range: None,
        })
    }
}

impl SortedKeyValueIterator for MemorySource {
    fn seek(&mut self, range: &Range, _: &ColumnSelection) -> StoreResult<()> {
        self.at = self
            .entries
            .partition_point(|entry| range.before_start(entry.key.as_ref()));
        self.range = Some(range.clone());
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> StoreResult<bool> {
        let range = self.range.as_ref().expect("sought first");
        for _ in 0..self.step {
            if out.is_full(limit) {
                return Ok(true);
            }
            match self.entries.get(self.at) {
                Some(entry) if !range.after_end(entry.key.as_ref()) => {
                    out.push(entry.key.as_ref(), &entry.value)?;
                    self.at += 1;
                }
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            entries: Arc::clone(&self.entries),
            step: self.step,
            at: 0,
            range: None,
        })
    }
}

/// A put of column `f:q`.
pub(super) fn put(row: &str, timestamp: i64, value: &str) -> Entry {
    entry(row, "q", "", timestamp, value)
}

/// A delete marker of column `f:q`.
pub(super) fn delete(row: &str, timestamp: i64) -> Entry {
    let mut marker = entry(row, "q", "", timestamp, "");
    marker.key.deleted = true;
    marker
}

pub(super) fn entry(
    row: &str,
    qualifier: &str,
    visibility: &str,
    timestamp: i64,
    value: &str,
) -> Entry {
    Entry {
        key: Key {
            visibility: visibility.into(),
            timestamp,
            ..Key::new(row, "f", qualifier)
        },
        value: value.into(),
    }
}

/// Everything in `range`, read with batches of `entries` entries.
pub(super) fn read(
    iterator: &mut dyn SortedKeyValueIterator,
    range: &Range,
    columns: &ColumnSelection,
    entries: usize,
) -> StoreResult<Vec<Entry>> {
    let limit = BatchLimit {
        entries,
        bytes: 1 << 20,
    };
    iterator.seek(range, columns)?;
    let mut read = Vec::new();
    let mut batch = Batch::new();
    loop {
        let more = iterator.next_batch(&mut batch, limit)?;
        read.extend(batch.iter().map(ostrakon_cell::EntryRef::to_entry));
        batch.clear();
        if !more {
            return Ok(read);
        }
    }
}

/// Everything, written as `row@timestamp=value`, with a `-` for delete markers.
pub(super) fn read_all(iterator: &mut dyn SortedKeyValueIterator) -> Vec<String> {
    show(&read(iterator, &Range::all(), &ColumnSelection::all(), 3).expect("no failure"))
}

pub(super) fn show(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let row = text(&entry.key.row);
            if entry.key.deleted {
                format!("{row}@{}-", entry.key.timestamp)
            } else {
                format!("{row}@{}={}", entry.key.timestamp, text(&entry.value))
            }
        })
        .collect()
}

/// A stock iterator of the given class on top of `source`, in a scan at time 0.
pub(super) fn init(
    class: &str,
    options: &[(&str, &str)],
    source: BoxedIterator,
) -> StoreResult<BoxedIterator> {
    init_in(
        class,
        options,
        source,
        &IteratorEnvironment::new(IteratorScope::Scan),
    )
}

/// As `init`, in another environment.
pub(super) fn init_in(
    class: &str,
    options: &[(&str, &str)],
    source: BoxedIterator,
    environment: &IteratorEnvironment,
) -> StoreResult<BoxedIterator> {
    let options = options
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    let registry = stock_iterators();
    let class = registry.get(class)?;
    let checked = class.validate(&options);
    let made = class.init(source, &options, environment);
    assert_eq!(
        checked.is_ok(),
        made.is_ok(),
        "options must fail when set or not at all"
    );
    made
}
