//! Compactions of a tablet with much in memory: split first where its file would be split afterwards, so that memory
//! is still written once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ostrakon_cell::{
    Batch, BatchLimit, BatchWriter, BatchWriterConfig, BoxedIterator, ColumnSelection,
    ColumnUpdate, CompactOptions, ErrorKind, IteratorClass, IteratorEnvironment, IteratorOptions,
    IteratorSetting, Range, Result, SortedKeyValueIterator, Source, Table, TableOptions,
};
use ostrakon_store::{Components, Store, StoreOptions};

use super::compacting::{Rig, all, components, files, wait_for_the_end};

/// Less than this in memory is compacted on one thread.
const MUCH: u64 = 33 << 20;

fn open(components: &Components, background: bool) -> Arc<Store> {
    let options = StoreOptions {
        background,
        memory_budget_bytes: 512 << 20,
        compaction_threads: 2,
        ..StoreOptions::default()
    };
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

/// A table of one tablet.
fn table(store: &Store, threshold: u64, properties: &[(&str, &str)]) -> Arc<dyn Table> {
    let mut options = TableOptions::default();
    let threshold = ("table.split.threshold", threshold.to_string());
    let others = properties
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()));
    for (name, value) in others.chain([threshold]) {
        options.properties.insert(name.to_owned(), value);
    }
    store.create_table("t", &options).unwrap();
    store.table("t").unwrap()
}

/// Rows in an order that is not theirs, the same ones at each call.
fn row(number: u64) -> String {
    format!("{:016x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Bytes that do not compress, others at each call.
fn noise(value: &mut [u8], state: &mut u64) {
    for byte in value {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *byte = (*state >> 56) as u8;
    }
}

fn write(table: &Arc<dyn Table>, rows: impl Iterator<Item = String>, value: impl Fn(&mut Vec<u8>)) {
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    let mut bytes = Vec::new();
    for row in rows {
        value(&mut bytes);
        let update = ColumnUpdate {
            family: b"f",
            qualifier: b"q",
            value: Some(&bytes),
            ..ColumnUpdate::default()
        };
        writer.put(row.as_bytes(), update).unwrap();
    }
    writer.close().unwrap();
}

/// Writes a thousand bytes that do not compress to each of the rows.
fn write_noise(table: &Arc<dyn Table>, rows: impl Iterator<Item = String>) {
    let state = AtomicU64::new(1);
    write(table, rows, |value| {
        let mut now = state.load(Ordering::Relaxed);
        value.resize(1000, 0);
        noise(value, &mut now);
        state.store(now, Ordering::Relaxed);
    });
}

fn is_much(store: &Store) {
    let metrics = store.metrics();
    assert!(metrics.memtable_bytes > MUCH, "{}", metrics.memtable_bytes);
    assert_eq!((metrics.flush_bytes, metrics.splits), (0, 0));
}

const ROWS: u64 = 40_000;

#[test]
fn what_will_be_large_is_split_and_written_once() {
    let components = components();
    let store = open(&components, true);
    let threshold = 10_000_000;
    let table = table(&store, threshold, &[]);
    write_noise(&table, (0..ROWS).map(row));
    is_much(&store);
    let before = all(&table);
    assert_eq!(before.len() as u64, ROWS);
    table.compact(&CompactOptions::default()).unwrap();
    let metrics = store.metrics();
    assert_eq!(metrics.flush_bytes, 0, "memory was flushed");
    assert_eq!(metrics.memtable_bytes, 0, "memory is still held");
    let tablets = table.tablets().unwrap();
    assert_eq!(tablets.len() as u64, metrics.splits + 1);
    assert!(files(&table).iter().all(|files| *files == 1));
    let sizes: Vec<u64> = tablets.iter().map(|tablet| tablet.bytes).collect();
    let fits = |bytes: &u64| (threshold / 2..=threshold).contains(bytes);
    assert!(sizes.iter().all(fits), "{sizes:?}");
    // As many for each thread.
    assert!(sizes.len().is_multiple_of(2), "{sizes:?}");
    assert_eq!(all(&table), before);

    drop((table, store));
    let store = open(&components, false);
    assert_eq!(all(&store.table("t").unwrap()), before);
    assert!(store.check(&mut |_, _| true).unwrap().problems.is_empty());
}

/// Rows that come in order lie in runs that do not overlap: one of them says nothing of the others. And files, which
/// hold other rows than memory.
#[test]
fn pieces_are_equal_whatever_the_order_of_rows() {
    let components = components();
    let store = open(&components, true);
    let threshold = 10_000_000;
    let table = table(&store, threshold, &[]);
    let in_order = |number: u64| format!("{number:08}");
    write_noise(&table, (0..8000).map(in_order));
    table.flush(true).unwrap();
    let flushed = store.metrics().flush_bytes;
    assert!(flushed < threshold, "{flushed}");
    write_noise(&table, (8000..48_000).map(in_order));
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(store.metrics().flush_bytes, flushed);
    let tablets = table.tablets().unwrap();
    let sizes: Vec<u64> = tablets.iter().map(|tablet| tablet.bytes).collect();
    let fits = |bytes: &u64| (threshold / 2..=threshold).contains(bytes);
    assert!(sizes.iter().all(fits), "{sizes:?}");
    assert_eq!(all(&table).len(), 48_000);
    assert!(files(&table).iter().all(|files| *files == 1));
}

#[test]
fn writers_go_on() {
    let components = components();
    let store = open(&components, true);
    let table = table(&store, 10_000_000, &[]);
    write_noise(&table, (0..ROWS).map(row));
    let done = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut at = ROWS;
            while !done.load(Ordering::SeqCst) {
                write_noise(&table, (at..at + 10).map(row));
                at += 10;
            }
            at
        });
        table.compact(&CompactOptions::default()).unwrap();
        done.store(true, Ordering::SeqCst);
        writer.join().unwrap()
    });
    assert!(table.tablets().unwrap().len() > 3);
    assert_eq!(all(&table).len() as u64, written);
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(all(&table).len() as u64, written);
    drop(table);
    assert!(store.check(&mut |_, _| true).unwrap().problems.is_empty());
}

