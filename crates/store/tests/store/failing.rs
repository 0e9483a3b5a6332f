//! What fails in one table stays there: others go on, the store opens, and the way out is named.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ostrakon_cell::{
    Batch, BatchLimit, BatchWriter, BatchWriterConfig, BoxedIterator, ColumnSelection,
    ColumnUpdate, CompactOptions, Durability, Error, ErrorKind, IteratorClass, IteratorEnvironment,
    IteratorOptions, IteratorScope, IteratorSetting, PropertyOwner, Range, Result, Scanner,
    SortedKeyValueIterator, Source, Table, TableOptions,
};
use ostrakon_store::vfs::{MemoryVfs, Vfs};
use ostrakon_store::{Components, Store, StoreOptions};

const DIR: &str = "/store";
/// Less than the minute after which a store that closes stops all work, whatever it waits for. What is waited for takes
/// five to fifteen seconds.
const ALL_STOPPED: Duration = Duration::from_secs(55);
const SECRET_ROW: &str = "row-with-the-secret";

fn components(vfs: &Arc<dyn Vfs>) -> Components {
    Components {
        vfs: vfs.clone(),
        ..Components::default()
    }
}

fn small() -> StoreOptions {
    StoreOptions {
        memory_budget_bytes: 1 << 20,
        compaction_threads: 1,
        ..StoreOptions::default()
    }
}

fn summing() -> TableOptions {
    let sum = IteratorSetting::new(10, "sum", "SummingCombiner")
        .with("type", "STRING")
        .with("all", "true");
    TableOptions {
        without_default_iterators: true,
        properties: sum.to_properties(&IteratorScope::ALL),
        ..TableOptions::default()
    }
}

