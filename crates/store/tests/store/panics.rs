//! Iterators are code of other people: what panics in the background must not hang the store.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ostrakon_cell::{
    Batch, BatchLimit, BatchWriter, BatchWriterConfig, BoxedIterator, ColumnSelection,
    ColumnUpdate, CompactOptions, ErrorKind, IteratorClass, IteratorEnvironment, IteratorOptions,
    IteratorSetting, Range, Result, Scanner, SortedKeyValueIterator, Source, TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

#[derive(Default)]
struct Panicking {
    panics: Arc<AtomicBool>,
}

impl IteratorClass for Panicking {
    fn names(&self) -> &[&str] {
        &["test.Panicking"]
    }

    fn describe(&self) -> &'static str {
        "Panics while a test says so."
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
        Ok(Box::new(PanickingIterator {
            source,
            panics: self.panics.clone(),
        }))
    }
}

struct PanickingIterator {
    source: BoxedIterator,
    panics: Arc<AtomicBool>,
}

impl SortedKeyValueIterator for PanickingIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        assert!(!self.panics.load(Ordering::SeqCst), "told to panic");
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        self.source.next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            panics: self.panics.clone(),
        })
    }
}

/// A disk in memory and the switch of the class of which iterators panic; off.
fn panicking() -> (Arc<AtomicBool>, Components) {
    let panics = Arc::new(AtomicBool::new(false));
    let mut components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    components.iterators.register(Arc::new(Panicking {
        panics: panics.clone(),
    }));
    (panics, components)
}

#[test]
fn a_flush_that_panics_is_a_problem_of_its_table_and_stops_no_writer() {
    let (panics, components) = panicking();
    let options = StoreOptions {
        memory_budget_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, Path::new("/store"), options).unwrap();
    let mut table_options = TableOptions::default();
    table_options.properties.insert(
        "table.iterator.minc.panicking".into(),
        "30,test.Panicking".into(),
    );
    store.create_table("t", &table_options).unwrap();
    let table = store.table("t").unwrap();
    let written = AtomicU64::new(0);
    let write = |rows: u64| {
        let config = BatchWriterConfig {
            batch_bytes: 16 << 10,
            timeout: Some(Duration::from_secs(60)),
            ..BatchWriterConfig::default()
        };
        let mut writer = BatchWriter::new(table.clone(), config);
        for _ in 0..rows {
            let row = format!("{:08}", written.fetch_add(1, Ordering::Relaxed));
            let update = ColumnUpdate {
                family: b"f",
                qualifier: b"q",
                value: Some(&[7; 200]),
                ..ColumnUpdate::default()
            };
            writer.put(row.as_bytes(), update)?;
        }
        writer.close()
    };
    panics.store(true, Ordering::SeqCst);
    write(20_000).unwrap();
    let error = table.flush(true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
    assert!(error.to_string().contains("panicked"), "{error}");
    let problems = store.problems().unwrap();
    assert!(problems[0].message.contains("panicked"), "{problems:?}");
    panics.store(false, Ordering::SeqCst);
    table.flush(true).unwrap();
    assert_eq!(store.problems().unwrap(), []);
    write(20_000).unwrap();
    let rows = Scanner::new(table.clone()).entries().unwrap().len();
    assert_eq!(rows, 40_000);
    store.close().unwrap();
}

/// Whether the compaction takes memory along or not.
#[test]
fn a_compaction_that_panics_leaves_the_table_to_the_next_one() {
    for flush in [true, false] {
        let (panics, components) = panicking();
        panics.store(true, Ordering::SeqCst);
        let options = StoreOptions {
            background: false,
            ..StoreOptions::default()
        };
        let store = Store::open_with(components, Path::new("/store"), options).unwrap();
        store.create_table("t", &TableOptions::default()).unwrap();
        let table = store.table("t").unwrap();
        let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
        let update = ColumnUpdate {
            family: b"f",
            qualifier: b"q",
            value: Some(b"value"),
            ..ColumnUpdate::default()
        };
        writer.put(b"row", update).unwrap();
        writer.close().unwrap();
        if !flush {
            table.flush(true).unwrap();
        }
        let compact = CompactOptions {
            flush,
            iterators: vec![IteratorSetting::new(30, "panicking", "test.Panicking")],
            ..CompactOptions::default()
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| table.compact(&compact)));
        assert!(!matches!(outcome, Ok(Ok(()))), "nothing panicked");
        assert_eq!(store.metrics().compactions_running, 0);
        panics.store(false, Ordering::SeqCst);
        let (done, is_done) = std::sync::mpsc::channel();
        let again = table.clone();
        // Not joined: it would never return.
        std::thread::spawn(move || done.send(again.compact(&compact)));
        let outcome = is_done.recv_timeout(Duration::from_secs(30));
        outcome.expect("the tablet is still claimed").unwrap();
        assert_eq!(Scanner::new(table).entries().unwrap().len(), 1);
    }
}