/// Compacts, and sees that memory was flushed first and one tablet is left.
fn compact_whole(store: &Store, table: &Arc<dyn Table>) {
    is_much(store);
    table.compact(&CompactOptions::default()).unwrap();
    let metrics = store.metrics();
    assert!(metrics.flush_bytes > 0, "memory was not flushed");
    assert_eq!((metrics.splits, files(table)), (0, vec![1]));
}

#[test]
fn versions_that_go_do_not_count() {
    let store = open(&components(), true);
    let table = table(&store, 10_000_000, &[]);
    write_noise(&table, (0..ROWS).map(|number| row(number % 1000)));
    compact_whole(&store, &table);
    assert_eq!(all(&table).len(), 1000);
}

#[test]
fn what_compresses_well_is_not_large() {
    let store = open(&components(), true);
    // Less than what memory holds, more than what a flush writes.
    let threshold = 33_000_000;
    let table = table(&store, threshold, &[]);
    write(&table, (0..1_000_000).map(row), |value| {
        value.clear();
        value.extend_from_slice(b"one");
    });
    compact_whole(&store, &table);
    let bytes = table.tablets().unwrap()[0].bytes;
    assert!(bytes < threshold, "{bytes}");
}

/// The iterators of the request count, as they do in the compaction.
#[test]
fn what_the_request_drops_does_not_count() {
    let store = open(&components(), true);
    let table = table(&store, 10_000_000, &[]);
    write_noise(&table, (0..ROWS).map(row));
    is_much(&store);
    let mut grep = IteratorSetting::new(
        30,
        "grep",
        "org.apache.accumulo.core.iterators.user.GrepIterator",
    );
    grep.options
        .insert("term".into(), "nowhere to be found".into());
    let options = CompactOptions {
        iterators: vec![grep],
        ..CompactOptions::default()
    };
    table.compact(&options).unwrap();
    // Files that were flushed may be split then, as all files.
    assert!(store.metrics().flush_bytes > 0);
    assert!(all(&table).is_empty());
}

/// Gives the first entry of each row, and does not read the others.
struct FirstOfRow {
    source: BoxedIterator,
    range: Range,
}

impl SortedKeyValueIterator for FirstOfRow {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.range = range.clone();
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, _: BatchLimit) -> Result<bool> {
        let (entries, bytes) = (1, 1);
        let mut first = Batch::new();
        while first.is_empty() {
            if !self
                .source
                .next_batch(&mut first, BatchLimit { entries, bytes })?
                && first.is_empty()
            {
                return Ok(false);
            }
        }
        out.push(first.key(0), first.value(0))?;
        let rest = Range::tablet(Some(first.row(0)), None).clip(&self.range);
        if let Some(rest) = &rest {
            self.source.seek(rest, &ColumnSelection::all())?;
        }
        Ok(rest.is_some())
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            range: self.range.clone(),
        })
    }
}

