//! Partitioned indexes: what a point read reads, and what stays in memory.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Key, Range, SortedKeyValueIterator};

use super::{SortedFile, SortedFileWriter, WriterOptions};
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::Fence;
use crate::metrics::Metrics;
use crate::vfs::{MemoryVfs, Vfs};

const ROWS: usize = 60_000;
const PATH: &str = "/1.sf";
const PARTITION: usize = 2 << 10;

fn row(at: usize) -> Vec<u8> {
    format!("{at:08}").into_bytes()
}

/// A file whose index is as long as that of one a hundred times larger.
fn written() -> Arc<dyn Vfs> {
    let disk: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
    let options = WriterOptions {
        block_bytes: 1 << 10,
        index_partition_bytes: PARTITION,
        filter: None,
        ..WriterOptions::default()
    };
    let mut writer = SortedFileWriter::create(&disk, Path::new(PATH), options).unwrap();
    let mut batch = Batch::new();
    for at in 0..ROWS {
        let value = (at as u32)
            .wrapping_mul(2_654_435_761)
            .to_le_bytes()
            .repeat(8);
        let key = Key::new(row(at), "f", "q");
        batch.push(key.as_ref(), &value).unwrap();
    }
    writer.append(&batch, 0..batch.len()).unwrap();
    writer.finish().unwrap();
    disk
}

fn open(disk: &Arc<dyn Vfs>, bytes: u64) -> (Arc<SortedFile>, Arc<BlockCache>, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::default());
    let options = CacheOptions {
        bytes,
        ..CacheOptions::default()
    };
    let cache = BlockCache::new(options, metrics.clone()).unwrap();
    let file = SortedFile::open(disk, Path::new(PATH), 1, &cache, &metrics).unwrap();
    (file, cache, metrics)
}

fn look_up(iterator: &mut dyn SortedKeyValueIterator, at: usize) {
    let range = Range::row(row(at));
    iterator.seek(&range, &ColumnSelection::all()).unwrap();
    let mut batch = Batch::new();
    while iterator
        .next_batch(&mut batch, BatchLimit::default())
        .unwrap()
    {}
    assert_eq!(batch.len(), 1, "{at}");
    assert_eq!(batch.row(0), row(at));
}

#[test]
fn a_point_read_reads_at_most_one_partition_and_block() {
    let disk = written();
    let (file, _, metrics) = open(&disk, 4 << 20);
    let description = file.description().unwrap();
    let index = file.index(&description, 0).unwrap();
    assert!(index.partitions() > 20, "{}", index.partitions());
    assert!(
        index.memory() < 60 * index.partitions() + 1_000,
        "the root takes {} bytes for {} partitions",
        index.memory(),
        index.partitions()
    );
    let parts = metrics.snapshot().index_loads;
    let mut looked_up = 0;
    for at in (0..ROWS).step_by(997) {
        look_up(&mut file.iterator(&[Fence::ALL]), at);
        looked_up += 1;
        let seen = metrics.snapshot();
        assert!(seen.index_loads - parts <= looked_up, "{at}");
        assert!(seen.blocks_read <= looked_up * 2, "{at}");
    }
    // Nearly always one: a separator is a shortened key that may be after the row.
    let seen = metrics.snapshot();
    assert!(seen.blocks_read * 100 <= looked_up * 104 + 100, "{seen:?}");
    // Warm: nothing is read.
    let before = metrics.snapshot();
    for at in (0..ROWS).step_by(997) {
        look_up(&mut file.iterator(&[Fence::ALL]), at);
    }
    let since = metrics.snapshot().since(&before);
    assert_eq!((since.blocks_read, since.index_loads), (0, 0));
}

/// With a cache smaller than the index, the budget is kept and everything is found.
#[test]
fn partitions_stay_within_the_caches_budget() {
    let disk = written();
    let bytes = 40 << 10;
    let (file, cache, metrics) = open(&disk, bytes);
    let mut iterator = file.iterator(&[Fence::ALL]);
    for at in (0..ROWS)
        .step_by(1_009)
        .chain((0..ROWS).rev().step_by(1_013))
    {
        look_up(&mut iterator, at);
        let (blocks, parts) = cache.usage();
        assert!(blocks + parts <= bytes, "{blocks} and {parts} bytes");
    }
    assert!(metrics.snapshot().index_loads > 50);
    // Read in order, each partition is loaded once by the reader and once by the read-ahead.
    let (file, _, metrics) = open(&disk, bytes);
    let mut iterator = file.iterator(&[Fence::ALL]);
    iterator
        .seek(&Range::all(), &ColumnSelection::all())
        .unwrap();
    let (mut batch, mut found) = (Batch::new(), 0);
    loop {
        batch.clear();
        let more = iterator
            .next_batch(&mut batch, BatchLimit::default())
            .unwrap();
        for entry in batch.iter() {
            assert_eq!(entry.key.row, row(found));
            found += 1;
        }
        if !more {
            break;
        }
    }
    assert_eq!(found, ROWS);
    let description = file.description().unwrap();
    let partitions = file.index(&description, 0).unwrap().partitions() as u64;
    let loads = metrics.snapshot().index_loads;
    assert!(loads <= 2 * partitions + 2, "{loads} for {partitions}");
}

#[test]
fn every_row_is_found_at_the_borders_of_partitions() {
    let disk = written();
    let (file, _, _) = open(&disk, 16 << 20);
    file.verify(&mut |_| {}).unwrap();
    file.check_outline().unwrap();
    let mut iterator = file.iterator(&[Fence::ALL]);
    for at in 0..ROWS {
        look_up(&mut iterator, at);
    }
    let fence = Fence::new(Some(row(20_000)), Some(row(39_999)));
    let (_, entries) = file.estimate(&fence).unwrap();
    assert!((19_900..20_100).contains(&entries), "{entries}");
    let cuts = file.middle_rows(&fence, 4).unwrap();
    assert_eq!(cuts.len(), 3);
}
