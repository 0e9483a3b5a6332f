//! Compactions that take along what is in memory: nothing is written twice, nothing is lost, and
//! nobody waits for them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, CompactOptions, Entry, ErrorKind,
    IteratorClass, IteratorEnvironment, IteratorOptions, IteratorSetting, Mutation, MutationBatch,
    Range, Result, Scanner, SortedKeyValueIterator, Source, Table, TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

pub(super) fn components() -> Components {
    Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    }
}

pub(super) fn open(components: &Components) -> Arc<Store> {
    let options = StoreOptions {
        background: false,
        memory_budget_bytes: 64 << 20,
        ..StoreOptions::default()
    };
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

/// A table of three tablets.
pub(super) fn table(store: &Store) -> Arc<dyn Table> {
    let options = TableOptions {
        splits: vec![b"3".to_vec(), b"6".to_vec()],
        ..TableOptions::default()
    };
    store.create_table("t", &options).unwrap();
    store.table("t").unwrap()
}

/// Writes `value` to each of the rows, or deletes it.
pub(super) fn write(table: &Arc<dyn Table>, rows: impl Iterator<Item = u64>, value: Option<&str>) {
    let mut batch = MutationBatch::new();
    for row in rows {
        let mut mutation = Mutation::new(format!("{}-{row:05}", row % 10));
        match value {
            Some(value) => mutation.put("f", "q", value).unwrap(),
            None => mutation.delete("f", "q").unwrap(),
        };
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

pub(super) fn all(table: &Arc<dyn Table>) -> Vec<Entry> {
    Scanner::new(table.clone()).entries().unwrap()
}

pub(super) fn files(table: &Arc<dyn Table>) -> Vec<u64> {
    let tablets = table.tablets().unwrap().into_iter();
    tablets.map(|tablet| tablet.files).collect()
}

#[test]
fn memory_is_written_once() {
    let components = components();
    let store = open(&components);
    let table = table(&store);
    write(&table, 0..100, Some("old"));
    table.flush(true).unwrap();
    write(&table, 0..2000, Some("new"));
    write(&table, (0..2000).step_by(7), None);
    let before = all(&table);
    let flushed = store.metrics().flush_bytes;
    table.compact(&CompactOptions::default()).unwrap();
    let metrics = store.metrics();
    assert_eq!(metrics.flush_bytes, flushed, "memory was flushed");
    assert!(metrics.memtable_bytes == 0, "memory is still held");
    assert_eq!(files(&table), [1, 1, 1]);
    assert_eq!(all(&table), before);
    // Markers went, and so did what they hide: the files hold what is seen.
    let tablets = table.tablets().unwrap();
    let entries: u64 = tablets.iter().map(|tablet| tablet.entries).sum();
    assert_eq!(entries, before.len() as u64);

    // What is in files is not read from the log again.
    drop((table, store));
    let store = open(&components);
    let table = store.table("t").unwrap();
    assert_eq!(all(&table), before);
    let tablets = table.tablets().unwrap();
    assert!(tablets.iter().all(|tablet| tablet.memory_entries == 0));
    assert!(store.check(&mut |_, _| true).unwrap().problems.is_empty());
}

#[test]
fn little_memory_is_flushed_first() {
    let store = open(&components());
    let table = table(&store);
    write(&table, 0..5000, Some("old"));
    table.compact(&CompactOptions::default()).unwrap();
    write(&table, 0..10, Some("new"));
    let before = all(&table);
    let flushed = store.metrics().flush_bytes;
    table.compact(&CompactOptions::default()).unwrap();
    assert!(store.metrics().flush_bytes > flushed);
    assert_eq!((files(&table), all(&table)), (vec![1, 1, 1], before));
}

#[test]
fn other_tablets_are_left_alone() {
    let store = open(&components());
    let table = table(&store);
    write(&table, 0..100, Some("one"));
    table.flush(true).unwrap();
    write(&table, 0..2000, Some("two"));
    let before = all(&table);
    let options = CompactOptions {
        start: Some(b"3".to_vec()),
        end: Some(b"4".to_vec()),
        ..CompactOptions::default()
    };
    table.compact(&options).unwrap();
    assert_eq!((files(&table), all(&table)), (vec![2, 1, 2], before));
}

/// Gives nothing, and does not end, until it is let go. One that returns asks its caller to come again;
/// the other one goes on reading, as a combiner does that makes one entry of all.
struct Endless {
    source: BoxedIterator,
    class: Arc<EndlessClass>,
    returns: bool,
    range: Range,
}

#[derive(Default)]
struct EndlessClass {
    started: AtomicUsize,
    let_go: AtomicUsize,
}

impl SortedKeyValueIterator for Endless {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.class.started.fetch_add(1, Ordering::SeqCst);
        self.range = range.clone();
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        while self.class.let_go.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
            if self.returns {
                return Ok(true);
            }
            self.source.seek(&self.range, &ColumnSelection::all())?;
            self.source.next_batch(&mut Batch::new(), limit)?;
            self.source.seek(&self.range, &ColumnSelection::all())?;
        }
        self.source.next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            class: self.class.clone(),
            returns: self.returns,
            range: self.range.clone(),
        })
    }
}

