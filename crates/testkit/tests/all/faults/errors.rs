//! Single operations of the disk that fail, while those before and after them succeed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    CompactOptions, Mutation, MutationBatch, Result, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, Faults, FaultyVfs, copy_of, rounds_wanted};

use crate::harness::{DIRECTORY, open, tiny};

const COLUMNS: usize = 4;
const ROWS: usize = 23;
const TABLES: [&str; 2] = ["t", "u"];

fn quiet() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

fn write(table: &Arc<dyn Table>, number: usize) -> Result<()> {
    let mut mutation = Mutation::new(format!("row {:02}", number % ROWS));
    for column in 0..COLUMNS {
        let value = format!("{number:05}{}", "x".repeat(200));
        mutation.put("f", format!("{column}"), value)?;
    }
    let mut batch = MutationBatch::new();
    batch.push(&mutation)?;
    table.submit(batch, None)?.wait().map(drop)
}

/// What a table may have: for each row the last number that was acknowledged, and those that were not, since.
#[derive(Default)]
struct Wanted {
    acknowledged: BTreeMap<usize, usize>,
    perhaps: BTreeMap<usize, Vec<usize>>,
}

/// Writes into two tables, flushes, splits and compacts. Goes on after errors; says how many there were.
fn work(store: &Arc<Store>) -> (BTreeMap<&'static str, Wanted>, u64) {
    let mut wanted: BTreeMap<&str, Wanted> = BTreeMap::new();
    let mut failed = 0;
    for number in 0..70 {
        let name = TABLES[number % 2];
        let known = wanted.entry(name).or_default();
        let table = store.table(name).unwrap();
        let row = number % ROWS;
        match write(&table, number) {
            Ok(()) => {
                known.acknowledged.insert(row, number);
                known.perhaps.remove(&row);
            }
            Err(_) => {
                failed += 1;
                known.perhaps.entry(row).or_default().push(number);
            }
        }
        let done = match number % 20 {
            7 | 8 => table.flush(true),
            13 if number < 20 => table.add_splits(&[b"row 07".to_vec(), b"row 15".to_vec()]),
            18 | 19 => table.compact(&CompactOptions::default()),
            _ => Ok(()),
        };
        failed += u64::from(done.is_err());
    }
    (wanted, failed)
}

/// Compares what can be read; an error is for the caller to judge.
fn compare(store: &Arc<Store>, wanted: &BTreeMap<&'static str, Wanted>, what: &str) -> Result<()> {
    for (name, wanted) in wanted {
        let entries = Scanner::new(store.table(name)?).entries()?;
        let mut found = BTreeMap::new();
        for row in entries.chunk_by(|a, b| a.key.row == b.key.row) {
            let whole = row.len() == COLUMNS && row.iter().all(|one| one.value == row[0].value);
            assert!(whole, "{what}: half a mutation in {name}");
            let number: usize = String::from_utf8_lossy(&row[0].value[..5]).parse().unwrap();
            found.insert(number % ROWS, number);
        }
        for row in 0..ROWS {
            let got = found.get(&row);
            let perhaps = wanted.perhaps.get(&row);
            let fine = got == wanted.acknowledged.get(&row)
                || got.is_some_and(|got| perhaps.is_some_and(|all| all.contains(got)));
            assert!(
                fine,
                "{what}: row {row} of {name} has {got:?}, {:?} was acknowledged, {perhaps:?} were not",
                wanted.acknowledged.get(&row)
            );
        }
    }
    Ok(())
}

fn sound(store: &Arc<Store>, wanted: &BTreeMap<&'static str, Wanted>, what: &str) {
    compare(store, wanted, what).unwrap_or_else(|error| panic!("{what}: {error:?}"));
    let report = store.check(&mut |_, _| true).unwrap();
    assert_eq!(report.problems, [], "{what}");
}

fn new_store(seed: u64) -> (FaultyVfs, Arc<Store>) {
    let disk = FaultyVfs::new(seed);
    let store = open(&disk, &quiet()).unwrap();
    for name in TABLES {
        store.create_table(name, &TableOptions::default()).unwrap();
    }
    (disk, store)
}

/// Some of the numbers below `all`, or all of them.
fn some_of(all: u64, few: u64) -> impl Iterator<Item = u64> {
    let count = rounds_wanted(few).min(all);
    (0..count).map(move |at| at * all / count)
}

#[test]
fn an_operation_that_fails_loses_nothing_that_was_acknowledged() {
    let (disk, store) = new_store(0);
    let before = disk.counters().operations;
    assert_eq!(work(&store).1, 0);
    let total = disk.counters().operations - before;
    drop(store);
    assert!(total > 150, "{total} operations");
    let mut met = 0;
    for at in some_of(total, 60) {
        for crash in [None, Some(Crash::ALL[at as usize % 4])] {
            let what = format!("operation {at} of {total} failed, then {crash:?}");
            let (disk, store) = new_store(at);
            disk.set_faults(Faults {
                fail_operation: Some(at),
                ..Faults::default()
            });
            let (wanted, failed) = work(&store);
            met += failed;
            disk.heal();
            // While it is open, and after.
            compare(&store, &wanted, &what).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            match crash {
                Some(crash) => {
                    disk.crash(crash);
                    drop(store);
                }
                None => {
                    // What could not be kept is said, and was not acknowledged.
                    let _ = store.close();
                    drop(store);
                }
            }
            let store = open(&disk, &quiet()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            sound(&store, &wanted, &what);
            let table = store.table("t").unwrap();
            write(&table, 99_990).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        }
    }
    assert!(met > 10, "only {met} errors were met");
}

#[test]
fn a_read_that_fails_is_an_error_and_never_a_wrong_answer() {
    let (disk, store) = new_store(0);
    let (wanted, _) = work(&store);
    drop(store);
    // Once to count.
    let open_and_read = |disk: &FaultyVfs, what: &str| -> Result<Arc<Store>> {
        let store = open(disk, &quiet())?;
        compare(&store, &wanted, what)?;
        for name in TABLES {
            store.table(name)?.compact(&CompactOptions::default())?;
        }
        compare(&store, &wanted, what)?;
        Ok(store)
    };
    let copy = copy_of(&disk, Path::new(DIRECTORY)).unwrap();
    drop(open_and_read(&copy, "without a fault").unwrap());
    let total = copy.counters().reads;
    assert!(total > 20, "{total} reads");
    for at in some_of(total, 40) {
        let what = format!("read {at} of {total} failed");
        let disk = copy_of(&disk, Path::new(DIRECTORY)).unwrap();
        disk.set_faults(Faults {
            fail_read: Some(at),
            ..Faults::default()
        });
        // Either it did without, or it said so.
        drop(open_and_read(&disk, &what));
        disk.heal();
        let store = open_and_read(&disk, &what).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        sound(&store, &wanted, &what);
    }
}
