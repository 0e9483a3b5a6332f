//! Metrics of a store. The monitor reads only these; always compiled in, relaxed atomics only.
//!
//! Count per batch, not per entry: an addition is cheap, but all threads add to the same few cache
//! lines.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Lanes of a counter. Threads are assigned to them round-robin.
const LANES: usize = 4;

/// One cache line per lane, to avoid contention between threads that add to the same counter.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Lane(AtomicU64);

static NEXT_LANE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LANE: usize = NEXT_LANE.fetch_add(1, Ordering::Relaxed) % LANES;
}

/// A monotonic counter.
#[derive(Debug, Default)]
pub struct Counter([Lane; LANES]);

impl Counter {
    /// Adds `amount`.
    #[inline]
    pub fn add(&self, amount: u64) {
        // While a thread ends, its thread-local may be destroyed.
        let lane = LANE.try_with(|lane| *lane).unwrap_or(0);
        if let Some(lane) = self.0.get(lane) {
            lane.0.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// The sum so far.
    #[must_use]
    pub fn value(&self) -> u64 {
        let lanes = self.0.iter().map(|lane| lane.0.load(Ordering::Relaxed));
        lanes.fold(0, u64::wrapping_add)
    }
}

/// A number that follows the present state.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Replaces the value.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Raises the value.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Lowers the value, not below zero.
    #[inline]
    pub fn subtract(&self, amount: u64) {
        let lower = |value: u64| Some(value.saturating_sub(amount));
        // The closure always returns `Some`, so this cannot fail.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, lower);
    }

    /// The value now.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether a number only grows, or follows the present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows: compare differences.
    Counter,
    /// Follows the present state: read the value.
    Gauge,
}

/// One number of a snapshot with its name and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name of the field, the same in every version.
    pub name: &'static str,
    /// What it counts, and in which unit.
    pub help: &'static str,
    /// How to read it.
    pub kind: MetricKind,
    /// The number.
    pub value: u64,
}

/// Each metric is declared once, here; struct, snapshot and list are generated from it.
macro_rules! metrics {
    ($($name:ident: $kind:ident = $help:literal,)*) => {
        /// The live metrics of one store.
        #[derive(Debug, Default)]
        pub struct Metrics {
            $(#[doc = $help] pub $name: $kind,)*
        }

        /// The metrics at one moment. Each is exact, but they are not read at the same instant.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct MetricsSnapshot {
            $(#[doc = $help] pub $name: u64,)*
        }

        impl Metrics {
            /// Copies the numbers.
            #[must_use]
            pub fn snapshot(&self) -> MetricsSnapshot {
                MetricsSnapshot { $($name: self.$name.value(),)* }
            }
        }

        impl MetricsSnapshot {
            /// All numbers with name and meaning, in a fixed order.
            #[must_use]
            pub fn list(&self) -> Vec<Metric> {
                vec![$(Metric {
                    name: stringify!($name),
                    help: $help,
                    kind: MetricKind::$kind,
                    value: self.$name,
                },)*]
            }

            /// The counts since `earlier`; gauges keep their present value.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self {
                    $($name: match MetricKind::$kind {
                        MetricKind::Counter => self.$name.saturating_sub(earlier.$name),
                        MetricKind::Gauge => self.$name,
                    },)*
                }
            }
        }
    };
}