/// Writes `rows` rows with values of `bytes` digits.
fn fill(table: &Arc<dyn Table>, rows: std::ops::Range<u64>, bytes: usize) -> Result<()> {
    let config = BatchWriterConfig {
        batch_bytes: 16 << 10,
        timeout: Some(Duration::from_secs(60)),
        durability: Some(Durability::Log),
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    let value = vec![b'0'; bytes];
    for row in rows {
        writer.put(format!("{row:08}").as_bytes(), update(&value))?;
    }
    writer.close()
}

fn put(table: &Arc<dyn Table>, row: &str, value: &[u8]) -> Result<()> {
    let config = BatchWriterConfig {
        durability: Some(Durability::Log),
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    writer.put(row.as_bytes(), update(value))?;
    writer.close()
}

fn update(value: &[u8]) -> ColumnUpdate<'_> {
    ColumnUpdate {
        family: b"f",
        qualifier: b"q",
        value: Some(value),
        ..ColumnUpdate::default()
    }
}

fn rows(table: &Arc<dyn Table>, range: Range) -> usize {
    let scanner = Scanner::new(table.clone()).range(range);
    scanner.entries().unwrap().len()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A word in a table of sums: its flush failed for ever, memory filled up, writers of every table got its error.
#[test]
fn a_value_that_a_combiner_cannot_read_affects_no_other_table_and_the_store_reopens() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    store.create_table("sums", &summing()).unwrap();
    store
        .create_table("other", &TableOptions::default())
        .unwrap();
    let (sums, other) = (store.table("sums").unwrap(), store.table("other").unwrap());
    // Two versions: of one alone nothing is computed.
    put(&sums, SECRET_ROW, b"word").unwrap();
    put(&sums, SECRET_ROW, b"words").unwrap();
    // Many times the write memory, into the one that fails and into the one that does not.
    for round in 0..4 {
        fill(&sums, round * 2_000..(round + 1) * 2_000, 200).unwrap();
        fill(&other, round * 2_000..(round + 1) * 2_000, 200).unwrap();
    }
    // The words may have been written without the iterators by now, and flushes since then have succeeded.
    until("the failure is reported", || {
        for word in [&b"word"[..], b"words"] {
            put(&sums, SECRET_ROW, word).unwrap();
        }
        // That it fails is what is waited for.
        let _ = sums.flush(true);
        let problems = store.problems().unwrap();
        problems
            .iter()
            .any(|problem| problem.table.as_deref() == Some("sums"))
    });
    for problem in store.problems().unwrap() {
        assert_eq!(problem.table.as_deref(), Some("sums"), "{problem:?}");
        assert!(!problem.message.contains(SECRET_ROW), "{problem:?}");
        assert!(problem.way_out.contains("options of the"), "{problem:?}");
    }
    assert_eq!(rows(&other, Range::all()), 8_000);
    assert_eq!(rows(&sums, Range::row("00000007")), 1);
    store.close().unwrap();
    drop(store);

    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    let (sums, other) = (store.table("sums").unwrap(), store.table("other").unwrap());
    assert_eq!(rows(&other, Range::all()), 8_000);
    assert_eq!(rows(&sums, Range::row("00000007")), 1);
    fill(&other, 8_000..10_000, 200).unwrap();
    // The way out: the sum skips what is not a number.
    let lossy = IteratorScope::ALL.map(|scope| {
        let name = format!("table.iterator.{}.sum.opt.lossy", scope.as_str());
        (name, Some("true".to_owned()))
    });
    sums.modify_properties(&lossy).unwrap();
    sums.flush(true).unwrap();
    sums.compact(&CompactOptions::default()).unwrap();
    assert_eq!(rows(&sums, Range::all()), 8_001);
    assert_eq!(store.problems().unwrap(), []);
    store.close().unwrap();
}

/// More in the log than fits into memory, and a flush that fails: the store did not open.
#[test]
fn a_log_larger_than_memory_whose_flush_fails_is_replayed() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let large = StoreOptions {
        memory_budget_bytes: 64 << 20,
        background: false,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components(&vfs), DIR, large).unwrap();
    store.create_table("sums", &summing()).unwrap();
    store
        .create_table("other", &TableOptions::default())
        .unwrap();
    let (sums, other) = (store.table("sums").unwrap(), store.table("other").unwrap());
    put(&sums, SECRET_ROW, b"word").unwrap();
    put(&sums, SECRET_ROW, b"words").unwrap();
    fill(&sums, 0..20_000, 200).unwrap();
    fill(&other, 0..20_000, 200).unwrap();
    store.close().unwrap();
    drop(store);
    for round in 0..2 {
        let options = StoreOptions {
            background: round == 1,
            ..small()
        };
        let store = Store::open_with(components(&vfs), DIR, options).unwrap();
        let used = store.metrics().memtable_bytes;
        assert!(used <= small().memtable_bytes() * 2, "{used} bytes");
        let (sums, other) = (store.table("sums").unwrap(), store.table("other").unwrap());
        assert_eq!(rows(&other, Range::all()), 20_000);
        assert_eq!(rows(&sums, Range::row("00019999")), 1);
        let error = Scanner::new(sums).range(Range::row(SECRET_ROW)).entries();
        assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidArgument);
        store.close().unwrap();
    }
}

/// A class of an application, in all scopes: it hands on what it reads.
#[derive(Default)]
struct Plain {
    /// Batches that each iterator hands on before it may hang. One that has hung after some fails.
    passes: usize,
    /// Set while its iterators neither end nor read.
    hangs: Arc<AtomicBool>,
    /// Whether they look at the interrupt meanwhile.
    polls: bool,
}

impl IteratorClass for Plain {
    fn names(&self) -> &[&str] {
        &["org.example.Plain"]
    }

    fn describe(&self) -> &'static str {
        "Hands on what it reads."
    }

    fn validate(&self, _: &IteratorOptions) -> Result<()> {
        Ok(())
    }

    fn init(
        &self,
        source: BoxedIterator,
        _: &IteratorOptions,
        environment: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(PlainIterator {
            source,
            hangs: self.hangs.clone(),
            passes: self.passes,
            fails: false,
            interrupt: self.polls.then(|| environment.interrupt.clone()),
        }))
    }
}

struct PlainIterator {
    source: BoxedIterator,
    hangs: Arc<AtomicBool>,
    passes: usize,
    fails: bool,
    interrupt: Option<ostrakon_cell::Interrupt>,
}

