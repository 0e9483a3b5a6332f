//! Scans end: by an error that stays, by their caller, by the clock, and with their table.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, EntryRef, Error, ErrorKind, Interrupt,
    IteratorClass, IteratorEnvironment, IteratorOptions, IteratorSetting, Mutation, MutationBatch,
    Range, Result, Scan, ScanOptions, SortedKeyValueIterator, Source, Table, TableOptions,
    TimeType,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

/// An iterator that does what its option `does` says at the row in its option `row`.
struct Faulty;

#[derive(Clone)]
struct FaultyIterator {
    does: String,
    row: Vec<u8>,
    interrupt: Interrupt,
}

struct Running {
    source: BoxedIterator,
    how: FaultyIterator,
    range: Range,
    columns: ColumnSelection,
    /// Returns nothing from now on, and does not call its source.
    idles: bool,
}

impl IteratorClass for Faulty {
    fn names(&self) -> &[&str] {
        &["test.Faulty"]
    }

    fn describe(&self) -> &'static str {
        "Fails, panics, never ends or gives nothing, as told."
    }

    fn validate(&self, _: &IteratorOptions) -> Result<()> {
        Ok(())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        environment: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(Running {
            source,
            how: FaultyIterator {
                does: options["does"].clone(),
                row: options["row"].clone().into_bytes(),
                interrupt: environment.interrupt.clone(),
            },
            range: Range::all(),
            columns: ColumnSelection::all(),
            idles: false,
        }))
    }
}

impl SortedKeyValueIterator for Running {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.range.clone_from(range);
        self.columns.clone_from(columns);
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        if self.idles {
            std::thread::sleep(Duration::from_millis(1));
            return Ok(true);
        }
        let first = out.len();
        let more = self.source.next_batch(out, limit)?;
        let met = (first..out.len()).any(|at| out.row(at) == self.how.row);
        match self.how.does.as_str() {
            // Leaves the bytes of what it takes away in the batch.
            "swallow" => {
                std::thread::sleep(Duration::from_millis(2));
                out.retain_from(first, |batch, at| batch.row(at) == self.how.row);
            }
            "fail" if met => return Err(Error::new(ErrorKind::Io, "told to fail")),
            "refuse" if met => return Err(Error::invalid("told to refuse")),
            "panic" if met => panic!("told to panic"),
            "poll" if met => loop {
                self.how.interrupt.check()?;
                std::thread::sleep(Duration::from_millis(1));
            },
            "idle" if met => self.idles = true,
            "reread" if met => loop {
                self.source.seek(&self.range, &self.columns)?;
            },
            _ => {}
        }
        Ok(more)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            how: self.how.clone(),
            range: Range::all(),
            columns: ColumnSelection::all(),
            idles: false,
        })
    }
}

const ROWS: usize = 8_000;

fn row(at: usize) -> String {
    format!("{at:05}")
}

/// A table of 8,000 rows in eight tablets, half of them in files.
fn table(background: bool) -> (Arc<Store>, Arc<dyn Table>) {
    let mut components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    components.iterators.register(Arc::new(Faulty));
    let options = StoreOptions {
        background,
        scan_threads: 4,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, Path::new("/store"), options).unwrap();
    let splits = (1..8).map(|at| row(at * 1_000).into_bytes()).collect();
    store
        .create_table(
            "t",
            &TableOptions {
                splits,
                ..TableOptions::default()
            },
        )
        .unwrap();
    let table = store.table("t").unwrap();
    for half in 0..2 {
        let mut batch = MutationBatch::new();
        for at in (half..ROWS).step_by(2) {
            let mut mutation = Mutation::new(row(at));
            batch
                .push(mutation.put("f", "q", "value").unwrap())
                .unwrap();
        }
        table.submit(batch, None).unwrap().wait().unwrap();
        if half == 0 {
            table.flush(true).unwrap();
        }
    }
    (store, table)
}

fn options(ordered: bool, does: &str) -> ScanOptions {
    let setting = IteratorSetting::new(50, "faulty", "test.Faulty")
        .with("does", does)
        .with("row", row(4_500));
    ScanOptions {
        ordered,
        threads: 4,
        iterators: vec![setting],
        batch: BatchLimit {
            entries: 100,
            bytes: 1 << 20,
        },
        ..ScanOptions::default()
    }
}

