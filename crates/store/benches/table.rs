//! What reading a table costs through the whole store, on a disk in memory and with every block cached: versioning and
//! visibility are on, as they are by default. Entries are like those of Accumulo's continuous test.
//!
//! A full run has 1,000,000 entries; `cargo test --bench` runs each once with 20,000.

#![allow(
    missing_docs,
    reason = "criterion's macros write undocumented functions"
)]

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_cell::{Authorizations, Batch, Key, Range, ScanOptions, Source, Table, TableOptions};
use ostrakon_store::clock::Random;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

/// Rows of one unordered scan.
const BATCH_ROWS: usize = 10_000;

struct Sample {
    entries: u64,
    labels: u64,
    random: Random,
}

impl Sample {
    fn new(labels: u64) -> Self {
        let full = std::env::args().any(|argument| argument == "--bench");
        Self {
            entries: if full { 1_000_000 } else { 20_000 },
            labels,
            random: Random::from_seed(7),
        }
    }

    /// Sorted entries, as many as `self.entries / files`.
    fn batches(&mut self, files: u64) -> Vec<Batch> {
        let mut rows: Vec<u64> = (0..self.entries / files)
            .map(|_| self.random.next_u64() >> 1)
            .collect();
        rows.sort_unstable();
        let mut batches = Vec::new();
        for rows in rows.chunks(2048) {
            let mut batch = Batch::new();
            for row in rows {
                let mut key = Key::new(
                    format!("{row:016x}"),
                    format!("{:04x}", self.random.below(0x8000)),
                    format!("{:04x}", self.random.below(0x8000)),
                );
                key.timestamp = 1_760_000_000_000 + self.random.below(60_000) as i64;
                if self.labels > 0 {
                    let label = format!("A{}&(B|C)", self.random.below(self.labels));
                    key.visibility = label.into_bytes();
                }
                let value = format!(
                    "3f2a9c51-7d1e-4b0a-9a55-0c6f4e2b8d13:{:016x}:{:016x}:",
                    self.random.below(self.entries),
                    self.random.next_u64() >> 1
                );
                batch.push(key.as_ref(), value.as_bytes()).expect("small");
            }
            batches.push(batch);
        }
        batches
    }
}

fn open() -> Arc<Store> {
    let components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        memory_budget_bytes: 4 << 30,
        ..StoreOptions::default()
    };
    Store::open_with(components, Path::new("/store"), options).expect("an empty store")
}

/// A table of `files` files that overlap; also gives some of its rows.
fn table(store: &Store, name: &str, files: u64, labels: u64) -> (Arc<dyn Table>, Vec<Vec<u8>>) {
    store
        .create_table(name, &TableOptions::default())
        .expect("a new table");
    let table = store.table(name).expect("it was created");
    let mut sample = Sample::new(labels);
    let mut rows = Vec::new();
    for _ in 0..files {
        let mut writer = table.bulk_writer().expect("a store imports");
        for batch in sample.batches(files) {
            rows.extend(batch.iter().map(|entry| entry.key.row.to_vec()));
            writer.append(&batch).expect("sorted");
        }
        writer.finish().expect("imported");
    }
    // Shuffled, so that neighbours in the list are none in the table.
    for at in (1..rows.len()).rev() {
        rows.swap(at, sample.random.below(at as u64 + 1) as usize);
    }
    (table, rows)
}

fn read(table: &Arc<dyn Table>, ranges: &[Range], options: &ScanOptions, batch: &mut Batch) -> u64 {
    let mut scan = table.scan(ranges, options).expect("begun");
    let mut entries = 0;
    while scan.next_batch(batch).expect("read") {
        entries += batch.len() as u64;
    }
    entries
}

fn scans(c: &mut Criterion) {
    let mut group = c.benchmark_group("table");
    group.sample_size(10);
    let store = open();
    let mut batch = Batch::new();
    for (name, files, labels) in [("one file", 1, 0), ("8 files", 8, 0), ("16 labels", 1, 16)] {
        let (table, rows) = table(&store, name.replace(' ', "_").as_str(), files, labels);
        let mut names: Vec<String> = (0..labels).map(|at| format!("A{at}")).collect();
        names.push("B".to_owned());
        let options = ScanOptions {
            authorizations: Authorizations::new(names).expect("names"),
            ..ScanOptions::default()
        };
        group.throughput(Throughput::Elements(rows.len() as u64));
        group.bench_function(format!("scan {name}"), |b| {
            b.iter(|| {
                let entries = read(&table, &[Range::all()], &options, &mut batch);
                assert_eq!(entries, rows.len() as u64);
            });
        });
    }
    group.finish();
}

fn look_ups(c: &mut Criterion) {
    let mut group = c.benchmark_group("table");
    let store = open();
    let (table, rows) = table(&store, "rows", 1, 0);
    let mut batch = Batch::new();
    let ranges: Vec<Range> = rows
        .iter()
        .take(300_000)
        .map(|row| Range::row(row.clone()))
        .collect();
    // Everything into the cache.
    read(&table, &[Range::all()], &ScanOptions::default(), &mut batch);
    let mut scan = table.scan(&[], &ScanOptions::default()).expect("begun");
    let mut at = 0;
    group.throughput(Throughput::Elements(1));
    group.bench_function("look up row", |b| {
        b.iter(|| {
            at = (at + 1) % ranges.len();
            scan.restart(std::slice::from_ref(&ranges[at]))
                .expect("restarted");
            assert!(scan.next_batch(&mut batch).expect("read"));
            assert_eq!(batch.len(), 1);
        });
    });
    let unordered = ScanOptions {
        ordered: false,
        ..ScanOptions::default()
    };
    group.sample_size(10);
    group.throughput(Throughput::Elements(BATCH_ROWS as u64));
    group.bench_function(format!("look up {BATCH_ROWS} rows at once"), |b| {
        b.iter(|| {
            let entries = read(&table, &ranges[..BATCH_ROWS], &unordered, &mut batch);
            assert_eq!(entries, BATCH_ROWS as u64);
        });
    });
    group.finish();
}

criterion_group!(benches, scans, look_ups);
criterion_main!(benches);
