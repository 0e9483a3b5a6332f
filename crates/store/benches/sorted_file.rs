//! What sorted files cost an entry, on one thread, with entries like those of Accumulo's continuous test: random row
//! of 16 hex digits, family and qualifier of 4, value of 71 bytes.
//!
//! A full run has 1,000,000 entries a file; `cargo test --bench` runs each once with 20,000. Sizes are printed.

#![allow(
    missing_docs,
    reason = "criterion's macros write undocumented functions"
)]
#![allow(clippy::print_stdout, reason = "sizes are part of the result")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Key, Range, SortedKeyValueIterator};
use ostrakon_store::cache::{BlockCache, CacheOptions};
use ostrakon_store::catalog::Fence;
use ostrakon_store::clock::Random;
use ostrakon_store::codec::Compression;
use ostrakon_store::metrics::Metrics;
use ostrakon_store::sorted_file::{SortedFile, SortedFileWriter, WriterOptions};
use ostrakon_store::vfs::{RealVfs, Vfs};

struct Setting {
    disk: Arc<dyn Vfs>,
    dir: tempfile::TempDir,
    batches: Vec<Batch>,
    rows: Vec<Vec<u8>>,
    entries: u64,
}

fn setting() -> Setting {
    let full = std::env::args().any(|argument| argument == "--bench");
    let entries: u64 = if full { 1_000_000 } else { 20_000 };
    let mut random = Random::from_seed(7);
    let mut rows: Vec<u64> = (0..entries).map(|_| random.next_u64() >> 1).collect();
    rows.sort_unstable();
    let uuids = [
        "3f2a9c51-7d1e-4b0a-9a55-0c6f4e2b8d13",
        "b81d40e6-25c7-4f9e-8e02-6a9d17c3f54a",
    ];
    let mut batches = vec![Batch::new()];
    for row in &rows {
        if batches[batches.len() - 1].len() == 2048 {
            batches.push(Batch::new());
        }
        let mut key = Key::new(
            format!("{row:016x}"),
            format!("{:04x}", random.below(0x8000)),
            format!("{:04x}", random.below(0x8000)),
        );
        key.timestamp = 1_760_000_000_000 + random.below(60_000) as i64;
        let value = format!(
            "{}:{:016x}:{:016x}:",
            uuids[random.below(2) as usize],
            random.below(entries),
            random.next_u64() >> 1
        );
        let last = batches.len() - 1;
        batches[last]
            .push(key.as_ref(), value.as_bytes())
            .expect("small");
    }
    Setting {
        disk: RealVfs::shared(),
        dir: tempfile::tempdir().expect("a temporary directory"),
        batches,
        rows: rows
            .iter()
            .map(|row| format!("{row:016x}").into_bytes())
            .collect(),
        entries,
    }
}

impl Setting {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, path: &Path, compression: Compression) -> u64 {
        let options = WriterOptions {
            compression,
            ..WriterOptions::default()
        };
        let mut writer = SortedFileWriter::create(&self.disk, path, options).expect("created");
        for batch in &self.batches {
            writer.append(batch, 0..batch.len()).expect("sorted");
        }
        writer.finish().expect("written").bytes
    }

    fn open(&self, path: &Path) -> (Arc<SortedFile>, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::default());
        let options = CacheOptions {
            bytes: 1 << 30,
            ..CacheOptions::default()
        };
        let cache = BlockCache::new(options, metrics.clone()).expect("a cache");
        let file = SortedFile::open(&self.disk, path, 1, &cache, &metrics).expect("opened");
        (file, metrics)
    }
}

fn scan(iterator: &mut dyn SortedKeyValueIterator, batch: &mut Batch) -> u64 {
    iterator
        .seek(&Range::all(), &ColumnSelection::all())
        .expect("sought");
    let mut entries = 0;
    loop {
        batch.clear();
        let more = iterator
            .next_batch(batch, BatchLimit::default())
            .expect("read");
        entries += black_box(&*batch).len() as u64;
        if !more {
            return entries;
        }
    }
}

