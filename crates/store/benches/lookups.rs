//! Look-ups through the whole store in data too large for the processor's caches, on a disk in memory: one row at a
//! time, 10,000 rows at once, and how many blocks a look-up reads when the data is four times the cache.
//!
//! A plain program, since the table takes longer to build than to measure. Each rate is the median of three passes
//! behind one that does not count. A full run has 10 million entries in 16 tablets of one file;
//! `OSTRAKON_BENCH_ENTRIES` sets another number. `cargo test --bench` runs it once with 20,000. A word among the
//! arguments picks the figures whose names hold it.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::{
    Batch, Key, Properties, Range, Scan, ScanOptions, Source, Table, TableOptions,
};
use ostrakon_store::clock::Random;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

const TABLETS: u64 = 16;
/// Files of a tablet, each with some rows of all its range, where filters are measured.
const FILES: u64 = 4;
/// Rows of one unordered scan.
const BATCH_ROWS: usize = 10_000;
const PASSES: usize = 3;

struct Bench {
    entries: u64,
    look_ups: usize,
    only: Vec<String>,
}

/// A store with its disk, so that it can be opened anew.
struct Opened {
    store: Arc<Store>,
    table: Arc<dyn Table>,
}

fn open(vfs: &Arc<dyn ostrakon_store::vfs::Vfs>, budget: u64, properties: &Properties) -> Opened {
    let components = Components {
        vfs: vfs.clone(),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        memory_budget_bytes: budget,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, Path::new("/store"), options).expect("a store");
    let table = store.table("ci").unwrap_or_else(|_| {
        let splits = (1..TABLETS).map(|at| row(at << 59)).collect();
        let options = TableOptions {
            splits,
            properties: properties.clone(),
            ..TableOptions::default()
        };
        store.create_table("ci", &options).expect("a new table");
        store.table("ci").expect("it was created")
    });
    Opened { store, table }
}

fn row(number: u64) -> Vec<u8> {
    format!("{number:016x}").into_bytes()
}

/// Imports entries like those of the continuous test, so many files a tablet; gives some of their rows, shuffled.
fn fill(table: &Arc<dyn Table>, entries: u64, files: u64, wanted: usize) -> Vec<Vec<u8>> {
    let mut random = Random::from_seed(7);
    let mut sample = Vec::new();
    let each = entries / files / TABLETS;
    let step = (entries as usize / wanted).max(1);
    for _ in 0..files {
        for tablet in 0..TABLETS {
            let mut rows: Vec<u64> = (0..each)
                .map(|_| (tablet << 59) | (random.next_u64() >> 5))
                .collect();
            rows.sort_unstable();
            rows.dedup();
            sample.extend(rows.iter().step_by(step).map(|&number| row(number)));
            let mut writer = table.bulk_writer().expect("a store imports");
            for rows in rows.chunks(2048) {
                let mut batch = Batch::new();
                for &number in rows {
                    let mut key = Key::new(
                        row(number),
                        format!("{:04x}", random.below(0x8000)),
                        format!("{:04x}", random.below(0x8000)),
                    );
                    key.timestamp = 1_760_000_000_000 + random.below(60_000) as i64;
                    let value = format!(
                        "3f2a9c51-7d1e-4b0a-9a55-0c6f4e2b8d13:{:016x}:{:016x}:",
                        random.below(entries),
                        random.next_u64() >> 1
                    );
                    batch.push(key.as_ref(), value.as_bytes()).expect("small");
                }
                writer.append(&batch).expect("sorted");
            }
            writer.finish().expect("imported");
        }
    }
    for at in (1..sample.len()).rev() {
        sample.swap(at, random.below(at as u64 + 1) as usize);
    }
    sample
}

