//! Sources under an iterator that is examined.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Entry, Error, ErrorKind, Key, Range,
    SortedKeyValueIterator,
};

/// What a source does that it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hostility {
    /// Most entries appended by one call.
    pub step: usize,
    /// So many calls append nothing and return `true` before each one that appends something.
    pub idle: usize,
    /// Each call appends entries with new labels, 100 KiB of them, and drops them again.
    pub drops: bool,
    /// The call that appends the last entry says that the range is exhausted; the next one would.
    pub ends_early: bool,
}

impl Hostility {
    /// No more than batches of at most `step` entries.
    #[must_use]
    pub fn steps(step: usize) -> Self {
        Self {
            step: step.max(1),
            idle: 0,
            drops: false,
            ends_early: false,
        }
    }

    /// Everything together and one by one.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for step in [1, 3, usize::MAX] {
            for idle in [0, 2] {
                for (drops, ends_early) in [(false, true), (true, false)] {
                    all.push(Self {
                        step,
                        idle,
                        drops,
                        ends_early,
                    });
                }
            }
        }
        all
    }
}

/// Sorted entries in memory as a source: honours ranges and columns, and can be hostile or fail.
pub struct EntrySource {
    entries: Arc<[Entry]>,
    hostility: Hostility,
    /// Fails once, instead of handing out the entry at this position.
    pub(super) fails_at: Option<usize>,
    at: usize,
    /// Calls since one that appended something.
    idle: usize,
    range: Range,
    columns: ColumnSelection,
}

impl EntrySource {
    /// A source of `entries`, sorted first, that hands out at most `step` at a time.
    #[must_use]
    pub fn new(mut entries: Vec<Entry>, step: usize) -> Self {
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        Self::over(entries.into(), Hostility::steps(step))
    }

    /// A source of entries that are sorted.
    #[must_use]
    pub fn over(entries: Arc<[Entry]>, hostility: Hostility) -> Self {
        Self {
            at: entries.len(),
            entries,
            hostility,
            fails_at: None,
            idle: 0,
            range: Range::all(),
            columns: ColumnSelection::all(),
        }
    }

    /// The next entry, unless the range ends before it.
    fn next(&self) -> Option<&Entry> {
        self.entries
            .get(self.at)
            .filter(|entry| !self.range.after_end(entry.key.as_ref()))
    }
}

/// Appends entries and drops them again.
fn drop_some(out: &mut Batch) -> Result<(), Error> {
    let len = out.len();
    for label in ["dropped", "also&dropped"] {
        let key = Key {
            visibility: label.into(),
            ..Key::new("dropped row", "dropped family", "dropped qualifier")
        };
        out.push(key.as_ref(), &[b'd'; 50 << 10])?;
    }
    out.truncate(len);
    Ok(())
}

impl SortedKeyValueIterator for EntrySource {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<(), Error> {
        self.at = self
            .entries
            .partition_point(|entry| range.before_start(entry.key.as_ref()));
        self.idle = 0;
        self.range = range.clone();
        self.columns = columns.clone();
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool, Error> {
        if self.hostility.drops {
            drop_some(out)?;
        }
        if self.idle < self.hostility.idle {
            self.idle += 1;
            return Ok(true);
        }
        self.idle = 0;
        let mut given = 0;
        while given < self.hostility.step {
            if out.is_full(limit) {
                return Ok(true);
            }
            let Some(entry) = self.next() else {
                return Ok(false);
            };
            if self.fails_at == Some(self.at) {
                self.fails_at = None;
                return Err(Error::new(
                    ErrorKind::Io,
                    "the examiner's source fails here",
                ));
            }
            if self.columns.contains_key(entry.key.as_ref()) {
                out.push(entry.key.as_ref(), &entry.value)?;
                given += 1;
            }
            self.at += 1;
            if self.hostility.ends_early && self.next().is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::over(Arc::clone(&self.entries), self.hostility))
    }
}
