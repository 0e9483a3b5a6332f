//! A store that is killed at any moment keeps acknowledged mutations, and none in part.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::{
    Capability, CompactOptions, Mutation, MutationBatch, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs, rounds_wanted};

use crate::harness::{open, tiny};

const COLUMNS: usize = 8;

fn quiet() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

fn write(table: &Arc<dyn Table>, number: usize) -> ostrakon_cell::Result<()> {
    let mut mutation = Mutation::new(format!("row {:02}", number % 23));
    for column in 0..COLUMNS {
        mutation.put(
            "f",
            format!("{column}"),
            format!("{number:05}{}", "x".repeat(200)),
        )?;
    }
    let mut batch = MutationBatch::new();
    batch.push(&mutation)?;
    table.submit(batch, None)?.wait().map(drop)
}

/// Writes, flushes, splits and compacts until something fails; returns the last acknowledged number
/// of each row, and the number that was being written.
fn work(store: &Arc<Store>) -> (BTreeMap<usize, usize>, usize) {
    let mut acknowledged = BTreeMap::new();
    let Ok(table) = store.table("t") else {
        return (acknowledged, 0);
    };
    for number in 0..120 {
        if write(&table, number).is_err() {
            return (acknowledged, number);
        }
        acknowledged.insert(number % 23, number);
        let done = match number % 20 {
            7 => table.flush(true),
            13 if number < 20 => table.add_splits(&[b"row 07".to_vec(), b"row 15".to_vec()]),
            19 => table.compact(&CompactOptions::default()),
            _ => Ok(()),
        };
        if done.is_err() {
            return (acknowledged, number);
        }
    }
    (acknowledged, usize::MAX)
}

fn verify(store: &Arc<Store>, acknowledged: &BTreeMap<usize, usize>, under_way: usize, what: &str) {
    assert!(store.capabilities().has(Capability::Check));
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{what}: {:?}", report.problems);
    let entries = Scanner::new(store.table("t").unwrap()).entries().unwrap();
    let mut found = BTreeMap::new();
    for row in entries.chunk_by(|a, b| a.key.row == b.key.row) {
        let name = String::from_utf8_lossy(&row[0].key.row).into_owned();
        let whole = row.len() == COLUMNS && row.iter().all(|one| one.value == row[0].value);
        assert!(whole, "{what}: half a mutation in {name}");
        let number: usize = String::from_utf8_lossy(&row[0].value[..5]).parse().unwrap();
        found.insert(number % 23, number);
    }
    for (row, number) in acknowledged {
        let got = found.get(row);
        let fine = got == Some(number) || (got == Some(&under_way) && under_way % 23 == *row);
        assert!(
            fine,
            "{what}: row {row} has {got:?}, {number} was acknowledged"
        );
    }
}

#[test]
fn a_store_survives_a_kill_at_any_moment() {
    // One run to count operations, then runs that die at chosen ones, the later ones less densely.
    let disk = FaultyVfs::new(0);
    let store = open(&disk, &quiet()).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let before = disk.counters().operations;
    assert_eq!(work(&store).1, usize::MAX);
    let total = disk.counters().operations - before;
    drop(store);
    assert!(total > 300, "{total} operations are too few to die at");
    // In a full run, each kind of death at each operation.
    let points = rounds_wanted(120).min(4 * total);
    for point in 0..points {
        let at = total * point / points;
        let crash = Crash::ALL[(point % 4) as usize];
        let what = format!("died by {crash:?} at operation {at} of {total}");
        let disk = FaultyVfs::new(point);
        let store = open(&disk, &quiet()).unwrap();
        store.create_table("t", &TableOptions::default()).unwrap();
        disk.set_faults(Faults {
            fail_after_operations: Some(at),
            ..Faults::default()
        });
        let (acknowledged, under_way) = work(&store);
        disk.crash(crash);
        drop(store);
        let store = open(&disk, &quiet()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        verify(&store, &acknowledged, under_way, &what);
        // And once more, without failures in between.
        drop(store);
        disk.crash(crash);
        let store =
            open(&disk, &quiet()).unwrap_or_else(|error| panic!("{what}, twice: {error:?}"));
        verify(&store, &acknowledged, under_way, &what);
    }
}