pub(super) const ENDLESS: &str = "test.Endless";
const READS_ON: &str = "readsOn";

struct Registered(Arc<EndlessClass>);

impl IteratorClass for Registered {
    fn names(&self) -> &[&str] {
        &[ENDLESS]
    }

    fn describe(&self) -> &'static str {
        "Ends when a test says so."
    }

    fn validate(&self, _: &IteratorOptions) -> Result<()> {
        Ok(())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(Endless {
            source,
            class: self.0.clone(),
            returns: !options.contains_key(READS_ON),
            range: Range::all(),
        }))
    }
}

/// A disk in memory and the class of which iterators do not end by themselves.
fn endless() -> (Arc<EndlessClass>, Components) {
    let class = Arc::new(EndlessClass::default());
    let mut components = components();
    components
        .iterators
        .register(Arc::new(Registered(class.clone())));
    (class, components)
}

/// A table with something in memory, and compactions of it that do not end by themselves.
pub(super) struct Rig {
    class: Arc<EndlessClass>,
    pub(super) store: Arc<Store>,
    pub(super) table: Arc<dyn Table>,
    options: CompactOptions,
}

impl Rig {
    fn new() -> Self {
        Self::of(|components| {
            let store = open(&components);
            let table = table(&store);
            write(&table, 0..100, Some("value"));
            (store, table)
        })
    }

    /// With a table that `make` fills.
    pub(super) fn of(make: impl FnOnce(Components) -> (Arc<Store>, Arc<dyn Table>)) -> Self {
        let (class, components) = endless();
        let (store, table) = make(components);
        let options = CompactOptions {
            iterators: vec![IteratorSetting::new(30, "endless", ENDLESS)],
            ..CompactOptions::default()
        };
        Self {
            class,
            store,
            table,
            options,
        }
    }

    pub(super) fn reads_on(mut self) -> Self {
        for iterator in &mut self.options.iterators {
            iterator.options.insert(READS_ON.into(), "true".into());
        }
        self
    }

    /// What compactions and other calls of this rig run in place of iterators that end.
    pub(super) fn options(&self) -> &CompactOptions {
        &self.options
    }