impl SortedKeyValueIterator for PlainIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let passes = self.passes > 0;
        if let Some(left) = self.passes.checked_sub(1) {
            (self.passes, self.fails) = (left, true);
        }
        let hangs = !passes && self.hangs.load(Ordering::SeqCst);
        while !passes && self.hangs.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
            if let Some(interrupt) = &self.interrupt {
                interrupt.check()?;
            }
        }
        if hangs && self.fails {
            return Err(Error::new(ErrorKind::Internal, "hung for too long"));
        }
        self.source.next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            hangs: self.hangs.clone(),
            passes: self.passes,
            fails: self.fails,
            interrupt: self.interrupt.clone(),
        })
    }
}

fn with_plain(vfs: &Arc<dyn Vfs>) -> (Arc<AtomicBool>, Components) {
    hanging(vfs, true)
}

fn hanging(vfs: &Arc<dyn Vfs>, polls: bool) -> (Arc<AtomicBool>, Components) {
    hanging_after(vfs, polls, 0)
}

fn hanging_after(vfs: &Arc<dyn Vfs>, polls: bool, passes: usize) -> (Arc<AtomicBool>, Components) {
    let class = Plain {
        polls,
        passes,
        ..Plain::default()
    };
    let hangs = class.hangs.clone();
    let mut components = components(vfs);
    components.iterators.register(Arc::new(class));
    (hangs, components)
}

fn plain_options() -> TableOptions {
    let setting = IteratorSetting::new(30, "plain", "org.example.Plain");
    TableOptions {
        properties: setting.to_properties(&IteratorScope::ALL),
        ..TableOptions::default()
    }
}

/// An application's table kept the store from opening anywhere else.
#[test]
fn a_class_that_is_unknown_here_degrades_its_table_alone() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = Store::open_with(with_plain(&vfs).1, DIR, small()).unwrap();
    store.create_table("app", &plain_options()).unwrap();
    store
        .create_table("other", &TableOptions::default())
        .unwrap();
    fill(&store.table("app").unwrap(), 0..100, 10).unwrap();
    store.close().unwrap();
    drop(store);

    let read_only = StoreOptions {
        read_only: true,
        ..small()
    };
    let store = Store::open_with(components(&vfs), DIR, read_only).unwrap();
    assert_eq!(rows(&store.table("other").unwrap(), Range::all()), 0);
    drop(store);

    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    let (app, other) = (store.table("app").unwrap(), store.table("other").unwrap());
    fill(&other, 0..8_000, 200).unwrap();
    assert_eq!(rows(&other, Range::all()), 8_000);
    let error = Scanner::new(app.clone()).entries().unwrap_err();
    assert!(error.to_string().contains("org.example.Plain"), "{error}");
    let problems = store.problems().unwrap();
    assert!(!problems.is_empty());
    for problem in &problems {
        assert_eq!(problem.table.as_deref(), Some("app"), "{problem:?}");
    }
    assert!(
        problems
            .iter()
            .any(|problem| problem.message.contains("org.example.Plain")),
        "{problems:?}"
    );
    // It takes writes, many times the write memory: they reach files without the class.
    fill(&app, 100..4_000, 200).unwrap();
    // One of three at a time: what was wrong before may stay wrong.
    for scope in IteratorScope::ALL {
        let unknown = format!("table.iterator.{}.other", scope.as_str());
        let error = app
            .modify_properties(&[(unknown, Some("40,org.example.Other".into()))])
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ClassNotFound, "{error}");
        let name = format!("table.iterator.{}.plain", scope.as_str());
        app.modify_properties(&[(name, None)]).unwrap();
    }
    assert_eq!(rows(&app, Range::all()), 4_000);
    app.flush(true).unwrap();
    app.compact(&CompactOptions::default()).unwrap();
    assert_eq!(store.problems().unwrap(), []);
    assert_eq!(rows(&app, Range::all()), 4_000);
    store.close().unwrap();
}

