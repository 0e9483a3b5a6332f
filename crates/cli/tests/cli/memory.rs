//! The promise about memory, of the program and of its allocator.
#![cfg(target_os = "linux")]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

// What is free and not yet given back counts, so the allocator is the one the program has.
use ostrakon_allocator as _;
use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, Durability, Range, Scanner, Source, Table,
    TableOptions,
};
use ostrakon_store::{Store, StoreOptions};

use crate::resident::{most_of, most_resident, report_most_resident};
use crate::run::Folder;

const BUDGET: u64 = 128 << 20;
/// So many entries take some times the budget.
const ENTRIES: u64 = 3_000_000;

/// The program passes on what it is told: with twice the budget this fails. It writes only, so
/// caches stay empty, and half again the budget would pass; the test below is sharper.
#[test]
fn ingest_stays_within_five_quarters_of_its_budget() {
    let folder = Folder::new();
    let (memory, entries) = (BUDGET.to_string(), ENTRIES.to_string());
    let mut command = folder.command(&[
        "lab",
        "continuous",
        "ingest",
        "--table",
        "ci",
        "--entries",
        &entries,
        "--writers",
        "2",
        "--splits",
        "3",
        "--durability",
        "flush",
        "--memory",
        &memory,
        "--json",
    ]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let path = format!("/proc/{}/status", child.id());
    let mut most = 0;
    // The system keeps the highest value, so the last one read before the end has all that counts.
    while child.try_wait().unwrap().is_none() {
        most = most_resident(&path).map_or(most, |bytes| bytes.max(most));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    assert!(
        most <= BUDGET + BUDGET / 4,
        "{most} bytes for a budget of {BUDGET}"
    );
    assert!(most >= BUDGET / 4, "{most} bytes: was anything written?");
}

/// Budget of the mixed work; large against what compactions and the process itself hold.
const MIXED_BUDGET: u64 = 192 << 20;
/// Rows written before anything is read, and rows written then. Each takes 225 bytes of memory.
const ROWS: [u64; 2] = [1_500_000, 2_000_000];
const VALUE: usize = 200;
/// Look-ups that fill the caches: most blocks of the files are asked for, however much is cached.
const READS: u64 = 20_000;
const CHILD: &str = "memory::reads_and_writes_in_a_process_of_its_own";
const CHILD_DIR: &str = "OSTRAKON_TEST_MEMORY";

/// Caches are full and nobody writes; then two writers take all the memory they are given while
/// reading goes on. Whatever the caches keep of what is meant for writers shows.
///
/// Seen on two processors, limit 240 MiB: 181 to 194 MiB alone, 190 to 201 with ten others at work. With half
/// again the budget 256 to 271 and 257 to 292, twelve runs, all failing; with caches that take six
/// tenths of the right budget and give nothing back, 271 to 283.
#[test]
fn full_caches_and_full_memtables_stay_within_five_quarters_of_the_budget() {
    // What is free is given back at once, so that only what the store holds is counted. What the
    // programs keep for a while grows with the machine's load, not with the budget: 15 to 35 MiB
    // alone and up to 60 among many. The test above has the programs' own settings.
    let most = most_of(CHILD, CHILD_DIR, "dirty_decay_ms:0");
    assert!(
        most <= MIXED_BUDGET + MIXED_BUDGET / 4,
        "{most} bytes for a budget of {MIXED_BUDGET}"
    );
    assert!(
        most >= MIXED_BUDGET * 3 / 4,
        "{most} bytes: neither caches nor memtables were full"
    );
}

#[test]
#[ignore = "run by full_caches_and_full_memtables_stay_within_five_quarters_of_the_budget"]
fn reads_and_writes_in_a_process_of_its_own() {
    let Some(directory) = std::env::var_os(CHILD_DIR) else {
        return;
    };
    let options = StoreOptions {
        memory_budget_bytes: MIXED_BUDGET,
        ..StoreOptions::default()
    };
    let store = Store::open(directory, options).unwrap();
    let splits = TableOptions {
        splits: (1..4_u8).map(|at| vec![at << 6]).collect(),
        ..TableOptions::default()
    };
    store.create_table("t", &splits).unwrap();
    let table = store.table("t").unwrap();
    let table = &table;
    std::thread::scope(|scope| {
        scope.spawn(|| write(table, 0..ROWS[0] / 2));
        scope.spawn(|| write(table, ROWS[0] / 2..ROWS[0]));
    });
    std::thread::scope(|scope| {
        scope.spawn(|| look_up(table, 1, READS / 2));
        scope.spawn(|| look_up(table, 2, READS / 2));
    });
    let mut rows = 0;
    Scanner::new(table.clone())
        .for_each(|_| {
            rows += 1;
            Ok(true)
        })
        .unwrap();
    assert_eq!(rows, ROWS[0]);
    let half = ROWS[0] + ROWS[1] / 2;
    std::thread::scope(|scope| {
        scope.spawn(|| write(table, ROWS[0]..half));
        scope.spawn(|| write(table, half..ROWS[0] + ROWS[1]));
        scope.spawn(|| look_up(table, 3, READS / 10));
    });
    report_most_resident();
    store.close().unwrap();
}

/// Writes these rows, each of a random place and with a value that compresses to half.
fn write(table: &Arc<dyn Table>, rows: std::ops::Range<u64>) {
    let config = BatchWriterConfig {
        max_memory: 1 << 20,
        durability: Some(Durability::Log),
        ..BatchWriterConfig::default()
    };
    let mut batches = BatchWriter::new(table.clone(), config);
    let mut value = [0; VALUE];
    for number in rows {
        let row = row(number);
        for part in value.chunks_exact_mut(8).step_by(4) {
            part.copy_from_slice(&row);
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

/// Looks up random rows of the first; for some, those after them too.
fn look_up(table: &Arc<dyn Table>, reader: u64, times: u64) {
    for at in 0..times {
        let start = row((reader << 32 | at).wrapping_mul(0xd129_0d3f_6f4b_2c1b) % ROWS[0]);
        let range = if at % 64 == 0 {
            let mut end = start;
            end[1] = end[1].saturating_add(3);
            Range::rows(start..=end)
        } else {
            Range::row(start)
        };
        let mut found = 0;
        Scanner::new(table.clone())
            .range(range)
            .for_each(|_| {
                found += 1;
                Ok(true)
            })
            .unwrap();
        assert!(found > 0, "{start:?} is missing");
    }
}

/// The row of a number: all numbers have different ones, spread over all tablets.
fn row(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}
