//! Many writers and readers in one process, with little memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, CompactOptions, Mutation, Range, Scanner, Source, Table,
    TableOptions,
};
use ostrakon_store::StoreOptions;
use ostrakon_testkit::disk::FaultyVfs;

use crate::harness::open;

const WRITERS: u64 = 6;
const ROWS: u64 = 6_000;

fn write(table: Arc<dyn Table>, writer: u64) {
    let config = BatchWriterConfig {
        batch_bytes: 8 << 10,
        max_memory: 1 << 20,
        ..BatchWriterConfig::default()
    };
    let mut writing = BatchWriter::new(table, config);
    for row in 0..ROWS {
        let mut mutation = Mutation::new(format!("{:05}{writer}", row * 7_919 % ROWS));
        for column in ["a", "b", "c"] {
            mutation.put("f", column, format!("{row}")).unwrap();
        }
        writing.add(&mutation).unwrap();
    }
    writing.close().unwrap();
}

#[test]
fn many_writers_and_readers_share_a_small_store() {
    let options = StoreOptions {
        memory_budget_bytes: 2 << 20,
        wal_segment_bytes: 512 << 10,
        ..StoreOptions::default()
    };
    let store = open(&FaultyVfs::new(1), &options).unwrap();
    let splits = TableOptions {
        splits: (1..6).map(|at| format!("0{at}").into_bytes()).collect(),
        ..TableOptions::default()
    };
    store.create_table("t", &splits).unwrap();
    let table = store.table("t").unwrap();
    let (done, most) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (table, done, most) = (&table, &done, &most);
        for reader in 0..3_u64 {
            scope.spawn(move || {
                let mut at = reader;
                while !done.load(Ordering::Relaxed) {
                    at = (at * 31 + 7) % ROWS;
                    let rows = Range::row_prefix(&format!("{at:05}").as_bytes()[..4]);
                    let found = Scanner::new(table.clone()).range(rows).entries().unwrap();
                    for row in found.chunk_by(|a, b| a.key.row == b.key.row) {
                        assert_eq!(row.len(), 3, "half a mutation");
                    }
                }
            });
        }
        let watched = store.clone();
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(watched.metrics().memtable_bytes, Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(table.clone(), writer)))
            .collect();
        let joined: Vec<_> = writers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Ordering::Relaxed);
        assert!(joined.iter().all(Result::is_ok));
    });
    let expected = (WRITERS * ROWS * 3) as usize;
    assert_eq!(
        Scanner::new(table.clone()).entries().unwrap().len(),
        expected
    );
    table.compact(&CompactOptions::default()).unwrap();
    assert_eq!(
        Scanner::new(table.clone()).entries().unwrap().len(),
        expected
    );
    let report = store.check(&mut |_, _| true).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let (most, budget) = (most.into_inner(), options.memory_budget_bytes);
    assert!(most > 0, "memory was never looked at");
    // A writer may be admitted while memory is left, and then add one more batch.
    assert!(
        most <= budget,
        "memtables held {most} bytes of a budget of {budget}"
    );
}
