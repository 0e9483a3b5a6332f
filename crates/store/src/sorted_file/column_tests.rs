//! Selected columns: what is read, and what is skipped.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, Column, ColumnSelection, Key, Range, SortedKeyValueIterator,
};

use super::{SortedFile, SortedFileWriter, WriterOptions};
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::Fence;
use crate::metrics::{Metrics, MetricsSnapshot};
use crate::vfs::{MemoryVfs, Vfs};

const PATH: &str = "/1.sf";

/// Opened again, with an empty cache.
fn file_of(keys: impl Iterator<Item = Key>) -> (Arc<SortedFile>, Arc<Metrics>) {
    let disk: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
    let options = WriterOptions {
        index_partition_bytes: 4 << 10,
        ..WriterOptions::default()
    };
    let mut writer = SortedFileWriter::create(&disk, Path::new(PATH), options).unwrap();
    let mut batch = Batch::new();
    for key in keys {
        let value = [key.row.as_slice(), b"/", &key.qualifier].concat();
        batch.push(key.as_ref(), &value).unwrap();
    }
    writer.append(&batch, 0..batch.len()).unwrap();
    writer.finish().unwrap();
    let metrics = Arc::new(Metrics::default());
    let cache = BlockCache::new(CacheOptions::default(), metrics.clone()).unwrap();
    let file = SortedFile::open(&disk, Path::new(PATH), 1, &cache, &metrics).unwrap();
    (file, metrics)
}

fn read(
    file: &Arc<SortedFile>,
    metrics: &Metrics,
    range: &Range,
    columns: &[Column],
) -> (Vec<String>, MetricsSnapshot) {
    let before = metrics.snapshot();
    let mut iterator = file.iterator(&[Fence::ALL]);
    let columns = ColumnSelection::new(columns.to_vec());
    iterator.seek(range, &columns).unwrap();
    let (mut batch, mut found, mut others) = (Batch::new(), Vec::new(), 0);
    loop {
        batch.clear();
        let more = iterator
            .next_batch(&mut batch, BatchLimit::default())
            .unwrap();
        for entry in batch.iter() {
            if !columns.contains_key(entry.key) {
                others += 1;
                continue;
            }
            found.push(String::from_utf8_lossy(entry.value).into_owned());
        }
        if !more {
            let read = metrics.snapshot().since(&before);
            // An occasional one, so that a scan can be stopped.
            assert!(
                others * 60 <= read.blocks_read + read.block_cache_hits,
                "{others} others"
            );
            return (found, read);
        }
    }
}

fn wide(row: &str) -> impl Iterator<Item = Key> {
    (0..100_000).map(move |column| Key::new(row, "f", format!("q{column:06}")))
}

#[test]
fn an_exact_column_of_a_wide_row_reads_one_block() {
    let (file, metrics) = file_of(wide("r"));
    for column in (0..100_000).step_by(7_919) {
        file.cache().clear();
        let name = format!("q{column:06}");
        let columns = [Column::new("f", name.as_str())];
        let (found, read) = read(&file, &metrics, &Range::row("r"), &columns);
        assert_eq!(found, [format!("r/{name}")]);
        assert!(read.blocks_read <= 2, "{} blocks", read.blocks_read);
        assert!(read.entries_scanned <= 1, "{}", read.entries_scanned);
    }
    let columns = [Column::new("f", "q1"), Column::new("g", "")];
    let (found, read) = read(&file, &metrics, &Range::all(), &columns);
    assert_eq!(found, [""; 0]);
    assert!(read.blocks_read <= 3, "{} blocks", read.blocks_read);
}

#[test]
fn blocks_between_selected_columns_of_wide_rows_are_skipped() {
    let rows = ["a", "b", "c", "d"];
    let (file, metrics) = file_of(rows.into_iter().flat_map(wide));
    let columns = [
        Column::new("f", "q000003"),
        Column::new("f", "q050000"),
        Column::new("f", "q099999"),
        Column::family("nothing"),
    ];
    for range in [Range::all(), Range::rows("b"..="c")] {
        let (found, read) = read(&file, &metrics, &range, &columns);
        let wanted = rows
            .into_iter()
            .filter(|row| range.contains(Key::new(*row, "f", "q").as_ref()))
            .flat_map(|row| {
                ["q000003", "q050000", "q099999"].map(|column| format!("{row}/{column}"))
            });
        assert_eq!(found, wanted.collect::<Vec<_>>());
        assert!(
            read.blocks_read <= 2 * found.len() as u64 + 4,
            "{} blocks for {} entries",
            read.blocks_read,
            found.len()
        );
    }
}

#[test]
fn only_selected_columns_of_narrow_rows_are_decoded() {
    let columns = |row: usize| {
        ["a", "b", "c", "d", "e"].map(|column| Key::new(format!("{row:06}"), "f", column))
    };
    let (file, metrics) = file_of((0..20_000).flat_map(columns));
    for (selected, of_a_row) in [
        (vec![Column::new("f", "c")], 1),
        (vec![Column::new("f", "a"), Column::new("f", "e")], 2),
        (vec![Column::family("f")], 5),
        (vec![Column::family("g")], 0),
        (vec![Column::new("f", "aa")], 0),
    ] {
        let (found, read) = read(&file, &metrics, &Range::all(), &selected);
        assert_eq!(found.len(), 20_000 * of_a_row);
        let scanned = read.entries_scanned as usize;
        assert!(
            (found.len()..=found.len() + 20).contains(&scanned),
            "{scanned}"
        );
        let range = Range::rows("000100".."000200");
        let (found, _) = self::read(&file, &metrics, &range, &selected);
        assert_eq!(found.len(), 100 * of_a_row);
    }
}

/// Otherwise a scan of a large file for a column that it does not have could not be stopped.
#[test]
fn a_read_without_results_returns_now_and_then() {
    let columns =
        |row: usize| ["a", "b", "c"].map(|column| Key::new(format!("{row:08}"), "f", column));
    let (file, metrics) = file_of((0..150_000).flat_map(columns));
    let mut iterator = file.iterator(&[Fence::ALL]);
    let none = ColumnSelection::new([Column::new("f", "bb")]);
    iterator.seek(&Range::all(), &none).unwrap();
    let (mut batch, mut answers, mut entries) = (Batch::new(), 0, 0);
    while iterator
        .next_batch(&mut batch, BatchLimit::default())
        .unwrap()
    {
        answers += 1;
        entries += batch.len() as u64;
        batch.clear();
    }
    let blocks = metrics.snapshot().blocks_read;
    assert!(blocks > 200, "{blocks}");
    assert_eq!((answers, entries), (blocks / 64, blocks / 64));
}
