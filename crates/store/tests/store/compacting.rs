//! Compactions that take along what is in memory: nothing is written twice, nothing is lost, and
//! nobody waits for them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, CompactOptions, Entry, IteratorClass,
    IteratorEnvironment, IteratorOptions, IteratorSetting, Mutation, MutationBatch, Range, Result,
    Scanner, SortedKeyValueIterator, Source, Table, TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

fn components() -> Components {
    Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    }
}

fn open(components: &Components) -> Arc<Store> {
    let options = StoreOptions {
        background: false,
        memory_budget_bytes: 64 << 20,
        ..StoreOptions::default()
    };
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

/// A table of three tablets.
fn table(store: &Store) -> Arc<dyn Table> {
    let options = TableOptions {
        splits: vec![b"3".to_vec(), b"6".to_vec()],
        ..TableOptions::default()
    };
    store.create_table("t", &options).unwrap();
    store.table("t").unwrap()
}

/// Writes `value` to each of the rows, or deletes it.
fn write(table: &Arc<dyn Table>, rows: impl Iterator<Item = u64>, value: Option<&str>) {
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

fn all(table: &Arc<dyn Table>) -> Vec<Entry> {
    Scanner::new(table.clone()).entries().unwrap()
}

fn files(table: &Arc<dyn Table>) -> Vec<u64> {
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

/// Gives nothing, and does not end, until it is let go.
struct Endless {
    source: BoxedIterator,
    class: Arc<EndlessClass>,
}

#[derive(Default)]
struct EndlessClass {
    started: AtomicUsize,
    let_go: AtomicUsize,
}

impl SortedKeyValueIterator for Endless {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.class.started.fetch_add(1, Ordering::SeqCst);
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        if self.class.let_go.load(Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(1));
            return Ok(true);
        }
        self.source.next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            class: self.class.clone(),
        })
    }
}

struct Registered(Arc<EndlessClass>);

impl IteratorClass for Registered {
    fn names(&self) -> &[&str] {
        &["test.Endless"]
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
        _: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let class = self.0.clone();
        Ok(Box::new(Endless { source, class }))
    }
}

/// A store with something in memory and a compaction of it that does not end by itself.
fn with_endless_compaction(
    meanwhile: impl FnOnce(&Store, &Arc<dyn Table>, &CompactOptions),
) -> Arc<Store> {
    let class = Arc::new(EndlessClass::default());
    let mut components = components();
    components
        .iterators
        .register(Arc::new(Registered(class.clone())));
    let store = open(&components);
    let table = table(&store);
    write(&table, 0..100, Some("value"));
    let options = CompactOptions {
        iterators: vec![IteratorSetting::new(30, "endless", "test.Endless")],
        ..CompactOptions::default()
    };
    std::thread::scope(|scope| {
        let compaction = scope.spawn(|| table.compact(&options));
        let begun = Instant::now();
        while class.started.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing started");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Whatever happens, the test ends.
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let rescuer = scope.spawn({
            let class = class.clone();
            move || {
                let rescued = is_done.recv_timeout(Duration::from_secs(30)).is_err();
                class.let_go.store(1, Ordering::SeqCst);
                rescued
            }
        });
        meanwhile(&store, &table, &options);
        let _ = done.send(());
        assert!(!rescuer.join().unwrap(), "somebody waited for a compaction");
        compaction.join().unwrap().unwrap();
    });
    assert_eq!(files(&table), [1, 1, 1]);
    assert_eq!(all(&table).len(), 100);
    store
}

#[test]
fn a_flush_does_not_wait() {
    let store = with_endless_compaction(|store, table, _| {
        assert_eq!(store.metrics().flush_bytes, 0);
        table.flush(true).unwrap();
        assert!(store.metrics().flush_bytes > 0);
    });
    assert!(store.metrics().memtable_bytes == 0);
}

#[test]
fn what_changes_meanwhile_is_not_lost() {
    with_endless_compaction(|store, table, _| {
        table.add_splits(&[b"9".to_vec()]).unwrap();
        table.merge(None, None).unwrap();
        table.add_splits(&[b"3".to_vec(), b"6".to_vec()]).unwrap();
        assert_eq!(store.metrics().flush_bytes, 0);
    });
}

#[test]
fn it_can_be_cancelled() {
    let class = Arc::new(EndlessClass::default());
    let mut components = components();
    components
        .iterators
        .register(Arc::new(Registered(class.clone())));
    let store = open(&components);
    let table = table(&store);
    write(&table, 0..100, Some("value"));
    let options = CompactOptions {
        iterators: vec![IteratorSetting::new(30, "endless", "test.Endless")],
        ..CompactOptions::default()
    };
    std::thread::scope(|scope| {
        let compaction = scope.spawn(|| table.compact(&options));
        while class.started.load(Ordering::SeqCst) == 0 && !compaction.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        table.cancel_compaction().unwrap();
        let error = compaction.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ostrakon_cell::ErrorKind::Cancelled);
    });
    assert_eq!(all(&table).len(), 100);
    table.flush(true).unwrap();
    assert_eq!(all(&table).len(), 100);
}

#[test]
fn a_table_may_go_while_it_is_flushed() {
    let class = Arc::new(EndlessClass::default());
    let mut components = components();
    components
        .iterators
        .register(Arc::new(Registered(class.clone())));
    let store = open(&components);
    let table = table(&store);
    let endless = ("table.iterator.minc.endless", "30,test.Endless");
    table
        .modify_properties(&[(endless.0.to_owned(), Some(endless.1.to_owned()))])
        .unwrap();
    write(&table, 0..100, Some("value"));
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| table.flush(true));
        while class.started.load(Ordering::SeqCst) == 0 && !flush.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        store.delete_table("t").unwrap();
        class.let_go.store(1, Ordering::SeqCst);
        flush.join().unwrap().unwrap();
    });
    assert_eq!(store.metrics().memtable_bytes, 0);
    assert!(store.check(&mut |_, _| true).unwrap().problems.is_empty());
}