fn drain(scan: &mut dyn Scan, batch: &mut Batch) -> u64 {
    let mut entries = 0;
    while scan.next_batch(batch).expect("read") {
        entries += batch.len() as u64;
    }
    entries
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(word))
    }

    /// Prints units a second, the median of some passes.
    fn rate(&self, name: &str, units: usize, mut pass: impl FnMut()) {
        if !self.wants(name) {
            return;
        }
        pass();
        let mut seconds: Vec<f64> = (0..PASSES)
            .map(|_| {
                let began = Instant::now();
                pass();
                began.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let rate = units as f64 / seconds[PASSES / 2];
        println!("{name:<44} {:>8.3} M/s", rate / 1e6);
    }

    fn cached(&self) {
        let vfs = MemoryVfs::shared();
        let opened = open(&vfs, 16 << 30, &Properties::new());
        let table = &opened.table;
        let rows = fill(table, self.entries, 1, self.look_ups);
        let mut batch = Batch::new();
        let mut scan = table
            .scan(&[Range::all()], &ScanOptions::default())
            .expect("begun");
        // Everything into the cache.
        let all = drain(&mut *scan, &mut batch);
        let ranges: Vec<Range> = rows.iter().map(|row| Range::row(row.clone())).collect();
        let absent: Vec<Range> = rows
            .iter()
            .map(|row| Range::row([row, b"~".as_slice()].concat()))
            .collect();
        self.rate("scan, one file a tablet", all as usize, || {
            scan.restart(&[Range::all()]).expect("restarted");
            assert_eq!(drain(&mut *scan, &mut batch), all);
        });
        self.rate("look up a row, restarted scan", ranges.len(), || {
            for range in &ranges {
                scan.restart(std::slice::from_ref(range))
                    .expect("restarted");
                assert!(scan.next_batch(&mut batch).expect("read"));
                assert_eq!(batch.len(), 1);
            }
        });
        self.rate(
            "look up an absent row, restarted scan",
            absent.len(),
            || {
                for range in &absent {
                    scan.restart(std::slice::from_ref(range))
                        .expect("restarted");
                    assert!(!scan.next_batch(&mut batch).expect("read"));
                }
            },
        );
        self.rate("look up a row, new scan each", ranges.len(), || {
            for range in &ranges {
                let options = ScanOptions::default();
                let mut scan = table
                    .scan(std::slice::from_ref(range), &options)
                    .expect("begun");
                assert!(scan.next_batch(&mut batch).expect("read"));
                assert_eq!(batch.len(), 1);
            }
        });
        for threads in [1, 0, 16] {
            let options = ScanOptions {
                ordered: false,
                threads,
                ..ScanOptions::default()
            };
            let chunks: Vec<&[Range]> = ranges.chunks(BATCH_ROWS).collect();
            let name = match threads {
                0 => format!("{BATCH_ROWS} rows at once, threads by default"),
                asked => format!("{BATCH_ROWS} rows at once, {asked} threads asked for"),
            };
            self.rate(&name, ranges.len(), || {
                for chunk in &chunks {
                    let mut scan = table.scan(chunk, &options).expect("begun");
                    assert_eq!(drain(&mut *scan, &mut batch), chunk.len() as u64);
                }
            });
        }
    }

    /// Blocks read from files by look-ups of rows that are there, and of rows that are not.
    fn four_times_the_cache(&self) {
        let name = format!("block reads a look-up, {FILES} files a tablet, filters");
        if !self.wants(&name) {
            return;
        }
        let vfs = MemoryVfs::shared();
        let properties = Properties::from([("table.bloom.enabled".into(), "true".into())]);
        let first = open(&vfs, 4 << 30, &properties);
        let rows = fill(&first.table, self.entries / 2, FILES, self.look_ups / 2);
        let Opened { store, table } = &first;
        let bytes = store.metrics().file_bytes;
        let mut batch = Batch::new();
        let mut scan = table
            .scan(&[Range::all()], &ScanOptions::default())
            .expect("begun");
        let mut raw = 0;
        while scan.next_batch(&mut batch).expect("read") {
            raw += batch.byte_len() as u64;
        }
        drop(scan);
        store.close().expect("closed");
        drop(first);
        // A quarter of the budget is cache; blocks lie in it uncompressed.
        let data = raw.max(bytes);
        let second = open(&vfs, data / 4 * 4, &properties);
        let Opened { store, table } = &second;
        let mut scan = table.scan(&[], &ScanOptions::default()).expect("begun");
        let mut look_up = |row: Vec<u8>, found: bool| {
            scan.restart(&[Range::row(row)]).expect("restarted");
            assert_eq!(scan.next_batch(&mut batch).expect("read"), found);
        };
        let (warm, counted) = rows.split_at(rows.len() / 2);
        warm.iter().for_each(|row| look_up(row.clone(), true));
        for (kind, found) in [("", true), (", absent", false)] {
            let before = store.metrics();
            let began = Instant::now();
            for row in counted {
                let mut row = row.clone();
                if !found {
                    row.push(b'~');
                }
                look_up(row, found);
            }
            let rate = counted.len() as f64 / began.elapsed().as_secs_f64();
            let since = store.metrics().since(&before);
            let reads = since.blocks_read as f64 / counted.len() as f64;
            println!(
                "{:<44} {reads:>8.3} (data {:.1} x cache, {:.3} M/s)",
                format!("block reads, {FILES} files a tablet{kind}"),
                data as f64 / (data / 4) as f64,
                rate / 1e6
            );
            assert!(
                reads <= 1.1,
                "filters should keep other files from being read"
            );
        }
    }
}

impl Bench {
    /// Look-ups of absent rows where a quarter of the filters is in memory: each reads a part of one.
    fn filters_four_times_the_cache(&self) {
        let name = "absent rows, filters 4 x the cache";
        if !self.wants(name) {
            return;
        }
        let vfs = MemoryVfs::shared();
        let properties = Properties::from([("table.bloom.enabled".into(), "true".into())]);
        let first = open(&vfs, 4 << 30, &properties);
        let rows = fill(&first.table, self.entries, 1, self.look_ups / 20);
        first.store.close().expect("closed");
        drop(first);
        // About ten bits a row, a quarter of the budget is cache.
        let second = open(&vfs, (self.entries * 10 / 8).max(4 << 20), &properties);
        let Opened { store, table } = &second;
        let mut batch = Batch::new();
        let mut scan = table.scan(&[], &ScanOptions::default()).expect("begun");
        let ranges: Vec<Range> = rows
            .iter()
            .map(|row| Range::row([row, b"~".as_slice()].concat()))
            .collect();
        let before = store.metrics();
        self.rate(name, ranges.len(), || {
            for range in &ranges {
                scan.restart(std::slice::from_ref(range))
                    .expect("restarted");
                assert!(!scan.next_batch(&mut batch).expect("read"));
            }
        });
        let since = store.metrics().since(&before);
        let loads = since.index_loads as f64 / ((PASSES + 1) * ranges.len()) as f64;
        println!("{:<44} {loads:>8.3} parts of filters or indexes read", "");
    }
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().any(|argument| argument == "--bench");
    arguments.retain(|argument| !argument.starts_with('-'));
    let entries = std::env::var("OSTRAKON_BENCH_ENTRIES").ok();
    let entries = entries.and_then(|text| text.parse().ok());
    let bench = Bench {
        entries: entries.unwrap_or(if full { 10_000_000 } else { 20_000 }),
        look_ups: if full { 400_000 } else { 10_000 },
        only: arguments,
    };
    bench.cached();
    bench.four_times_the_cache();
    bench.filters_four_times_the_cache();
}