/// A damaged file: only reads of its rows fail, and compactions of others go on with one thread.
#[test]
fn a_missing_file_affects_only_its_tablet() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    let options = TableOptions {
        splits: vec![b"00004999".to_vec()],
        ..TableOptions::default()
    };
    // `a` comes before `b` in every pass.
    for name in ["a", "b"] {
        store.create_table(name, &options).unwrap();
    }
    let a = store.table("a").unwrap();
    fill(&a, 5_000..5_001, 10).unwrap();
    a.flush(true).unwrap();
    let files = |vfs: &Arc<dyn Vfs>| {
        let listed = vfs.list(&Path::new(DIR).join("files")).unwrap();
        listed
            .into_iter()
            .map(|entry| entry.name)
            .collect::<Vec<_>>()
    };
    let damaged = files(&vfs).pop().unwrap();
    fill(&a, 0..100, 10).unwrap();
    a.flush(true).unwrap();
    store.close().unwrap();
    drop(store);
    vfs.remove(&Path::new(DIR).join("files").join(&damaged))
        .unwrap();

    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    let (a, b) = (store.table("a").unwrap(), store.table("b").unwrap());
    assert_eq!(rows(&a, Range::row("00000007")), 1);
    Scanner::new(a.clone())
        .range(Range::row("00005000"))
        .entries()
        .unwrap_err();
    // Enough small files that a compaction of the damaged tablet is worth it.
    for round in 0..4 {
        fill(&a, 6_000 + round..6_001 + round, 10).unwrap();
        a.flush(true).unwrap();
    }
    until("the tablet is reported", || {
        let problems = store.problems().unwrap();
        problems.iter().any(|problem| {
            problem.activity == ostrakon_cell::Activity::Compaction
                && problem.table.as_deref() == Some("a")
                && problem.tablet == Some((Some(b"00004999".to_vec()), None))
        })
    });
    let before = store.metrics().compactions;
    for round in 0..8 {
        fill(&b, round..1 + round, 10).unwrap();
        b.flush(true).unwrap();
    }
    until("the other table is compacted", || {
        store.metrics().compactions > before && b.tablets().unwrap()[0].files < 4
    });
    store.close().unwrap();
}

/// A table `app` of which the flush hangs until the switch is turned, with something unlogged in memory.
fn hanging_flush(polls: bool) -> (Arc<dyn Vfs>, Arc<AtomicBool>, Arc<Store>) {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let (hangs, components) = hanging(&vfs, polls);
    let store = Store::open_with(components, DIR, small()).unwrap();
    store.create_table("app", &plain_options()).unwrap();
    hangs.store(true, Ordering::SeqCst);
    (vfs, hangs, store)
}