    /// Waits until an iterator of it runs.
    pub(super) fn wait_until_started(&self) {
        let begun = Instant::now();
        while self.class.started.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing started");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets all of its iterators end.
    pub(super) fn let_go(&self) {
        self.class.let_go.store(1, Ordering::SeqCst);
    }

    /// What a compaction says that runs while `meanwhile` happens, and has to end then.
    pub(super) fn compact(&self, meanwhile: impl FnOnce(&Self)) -> Result<()> {
        std::thread::scope(|scope| {
            let compaction = scope.spawn(|| self.table.compact(&self.options));
            self.wait_until_started();
            // Whatever happens, the test ends.
            let (done, is_done) = std::sync::mpsc::channel::<()>();
            let rescuer = scope.spawn(move || {
                let rescued = is_done.recv_timeout(Duration::from_secs(10)).is_err();
                self.class.let_go.store(1, Ordering::SeqCst);
                rescued
            });
            meanwhile(self);
            let _ = done.send(());
            assert!(!rescuer.join().unwrap(), "somebody waited for a compaction");
            compaction.join().unwrap()
        })
    }

    /// As [`compact`](Self::compact), of which all comes to a good end.
    fn compact_well(&self, meanwhile: impl FnOnce(&Self)) {
        self.compact(meanwhile).unwrap();
        assert_eq!(files(&self.table), [1, 1, 1]);
        assert_eq!(all(&self.table).len(), 100);
    }
}

#[test]
fn a_flush_does_not_wait() {
    for rig in [Rig::new(), Rig::new().reads_on()] {
        rig.compact_well(|rig| {
            assert_eq!(rig.store.metrics().flush_bytes, 0);
            rig.table.flush(true).unwrap();
            assert!(rig.store.metrics().flush_bytes > 0);
        });
        assert!(rig.store.metrics().memtable_bytes == 0);
    }
}

#[test]
fn what_changes_meanwhile_is_not_lost() {
    Rig::new().compact_well(|rig| {
        let table = &rig.table;
        table.add_splits(&[b"9".to_vec()]).unwrap();
        table.merge(None, None).unwrap();
        table.add_splits(&[b"3".to_vec(), b"6".to_vec()]).unwrap();
        assert_eq!(rig.store.metrics().flush_bytes, 0);
    });
}

/// What was split while the compaction waited for it is compacted as a whole, and so is what was merged.
#[test]
fn tablets_that_change_before_their_turn_are_compacted() {
    let merge: fn(&Rig) = |rig| rig.table.merge(None, None).unwrap();
    let split: fn(&Rig) = |rig| {
        let rows = ["1", "2", "4", "9"].map(|row| row.as_bytes().to_vec());
        rig.table.add_splits(&rows).unwrap();
    };
    for change in [split, merge] {
        let rig = Rig::new();
        rig.table.flush(true).unwrap();
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
        std::thread::scope(|scope| {
            let (sender, second) = std::sync::mpsc::channel();
            rig.compact(|_| {
                let waiting = scope.spawn(|| rig.table.compact(&options));
                // It waits for the tablets that the first one has; this cannot be observed.
                std::thread::sleep(Duration::from_millis(200));
                change(&rig);
                sender.send(waiting).unwrap();
            })
            .unwrap();
            second.recv().unwrap().join().unwrap().unwrap();
        });
        assert_eq!(all(&rig.table).len(), 0, "rows were left out");
    }
}

/// One that was made of several is compacted once, not once for each of these.
#[test]
fn a_merged_tablet_is_compacted_once() {
    let rig = Rig::new();
    rig.table.flush(true).unwrap();
    rig.compact(|rig| rig.table.merge(None, None).unwrap())
        .unwrap();
    assert_eq!(files(&rig.table), [1]);
    assert_eq!(all(&rig.table).len(), 100);
    assert_eq!(rig.store.metrics().compactions, 1);
}

/// Waits until all compactions ended.
pub(super) fn wait_for_the_end(rig: &Rig) {
    let begun = Instant::now();
    while rig.store.metrics().compactions_running > 0 {
        assert!(begun.elapsed() < Duration::from_secs(9), "it goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn it_can_be_cancelled() {
    for rig in [Rig::new(), Rig::new().reads_on()] {
        let error = rig
            .compact(|rig| {
                rig.table.cancel_compaction().unwrap();
                wait_for_the_end(rig);
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(all(&rig.table).len(), 100);
        rig.table.flush(true).unwrap();
        assert_eq!(all(&rig.table).len(), 100);
    }
}

#[test]
fn it_ends_with_its_table() {
    let rig = Rig::new();
    let error = rig
        .compact(|rig| {
            rig.store.delete_table("t").unwrap();
            // Its memory is no longer counted, so it must not hold it for long.
            wait_for_the_end(rig);
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
}

#[test]
fn what_was_cancelled_before_its_turn_does_nothing() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        let (sender, second) = std::sync::mpsc::channel();
        let outcome = rig.compact(|_| {
            let waiting = scope.spawn(|| rig.table.compact(&CompactOptions::default()));
            // It waits for the tablets that the first one has; this cannot be observed.
            std::thread::sleep(Duration::from_millis(200));
            rig.table.cancel_compaction().unwrap();
            sender.send(waiting.join().unwrap()).unwrap();
        });
        for outcome in [outcome, second.recv().unwrap()] {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Cancelled);
        }
    });
    assert_eq!(rig.store.metrics().compactions, 0);
    assert_eq!(files(&rig.table), [0, 0, 0]);
}

#[test]
fn a_table_may_go_while_it_is_flushed() {
    let Rig {
        class,
        store,
        table,
        ..
    } = Rig::new();
    let (name, value) = ("table.iterator.minc.endless", format!("30,{ENDLESS}"));
    table
        .modify_properties(&[(name.to_owned(), Some(value))])
        .unwrap();
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| table.flush(true));
        while class.started.load(Ordering::SeqCst) == 0 && !flush.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        store.delete_table("t").unwrap();
        class.let_go.store(1, Ordering::SeqCst);
        // Nothing was flushed, and nothing is said to have been.
        let error = flush.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
    });
    assert_eq!(store.metrics().memtable_bytes, 0);
    assert!(store.check(&mut |_, _| true).unwrap().problems.is_empty());
}