/// Reads to the end or an error; says how many entries came.
fn drain(scan: &mut dyn Scan) -> (usize, Result<()>) {
    let (mut batch, mut entries) = (Batch::new(), 0);
    loop {
        match scan.next_batch(&mut batch) {
            Ok(true) => entries += batch.len(),
            Ok(false) => return (entries, Ok(())),
            Err(error) => {
                assert!(batch.is_empty(), "entries beside an error");
                return (entries, Err(error));
            }
        }
    }
}

/// After an error a scan went on with the next tablet, and a panic in a worker of an unordered one ended it as if it
/// were complete.
#[test]
fn an_error_or_a_panic_is_final() {
    let (_store, table) = table(false);
    for (does, kind) in [("fail", ErrorKind::Io), ("panic", ErrorKind::Internal)] {
        for ordered in [true, false] {
            let options = options(ordered, does);
            let mut scan = table.scan(&[Range::all()], &options).unwrap();
            for time in 0..3 {
                let (entries, outcome) = drain(&mut *scan);
                assert_eq!(outcome.unwrap_err().kind(), kind, "{does} {ordered}");
                assert!(entries < ROWS);
                assert!(time == 0 || entries == 0, "entries after the error");
            }
            // A restart that succeeds makes it whole.
            scan.restart(&[Range::rows(..row(4_000))]).unwrap();
            let (entries, outcome) = drain(&mut *scan);
            assert_eq!(
                (entries, outcome.is_ok()),
                (4_000, true),
                "{does} {ordered}"
            );
        }
    }
}

#[test]
fn a_restart_that_fails_does_not_go_on_with_the_old_ranges() {
    let (store, table) = table(false);
    for ordered in [true, false] {
        let options = ScanOptions {
            ordered,
            ..ScanOptions::default()
        };
        let mut scan = table.scan(&[Range::all()], &options).unwrap();
        let mut batch = Batch::new();
        assert!(scan.next_batch(&mut batch).unwrap());
        store.set_online("t", false).unwrap();
        let refused = scan.restart(&[Range::row(row(1))]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Offline);
        store.set_online("t", true).unwrap();
        let (entries, outcome) = drain(&mut *scan);
        assert_eq!(
            (entries, outcome.unwrap_err().kind()),
            (0, ErrorKind::Offline)
        );
        scan.restart(&[Range::row(row(1))]).unwrap();
        assert_eq!(drain(&mut *scan).0, 1);
    }
}