fn put_unlogged(table: &Arc<dyn Table>) {
    let config = BatchWriterConfig {
        durability: Some(Durability::None),
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    writer.put(b"unlogged", update(b"v")).unwrap();
    writer.close().unwrap();
}

/// A second call ended the work of the first one, and what was in no log was lost.
#[test]
fn a_second_call_of_close_waits_for_the_first() {
    let (vfs, hangs, store) = hanging_flush(true);
    put_unlogged(&store.table("app").unwrap());
    let close = || {
        let store = store.clone();
        std::thread::spawn(move || store.close())
    };
    let first = close();
    until("the flush runs", || store.metrics().flushes_running == 1);
    let second = close();
    std::thread::sleep(Duration::from_millis(100));
    assert!(!second.is_finished());
    hangs.store(false, Ordering::SeqCst);
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
    drop(store);
    let store = Store::open_with(with_plain(&vfs).1, DIR, small()).unwrap();
    assert_eq!(rows(&store.table("app").unwrap(), Range::all()), 1);
}

/// An iterator that polls its interrupt: closing stops it, and what is in no log is written without it.
#[test]
fn closing_stops_a_flush_whose_iterator_does_not_end() {
    let (vfs, hangs, store) = hanging_flush(true);
    put_unlogged(&store.table("app").unwrap());
    let begun = Instant::now();
    store.close().unwrap();
    assert!(begun.elapsed() < ALL_STOPPED, "{:?}", begun.elapsed());
    drop(store);
    hangs.store(false, Ordering::SeqCst);
    let store = Store::open_with(with_plain(&vfs).1, DIR, small()).unwrap();
    assert_eq!(rows(&store.table("app").unwrap(), Range::all()), 1);
}

/// One that never polls: its thread is left behind and changes nothing any more.
#[test]
fn closing_leaves_an_iterator_behind_that_never_looks() {
    let (vfs, hangs, store) = hanging_flush(false);
    let app = store.table("app").unwrap();
    put(&app, "logged", b"v").unwrap();
    let flush = std::thread::spawn(move || app.flush(true));
    until("the flush runs", || store.metrics().flushes_running == 1);
    put_unlogged(&store.table("app").unwrap());
    let begun = Instant::now();
    let error = store.close().unwrap_err();
    assert!(begun.elapsed() < ALL_STOPPED, "{:?}", begun.elapsed());
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("app") && text.contains("org.example.Plain"),
        "{text}"
    );
    drop(store);
    let names = |dir: &str| {
        let entries = vfs.list(&Path::new(DIR).join(dir)).unwrap();
        entries
            .into_iter()
            .map(|entry| entry.name)
            .collect::<Vec<_>>()
    };
    let store = Store::open_with(with_plain(&vfs).1, DIR, small()).unwrap();
    let app = store.table("app").unwrap();
    // Their files may have the numbers that the flush was given.
    for row in ["logged", "later", "latest"] {
        put(&app, row, b"v").unwrap();
        app.flush(true).unwrap();
    }
    let (files, logs) = (names("files"), names("wal"));
    // It ends at last, and finds the store closed.
    hangs.store(false, Ordering::SeqCst);
    flush.join().unwrap().unwrap_err();
    assert_eq!(names("files"), files);
    // The store itself may have removed a log that it no longer needs, but not the last one.
    let left = names("wal");
    assert!(left.iter().all(|log| logs.contains(log)), "{left:?}");
    assert_eq!(left.last(), logs.last());
    assert_eq!(rows(&app, Range::all()), 3);
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
    store.close().unwrap();
}

/// A call that closing does not wait for has begun a file. The next opening gives the number of that file again.
#[test]
fn a_flush_that_outlives_its_store_removes_no_file_of_a_later_one() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let (hangs, components) = hanging_after(&vfs, false, 1);
    let quiet = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, DIR, quiet.clone()).unwrap();
    store.create_table("app", &plain_options()).unwrap();
    let app = store.table("app").unwrap();
    fill(&app, 0..30_000, 100).unwrap();
    hangs.store(true, Ordering::SeqCst);
    let flush = std::thread::spawn(move || app.flush(true));
    let folder = Path::new(DIR).join("files");
    let files = || -> Vec<_> {
        let listed = vfs.list(&folder).unwrap();
        listed.into_iter().map(|file| file.name).collect()
    };
    until("the flush has begun a file", || !files().is_empty());
    store.close().unwrap();
    drop(store);
    // As a power failure would.
    for file in files() {
        vfs.remove(&folder.join(file)).unwrap();
    }
    let store = Store::open_with(with_plain(&vfs).1, DIR, quiet).unwrap();
    let app = store.table("app").unwrap();
    app.flush(true).unwrap();
    let before = files();
    assert!(!before.is_empty());
    hangs.store(false, Ordering::SeqCst);
    flush.join().unwrap().unwrap_err();
    assert_eq!(files(), before);
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{report:?}");
    assert_eq!(rows(&app, Range::all()), 30_000);
    store.close().unwrap();
}

/// It waited for the flush.
#[test]
fn a_flush_that_is_not_waited_for_leaves_its_caller() {
    let (_vfs, hangs, store) = hanging_flush(true);
    let app = store.table("app").unwrap();
    put(&app, "row", b"v").unwrap();
    let flush = std::thread::spawn(move || app.flush(false));
    until("the flush runs", || store.metrics().flushes_running == 1);
    until("the call has returned", || flush.is_finished());
    hangs.store(false, Ordering::SeqCst);
    flush.join().unwrap().unwrap();
    store.close().unwrap();
}

