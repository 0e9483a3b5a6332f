//! One busy table among thousands of idle ones.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, Durability, Range, Scanner, Source, Table,
    TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

/// A store with so many tables of one row each, in memory and in an old log.
fn store_with(tables: usize, memory_budget_bytes: u64) -> Arc<Store> {
    let components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let options = StoreOptions {
        memory_budget_bytes,
        compaction_threads: 2,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, "/store", options).unwrap();
    for number in 0..tables {
        let name = format!("idle{number:05}");
        store.create_table(&name, &TableOptions::default()).unwrap();
        write(&store.table(&name).unwrap(), 0..1);
    }
    store
        .create_table("busy", &TableOptions::default())
        .unwrap();
    store
}

fn write(table: &Arc<dyn Table>, rows: std::ops::Range<u64>) {
    let config = BatchWriterConfig {
        durability: Some(Durability::Log),
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    for row in rows {
        let row = row.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let update = ColumnUpdate {
            family: b"f",
            qualifier: b"q",
            value: Some(&[7; 100]),
            ..ColumnUpdate::default()
        };
        writer.put(&row, update).unwrap();
    }
    writer.close().unwrap();
}

fn ingest(store: &Store, rows: u64) -> Duration {
    let begun = Instant::now();
    write(&store.table("busy").unwrap(), 0..rows);
    begun.elapsed()
}

/// The log of a thousand idle tables is old long before the end: all of them are flushed meanwhile, and the busy one too.
#[test]
fn idle_tables_with_an_old_log_are_flushed_while_one_is_busy() {
    let store = store_with(200, 16 << 20);
    ingest(&store, 600_000);
    let busy = store.table("busy").unwrap();
    let idle = store.table("idle00007").unwrap();
    assert_eq!(Scanner::new(idle).entries().unwrap().len(), 1);
    assert!(busy.tablets().unwrap()[0].files > 0);
    let begun = Instant::now();
    let waits = |name: String| {
        let tablets = store.table(&name).unwrap().tablets().unwrap();
        tablets[0].memory_entries > 0
    };
    while (0..200).any(|number| waits(format!("idle{number:05}"))) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "idle tables keep the log"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let first = Scanner::new(busy).range(Range::row([0; 8])).entries();
    assert_eq!(first.unwrap().len(), 1);
    store.close().unwrap();
}

#[test]
#[ignore = "takes a minute; run by hand on a quiet machine"]
fn one_busy_table_of_ten_thousand_is_nearly_as_fast_as_alone() {
    const ROWS: u64 = 3_000_000;
    let (alone, among) = (store_with(0, 64 << 20), store_with(10_000, 64 << 20));
    // In turn, so that what else the machine does meets both.
    let mut times = [Duration::ZERO; 2];
    for _ in 0..3 {
        for (store, time) in [&alone, &among].into_iter().zip(&mut times) {
            *time += ingest(store, ROWS);
        }
    }
    let ratio = times[0].as_secs_f64() / times[1].as_secs_f64();
    assert!(ratio >= 0.9, "{ratio:.2} of alone: {times:?}");
    assert!(ratio <= 2.0, "{ratio:.2} of alone is too good: {times:?}");
}