const FIRST_OF_ROW: &str = "test.FirstOfRow";
const OF_COPY: &str = "ofCopy";

struct Registered;

impl IteratorClass for Registered {
    fn names(&self) -> &[&str] {
        &[FIRST_OF_ROW]
    }

    fn describe(&self) -> &'static str {
        "Skips."
    }

    fn validate(&self, _: &IteratorOptions) -> Result<()> {
        Ok(())
    }

    fn init(
        &self,
        mut source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let range = Range::all();
        if options.contains_key(OF_COPY) {
            source = source.deep_copy();
        }
        Ok(Box::new(FirstOfRow { source, range }))
    }
}

#[test]
fn what_iterators_skip_does_not_count() {
    for of_copy in [false, true] {
        let mut components = components();
        components.iterators.register(Arc::new(Registered));
        let store = open(&components, true);
        let table = table(&store, 10_000_000, &ALL_VERSIONS);
        write_noise(&table, (0..ROWS).map(|number| row(number % 1000)));
        is_much(&store);
        let mut first = IteratorSetting::new(30, "first", FIRST_OF_ROW);
        if of_copy {
            first.options.insert(OF_COPY.into(), "true".into());
        }
        let options = CompactOptions {
            iterators: vec![first],
            ..CompactOptions::default()
        };
        table.compact(&options).unwrap();
        assert!(store.metrics().flush_bytes > 0, "memory was not flushed");
        assert_eq!(all(&table).len(), 1000);
    }
}

#[test]
fn without_background_work_nothing_splits() {
    let store = open(&components(), false);
    let table = table(&store, 10_000_000, &[]);
    write_noise(&table, (0..ROWS).map(row));
    compact_whole(&store, &table);
    assert_eq!(all(&table).len() as u64, ROWS);
}

#[test]
fn long_rows_are_no_split_points() {
    let store = open(&components(), true);
    let longest = [("table.split.endrow.size.max", "15")];
    let table = table(&store, 10_000_000, &longest);
    let long = |number| format!("all of them have this: {}", row(number));
    write_noise(&table, (0..ROWS).map(long));
    compact_whole(&store, &table);
    assert_eq!(all(&table).len() as u64, ROWS);
}

/// As in files, a split point is only as long as it must be to lie between two rows.
#[test]
fn long_rows_that_differ_early_are_split() {
    let store = open(&components(), true);
    let longest = [("table.split.endrow.size.max", "15")];
    let table = table(&store, 10_000_000, &longest);
    write_noise(&table, (0..ROWS).map(row));
    is_much(&store);
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(store.metrics().flush_bytes, 0);
    let tablets = table.tablets().unwrap();
    assert!(tablets.len() >= 4, "{}", tablets.len());
    let mut ends = tablets.iter().filter_map(|tablet| tablet.end.as_ref());
    assert!(ends.all(|end| end.len() <= 15));
}

const ALL_VERSIONS: [(&str, &str); 3] = [
    ("table.iterator.minc.vers.opt.maxVersions", "1000000"),
    ("table.iterator.majc.vers.opt.maxVersions", "1000000"),
    ("table.iterator.scan.vers.opt.maxVersions", "1000000"),
];

#[test]
fn nothing_lies_behind_a_large_last_row() {
    let store = open(&components(), true);
    let table = table(&store, 10_000_000, &ALL_VERSIONS);
    write_noise(&table, (0..ROWS / 2).map(row));
    write_noise(&table, (0..ROWS).map(|_| "row".to_owned()));
    is_much(&store);
    table.compact(&CompactOptions::default()).unwrap();
    let metrics = store.metrics();
    assert!(metrics.flush_bytes == 0 && metrics.splits >= 2);
    assert!(files(&table).iter().all(|files| *files == 1));
    assert_eq!(all(&table).len() as u64, ROWS / 2 + ROWS);
}

#[test]
fn one_row_is_not_split() {
    let store = open(&components(), true);
    let table = table(&store, 10_000_000, &ALL_VERSIONS);
    write_noise(&table, (0..ROWS).map(|_| "row".to_owned()));
    compact_whole(&store, &table);
    assert_eq!(all(&table).len() as u64, ROWS);
}

