//! `IndexScan`: the entries of the index that count.

use ostrakon_cell::{Batch, IteratorSetting, Range, Result};

use super::period::PeriodClass;
use super::snapshot::Snapshot;
use crate::layout::DELETED;

pub(super) const INDEX_SCAN: PeriodClass = PeriodClass {
    names: &["ostrakon.events.IndexScan"],
    description: "Internal to the event store: returns the index entries of events that were committed and not \
                  deleted. Options: committed (required): the last committed batch; since (required): the time from \
                  which events are kept; aborted (none): comma-separated batches that were not committed, as \
                  FIRST-LAST; from, to (unbounded): the time range. Times are microseconds since 1970.",
    handle: keep_visible,
};

/// The setting that keeps entries of visible events from `from` to before `to`.
pub(crate) fn index_scan(snapshot: &Snapshot, from: i64, to: i64) -> IteratorSetting {
    INDEX_SCAN.setting("index", snapshot, from, to)
}

fn keep_visible(
    snapshot: &Snapshot,
    batch: &Batch,
    positions: std::ops::Range<usize>,
    wanted: &Range,
    out: &mut Batch,
) -> Result<()> {
    let std::ops::Range { start: mut at, end } = positions;
    while at < end {
        // The versions of one entry: the newest that is visible decides.
        let key = batch.key(at);
        let same = |other: usize| {
            let slot = batch.slots().get(other);
            slot.is_some_and(|slot| {
                batch.bytes(slot.qualifier) == key.qualifier
                    && batch.visibility(slot.visibility) == key.visibility
            })
        };
        let mut next = at + 1;
        while next < end && same(next) {
            next += 1;
        }
        let newest = (at..next).find(|&version| snapshot.sees(batch.key(version).timestamp));
        if let Some(newest) = newest
            && batch.value(newest) != DELETED
            && wanted.contains(batch.key(newest))
        {
            out.push(batch.key(newest), b"")?;
        }
        at = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use ostrakon_cell::{
        BatchLimit, BoxedIterator, ColumnSelection, Entry, IteratorClass, IteratorEnvironment,
        IteratorScope, Key, SortedKeyValueIterator,
    };

    use super::*;
    use crate::layout::{index_qualifier, value_row};

    /// Entries in memory; counts those that were read.
    #[derive(Clone)]
    struct Source {
        entries: Arc<Vec<Entry>>,
        read: Arc<AtomicUsize>,
        at: usize,
        range: Range,
    }

    impl SortedKeyValueIterator for Source {
        fn seek(&mut self, range: &Range, _: &ColumnSelection) -> Result<()> {
            self.range.clone_from(range);
            let before = |entry: &Entry| range.before_start(entry.key.as_ref());
            self.at = self.entries.partition_point(before);
            Ok(())
        }

        fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
            while let Some(entry) = self.entries.get(self.at)
                && self.range.contains(entry.key.as_ref())
            {
                if out.is_full(limit) {
                    return Ok(true);
                }
                out.push(entry.key.as_ref(), &entry.value)?;
                self.read.fetch_add(1, Ordering::Relaxed);
                self.at += 1;
            }
            Ok(false)
        }

        fn deep_copy(&self) -> BoxedIterator {
            Box::new(self.clone())
        }
    }

    /// Ten values, each at so many times.
    fn source(times: i64) -> Source {
        let mut entries = Vec::new();
        let mut row = Vec::new();
        for value in b'a'..b'k' {
            for time in 0..times {
                value_row(&mut row, 1, &[value], time);
                let key = Key {
                    timestamp: 1,
                    ..Key::new(row.clone(), "", index_qualifier(&[0; 26]))
                };
                entries.push(Entry {
                    key,
                    value: Vec::new(),
                });
            }
        }
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        Source {
            entries: Arc::new(entries),
            read: Arc::default(),
            at: 0,
            range: Range::all(),
        }
    }

    #[test]
    fn a_window_does_not_read_the_index_of_all_times() {
        let source = source(20_000);
        let read = source.read.clone();
        let snapshot = Snapshot {
            committed: 1,
            aborted: Vec::new(),
            since: i64::MIN,
        };
        let setting = index_scan(&snapshot, 9_000, 9_003);
        let environment = IteratorEnvironment::new(IteratorScope::Scan);
        let mut scan = INDEX_SCAN
            .init(Box::new(source), &setting.options, &environment)
            .expect("options of its own");
        scan.seek(&Range::row_prefix(&[0, 1]), &ColumnSelection::all())
            .expect("memory");
        let mut out = Batch::new();
        let limit = BatchLimit {
            entries: usize::MAX,
            bytes: usize::MAX,
        };
        while scan.next_batch(&mut out, limit).expect("memory") {}
        assert_eq!(out.len(), 30);
        // The first batch is read before the first row outside of the times is known.
        let read = read.load(Ordering::Relaxed);
        assert!(read < 4096 + 10 * 200, "{read}");
    }
}
