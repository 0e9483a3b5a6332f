//! The errors that a writer gets when the store, or external code in it, fails.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostrakon_cell::{
    Batch, BatchLimit, BatchWriter, BatchWriterConfig, BoxedIterator, ColumnSelection,
    ColumnUpdate, CompactOptions, Constraint, ConstraintEnvironment, ErrorKind, IteratorClass,
    IteratorEnvironment, IteratorOptions, IteratorScope, IteratorSetting, Key, Mutation,
    MutationBatch, MutationRef, PendingWrite, Range, Result, Scanner, SortedKeyValueIterator,
    Source, Table, TableOptions,
};
use ostrakon_store::clock::{Clock, SystemClock};
use ostrakon_store::constraint::stock_constraints;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

fn mutation(row: &str) -> Mutation {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "q", "v").unwrap();
    mutation
}

fn batch(row: &str) -> MutationBatch {
    let mut batch = MutationBatch::new();
    batch.push(&mutation(row)).unwrap();
    batch
}

fn rows(table: &Arc<dyn Table>) -> usize {
    Scanner::new(table.clone()).entries().unwrap().len()
}

/// Panics at a row.
struct Panicking;

impl Constraint for Panicking {
    fn names(&self) -> &[&str] {
        &["org.example.Panicking"]
    }
    fn describe(&self) -> &str {
        "panics at the row `panic`"
    }
    fn describe_violation(&self, _: i16) -> Option<&str> {
        None
    }
    fn check(&self, _: &ConstraintEnvironment, mutation: &MutationRef<'_>, _: &mut Vec<i16>) {
        assert_ne!(mutation.row(), b"panic", "told to panic");
    }
}

fn store_with_constraint() -> Arc<Store> {
    let mut constraints = stock_constraints();
    constraints.register(Arc::new(Panicking));
    let components = Components {
        vfs: MemoryVfs::shared(),
        constraints,
        ..Components::default()
    };
    let store = Store::open_with(components, Path::new("/store"), StoreOptions::default());
    let store = store.unwrap();
    let mut options = TableOptions::default();
    let property = ("table.constraint.2".into(), "org.example.Panicking".into());
    options.properties.extend([property]);
    store.create_table("t", &options).unwrap();
    store
        .create_table("plain", &TableOptions::default())
        .unwrap();
    store
}

#[test]
fn a_constraint_that_panics_is_an_error_of_the_write() {
    let store = store_with_constraint();
    let table = store.table("t").unwrap();
    let config = BatchWriterConfig {
        max_latency: None,
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    writer.add(&mutation("panic")).unwrap();
    let error = writer.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("constraint"), "{error}");
    // Until it is taken nothing is taken in.
    writer.add(&mutation("a")).unwrap_err();
    writer.put(b"a", ColumnUpdate::default()).unwrap_err();
    writer.flush().unwrap_err();
    assert_eq!(writer.take_failure().unwrap().kind(), ErrorKind::Internal);
    assert!(writer.take_failure().is_none());
    writer.add(&mutation("b")).unwrap();
    writer.close().unwrap();
    assert_eq!(rows(&table), 1);
}

#[test]
fn the_timer_goes_on_and_the_writer_that_failed_in_it_says_so() {
    let store = store_with_constraint();
    let config = BatchWriterConfig {
        max_latency: Some(Duration::from_millis(8)),
        ..BatchWriterConfig::default()
    };
    let mut failing = BatchWriter::new(store.table("t").unwrap(), config.clone());
    let plain = store.table("plain").unwrap();
    let mut other = BatchWriter::new(plain.clone(), config);
    failing.add(&mutation("panic")).unwrap();
    let clock = SystemClock::shared();
    let mut told = None;
    for _ in 0..1_000 {
        clock.sleep(Duration::from_millis(5));
        told = failing.add(&mutation("after")).err();
        if told.is_some() {
            break;
        }
    }
    assert_eq!(told.unwrap().kind(), ErrorKind::Internal);
    other.add(&mutation("a")).unwrap();
    for _ in 0..1_000 {
        if rows(&plain) == 1 {
            break;
        }
        clock.sleep(Duration::from_millis(5));
    }
    assert_eq!(rows(&plain), 1);
    failing.close().unwrap_err();
    other.close().unwrap();
}

/// Panics when the log thread looks at it, once told to.
#[derive(Debug)]
struct PanickingClock {
    clock: SystemClock,
    panics: AtomicBool,
}

impl Clock for PanickingClock {
    fn now_millis(&self) -> i64 {
        self.clock.now_millis()
    }
    fn monotonic_nanos(&self) -> u64 {
        let is_log = std::thread::current().name() == Some("log");
        assert!(
            !(is_log && self.panics.load(Ordering::SeqCst)),
            "told to panic"
        );
        self.clock.monotonic_nanos()
    }
    fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration);
    }
}

#[test]
fn a_panic_in_the_log_thread_is_an_error_for_every_writer() {
    let clock = Arc::new(PanickingClock {
        clock: SystemClock::new(),
        panics: AtomicBool::new(false),
    });
    let components = Components {
        vfs: MemoryVfs::shared(),
        clock: clock.clone(),
        ..Components::default()
    };
    let store = Store::open_with(components, Path::new("/store"), StoreOptions::default());
    let store = store.unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    table.submit(batch("before"), None).unwrap().wait().unwrap();
    clock.panics.store(true, Ordering::SeqCst);
    let (told, outcomes) = std::sync::mpsc::channel();
    for writer in 0..4 {
        let (table, told) = (table.clone(), told.clone());
        // Not joined: if it never ended, this test would not end either.
        std::thread::spawn(move || {
            for round in 0..3 {
                let pending = table.submit(batch(&format!("{writer}.{round}")), None);
                let outcome = pending.and_then(PendingWrite::wait);
                told.send(outcome.map(|_| ())).unwrap();
            }
        });
    }
    for _ in 0..12 {
        let outcome = outcomes.recv_timeout(Duration::from_secs(60));
        outcome.expect("a writer still waits").unwrap_err();
    }
    assert_eq!(rows(&table), 1);
    assert_eq!(store.metrics().memtable_bytes, table_bytes(&table));
    clock.panics.store(false, Ordering::SeqCst);
    assert_eq!(store.close().unwrap_err().kind(), ErrorKind::Internal);
}