/// Of the ways out that the guide names, cancelling and removing the iterator did not end such a flush.
#[test]
fn a_flush_that_hangs_ends_when_it_is_cancelled_or_its_iterator_or_table_goes() {
    for end in ["cancel", "property", "level", "delete", "offline"] {
        let (_vfs, hangs, store) = hanging_flush(true);
        let name = "table.iterator.minc.plain";
        if end == "level" {
            let app = store.table("app").unwrap();
            app.modify_properties(&[(name.to_owned(), None)]).unwrap();
            let inherited = (name.to_owned(), Some("30,org.example.Plain".to_owned()));
            store
                .change_properties(PropertyOwner::System, None, &[inherited])
                .unwrap();
        }
        let app = store.table("app").unwrap();
        put(&app, "row", b"v").unwrap();
        let flushed = app.clone();
        let flush = std::thread::spawn(move || flushed.flush(true));
        until("the flush runs", || store.metrics().flushes_running == 1);
        let begun = Instant::now();
        let removed = [(name.to_owned(), None)];
        match end {
            "cancel" => app.cancel_compaction().unwrap(),
            "property" => app.modify_properties(&removed).unwrap(),
            "level" => store
                .change_properties(PropertyOwner::System, None, &removed)
                .map(drop)
                .unwrap(),
            "delete" => store.delete_table("app").unwrap(),
            _ => store.set_online("app", false).unwrap(),
        }
        let outcome = flush.join().unwrap();
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(30), "{end}: {took:?}");
        // The iterator would still hang.
        match end {
            "property" | "level" => {
                outcome.unwrap();
                assert_eq!(app.tablets().unwrap()[0].files, 1, "{end}");
            }
            "cancel" => {
                assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
                put(&app, "row 2", b"v").unwrap();
            }
            "delete" => assert!(outcome.unwrap_err().kind().is_not_found()),
            _ => assert!(outcome.is_err(), "{end}"),
        }
        hangs.store(false, Ordering::SeqCst);
        if end != "delete" {
            store.set_online("app", true).unwrap();
            app.flush(true).unwrap();
            let expected = if end == "cancel" { 2 } else { 1 };
            assert_eq!(rows(&app, Range::all()), expected, "{end}");
        }
        store.close().unwrap();
    }
}

/// Its memory can be written without the iterator then, until that is tried again.
#[test]
fn a_table_whose_stalled_flush_is_cancelled_accepts_writes_again() {
    let (_vfs, hangs, store) = hanging_flush(true);
    let app = store.table("app").unwrap();
    put(&app, "row", b"v").unwrap();
    app.flush(false).unwrap();
    until("it is seen to hang for a while", || {
        let problems = store.problems().unwrap();
        problems.iter().any(|problem| problem.times > 6)
    });
    let error = fill(&app, 0..8_000, 200).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    app.cancel_compaction().unwrap();
    until("it has ended", || store.metrics().flushes_running == 0);
    fill(&app, 0..8_000, 200).unwrap();
    // Only now, since the iterator also hangs in scans.
    hangs.store(false, Ordering::SeqCst);
    assert_eq!(rows(&app, Range::all()), 8_001);
    store.close().unwrap();
}

