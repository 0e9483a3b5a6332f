//! Files against a sorted list in memory.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, Column, ColumnSelection, Entry, Key, Range, SortedKeyValueIterator,
};
use proptest::prelude::*;

use super::{
    FileIterator, FilterFunctor, FilterOptions, LocalityGroup, SortedFile, SortedFileWriter,
    WriterOptions,
};
use crate::cache::{BlockCache, CacheOptions};
use crate::catalog::Fence;
use crate::codec::Compression;
use crate::error::ErrorKind;
use crate::metrics::Metrics;
use crate::vfs::{MemoryVfs, Vfs};

const PATH: &str = "/t/1.sf";

fn disk() -> Arc<dyn Vfs> {
    let disk = MemoryVfs::new();
    disk.create_dir_all(Path::new("/t")).unwrap();
    Arc::new(disk)
}

fn batch_of(entries: &[Entry]) -> Batch {
    let mut batch = Batch::new();
    for entry in entries {
        batch.push(entry.key.as_ref(), &entry.value).unwrap();
    }
    batch
}

fn write(disk: &Arc<dyn Vfs>, entries: &[Entry], options: WriterOptions) -> super::FileSummary {
    let mut writer = SortedFileWriter::create(disk, Path::new(PATH), options).unwrap();
    for run in entries.chunks(57) {
        let batch = batch_of(run);
        let cut = run.len() / 3;
        writer.append(&batch, 0..cut).unwrap();
        writer.append(&batch, cut..run.len()).unwrap();
    }
    writer.finish().unwrap()
}

fn open(disk: &Arc<dyn Vfs>) -> (Arc<SortedFile>, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::default());
    let cache = BlockCache::new(CacheOptions::default(), metrics.clone()).unwrap();
    let file = SortedFile::open(disk, Path::new(PATH), 1, &cache, &metrics).unwrap();
    (file, metrics)
}

fn read(
    iterator: &mut dyn SortedKeyValueIterator,
    range: &Range,
    columns: &ColumnSelection,
    limit: BatchLimit,
) -> Vec<Entry> {
    iterator.seek(range, columns).unwrap();
    let mut found = Vec::new();
    let mut batch = Batch::new();
    loop {
        batch.clear();
        let more = iterator.next_batch(&mut batch, limit).unwrap();
        assert!(batch.len() <= limit.entries);
        found.extend(batch.iter().map(ostrakon_cell::EntryRef::to_entry));
        if !more {
            return found;
        }
    }
}

fn part() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => Just(Vec::new()),
        4 => proptest::collection::vec(prop_oneof![Just(0_u8), Just(b'a'), Just(b'b'), Just(255)], 0..4),
        2 => proptest::collection::vec(any::<u8>(), 0..12),
        1 => (0..3_usize, proptest::collection::vec(any::<u8>(), 0..3))
            .prop_map(|(long, tail)| [vec![b'l'; long * 150], tail].concat()),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    let timestamp = prop_oneof![
        4 => 0..4_i64,
        1 => any::<i64>(),
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
    ];
    (
        part(),
        part(),
        part(),
        part(),
        timestamp,
        proptest::bool::weighted(0.2),
    )
        .prop_map(
            |(row, family, qualifier, visibility, timestamp, deleted)| Key {
                row,
                family,
                qualifier,
                visibility,
                timestamp,
                deleted,
            },
        )
}

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let value = prop_oneof![
        4 => part(),
        1 => (0..5_000_usize, any::<u8>()).prop_map(|(len, byte)| vec![byte; len]),
    ];
    let keys = prop_oneof![
        // All different.
        proptest::collection::vec((key(), value.clone()), 0..300),
        // One row, many columns and versions.
        (
            part(),
            proptest::collection::vec((key(), value.clone()), 0..300)
        )
            .prop_map(|(row, list)| {
                list.into_iter()
                    .map(|(key, value)| {
                        (
                            Key {
                                row: row.clone(),
                                ..key
                            },
                            value,
                        )
                    })
                    .collect()
            }),
        // One column, many rows.
        (key(), proptest::collection::vec((part(), part()), 0..300)).prop_map(|(key, list)| {
            list.into_iter()
                .map(|(row, value)| (Key { row, ..key.clone() }, value))
                .collect()
        }),
    ];
    keys.prop_map(|list: Vec<(Key, Vec<u8>)>| {
        let mut entries: Vec<Entry> = list
            .into_iter()
            .map(|(key, value)| Entry { key, value })
            .collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    })
}

fn options() -> impl Strategy<Value = WriterOptions> {
    let compression = prop_oneof![
        Just(Compression::None),
        Just(Compression::Lz4),
        Just(Compression::Zstd(1))
    ];
    let functor = prop_oneof![
        Just(FilterFunctor::Row),
        Just(FilterFunctor::RowFamily),
        Just(FilterFunctor::RowFamilyQualifier)
    ];
    let filter = proptest::option::of(functor.prop_map(|functor| FilterOptions {
        functor,
        ..FilterOptions::default()
    }));
    let groups = proptest::collection::vec(proptest::collection::vec(part(), 0..3), 0..3);
    (1000..8000_usize, compression, filter, groups).prop_map(
        |(block_bytes, compression, filter, groups)| WriterOptions {
            block_bytes,
            compression,
            filter,
            locality_groups: groups
                .into_iter()
                .map(|families| LocalityGroup {
                    name: "g".to_owned(),
                    families,
                })
                .collect(),
        },
    )
}

