//! Blocks that the cache saves reading: three workloads on a disk in memory, with one thread and without background
//! work, so that the figures do not depend on the machine. [0038](../../../docs/decisions/0038-what-the-cache-mechanisms-save.md)
//! compares them with each mechanism of the cache switched off.
//!
//! A full run has a million entries; `cargo test --bench` runs it once with 20,000.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{Batch, Key, Range, Scan, ScanOptions, Source, Table, TableOptions};
use ostrakon_store::clock::Random;
use ostrakon_store::vfs::{MemoryVfs, Vfs};
use ostrakon_store::{Components, Store, StoreOptions};

/// Look-ups between two scans of the whole table.
const BETWEEN_SCANS: usize = 20_000;

struct Rig {
    vfs: Arc<dyn Vfs>,
    /// In order.
    rows: Arc<[Vec<u8>]>,
    /// Uncompressed bytes of the table.
    data: u64,
}

fn open(vfs: &Arc<dyn Vfs>, budget: u64, lend_unused: bool) -> (Arc<Store>, Arc<dyn Table>) {
    let components = Components {
        vfs: vfs.clone(),
        ..Components::default()
    };
    let options = StoreOptions {
        // Only its threads lend memory.
        background: lend_unused,
        memory_budget_bytes: budget,
        lend_unused,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, Path::new("/store"), options).expect("a store");
    if store.table("t").is_err() {
        let created = store.create_table("t", &TableOptions::default());
        created.expect("a new table");
    }
    let table = store.table("t").expect("it was created");
    (store, table)
}

fn row(number: u64) -> Vec<u8> {
    // Neighbouring numbers lie in different blocks.
    format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()
}

impl Rig {
    fn new(entries: u64) -> Self {
        let vfs = MemoryVfs::shared();
        let (store, table) = open(&vfs, 4 << 30, false);
        let mut rows: Vec<Vec<u8>> = (0..entries).map(row).collect();
        rows.sort_unstable();
        let mut writer = table.bulk_writer().expect("a store imports");
        let mut random = Random::from_seed(5);
        let mut data = 0;
        for rows in rows.chunks(2_048) {
            let mut batch = Batch::new();
            for row in rows {
                let key = Key::new(row.as_slice(), "family", "qualifier");
                let value: [u64; 8] = std::array::from_fn(|_| random.next_u64());
                let value = value.map(u64::to_be_bytes);
                batch
                    .push(key.as_ref(), value.as_flattened())
                    .expect("small");
            }
            data += batch.byte_len() as u64;
            writer.append(&batch).expect("sorted");
        }
        writer.finish().expect("imported");
        store.close().expect("closed");
        let rows = rows.into();
        Self { vfs, rows, data }
    }

    /// Opens it anew; the table is `times` as large as the cache, a quarter of the budget.
    fn open(&self, times: f64, lend_unused: bool) -> Opened {
        let budget = (self.data as f64 / times * 4.0) as u64;
        let (store, table) = open(&self.vfs, budget, lend_unused);
        let scan = table.scan(&[], &ScanOptions::default()).expect("begun");
        Opened {
            store,
            table,
            scan,
            batch: Batch::new(),
            random: Random::from_seed(11),
            rows: self.rows.clone(),
        }
    }
}

struct Opened {
    store: Arc<Store>,
    table: Arc<dyn Table>,
    scan: Box<dyn Scan>,
    batch: Batch,
    random: Random,
    rows: Arc<[Vec<u8>]>,
}

impl Opened {
    /// Blocks read by so many lookups of single rows. The rank of a row is distributed by Zipf's law with exponent 1;
    /// rows of neighbouring ranks lie in different blocks.
    fn look_up(&mut self, count: usize) -> u64 {
        let entries = self.rows.len() as u64;
        self.look_up_rows(count, |random, _| {
            let share = random.next_u64() as f64 / u64::MAX as f64;
            let rank = (entries as f64).powf(share) as u64;
            row(rank.min(entries) - 1)
        })
    }

    /// As [`look_up`](Self::look_up), but nine of ten lookups go to the first eighth of the table, the others anywhere.
    fn look_up_hot(&mut self, count: usize) -> u64 {
        self.look_up_rows(count, |random, rows| {
            let hot = random.below(10) > 0;
            let among = rows.len() as u64 / if hot { 8 } else { 1 };
            rows[random.below(among) as usize].clone()
        })
    }

    fn look_up_rows(
        &mut self,
        count: usize,
        choose: impl Fn(&mut Random, &[Vec<u8>]) -> Vec<u8>,
    ) -> u64 {
        let before = self.store.metrics();
        for _ in 0..count {
            let range = Range::row(choose(&mut self.random, &self.rows));
            self.scan.restart(&[range]).expect("restarted");
            assert!(self.scan.next_batch(&mut self.batch).expect("read"));
        }
        self.store.metrics().since(&before).blocks_read
    }

    /// Blocks read by a scan of everything.
    fn scan_all(&mut self) -> u64 {
        let before = self.store.metrics();
        let mut scan = self
            .table
            .scan(&[Range::all()], &ScanOptions::default())
            .expect("begun");
        while scan.next_batch(&mut self.batch).expect("read") {}
        drop(scan);
        self.store.metrics().since(&before).blocks_read
    }
}

fn print(name: &str, blocks: u64, operations: usize) {
    println!("{name:<56} {:>10.4}", blocks as f64 / operations as f64);
}

fn main() {
    let full = std::env::args().any(|argument| argument == "--bench");
    let (entries, look_ups) = if full {
        (1_000_000, 200_000)
    } else {
        (20_000, 2_000)
    };
    let rig = Rig::new(entries);
    println!("{:<56} {:>10}", "", "blocks");
    for (lend, word) in [(false, ""), (true, ", unused memory lent")] {
        let mut opened = rig.open(4.0, lend);
        opened.look_up(look_ups);
        let blocks = opened.look_up(look_ups);
        print(
            &format!("lookup, table 4 x the cache{word}"),
            blocks,
            look_ups,
        );
    }
    let mut opened = rig.open(4.0, false);
    opened.look_up_hot(look_ups);
    let blocks = opened.look_up_hot(look_ups);
    print(
        "lookup, table 4 x the cache, hot half a cache",
        blocks,
        look_ups,
    );
    drop(opened);
    let mut opened = rig.open(4.0, false);
    opened.look_up(look_ups);
    let rounds = (look_ups / BETWEEN_SCANS).max(2);
    let blocks = (0..rounds)
        .map(|_| {
            opened.scan_all();
            opened.look_up(BETWEEN_SCANS)
        })
        .sum();
    print(
        "lookup, table 4 x the cache, beside full scans",
        blocks,
        rounds * BETWEEN_SCANS,
    );
    drop(opened);
    for times in [0.7, 2.0] {
        let mut opened = rig.open(times, false);
        for pass in ["first", "second", "third"] {
            let blocks = opened.scan_all();
            print(
                &format!("{pass} full scan, table {times} x the cache"),
                blocks,
                1,
            );
        }
    }
}