/// A tablet does not collect files without end: the table refuses its own writes, and no other's.
#[test]
fn a_table_that_cannot_compact_refuses_its_own_writes() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    let sum = IteratorSetting::new(10, "sum", "SummingCombiner")
        .with("type", "STRING")
        .with("all", "true");
    let mut options = TableOptions {
        without_default_iterators: true,
        properties: sum.to_properties(&[IteratorScope::Majc]),
        ..TableOptions::default()
    };
    options
        .properties
        .insert("table.file.max".to_owned(), "3".to_owned());
    store.create_table("sums", &options).unwrap();
    store
        .create_table("other", &TableOptions::default())
        .unwrap();
    let (sums, other) = (store.table("sums").unwrap(), store.table("other").unwrap());
    let mut files = 0;
    let error = loop {
        match put(&sums, SECRET_ROW, b"word") {
            Ok(()) => sums.flush(true).unwrap(),
            Err(error) => break error,
        }
        files += 1;
        assert!(files < 1_000, "it accepts any number of files");
        if files >= 12 {
            // The number of files is seen when a compaction is tried.
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    assert!(files >= 12, "refused with {files} files");
    assert_eq!(error.kind(), ErrorKind::TooManyFiles, "{error}");
    let text = format!("{error:?}");
    assert!(
        text.contains("sums") && !text.contains(SECRET_ROW),
        "{text}"
    );
    let problems = store.problems().unwrap();
    assert!(
        problems.iter().any(|problem| problem.refuses_writes
            && problem.table.as_deref() == Some("sums")
            && problem
                .way_out
                .contains("options of the compaction iterators")),
        "{problems:?}"
    );
    assert_eq!(rows(&sums, Range::all()), files, "what is there is read");
    for round in 0..20 {
        put(&other, &format!("row {round}"), b"v").unwrap();
        other.flush(true).unwrap();
    }
    // The way out.
    let removed: Vec<_> = sum
        .to_properties(&[IteratorScope::Majc])
        .into_keys()
        .map(|name| (name, None))
        .collect();
    sums.modify_properties(&removed).unwrap();
    until("it accepts writes", || put(&sums, "row", b"v").is_ok());
    store.close().unwrap();
}

#[test]
fn compactions_end_when_they_are_cancelled_or_their_table_goes() {
    for polls in [true, false] {
        for end in ["cancel", "delete", "offline", "close"] {
            let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
            let (hangs, components) = hanging(&vfs, polls);
            let store = Store::open_with(components, DIR, small()).unwrap();
            store.create_table("app", &TableOptions::default()).unwrap();
            let app = store.table("app").unwrap();
            put(&app, "row", b"v").unwrap();
            app.flush(true).unwrap();
            hangs.store(true, Ordering::SeqCst);
            let options = CompactOptions {
                iterators: vec![IteratorSetting::new(30, "plain", "org.example.Plain")],
                ..CompactOptions::default()
            };
            let compacted = app.clone();
            let compaction = std::thread::spawn(move || compacted.compact(&options));
            until("the compaction runs", || {
                store.metrics().compactions_running == 1
            });
            let begun = Instant::now();
            match end {
                "cancel" => app.cancel_compaction().unwrap(),
                "delete" => store.delete_table("app").unwrap(),
                "offline" => store.set_online("app", false).unwrap(),
                _ => drop(store.close()),
            }
            let error = compaction.join().unwrap().unwrap_err();
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "{end}, polls: {polls}, {:?}",
                begun.elapsed()
            );
            if !polls && end == "cancel" {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert!(error.to_string().contains("org.example.Plain"), "{error}");
            }
            hangs.store(false, Ordering::SeqCst);
        }
    }
}

/// Iterators of one table that do not end took the only flush thread and the only compaction thread.
#[test]
fn iterators_that_do_not_end_keep_no_other_table_waiting() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let (hangs, components) = hanging(&vfs, true);
    let store = Store::open_with(components, DIR, small()).unwrap();
    store.create_table("app", &plain_options()).unwrap();
    store
        .create_table("other", &TableOptions::default())
        .unwrap();
    let (app, other) = (store.table("app").unwrap(), store.table("other").unwrap());
    hangs.store(true, Ordering::SeqCst);
    put(&app, "row", b"v").unwrap();
    app.flush(false).unwrap();
    until("the flush runs", || store.metrics().flushes_running == 1);
    fill(&other, 0..8_000, 200).unwrap();
    for row in 0..4 {
        fill(&other, row..row + 1, 10).unwrap();
        other.flush(true).unwrap();
    }
    until("the other table is compacted", || {
        store.metrics().compactions > 0
    });
    // Its own writers are refused, with the reason, when its share is full.
    let error = fill(&app, 0..8_000, 200).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("table: app"), "{error}");
    let problems = store.problems().unwrap();
    assert!(
        problems.iter().all(|problem| problem.refuses_writes),
        "{problems:?}"
    );
    assert!(
        problems[0].message.contains("org.example.Plain"),
        "{problems:?}"
    );
    fill(&other, 8_000..16_000, 200).unwrap();
    assert_eq!(rows(&other, Range::all()), 16_000);
    hangs.store(false, Ordering::SeqCst);
    until("it recovers", || store.problems().unwrap().is_empty());
    fill(&app, 0..8_000, 200).unwrap();
    assert_eq!(rows(&app, Range::all()), 8_001);
    store.close().unwrap();
}