/// Compactions that do not end by themselves, of a table that is to be split: what they begin with is the trial.
fn rig() -> Rig {
    Rig::of(|components| {
        let store = open(&components, true);
        let table = table(&store, 10_000_000, &[]);
        write_noise(&table, (0..ROWS).map(row));
        is_much(&store);
        (store, table)
    })
}

#[test]
fn a_trial_can_be_cancelled() {
    for rig in [rig(), rig().reads_on()] {
        let error = rig
            .compact(|rig| {
                rig.table.cancel_compaction().unwrap();
                wait_for_the_end(rig);
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(rig.store.metrics().splits, 0);
        assert_eq!(all(&rig.table).len() as u64, ROWS);
    }
}

#[test]
fn a_trial_ends_with_its_table() {
    let rig = rig();
    let error = rig
        .compact(|rig| {
            rig.store.delete_table("t").unwrap();
            wait_for_the_end(rig);
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
}

/// Nobody waits for a trial, and what it says of a table that changed meanwhile does not count.
#[test]
fn a_table_that_changed_meanwhile_is_not_split_first() {
    let rig = rig();
    rig.compact(|rig| {
        rig.table.delete_rows(None, None).unwrap();
    })
    .unwrap();
    assert!(all(&rig.table).is_empty());
    assert_eq!(rig.store.metrics().splits, 0);
}

/// Rows may hold much in one part of a table and little in another: pieces are equal by bytes, not by entries.
#[test]
fn pieces_are_equal_whatever_the_size_of_rows() {
    // A trial of equal parts of the entries would see the large ones once in eight, or not at all.
    for small_before in [44_000, 600_000] {
        let components = components();
        let store = open(&components, true);
        let threshold = 10_000_000;
        let table = table(&store, threshold, &[]);
        write_noise(&table, (0..ROWS).map(|number| format!("b{}", row(number))));
        let small = |number| {
            let part = if number < small_before { 'a' } else { 'c' };
            format!("{part}{}", row(number))
        };
        write(&table, (0..960_000).map(small), |value| {
            value.clear();
            value.extend_from_slice(b"one");
        });
        table.compact(&CompactOptions::default()).unwrap();
        assert_eq!(store.metrics().flush_bytes, 0, "memory was flushed");
        let tablets = table.tablets().unwrap();
        let sizes: Vec<u64> = tablets.iter().map(|tablet| tablet.bytes).collect();
        // Not all compress as well.
        let fits = |bytes: &u64| (threshold / 3..=threshold * 5 / 4).contains(bytes);
        assert!(sizes.iter().all(fits), "{sizes:?}");
    }
}

/// What it saves, in bytes written and files, against a flush first: in a load that memory holds, in one that it does
/// not, and in a table that has a tablet for each thread.
#[test]
#[ignore = "measures; run by hand"]
fn what_splitting_first_saves() {
    // Rows before the last, rows, tablets at the beginning.
    for (name, flushed, rows, tablets) in [
        ("memory holds all of it", 0, 60_000, 1),
        ("as much in files as in memory", 60_000, 60_000, 1),
        ("four tablets", 0, 60_000, 4),
    ] {
        for flush_first in [false, true] {
            let store = open(&components(), true);
            let table = table(&store, 10_000_000, &[]);
            if tablets > 1 {
                let rows: Vec<Vec<u8>> = ["4", "8", "c"].map(|row| row.as_bytes().to_vec()).into();
                table.add_splits(&rows).unwrap();
            }
            write_noise(&table, (0..flushed).map(row));
            if flushed > 0 {
                table.flush(true).unwrap();
            }
            write_noise(&table, (flushed..flushed + rows).map(row));
            let before = store.metrics();
            let begun = std::time::Instant::now();
            if flush_first {
                table.flush(true).unwrap();
            }
            table.compact(&CompactOptions::default()).unwrap();
            let (took, after) = (begun.elapsed(), store.metrics());
            let written = |metrics: &ostrakon_store::metrics::MetricsSnapshot| {
                metrics.flush_bytes + metrics.compaction_bytes_written
            };
            println!(
                "{name}, flushed first: {flush_first}: {} MB written, {} files made and deleted, {} tablets, {took:?}",
                (written(&after) - written(&before)) / 1_000_000,
                after.files_deleted - before.files_deleted,
                table.tablets().unwrap().len(),
            );
        }
    }
}
