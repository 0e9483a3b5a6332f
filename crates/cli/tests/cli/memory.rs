//! The memory limit of the program, including its allocator.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

// Memory that is freed but not returned to the system counts, so this uses the program's allocator.
use ostrakon_allocator as _;
use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, Durability, Range, Scanner, Source, Table,
    TableOptions,
};
use ostrakon_store::{Store, StoreOptions};

use crate::resident::{most_of, most_resident, report_most_resident};
use crate::run::Folder;

const BUDGET: u64 = 128 << 20;
/// This many entries take several times the budget.
const ENTRIES: u64 = 3_000_000;

/// The program passes its budget to the store: with twice the budget this fails. It only writes, so
/// caches stay empty, and 1.5 times the budget would pass; the test below is stricter.
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
    let (ended, most) = watched(&mut child);
    assert!(ended.success());
    assert!(
        most <= BUDGET + BUDGET / 4,
        "{most} bytes for a budget of {BUDGET}"
    );
    assert!(most >= BUDGET / 4, "{most} bytes: was anything written?");
}

/// Records of which the types of a CSV file are found, and the bytes of each.
const RECORDS: usize = 2_000;
const RECORD: usize = 100_000;

/// The types of a file are those of its first 20,000 records, which are read one by one: the file of this test has 191 MiB.
/// Measured: 121 and 123 MiB; 333 MiB by the last build that held all of these records.
#[test]
fn types_of_long_records_are_found_without_holding_the_records() {
    let folder = Folder::with_table();
    let record = format!("7,{}\n", "x".repeat(RECORD - 3));
    let mut file = BufWriter::new(File::create(folder.path("long.csv")).unwrap());
    writeln!(file, "number,text").unwrap();
    for _ in 0..RECORDS {
        file.write_all(record.as_bytes()).unwrap();
    }
    file.into_inner().unwrap();
    let query = "SELECT sum(number) AS n FROM 'long.csv'";
    let mut command = folder.command(&["sql", "--memory", "256M", "--format", "csv", "-c", query]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let (ended, most) = watched(&mut child);
    assert!(ended.success());
    let mut output = String::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_string(&mut output).unwrap();
    assert_eq!(output, format!("n\n{}\n", 7 * RECORDS));
    let limit = (RECORDS * RECORD) as u64 + (50 << 20);
    assert!(most <= limit, "{most} bytes");
}

/// Waits for a child, and returns the most memory that it had.
fn watched(child: &mut Child) -> (ExitStatus, u64) {
    let path = format!("/proc/{}/status", child.id());
    let mut most = 0;
    loop {
        if let Some(ended) = child.try_wait().unwrap() {
            return (ended, most);
        }
        // The system keeps the highest value, so the last value before the end is the maximum.
        most = most_resident(&path).map_or(most, |bytes| bytes.max(most));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Budget of the mixed work; large compared with what compactions and the process itself hold.
const MIXED_BUDGET: u64 = 192 << 20;
/// Rows written before the first read, and rows written after it. Each takes 225 bytes of memory.
const ROWS: [u64; 2] = [1_500_000, 2_000_000];
const VALUE: usize = 200;
/// Point reads that fill the caches: they touch most blocks of the files, however much is cached.
const READS: u64 = 20_000;
const CHILD: &str = "memory::reads_and_writes_in_a_process_of_its_own";
const CHILD_DIR: &str = "OSTRAKON_TEST_MEMORY";

/// The caches are full while there are no writes; then two writers take all the memory that they may
/// use, while reads continue. Memory of the writers that the caches keep shows as an excess.
///
/// Measured on two processors, limit 240 MiB: 181 to 194 MiB alone, 190 to 201 next to ten other processes.
/// With 1.5 times the budget 256 to 271 and 257 to 292, twelve runs, all failing; with caches that take six
/// tenths of the budget and never return it, 271 to 283.
#[test]
fn full_caches_and_full_memtables_stay_within_five_quarters_of_the_budget() {
    // Freed memory is returned at once, so that only what the store holds is counted. What the
    // allocator keeps for a while grows with the machine's load, not with the budget: 15 to 35 MiB
    // alone, and up to 60 under load. The test above has the program's own settings.
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

/// Writes these rows, in random order, with values that compress to half.
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

/// Reads random rows of the first ones; for some, also the rows after them.
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

/// The row of a number: different for all numbers, and spread over all tablets.
fn row(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// Each value is a file of its own, with so small a budget. Whatever reads them reads one at a time, because
/// the files share no row.
#[test]
fn large_values_in_many_files_are_read_one_at_a_time() {
    const VALUES: usize = 41;
    const VALUE: usize = 8 << 20;
    let folder = Folder::new();
    let lines: String = (0..VALUES)
        // In no order of rows.
        .map(|n| format!("r{:02},{}\n", n * 7 % VALUES, "x".repeat(VALUE)))
        .collect();
    folder.write("values.csv", lines);
    let most = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let path = format!("/proc/{}/status", child.id());
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most_resident(&path).map_or(most, |bytes| bytes.max(most));
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(child.wait().unwrap().success(), "{arguments:?}");
        most
    };
    let import = [
        "--memory",
        "16M",
        "import",
        "t",
        "values.csv",
        "--create",
        "--format",
        "csv",
        "--no-header",
        "--row",
        "1",
    ];
    most(&import);
    for reading in [&["scan", "t", "--count"][..], &["table", "compact", "t"]] {
        let most = most(&[&["--memory", "16M"], reading].concat());
        // All of them have 328 MiB.
        assert!(most < (20 * VALUE) as u64, "{reading:?}: {most} bytes");
        assert!(
            most > VALUE as u64,
            "{reading:?}: {most} bytes: was anything read?"
        );
    }
    let count = folder.ok(&["--memory", "16M", "scan", "t", "--count"]);
    assert!(count.contains(&VALUES.to_string()), "{count}");
}