const CODECS: [(&str, Compression); 3] = [
    ("none", Compression::None),
    ("lz4", Compression::Lz4),
    ("zstd", Compression::Zstd(1)),
];

fn sorted_files(c: &mut Criterion) {
    let setting = setting();
    let mut group = c.benchmark_group("sorted_file");
    group.sample_size(10);
    group.throughput(Throughput::Elements(setting.entries));
    for (name, compression) in CODECS {
        let path = setting.path(name);
        group.bench_function(format!("append {name}"), |b| {
            b.iter(|| {
                if setting.disk.exists(&path).expect("asked") {
                    setting.disk.remove(&path).expect("removed");
                }
                setting.write(&path, compression)
            });
        });
        if !setting.disk.exists(&path).expect("asked") {
            setting.write(&path, compression);
        }
        let bytes = setting.disk.len(&path).expect("a file");
        println!(
            "{name}: {:.2} bytes an entry",
            bytes as f64 / setting.entries as f64
        );
        let (file, _) = setting.open(&path);
        let mut batch = Batch::new();
        let mut iterator = file.iterator(&[Fence::ALL]).without_cache_fill();
        group.bench_function(format!("scan {name} from the page cache"), |b| {
            b.iter(|| scan(&mut iterator, &mut batch));
        });
    }
    let (file, _) = setting.open(&setting.path("lz4"));
    let mut iterator = file.iterator(&[Fence::ALL]);
    let mut batch = Batch::new();
    scan(&mut iterator, &mut batch);
    group.bench_function("scan cached", |b| {
        b.iter(|| scan(&mut iterator, &mut batch));
    });
    group.finish();
}

fn look_ups(c: &mut Criterion) {
    let setting = setting();
    let path = setting.path("lz4");
    setting.write(&path, Compression::Lz4);
    let (file, metrics) = setting.open(&path);
    let mut iterator = file.iterator(&[Fence::ALL]);
    let mut batch = Batch::new();
    scan(&mut iterator, &mut batch);
    let mut random = Random::from_seed(11);
    let hits: Vec<Range> = (0..100_000)
        .map(|_| Range::row(setting.rows[random.below(setting.entries) as usize].clone()))
        .collect();
    let misses: Vec<Range> = (0..100_000)
        .map(|_| Range::row(format!("{:016x}", random.next_u64() >> 1)))
        .collect();
    let mut group = c.benchmark_group("sorted_file");
    group.throughput(Throughput::Elements(1));
    let columns = ColumnSelection::all();
    for (name, ranges, found) in [("row", &hits, 1), ("absent row", &misses, 0)] {
        let mut at = 0;
        group.bench_function(format!("look up {name}"), |b| {
            b.iter(|| {
                at = (at + 1) % ranges.len();
                batch.clear();
                iterator.seek(&ranges[at], &columns).expect("sought");
                let more = iterator.next_batch(&mut batch, BatchLimit::default());
                assert!(!more.expect("read"));
                assert_eq!(batch.len(), found);
            });
        });
        group.bench_function(format!("look up {name} with an iterator of its own"), |b| {
            b.iter(|| {
                at = (at + 1) % ranges.len();
                batch.clear();
                let mut iterator = file.iterator(&[Fence::ALL]);
                iterator.seek(&ranges[at], &columns).expect("sought");
                let more = iterator.next_batch(&mut batch, BatchLimit::default());
                assert!(!more.expect("read"));
            });
        });
    }
    group.finish();
    let seen = metrics.snapshot();
    println!(
        "filter: {} asked, {} absent, {} wrong",
        seen.filter_checks, seen.filter_negatives, seen.filter_false_positives
    );
}

criterion_group!(benches, sorted_files, look_ups);
criterion_main!(benches);