fn table_bytes(table: &Arc<dyn Table>) -> u64 {
    let tablets = table.tablets().unwrap();
    tablets.iter().map(|tablet| tablet.memory_bytes).sum()
}

#[test]
fn a_table_deleted_under_its_writers_leaves_no_memory_behind() {
    let store = Store::in_memory().unwrap();
    for _ in 0..40 {
        store.create_table("t", &TableOptions::default()).unwrap();
        let table = store.table("t").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..3 {
                let table = table.clone();
                scope.spawn(move || {
                    let mut round = 0;
                    while let Ok(pending) = table.submit(batch(&format!("{writer}.{round}")), None)
                    {
                        round += 1;
                        let outcome = pending.wait();
                        if let Err(error) = outcome {
                            assert_eq!(error.kind(), ErrorKind::TableNotFound, "{error}");
                        }
                    }
                });
            }
            SystemClock::shared().sleep(Duration::from_millis(2));
            store.delete_table("t").unwrap();
        });
        assert_eq!(store.metrics().memtable_bytes, 0);
    }
}

#[test]
fn malformed_labels_are_refused_however_they_come() {
    let store = Store::in_memory().unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    let labelled = |rows: &[(&str, &str)]| {
        let mut batch = MutationBatch::new();
        for (row, label) in rows {
            let update = ColumnUpdate {
                visibility: label.as_bytes(),
                value: Some(b"v"),
                ..ColumnUpdate::default()
            };
            batch.put(row.as_bytes(), update).unwrap();
        }
        batch
    };
    let bad = labelled(&[
        ("a", "x"),
        ("b", "x"),
        ("c", ""),
        ("secret", "x&"),
        ("d", "y"),
    ]);
    for batch in [
        bad.clone(),
        MutationBatch::from_encoded(bad.encoded().to_vec()).unwrap(),
    ] {
        let error = table.submit(batch, None).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        for part in ["row: secret", "table: t"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
    assert_eq!(store.metrics().entries_written, 0);
    let good = labelled(&[("a", "x"), ("b", "x|y"), ("c", "")]);
    table.submit(good.clone(), None).unwrap().wait().unwrap();
    table.submit(good, None).unwrap().wait().unwrap();

    let mut entries = Batch::new();
    for (row, label) in [("m", "x"), ("n", "x)")] {
        let key = Key {
            visibility: label.into(),
            ..Key::new(row, "", "")
        };
        entries.push(key.as_ref(), b"v").unwrap();
    }
    let mut bulk = table.bulk_writer().unwrap();
    let error = bulk.append(&entries).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    drop(bulk);
    assert_eq!(rows(&table), 1);
}

/// Gives some entries a malformed label when they are flushed, as older versions imported them.
struct Spoiling;

struct SpoilingIterator(BoxedIterator);

impl IteratorClass for Spoiling {
    fn names(&self) -> &[&str] {
        &["org.example.Spoiling"]
    }

    fn describe(&self) -> &'static str {
        "Makes the labels of some rows malformed."
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
        Ok(Box::new(SpoilingIterator(source)))
    }
}

impl SortedKeyValueIterator for SpoilingIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.0.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let mut read = Batch::new();
        let more = self.0.next_batch(&mut read, limit)?;
        for entry in read.iter() {
            let mut key = entry.key;
            if key.row.starts_with(b"spoilt") {
                key.visibility = b"secret&";
            }
            out.push(key, entry.value)?;
        }
        Ok(more)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self(self.0.deep_copy()))
    }
}

#[test]
fn malformed_labels_in_files_are_counted_and_named_by_check() {
    let mut components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    components.iterators.register(Arc::new(Spoiling));
    let store = Store::open_with(components, "/store", StoreOptions::default()).unwrap();
    let spoiling = IteratorSetting::new(30, "spoil", "org.example.Spoiling");
    let options = TableOptions {
        properties: spoiling.to_properties(&[IteratorScope::Minc]),
        ..TableOptions::default()
    };
    store.create_table("t", &options).unwrap();
    let table = store.table("t").unwrap();
    for row in ["a", "b", "spoilt 1", "spoilt 2", "spoilt 3"] {
        table.submit(batch(row), None).unwrap().wait().unwrap();
    }
    assert_eq!(rows(&table), 5);
    assert_eq!(store.metrics().labels_malformed, 0);
    assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    table.flush(true).unwrap();
    // Hidden from every reader, and counted.
    assert_eq!(rows(&table), 2);
    assert!(store.metrics().labels_malformed > 0);
    let problems = store.check(&mut |_, _| true).unwrap().problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    let problem = &problems[0];
    assert_eq!(problem.table.as_deref(), Some("t"));
    assert!(
        problem.file.starts_with("files/") && problem.message.starts_with("3 entries"),
        "{problem:?}"
    );
    assert!(!format!("{problem:?}").contains("secret"), "{problem:?}");
    // The way out.
    table.delete_rows(Some(b"c"), None).unwrap();
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    assert_eq!(rows(&table), 2);
}