/// Whoever compacts or flushes by hand leaves nothing to the thread that flushes, and the log has to
/// shrink all the same.
#[test]
fn the_log_does_not_grow() {
    let components = components();
    let options = StoreOptions {
        memory_budget_bytes: 64 << 20,
        wal_segment_bytes: 10_000,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components.clone(), Path::new("/store"), options).unwrap();
    let table = table(&store);
    let segments = || components.vfs.list(Path::new("/store/wal")).unwrap().len();
    for round in 0..40 {
        write(&table, 0..1000, Some("value"));
        if round % 2 == 0 {
            table.compact(&CompactOptions::default()).unwrap();
        } else {
            table.flush(true).unwrap();
        }
    }
    let begun = Instant::now();
    while segments() > 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{}", segments());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Memory that compactions take along is not free, but flushing others again and again frees it no sooner.
#[test]
fn others_are_not_flushed_for_what_is_taken_along() {
    let (class, components) = endless();
    let options = StoreOptions {
        memory_budget_bytes: 64 << 20,
        ..StoreOptions::default()
    };
    let flush_bytes = options.flush_bytes();
    let store = Store::open_with(components, Path::new("/store"), options).unwrap();
    let compact = CompactOptions {
        iterators: vec![IteratorSetting::new(30, "endless", ENDLESS)],
        wait: false,
        ..CompactOptions::default()
    };
    let value = "x".repeat(1000);
    let make = |name: &str| {
        store.create_table(name, &TableOptions::default()).unwrap();
        store.table(name).unwrap()
    };
    for (number, name) in ["one", "other", "third"].into_iter().enumerate() {
        let table = make(name);
        let before = store.metrics().memtable_bytes;
        for part in 0.. {
            if store.metrics().memtable_bytes - before > flush_bytes * 7 / 10 {
                break;
            }
            write(&table, part * 100..part * 100 + 100, Some(&value));
        }
        table.compact(&compact).unwrap();
        let begun = Instant::now();
        while class.started.load(Ordering::SeqCst) <= number {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing started");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert_eq!(store.metrics().flushes, 0);
    assert!(store.metrics().memtable_bytes > 2 * flush_bytes);
    let table = make("small");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        write(&table, 0..1, Some("value"));
        std::thread::sleep(Duration::from_millis(1));
    }
    let flushes = store.metrics().flushes;
    assert_eq!(flushes, 0);
    class.let_go.store(1, Ordering::SeqCst);
}