metrics! {
    mutations_written: Counter = "Mutations accepted from writers.",
    entries_written: Counter = "Entries (column updates) accepted from writers.",
    bytes_written: Counter = "Bytes of keys and values accepted from writers.",
    batches_written: Counter = "Encoded batches accepted from writers.",
    constraint_violations: Counter = "Mutations rejected by constraints, once per constraint and code.",
    write_stalls: Counter = "Times a writer was delayed because flushes or compactions were too slow.",
    write_stall_nanos: Counter = "Nanoseconds writers spent delayed.",

    wal_bytes: Counter = "Bytes appended to write-ahead logs.",
    wal_records: Counter = "Records appended to write-ahead logs.",
    wal_syncs: Counter = "Times a write-ahead log was made durable.",
    wal_sync_nanos: Counter = "Nanoseconds spent making write-ahead logs durable.",
    wal_live_bytes: Gauge = "Bytes of write-ahead logs that a restart would have to replay.",
    wal_entries_recovered: Counter = "Entries replayed from write-ahead logs at opening.",

    memtable_bytes: Gauge = "Bytes held by memtables, frozen ones included.",
    memtable_entries: Gauge = "Entries held by memtables, frozen ones included.",

    flushes: Counter = "Minor compactions completed.",
    flush_entries: Counter = "Entries written by minor compactions.",
    flush_bytes: Counter = "Bytes of files written by minor compactions.",
    flush_nanos: Counter = "Nanoseconds of thread time spent in minor compactions.",
    flushes_running: Gauge = "Minor compactions running now.",

    compactions: Counter = "Major compactions completed.",
    compaction_entries_read: Counter = "Entries read by major compactions.",
    compaction_entries_written: Counter = "Entries written by major compactions.",
    compaction_bytes_read: Counter = "Bytes of files read by major compactions.",
    compaction_bytes_written: Counter = "Bytes of files written by major compactions.",
    compaction_nanos: Counter = "Nanoseconds of thread time spent in major compactions.",
    compactions_running: Gauge = "Major compactions running now.",
    splits: Counter = "Tablets split.",
    merges: Counter = "Tablets removed by merges.",

    scans_started: Counter = "Scans started, each range of a batch scan counted.",
    entries_scanned: Counter = "Entries read below the iterators of scans.",
    labels_malformed: Counter = "Malformed visibilities met by scans, each once per batch; `check` names the files.",
    entries_read: Counter = "Entries returned to readers.",
    bytes_read: Counter = "Bytes of keys and values returned to readers.",

    block_cache_hits: Counter = "Blocks found in the block cache.",
    block_cache_misses: Counter = "Blocks not found in the block cache.",
    block_cache_bytes: Gauge = "Bytes held by the block cache.",
    blocks_read: Counter = "Data blocks read from files.",
    block_bytes_read: Counter = "Bytes of data blocks read from files, as stored.",
    index_loads: Counter = "Indexes and filters loaded from files.",
    filter_checks: Counter = "Lookups in filters.",
    filter_negatives: Counter = "Lookups in filters that proved a key absent.",
    filter_false_positives: Counter = "Lookups in filters that passed an absent key.",
    open_files: Gauge = "Table files held open.",

    tables: Gauge = "Tables in the store.",
    tablets: Gauge = "Tablets in the store.",
    files: Gauge = "Table files that the catalog refers to.",
    file_bytes: Gauge = "Bytes of table files that the catalog refers to.",
    files_deleted: Counter = "Table files deleted because nothing refers to them.",
    background_errors: Counter = "Background tasks that failed.",
    tables_degraded: Gauge = "Tables in which something fails; `problems` says what.",
    flushes_without_iterators: Counter = "Memtables written without the table's flush iterators because they failed.",
    threads_left_behind: Counter = "Threads abandoned because an iterator neither ended nor checked its interrupt.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_copies_and_differences_spare_gauges() {
        let metrics = Metrics::default();
        metrics.entries_written.add(10);
        metrics.memtable_bytes.add(100);
        let earlier = metrics.snapshot();
        metrics.entries_written.increment();
        metrics.memtable_bytes.subtract(40);
        let later = metrics.snapshot();
        assert_eq!((later.entries_written, later.memtable_bytes), (11, 60));
        let difference = later.since(&earlier);
        assert_eq!(
            (difference.entries_written, difference.memtable_bytes),
            (1, 60)
        );
        metrics.memtable_bytes.subtract(1_000);
        assert_eq!(metrics.memtable_bytes.value(), 0);
        metrics.memtable_bytes.set(3);
        assert_eq!(metrics.memtable_bytes.value(), 3);
    }

    #[test]
    fn the_list_names_each_metric_once() {
        let metrics = Metrics::default();
        metrics.wal_syncs.add(7);
        let list = metrics.snapshot().list();
        let mut names: Vec<&str> = list.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), list.len());
        let syncs = list.iter().find(|metric| metric.name == "wal_syncs");
        assert_eq!(
            syncs.map(|metric| (metric.value, metric.kind)),
            Some((7, MetricKind::Counter))
        );
    }

    /// Two of them were declared, and stayed 0.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "the sources are looked at")]
    fn every_metric_changes_somewhere() {
        fn read(folder: &std::path::Path, all: &mut String) {
            for entry in std::fs::read_dir(folder).expect("the sources") {
                let path = entry.expect("a file").path();
                if path.is_dir() {
                    read(&path, all);
                } else if !path.ends_with("src/metrics.rs") {
                    let text = std::fs::read_to_string(&path).expect("text");
                    all.extend(text.split_whitespace());
                }
            }
        }
        let mut sources = String::new();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        read(&folder, &mut sources);
        for metric in Metrics::default().snapshot().list() {
            let name = metric.name;
            let changes = ["increment(", "add(", "subtract(", "set("];
            let changed = changes
                .iter()
                .any(|change| sources.contains(&format!(".{name}.{change}")));
            assert!(changed, "nothing changes {name}");
        }
    }
}