/// What ends a scan from outside: how it is set up, what does it, and with which error.
type Ending = (&'static str, fn(&Arc<Store>, &Interrupt), ErrorKind);

#[test]
fn a_scan_in_an_endless_iterator_ends_soon() {
    let endings: [Ending; 5] = [
        (
            "interrupt",
            |_, interrupt| interrupt.set(),
            ErrorKind::Cancelled,
        ),
        ("timeout", |_, _| {}, ErrorKind::TimedOut),
        (
            "off-line",
            |store, _| store.set_online("t", false).unwrap(),
            ErrorKind::Offline,
        ),
        (
            "delete",
            |store, _| store.delete_table("t").unwrap(),
            ErrorKind::TableNotFound,
        ),
        (
            "close",
            |store, _| store.close().unwrap(),
            ErrorKind::Closed,
        ),
    ];
    for (name, end, kind) in endings {
        for (ordered, does) in [
            (true, "poll"),
            (true, "reread"),
            (true, "idle"),
            (false, "poll"),
            (false, "reread"),
            (false, "idle"),
        ] {
            let (store, table) = table(true);
            let interrupt = Interrupt::default();
            let options = ScanOptions {
                interrupt: Some(interrupt.clone()),
                timeout: (name == "timeout").then_some(Duration::from_millis(300)),
                ..options(ordered, does)
            };
            let mut scan = table.scan(&[Range::all()], &options).unwrap();
            let reader = std::thread::spawn(move || {
                let outcome = drain(&mut *scan).1;
                (outcome, drain(&mut *scan).1, Instant::now())
            });
            std::thread::sleep(Duration::from_millis(200));
            let begun = Instant::now();
            end(&store, &interrupt);
            let (first, again, ended) = reader.join().unwrap();
            assert_eq!(first.unwrap_err().kind(), kind, "{name} {ordered} {does}");
            assert_eq!(again.unwrap_err().kind(), kind, "{name} {ordered} {does}");
            // Much longer than it takes; a machine may be busy.
            let late = ended.saturating_duration_since(begun);
            assert!(
                late < Duration::from_secs(10),
                "{name} {ordered} {does}: {late:?}"
            );
        }
    }
}

/// An iterator that lets nothing through: each call answers in time, with nothing, and the scan knows how far it is.
#[test]
fn calls_answer_in_time_with_nothing() {
    let (_store, table) = table(false);
    for ordered in [true, false] {
        let options = ScanOptions {
            answer_within: Some(Duration::from_millis(5)),
            resumable: true,
            ..options(ordered, "swallow")
        };
        let mut scan = table.scan(&[Range::all()], &options).unwrap();
        let (mut batch, mut answers, mut found) = (Batch::new(), 0, 0);
        let mut lefts = vec![scan.unread().unwrap()];
        while scan.next_batch(&mut batch).unwrap() {
            answers += usize::from(batch.is_empty());
            found += batch.len();
            lefts.push(scan.unread().unwrap());
            if ordered && found == 0 {
                // Where the tablets read so far end is not said.
                assert_eq!(lefts.last(), lefts.first());
            }
        }
        assert!(answers > 2, "{answers} answers in time");
        assert_eq!(found, 1);
        assert!(scan.unread().unwrap().is_empty());
        lefts.dedup();
        // Everything, then what is after the one entry; of an unordered scan by tablets.
        let steps = if ordered { 2 } else { 4 };
        assert!(
            lefts.len() >= steps,
            "the scan does not know how far it is: {lefts:?}"
        );
    }
    // Without the option the caller is not bothered: the full, empty batches of such an iterator are not the end.
    let mut scan = table
        .scan(&[Range::all()], &options(true, "swallow"))
        .unwrap();
    assert_eq!(drain(&mut *scan).0, 1);
}

/// A scan that was left in the middle is taken up by another one.
#[test]
fn what_a_scan_has_not_read_can_be_read_by_another() {
    let (_store, table) = table(false);
    let ranges = [
        Range::rows(row(100)..row(3_100)),
        Range::row(row(4_000)),
        Range::rows(row(5_000)..),
    ];
    let all = 3_000 + 1 + 3_000;
    for (ordered, stop_after) in [(true, 0), (true, 7), (true, 33), (false, 5), (false, 40)] {
        let options = ScanOptions {
            resumable: true,
            ordered,
            threads: 2,
            batch: BatchLimit {
                entries: 100,
                bytes: 1 << 20,
            },
            ..ScanOptions::default()
        };
        let mut scan = table.scan(&ranges, &options).unwrap();
        let (mut batch, mut rows) = (Batch::new(), Vec::new());
        for _ in 0..stop_after {
            assert!(scan.next_batch(&mut batch).unwrap());
            rows.extend(
                batch
                    .iter()
                    .map(|entry: EntryRef<'_>| entry.key.row.to_vec()),
            );
        }
        let left = scan.unread().unwrap();
        let before = rows.len();
        let mut rest = table.scan(&left, &options).unwrap();
        while rest.next_batch(&mut batch).unwrap() {
            rows.extend(
                batch
                    .iter()
                    .map(|entry: EntryRef<'_>| entry.key.row.to_vec()),
            );
        }
        assert!(rest.unread().unwrap().is_empty());
        if ordered {
            assert_eq!(rows.len(), all, "after {before}");
        }
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), all, "after {before}");
    }
    let scan = table.scan(&ranges, &ScanOptions::default()).unwrap();
    assert_eq!(
        scan.unread().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

/// What was read before an error came, and not given out, is left.
#[test]
fn a_scan_that_failed_can_be_taken_up_by_another() {
    let (_store, table) = table(false);
    let single: Vec<Range> = (0..ROWS).step_by(4).map(|at| Range::row(row(at))).collect();
    let wide = vec![Range::rows(row(100)..row(3_100)), Range::rows(row(4_000)..)];
    for does in ["fail", "refuse"] {
        for (ordered, confined) in [(true, false), (true, true), (false, false), (false, true)] {
            for (ranges, entries) in [(&single, 1_000), (&single, 7), (&wide, 1_000), (&wide, 33)] {
                let what = format!("{does} {ordered} {confined} {} {entries}", ranges.len());
                let faulty = IteratorSetting::new(50, "faulty", "test.Faulty")
                    .with("does", does)
                    .with("row", row(6_800));
                let resumable = ScanOptions {
                    resumable: true,
                    ordered,
                    confined,
                    threads: 2,
                    batch: BatchLimit {
                        entries,
                        bytes: 1 << 20,
                    },
                    ..ScanOptions::default()
                };
                let options = ScanOptions {
                    iterators: vec![faulty],
                    ..resumable.clone()
                };
                let mut batch = Batch::new();
                let mut read = |scan: &mut dyn Scan| {
                    let mut rows: Vec<Vec<u8>> = Vec::new();
                    loop {
                        match scan.next_batch(&mut batch) {
                            Ok(true) => {
                                rows.extend(batch.iter().map(|entry| entry.key.row.to_vec()));
                            }
                            Ok(false) => return (rows, Ok(())),
                            Err(error) => return (rows, Err(error)),
                        }
                    }
                };
                let mut scan = table.scan(ranges, &options).unwrap();
                let (given, outcome) = read(&mut *scan);
                outcome.unwrap_err();
                let mut distinct = given.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), given.len(), "{what}: given twice");
                let left = scan.unread().unwrap();
                let mut rest = table.scan(&left, &resumable).unwrap();
                let (more, outcome) = read(&mut *rest);
                outcome.unwrap();
                if ordered {
                    let again = more
                        .iter()
                        .filter(|row| distinct.binary_search(row).is_ok());
                    assert_eq!(again.count(), 0, "{what}");
                }
                distinct.extend(more);
                distinct.sort_unstable();
                distinct.dedup();
                let all = if ranges.len() > 2 { ROWS / 4 } else { 7_000 };
                assert_eq!(distinct.len(), all, "{what}");
            }
        }
    }
}

/// Unordered scans share the store's threads; one that finds none reads alone, and none waits for another.
#[test]
fn many_unordered_scans_end_though_they_share_few_threads() {
    let (_store, table) = table(false);
    let options = ScanOptions {
        ordered: false,
        threads: 4,
        ..ScanOptions::default()
    };
    let mut scans: Vec<_> = (0..20)
        .map(|_| table.scan(&[Range::all()], &options).unwrap())
        .collect();
    let mut batch = Batch::new();
    // All begin before one ends.
    let begun: Vec<usize> = scans
        .iter_mut()
        .map(|scan| {
            assert!(scan.next_batch(&mut batch).unwrap());
            batch.len()
        })
        .collect();
    for (scan, begun) in scans.iter_mut().zip(begun).rev() {
        let (entries, outcome) = drain(&mut **scan);
        outcome.unwrap();
        assert_eq!(begun + entries, ROWS);
    }
}

#[test]
fn an_interrupt_may_come_before_the_scan() {
    let (_store, table) = table(false);
    let interrupt = Interrupt::default();
    interrupt.set();
    for ordered in [true, false] {
        let options = ScanOptions {
            ordered,
            interrupt: Some(interrupt.clone()),
            ..ScanOptions::default()
        };
        let mut scan = table.scan(&[Range::all()], &options).unwrap();
        assert_eq!(
            drain(&mut *scan).1.unwrap_err().kind(),
            ErrorKind::Cancelled
        );
    }
}

/// What a confined scan tells: the keys of each batch, what is left after it, and the error at its end.
fn told(table: &Arc<dyn Table>, options: &ScanOptions, ranges: &[Range]) -> Vec<String> {
    let mut scan = table.scan(ranges, options).unwrap();
    let (mut batch, mut told) = (Batch::new(), Vec::new());
    loop {
        match scan.next_batch(&mut batch) {
            Ok(false) => return told,
            Ok(true) => {}
            Err(error) => {
                told.push(error.to_string().replace(&table.name(), "t"));
                return told;
            }
        }
        let keys: Vec<String> = batch.iter().map(|entry| entry.key.to_string()).collect();
        told.push(format!("{keys:?} {:?}", scan.unread().unwrap()));
    }
}

/// Tablets are split by all of their entries, so where they end is not for readers: the same entries in one tablet and
/// in many give the same batches, the same resume points, and the same batches before an error.
#[test]
fn a_confined_scan_does_not_show_where_tablets_end() {
    let store = Store::open_with(
        Components {
            vfs: MemoryVfs::shared(),
            ..Components::default()
        },
        Path::new("/store"),
        StoreOptions::default(),
    )
    .unwrap();
    let combined = |lossy: &str| {
        IteratorSetting::new(30, "sum", "SummingCombiner")
            .with("type", "STRING")
            .with("all", "true")
            .with("lossy", lossy)
    };
    let packed = IteratorSetting::new(31, "whole", "WholeRowIterator");
    for deletes in ["process", "fail"] {
        let mut tables = Vec::new();
        for splits in [vec![], (1..40).map(|at| row(at).into_bytes()).collect()] {
            let name = format!("t{}{deletes}", splits.len());
            let mut options = TableOptions {
                splits,
                time_type: TimeType::Logical,
                ..TableOptions::default()
            };
            let behavior = ("table.delete.behavior".to_owned(), deletes.to_owned());
            options.properties.extend([behavior]);
            store.create_table(&name, &options).unwrap();
            let table = store.table(&name).unwrap();
            let mut batch = MutationBatch::new();
            for at in 0..60 {
                let mut mutation = Mutation::new(row(at));
                for column in ["a", "b"] {
                    let value = if (at, column) == (33, "b") {
                        "word"
                    } else {
                        "5"
                    };
                    mutation.put("f", column, value.repeat(1 + at % 7)).unwrap();
                }
                if at == 47 {
                    mutation.delete("f", "c").unwrap();
                }
                batch.push(&mutation).unwrap();
            }
            table.submit(batch, None).unwrap().wait().unwrap();
            tables.push(table);
        }
        let stacks = [
            vec![],
            vec![combined("false")],
            vec![combined("true")],
            vec![combined("false"), packed.clone()],
            vec![packed.clone()],
        ];
        let limits = [
            (1, 1 << 20),
            (3, 1 << 20),
            (1000, 1),
            (1000, 100),
            (1000, 470),
        ];
        for iterators in stacks {
            for (entries, bytes) in limits {
                for ordered in [true, false] {
                    let options = ScanOptions {
                        iterators: iterators.clone(),
                        batch: BatchLimit { entries, bytes },
                        ordered,
                        threads: 4,
                        resumable: true,
                        confined: true,
                        ..ScanOptions::default()
                    };
                    for ranges in [
                        vec![Range::all()],
                        vec![Range::rows(row(3)..row(8)), Range::rows(row(31)..row(50))],
                    ] {
                        let [one, many] = [0, 1].map(|at| told(&tables[at], &options, &ranges));
                        let first = one.iter().zip(&many).find(|(one, many)| one != many);
                        assert_eq!(first, None, "{options:?} {ranges:?} {deletes}");
                        assert_eq!(one.len(), many.len(), "{options:?} {ranges:?} {deletes}");
                        assert!(!one.is_empty());
                    }
                }
            }
        }
    }
}

/// Counts how often it was set up, and returns an empty batch first, as an iterator that reads a row in parts.
#[derive(Default)]
struct Counted(AtomicUsize);

struct Hesitating {
    source: BoxedIterator,
    waits: bool,
}

impl IteratorClass for Counted {
    fn names(&self) -> &[&str] {
        &["test.Counted"]
    }

    fn describe(&self) -> &'static str {
        "Returns an empty batch first."
    }

    fn validate(&self, _: &IteratorOptions) -> Result<()> {
        Ok(())
    }

    fn init(
        &self,
        source: BoxedIterator,
        _: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Hesitating {
            source,
            waits: true,
        }))
    }
}

