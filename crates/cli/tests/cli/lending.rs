//! The memory limit while unused write-buffer memory is used as block cache, with the program's allocator.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::sync::Arc;

// Memory that is freed but not returned to the system counts, so this uses the program's allocator.
use ostrakon_allocator as _;
use ostrakon_cell::{
    Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, CompactOptions, Durability, Range,
    ScanOptions, Source, Table, TableOptions,
};
use ostrakon_store::{Store, StoreOptions};

use crate::resident::{most_of, report_most_resident};

const BUDGET: u64 = 256 << 20;
const VALUE: usize = 1000;
/// Rows of twice the budget: more than fits in the cache with all the memory that it can borrow.
const ROWS: u64 = 2 * BUDGET / VALUE as u64;
const CHILD: &str = "lending::reads_and_then_writes_in_a_process_of_its_own";
const CHILD_DIR: &str = "OSTRAKON_TEST_LENDING";

/// Point reads fill the cache and all the memory it has borrowed; then two writers claim it back.
#[test]
fn writers_get_back_what_was_lent_and_the_budget_holds() {
    let most = most_of(CHILD, CHILD_DIR, "");
    assert!(
        most <= BUDGET + BUDGET / 4,
        "{most} bytes for a budget of {BUDGET}"
    );
}

#[test]
#[ignore = "run by writers_get_back_what_was_lent_and_the_budget_holds"]
fn reads_and_then_writes_in_a_process_of_its_own() {
    let Some(directory) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let options = StoreOptions {
        memory_budget_bytes: BUDGET,
        lend_unused: true,
        ..StoreOptions::default()
    };
    let store = Store::open(&directory, options.clone()).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    write(&table, 0..ROWS);
    table.compact(&CompactOptions::default()).unwrap();
    store.close().unwrap();
    drop((table, store));

    // Without writers, all of it is lent at once.
    let store = Store::open(&directory, options).unwrap();
    let table = store.table("t").unwrap();
    look_up(&table);
    let cached = store.metrics().block_cache_bytes;
    assert!(cached > BUDGET * 7 / 10, "{cached} bytes cached");
    std::thread::scope(|scope| {
        for part in 1..3 {
            let table = &table;
            scope.spawn(move || write(table, part * ROWS..(part + 1) * ROWS));
        }
    });
    let cached = store.metrics().block_cache_bytes;
    assert!(cached < BUDGET * 7 / 10, "{cached} bytes cached");
    report_most_resident();
    store.close().unwrap();
}

/// Writes these rows, in random order, with values that do not compress.
fn write(table: &Arc<dyn Table>, rows: std::ops::Range<u64>) {
    let config = BatchWriterConfig {
        max_memory: 2 << 20,
        durability: Some(Durability::Log),
        ..BatchWriterConfig::default()
    };
    let mut batches = BatchWriter::new(table.clone(), config);
    let mut value = [0; VALUE];
    for number in rows {
        let row = row(number);
        let mut word = u64::from_be_bytes(row);
        for part in value.chunks_exact_mut(8) {
            word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            part.copy_from_slice(&word.to_be_bytes());
        }
        let update = ColumnUpdate {
            family: b"f",
            qualifier: b"q",
            value: Some(&value),
            ..ColumnUpdate::default()
        };
        batches.put(&row, update).unwrap();
    }
    batches.close().unwrap();
}

/// Reads every eighth row, which touches almost every block.
fn look_up(table: &Arc<dyn Table>) {
    let mut scan = table
        .scan(&[Range::row("")], &ScanOptions::default())
        .unwrap();
    let mut batch = Batch::new();
    for number in (0..ROWS).step_by(8) {
        scan.restart(&[Range::row(row(number))]).unwrap();
        let mut found = 0;
        while scan.next_batch(&mut batch).unwrap() {
            found += batch.len();
        }
        assert_eq!(found, 1);
    }
}

fn row(number: u64) -> [u8; 8] {
    (number + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .to_be_bytes()
}
