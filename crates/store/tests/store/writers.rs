//! Batch writers on a store: latency, timeout, and what is in memory.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{
    Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, Key, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::Store;
use ostrakon_store::clock::SystemClock;

fn table(store: &Store) -> Arc<dyn Table> {
    store.create_table("t", &TableOptions::default()).unwrap();
    store.table("t").unwrap()
}

fn put(writer: &mut BatchWriter, row: &str, value: &str) {
    let update = ColumnUpdate {
        family: b"f",
        value: Some(value.as_bytes()),
        ..ColumnUpdate::default()
    };
    writer.put(row.as_bytes(), update).unwrap();
}

fn count(table: &Arc<dyn Table>) -> usize {
    Scanner::new(table.clone()).entries().unwrap().len()
}

#[test]
fn a_writer_that_does_nothing_more_is_submitted_for() {
    let store = Store::in_memory().unwrap();
    let table = table(&store);
    let config = BatchWriterConfig {
        max_latency: Some(Duration::from_millis(40)),
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    let mut never = BatchWriter::new(
        table.clone(),
        BatchWriterConfig {
            max_latency: None,
            ..BatchWriterConfig::default()
        },
    );
    put(&mut never, "kept back", "v");
    let clock = SystemClock::shared();
    for round in 1..=2 {
        put(&mut writer, &format!("r{round}"), "v");
        for _ in 0..500 {
            if count(&table) == round {
                break;
            }
            clock.sleep(Duration::from_millis(10));
        }
        assert_eq!(count(&table), round);
    }
    // What the timer submitted is settled with the rest.
    writer.close().unwrap();
    never.close().unwrap();
    assert_eq!(count(&table), 3);
}

#[test]
fn closing_a_store_ends_its_timer() {
    let store = Store::in_memory().unwrap();
    let config = BatchWriterConfig {
        max_latency: Some(Duration::from_millis(4)),
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table(&store), config);
    store.close().unwrap();
    let _ = writer.add(
        ostrakon_cell::Mutation::new("r")
            .put("f", "q", "v")
            .unwrap(),
    );
    SystemClock::shared().sleep(Duration::from_millis(20));
    writer.flush().unwrap_err();
}

#[test]
fn what_was_just_written_is_counted_where_it_lies() {
    let store = Store::in_memory().unwrap();
    let table = table(&store);
    table.add_splits(&[b"g".to_vec(), b"p".to_vec()]).unwrap();
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    for row in ["a", "g", "g", "h", "z"] {
        put(&mut writer, row, "v");
    }
    writer.flush().unwrap();
    let counts = || -> Vec<(u64, u64, u64)> {
        let tablets = table.tablets().unwrap();
        let count = |tablet: &ostrakon_cell::TabletInfo| {
            assert_eq!(tablet.memory_entries > 0, tablet.memory_bytes > 0);
            (tablet.files, tablet.entries, tablet.memory_entries)
        };
        tablets.iter().map(count).collect()
    };
    assert_eq!(counts(), [(0, 3, 3), (0, 1, 1), (0, 1, 1)]);
    table.flush(true).unwrap();
    assert!(
        counts()
            .iter()
            .all(|(files, _, memory)| *files == 1 && *memory == 0)
    );
    put(&mut writer, "h", "w");
    writer.flush().unwrap();
    assert_eq!(counts()[1].2, 1);
}

#[test]
fn of_equal_keys_an_import_wins_over_what_was_written_before_it() {
    let store = Store::in_memory().unwrap();
    let table = table(&store);
    let write = |value: &str| {
        let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
        let update = ColumnUpdate {
            timestamp: Some(7),
            value: Some(value.as_bytes()),
            ..ColumnUpdate::default()
        };
        writer.put(b"r", update).unwrap();
        writer.close().unwrap();
    };
    let import = |value: &str| {
        let mut batch = Batch::new();
        let key = Key {
            timestamp: 7,
            ..Key::new("r", "", "")
        };
        batch.push(key.as_ref(), value.as_bytes()).unwrap();
        let mut bulk = table.bulk_writer().unwrap();
        bulk.append(&batch).unwrap();
        bulk.finish().unwrap();
    };
    let shown = || {
        Scanner::new(table.clone()).entries().unwrap()[0]
            .value
            .clone()
    };
    write("written");
    import("imported");
    assert_eq!(shown(), b"imported");
    write("again");
    assert_eq!(shown(), b"again");
    table.flush(true).unwrap();
    assert_eq!(shown(), b"again");
}