fn range(from: Option<(Key, bool)>, to: Option<(Key, bool)>) -> Range {
    let (from, to) = match (from, to) {
        (Some(from), Some(to)) if from.0 > to.0 => (Some(to), Some(from)),
        other => other,
    };
    let (start, start_inclusive) = from.map_or((None, false), |(key, on)| (Some(key), on));
    let (end, end_inclusive) = to.map_or((None, false), |(key, on)| (Some(key), on));
    Range::keys(start, start_inclusive, end, end_inclusive).unwrap()
}

/// Ranges that touch what is there, and some that do not.
fn ranges(entries: &[Entry], picks: &[(usize, usize, u8, Key)]) -> Vec<Range> {
    let mut ranges = vec![Range::all()];
    for (a, b, kind, other) in picks {
        let pick = |at: usize| {
            entries
                .get(at % entries.len().max(1))
                .map_or_else(|| other.clone(), |entry| entry.key.clone())
        };
        let (from, to) = (pick(*a), pick(*b));
        ranges.push(match kind % 9 {
            0 => Range::row(from.row),
            1 => Range::row_family(from.row, from.family),
            2 => Range::row_column(from.row, from.family, from.qualifier),
            3 => range(Some((from, a % 2 == 0)), Some((to, b % 2 == 0))),
            4 => range(Some((from, a % 2 == 0)), None),
            5 => range(None, Some((to, b % 2 == 0))),
            6 => Range::row(other.row.clone()),
            7 => range(Some((from, a % 2 == 0)), Some((other.clone(), b % 2 == 0))),
            _ => Range::row_column(from.row, to.family, other.qualifier.clone()),
        });
    }
    ranges
}

fn fences(rows: &[Vec<u8>], which: u8) -> Vec<Fence> {
    if rows.is_empty() {
        return vec![Fence::ALL];
    }
    let mut rows = rows.to_vec();
    rows.sort();
    rows.dedup();
    let mut ends = vec![None];
    ends.extend(rows.into_iter().map(Some));
    ends.push(None);
    let all = ends
        .windows(2)
        .map(|pair| Fence::new(pair[0].clone(), pair[1].clone()));
    all.enumerate()
        .filter(|(at, _)| which & (1 << (at % 8)) != 0)
        .map(|(_, fence)| fence)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_file_reads_as_the_list_it_was_written_from(
        entries in entries(),
        options in options(),
        picks in proptest::collection::vec((any::<usize>(), any::<usize>(), any::<u8>(), key()), 0..12),
        cuts in (proptest::collection::vec(any::<usize>(), 0..4), any::<u8>()),
        families in proptest::collection::vec(any::<usize>(), 0..3),
        limit in (1..400_usize, 1..20_000_usize),
        bypass: bool,
    ) {
        let disk = disk();
        let summary = write(&disk, &entries, options);
        prop_assert_eq!(summary.entries as usize, entries.len());
        prop_assert_eq!(summary.bytes, disk.len(Path::new(PATH)).unwrap());
        let (file, _) = open(&disk);
        prop_assert_eq!(&file.summary().unwrap(), &summary);
        file.verify(&mut |_| {}).unwrap();
        let rows: Vec<Vec<u8>> = cuts.0.iter()
            .filter_map(|at| entries.get(at % entries.len().max(1)))
            .map(|entry| entry.key.row.clone())
            .collect();
        let fences = fences(&rows, cuts.1);
        let mut iterator: FileIterator = file.iterator(&fences);
        if bypass {
            iterator = iterator.without_cache_fill();
        }
        let limit = BatchLimit { entries: limit.0, bytes: limit.1 };
        let columns = ColumnSelection::new(families.iter()
            .filter_map(|at| entries.get(at % entries.len().max(1)))
            .map(|entry| Column::family(entry.key.family.clone())));
        for (round, range) in ranges(&entries, &picks).into_iter().enumerate() {
            let columns = if round % 2 == 0 { ColumnSelection::all() } else { columns.clone() };
            let expected: Vec<Entry> = entries.iter()
                .filter(|entry| range.contains(entry.key.as_ref()))
                .filter(|entry| columns.contains_family(&entry.key.family))
                .filter(|entry| fences.iter().any(|fence| fence.contains(&entry.key.row)))
                .cloned()
                .collect();
            let mut found = read(&mut iterator, &range, &columns, limit);
            // Equal keys from different groups cannot be, so order is exact.
            prop_assert_eq!(&found, &expected, "{:?}", range);
            found = read(&mut *iterator.deep_copy(), &range, &columns, BatchLimit::default());
            prop_assert_eq!(&found, &expected, "copy, {:?}", range);
        }
    }
}

#[test]
fn entries_out_of_order_are_refused_and_the_file_is_removed() {
    let disk = disk();
    let entries = [Key::new("b", "", ""), Key::new("a", "", "")].map(|key| Entry {
        key,
        value: Vec::new(),
    });
    let mut writer =
        SortedFileWriter::create(&disk, Path::new(PATH), WriterOptions::default()).unwrap();
    let error = writer.append(&batch_of(&entries), 0..2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    drop(writer);
    assert!(!disk.exists(Path::new(PATH)).unwrap());
}