impl SortedKeyValueIterator for Hesitating {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.waits = true;
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        if std::mem::take(&mut self.waits) {
            return Ok(true);
        }
        self.source.next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            waits: true,
        })
    }
}

/// A stack was set up anew for each range if its iterator returned more than one batch.
#[test]
fn iterators_are_set_up_once_for_many_ranges_of_a_tablet() {
    let class = Arc::new(Counted::default());
    let mut components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    components.iterators.register(class.clone());
    let options = StoreOptions::default();
    let store = Store::open_with(components, Path::new("/store"), options).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    let mut batch = MutationBatch::new();
    for at in 0..100 {
        let mut mutation = Mutation::new(row(at));
        batch
            .push(mutation.put("f", "q", "value").unwrap())
            .unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
    let options = ScanOptions {
        iterators: vec![IteratorSetting::new(50, "counted", "test.Counted")],
        ..ScanOptions::default()
    };
    let ranges: Vec<Range> = (0..100).map(|at| Range::row(row(at))).collect();
    let mut scan = table.scan(&ranges, &options).unwrap();
    let (mut out, mut found) = (Batch::new(), 0);
    while scan.next_batch(&mut out).unwrap() {
        found += out.len();
    }
    assert_eq!(found, 100);
    // Once to reject invalid options early, once for the tablet.
    assert_eq!(class.0.load(Ordering::Relaxed), 2);
}
