//! Tables divided among parallel readers: into parts of about the same size, wherever the entries are.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, CompactOptions, Mutation, MutationBatch, Range, ScanOptions, Source, Table, TableOptions,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

const ROWS: u64 = 200_000;

fn table() -> (Arc<Store>, Arc<dyn Table>) {
    let components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, Path::new("/store"), options).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    (store, table)
}

fn row(number: u64) -> String {
    format!("{number:08}")
}

fn write(table: &Arc<dyn Table>, numbers: impl Iterator<Item = u64>) {
    let mut batch = MutationBatch::new();
    for number in numbers {
        let mut mutation = Mutation::new(row(number));
        mutation.put("f", "q", "some value").unwrap();
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

/// Entries of each part.
fn sizes(table: &Arc<dyn Table>, ranges: &[Range], most: usize) -> Vec<usize> {
    let parts = table.divide(ranges, most).unwrap();
    let scans = table.scan_parts(&parts, &ScanOptions::default()).unwrap();
    let mut sizes = Vec::new();
    for mut scan in scans {
        let (mut batch, mut size) = (Batch::new(), 0);
        while scan.next_batch(&mut batch).unwrap() {
            size += batch.len();
        }
        sizes.push(size);
    }
    sizes
}

fn expect_even(table: &Arc<dyn Table>, ranges: &[Range], most: usize, entries: u64, what: &str) {
    let found = sizes(table, ranges, most);
    assert_eq!(found.iter().sum::<usize>() as u64, entries, "{what}");
    assert_eq!(found.len(), most, "{what}: {found:?}");
    let share = entries as f64 / most as f64;
    for size in &found {
        let part = *size as f64 / share;
        assert!((0.75..1.25).contains(&part), "{what}: {found:?}");
    }
}

#[test]
fn parts_are_even_wherever_the_entries_are() {
    let (_store, table) = table();
    let all = [Range::all()];
    // In memory, in an order that is not theirs.
    write(&table, (0..ROWS / 2).rev());
    expect_even(&table, &all, 2, ROWS / 2, "in memory");
    expect_even(&table, &all, 3, ROWS / 2, "in memory");
    // In a file whose rows come before those in memory, then in two files.
    table.flush(true).unwrap();
    write(&table, ROWS / 2..ROWS);
    expect_even(&table, &all, 2, ROWS, "in a file and in memory");
    expect_even(&table, &all, 5, ROWS, "in a file and in memory");
    table.flush(true).unwrap();
    expect_even(&table, &all, 4, ROWS, "in two files");
    // In one file, and a part of it.
    table.compact(&CompactOptions::default()).unwrap();
    expect_even(&table, &all, 4, ROWS, "in one file");
    let some = [
        Range::rows(row(10_000)..row(90_000)),
        Range::row(row(95_000)),
    ];
    expect_even(&table, &some, 2, 80_001, "some of one file");
    // In tablets of unlike sizes.
    let ends: Vec<Vec<u8>> = [20_000, 21_000, 150_000]
        .map(|end| row(end).into_bytes())
        .to_vec();
    table.add_splits(&ends).unwrap();
    expect_even(&table, &all, 4, ROWS, "in four tablets");
    table.compact(&CompactOptions::default()).unwrap();
    expect_even(&table, &all, 4, ROWS, "in four files of four tablets");
    // In more tablets than there are candidates.
    let ends: Vec<Vec<u8>> = (1..200).map(|at| row(at * 1_000).into_bytes()).collect();
    table.add_splits(&ends).unwrap();
    expect_even(&table, &all, 4, ROWS, "in 200 tablets");
    expect_even(&table, &some, 2, 80_001, "some of 200 tablets");
}

#[test]
fn tablets_without_entries_are_not_divided() {
    let (_store, table) = table();
    let all = [Range::all()];
    let ends: Vec<Vec<u8>> = (1..200).map(|at| row(at * 1_000).into_bytes()).collect();
    table.add_splits(&ends).unwrap();
    for most in [2, 4, 8] {
        assert_eq!(sizes(&table, &all, most), [0]);
    }
    // One of them has entries, in memory and in a file.
    write(&table, 50_001..50_100);
    for _ in 0..2 {
        let found = sizes(&table, &all, 4);
        assert!(found.len() <= 4, "{found:?}");
        assert_eq!(found.iter().sum::<usize>(), 99);
        table.flush(true).unwrap();
    }
}

#[test]
fn little_is_not_divided() {
    let (_store, table) = table();
    let all = [Range::all()];
    assert_eq!(sizes(&table, &all, 4), [0]);
    write(&table, 0..1_000);
    assert_eq!(sizes(&table, &all, 4), [1_000]);
    assert_eq!(sizes(&table, &[], 4), [0]);
    write(&table, 1_000..ROWS);
    let one = [Range::row(row(5))];
    assert_eq!(sizes(&table, &one, 4), [1]);
    let few = [Range::rows(row(5)..row(50))];
    assert_eq!(sizes(&table, &few, 4), [45]);
    // Of a file, too, and of tablets that reach beyond the range.
    let some = [Range::rows(row(30_000)..row(70_000))];
    table.flush(true).unwrap();
    assert_eq!(sizes(&table, &few, 4), [45]);
    assert_eq!(sizes(&table, &some, 4), [40_000]);
    table.add_splits(&[row(50_000).into_bytes()]).unwrap();
    assert_eq!(sizes(&table, &few, 4), [45]);
    let found = sizes(&table, &some, 4);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(sizes(&table, &all, 1), [ROWS as usize]);
    // One row cannot be divided.
    let (_store, table) = self::table();
    let mut batch = MutationBatch::new();
    let mut mutation = Mutation::new("row");
    for number in 0..ROWS {
        mutation.put("f", row(number), "v").unwrap();
    }
    batch.push(&mutation).unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
    assert_eq!(sizes(&table, &all, 4), [ROWS as usize]);
    table.flush(true).unwrap();
    assert_eq!(sizes(&table, &all, 4), [ROWS as usize]);
}
