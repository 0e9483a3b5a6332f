//! Changes of tables, interrupted at every operation of the disk: afterwards each is complete or
//! absent, the store is undamaged, and the change can be repeated.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, CloneOptions, CompactOptions, Entry, Key, Mutation, MutationBatch, Result, Scanner,
    Source, Table, TableOptions,
};
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs};

use crate::harness::{open, tiny};

fn options() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

fn write(table: &Arc<dyn Table>, letters: &str, value: &str) {
    let mut batch = MutationBatch::new();
    for row in letters.chars() {
        let mut mutation = Mutation::new(row.to_string());
        mutation.put("f", "q", format!("{value}{row}")).unwrap();
        if row == 'e' {
            mutation.delete("f", "gone").unwrap();
        }
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

/// Two tables: one with three tablets, overlapping files, and entries in memory; one with more in memory
/// than in files.
fn fill(store: &Store) {
    let with_splits = TableOptions {
        splits: vec![b"g".to_vec(), b"p".to_vec()],
        ..TableOptions::default()
    };
    store.create_table("t", &with_splits).unwrap();
    store.create_table("u", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    write(&table, "abcdefghijklmnopqrstuvwxyz", "one ");
    table.flush(true).unwrap();
    write(&table, "bdfhjlnprtvxz", "two ");
    table.flush(true).unwrap();
    write(&table, "aeiouz", "three ");
    let other = store.table("u").unwrap();
    write(&other, "bxy", "other ");
    other.flush(true).unwrap();
    for value in ["more ", "yet more ", "most "] {
        write(&other, "abcdefghijklmnopqrstuvwxyz", value);
    }
}

/// A compaction that must not flush.
fn compact_with_memory(store: &Store) -> Result<()> {
    let flushed = store.metrics().flush_bytes;
    store.table("u")?.compact(&CompactOptions::default())?;
    assert_eq!(store.metrics().flush_bytes, flushed, "memory was flushed");
    Ok(())
}

/// The visible state of a table: name, split points, entries.
type Found = (String, Vec<Vec<u8>>, Vec<Entry>);

fn found(store: &Store) -> Vec<Found> {
    let tables = store.tables().unwrap().into_iter();
    tables
        .map(|info| {
            let table = store.table(&info.name).unwrap();
            let splits = table.tablets().unwrap().into_iter();
            let splits = splits.filter_map(|tablet| tablet.end).collect();
            let entries = Scanner::new(table).entries().unwrap();
            (info.name, splits, entries)
        })
        .collect()
}

type Change = fn(&Store) -> Result<()>;

fn import(store: &Store) -> Result<()> {
    let mut batch = Batch::new();
    for row in ["c", "h", "i", "q", "zz"] {
        let key = Key {
            timestamp: 1_800_000_000_000,
            ..Key::new(row, "f", "q")
        };
        batch.push(key.as_ref(), b"imported")?;
    }
    let mut bulk = store.table("t")?.bulk_writer()?;
    bulk.append(&batch)?;
    bulk.finish().map(drop)
}

const CHANGES: &[(&str, Change)] = &[
    ("clone", |store| {
        store.clone_table("t", "copy", &CloneOptions::default())
    }),
    ("bulk import", import),
    ("delete rows", |store| {
        store.table("t")?.delete_rows(Some(b"c"), Some(b"r"))
    }),
    ("split", |store| {
        store
            .table("t")?
            .add_splits(&[b"b".to_vec(), b"k".to_vec()])
    }),
    ("merge", |store| store.table("t")?.merge(None, None)),
    ("create", |store| {
        let options = TableOptions {
            splits: vec![b"m".to_vec()],
            ..TableOptions::default()
        };
        store.create_table("new", &options)
    }),
    ("rename", |store| store.rename_table("t", "renamed")),
    ("delete", |store| store.delete_table("t")),
    ("flush", |store| store.table("t")?.flush(true)),
    ("compact", |store| {
        store.table("t")?.compact(&CompactOptions::default())
    }),
    ("compact with memory", compact_with_memory),
];

/// Interrupts `change` after a number of disk operations; returns whether it was completed.
fn cut_off(
    name: &str,
    change: Change,
    after: u64,
    crash: Crash,
    before: &[Found],
    behind: &[Found],
) -> bool {
    let what = format!("{name}, cut off after {after} operations by {crash:?}");
    let disk = FaultyVfs::new(after);
    let store = open(&disk, &options()).unwrap();
    fill(&store);
    disk.set_faults(Faults {
        fail_after_operations: Some(after),
        ..Faults::default()
    });
    let done = change(&store).is_ok();
    disk.crash(crash);
    drop(store);
    let store = open(&disk, &options()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let now = found(&store);
    assert!(now == behind || (now == before && !done), "{what}: {now:?}");
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{what}: {:?}", report.problems);
    if now != behind {
        change(&store).unwrap_or_else(|error| panic!("{what}, again: {error:?}"));
        assert_eq!(found(&store), behind, "{what}, again");
    }
    done
}

#[test]
fn a_change_that_is_cut_off_is_there_whole_or_not_at_all() {
    for (name, change) in CHANGES {
        let store = open(&FaultyVfs::new(0), &options()).unwrap();
        fill(&store);
        let before = found(&store);
        change(&store).unwrap();
        let behind = found(&store);
        for crash in Crash::ALL {
            let mut after = 0;
            while !cut_off(name, *change, after, crash, &before, &behind) {
                after += 1;
                assert!(after < 2_000, "{name} never ends");
            }
            assert!(after > 2, "{name} was never cut off");
        }
    }
}