#[test]
fn a_damaged_file_is_put_back_from_a_checkpoint() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    for name in ["t", "u"] {
        store.create_table(name, &TableOptions::default()).unwrap();
        let table = store.table(name).unwrap();
        fill(&table, 0..1_000, 100).unwrap();
        table.flush(true).unwrap();
    }
    store.checkpoint(Path::new("/copy")).unwrap();
    let files = Path::new(DIR).join("files");
    let mut names: Vec<_> = vfs.list(&files).unwrap();
    names.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(names.len(), 2, "{names:?}");
    let lost = files.join(&names[0].name);
    let good = Path::new("/copy/files").join(&names[0].name);
    let bytes = vfs.read_to_vec(&good, u64::MAX).unwrap();
    // A link would be damaged with it.
    vfs.remove(&lost).unwrap();
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    vfs.replace(&lost, &damaged).unwrap();
    store.close().unwrap();
    drop(store);
    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    let (t, u) = (store.table("t").unwrap(), store.table("u").unwrap());
    Scanner::new(t.clone()).entries().unwrap_err();
    let problems = store.problems().unwrap();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].activity, ostrakon_cell::Activity::Read);
    assert!(
        problems[0].way_out.contains("restore the file"),
        "{problems:?}"
    );
    assert_eq!(rows(&u, Range::all()), 1_000);

    // The damaged one itself, another table's under its name, and one that no table reads.
    let damaged_copy = Path::new("/elsewhere").join(&names[0].name);
    vfs.create_dir_all(Path::new("/elsewhere")).unwrap();
    vfs.replace(&damaged_copy, &damaged).unwrap();
    let error = store.restore_file(&damaged_copy).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let unknown = Path::new("/elsewhere/0000000000099999.sorted");
    vfs.replace(unknown, &bytes).unwrap();
    let error = store.restore_file(unknown).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    fill(&u, 1_000..1_010, 100).unwrap();
    u.flush(true).unwrap();
    let other = vfs
        .read_to_vec(&files.join(&names[1].name), u64::MAX)
        .unwrap();
    vfs.replace(&damaged_copy, &other[..other.len() - 1])
        .unwrap();
    store.restore_file(&damaged_copy).unwrap_err();
    Scanner::new(t.clone()).entries().unwrap_err();

    let restored = store.restore_file(&good).unwrap();
    assert_eq!(restored.tables, ["t"]);
    assert_eq!(rows(&t, Range::all()), 1_000);
    assert_eq!(store.problems().unwrap(), []);
    assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    store.close().unwrap();
}

/// A check of a terabyte stopped the deletion of files and of the log until it ended.
#[test]
fn a_check_does_not_stop_housekeeping() {
    let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
    let store = Store::open_with(components(&vfs), DIR, small()).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    fill(&table, 0..2_000, 200).unwrap();
    table.flush(true).unwrap();
    let segments = || vfs.list(&Path::new(DIR).join("wal")).unwrap();
    let mut looked = false;
    let report = store
        .check(&mut |_, _| {
            if !looked {
                looked = true;
                fill(&table, 2_000..6_000, 200).unwrap();
                table.flush(true).unwrap();
                let newest = segments().into_iter().map(|entry| entry.name).max();
                until("old segments are deleted", || {
                    segments()
                        .iter()
                        .all(|entry| Some(&entry.name) >= newest.as_ref())
                });
            }
            true
        })
        .unwrap();
    assert!(looked);
    assert_eq!(report.problems, []);
    store.close().unwrap();
}
