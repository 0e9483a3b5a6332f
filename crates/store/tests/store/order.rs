//! One order of data: of two writes of one key the later one wins, whatever was flushed, imported,
//! merged and compacted between them.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, ColumnUpdate, CompactOptions, ImportDirectoryOptions, Key, Mutation, MutationBatch,
    Source, Table, TableOptions, TimeType,
};
use ostrakon_store::sorted_file::{BulkFileWriter, WriterOptions};
use ostrakon_store::{Components, Store, StoreOptions};

use super::compacting::{all, components};

fn open(components: &Components) -> Arc<Store> {
    let options = StoreOptions {
        background: false,
        memory_budget_bytes: 64 << 20,
        ..StoreOptions::default()
    };
    Store::open_with(components.clone(), Path::new("/store"), options).unwrap()
}

fn create(store: &Store, time_type: TimeType) -> Arc<dyn Table> {
    let options = TableOptions {
        time_type,
        ..TableOptions::default()
    };
    store.create_table("t", &options).unwrap();
    store.table("t").unwrap()
}

fn put(table: &Arc<dyn Table>, value: &str, timestamp: Option<i64>) {
    let mut mutation = Mutation::new("row");
    let update = ColumnUpdate {
        family: b"f",
        qualifier: b"q",
        timestamp,
        value: Some(value.as_bytes()),
        ..ColumnUpdate::default()
    };
    mutation.update(update).unwrap();
    let mut batch = MutationBatch::new();
    batch.push(&mutation).unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
}

fn batch(rows: &[&str], value: &str, timestamp: i64) -> Batch {
    let mut batch = Batch::new();
    for row in rows {
        let key = Key {
            row: row.as_bytes().to_vec(),
            family: b"f".to_vec(),
            qualifier: b"q".to_vec(),
            timestamp,
            ..Key::default()
        };
        batch.push(key.as_ref(), value.as_bytes()).unwrap();
    }
    batch
}

fn import(table: &Arc<dyn Table>, value: &str, timestamp: i64) {
    let mut writer = table.bulk_writer().unwrap();
    writer.append(&batch(&["row"], value, timestamp)).unwrap();
    writer.finish().unwrap();
}

fn import_directory(table: &Arc<dyn Table>, files: &[(&str, Batch)]) {
    let dir = tempfile::tempdir().unwrap();
    for (name, entries) in files {
        let path = dir.path().join(format!("{name}.sorted"));
        let mut writer = BulkFileWriter::create(&path, WriterOptions::default()).unwrap();
        writer.append(entries).unwrap();
        writer.finish().unwrap();
    }
    let options = ImportDirectoryOptions::default();
    table.import_directory(dir.path(), &options).unwrap();
}

fn value(table: &Arc<dyn Table>) -> String {
    let entries = all(table);
    let row = entries.iter().find(|entry| entry.key.row == b"row");
    String::from_utf8(row.unwrap().value.clone()).unwrap()
}

/// Every state that a table may be in later.
fn expect_for_good(components: &Components, store: Arc<Store>, expected: &str) {
    let table = store.table("t").unwrap();
    assert_eq!(value(&table), expected);
    table.flush(true).unwrap();
    assert_eq!(value(&table), expected, "after a flush");
    drop((table, store));
    let store = open(components);
    let table = store.table("t").unwrap();
    assert_eq!(value(&table), expected, "after reopening");
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(value(&table), expected, "after a compaction");
}

#[test]
fn an_import_takes_its_place_whether_memory_was_flushed_or_not() {
    for flushed_before in [false, true] {
        for flushed_after in [false, true] {
            for way in ["bulk writer", "directory"] {
                let components = components();
                let store = open(&components);
                let table = create(&store, TimeType::Millis);
                put(&table, "before", Some(5));
                if flushed_before {
                    table.flush(true).unwrap();
                }
                match way {
                    "bulk writer" => import(&table, "imported", 5),
                    _ => import_directory(&table, &[("a", batch(&["row"], "imported", 5))]),
                }
                assert_eq!(value(&table), "imported", "{way}, {flushed_before}");
                put(&table, "after", Some(5));
                if flushed_after {
                    table.flush(true).unwrap();
                }
                drop(table);
                expect_for_good(&components, store, "after");
            }
        }
    }
}

#[test]
fn of_files_imported_together_the_later_name_is_newer() {
    let components = components();
    let store = open(&components);
    let table = create(&store, TimeType::Millis);
    let files = [
        ("c", batch(&["row", "z"], "c", 5)),
        ("a", batch(&["a", "row"], "a", 5)),
        ("b", batch(&["row"], "b", 5)),
    ];
    import_directory(&table, &files);
    drop(table);
    expect_for_good(&components, store, "c");
}

#[test]
fn the_clock_of_a_table_goes_on_after_what_was_imported() {
    for time_type in [TimeType::Logical, TimeType::Millis] {
        let components = components();
        let store = open(&components);
        let table = create(&store, time_type);
        let future = 1 << 50;
        import(&table, "imported", future);
        drop((table, store));
        let store = open(&components);
        put(&store.table("t").unwrap(), "later", None);
        expect_for_good(&components, store, "later");
    }
}
