//! Files compared with a sorted list in memory.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, Column, ColumnSelection, Entry, Key, Range, SortedKeyValueIterator,
};
use proptest::prelude::*;

use super::format::PartPlace;
use super::index::IndexCursor;
use super::{
    FileIterator, FilterFunctor, FilterOptions, LocalityGroup, Origin, SortedFile,
    SortedFileWriter, WriterOptions,
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
        4 => proptest::collection::vec(proptest::sample::select(&b"\x00ab\xff"[..]), 0..4),
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
    let index = prop_oneof![64..400_usize, Just(32 << 10)];
    (1000..8000_usize, index, compression, filter, groups).prop_map(
        |(block_bytes, index_partition_bytes, compression, filter, groups)| WriterOptions {
            block_bytes,
            index_partition_bytes,
            compression,
            filter,
            locality_groups: groups
                .into_iter()
                .map(|families| LocalityGroup {
                    name: "g".to_owned(),
                    families,
                })
                .collect(),
            ..WriterOptions::default()
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

/// Ranges that overlap the entries, and some that do not.
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
    fn a_file_reads_back_the_entries_written(
        entries in entries(),
        options in options(),
        picks in proptest::collection::vec(
            (any::<usize>(), any::<usize>(), any::<u8>(), key()),
            0..12,
        ),
        cuts in (proptest::collection::vec(any::<usize>(), 0..4), any::<u8>()),
        chosen in proptest::collection::vec((any::<usize>(), any::<bool>()), 0..3),
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
        let columns = ColumnSelection::new(chosen.iter()
            .filter_map(|(at, whole)| Some((entries.get(at % entries.len().max(1))?, whole)))
            .map(|(entry, whole)| Column {
                family: entry.key.family.clone(),
                qualifier: (!whole).then(|| entry.key.qualifier.clone()),
            }));
        for (round, range) in ranges(&entries, &picks).into_iter().enumerate() {
            let columns = if round % 2 == 0 { ColumnSelection::all() } else { columns.clone() };
            let expected: Vec<Entry> = entries.iter()
                .filter(|entry| range.contains(entry.key.as_ref()))
                .filter(|entry| columns.contains_key(entry.key.as_ref()))
                .filter(|entry| fences.iter().any(|fence| fence.contains(&entry.key.row)))
                .cloned()
                .collect();
            let read = |iterator: &mut dyn SortedKeyValueIterator, limit| {
                let mut found = read(iterator, &range, &columns, limit);
                // An occasional entry of another column is allowed.
                found.retain(|entry| columns.contains_key(entry.key.as_ref()));
                found
            };
            let mut found = read(&mut iterator, limit);
            // Different groups hold no equal keys, so the order is exact.
            prop_assert_eq!(&found, &expected, "{:?}", range);
            found = read(&mut *iterator.deep_copy(), BatchLimit::default());
            prop_assert_eq!(&found, &expected, "copy, {:?}", range);
        }
    }
}

#[test]
fn unsorted_entries_are_rejected_and_the_file_is_removed() {
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

/// A small file with every kind of part and lane.
fn specimen() -> (Vec<Entry>, WriterOptions) {
    let mut entries = Vec::new();
    for row in 0..40_u32 {
        for column in 0..6_u32 {
            let key = Key {
                row: format!("row{row:04}").into_bytes(),
                family: [&b"name"[..], b"edge"][(column % 2) as usize].to_vec(),
                qualifier: format!("q{:x}", row * 7 + column).into_bytes(),
                visibility: [&b""[..], b"a&b", b"secret"][(row % 3) as usize].to_vec(),
                timestamp: 1_700_000_000_000 + i64::from(row * column),
                deleted: column == 5,
            };
            let value = vec![b'v'; (row + column) as usize % 50];
            entries.push(Entry { key, value });
        }
    }
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    let options = WriterOptions {
        block_bytes: 1024,
        // The index of one group is partitioned, that of the other is not.
        index_partition_bytes: 200,
        locality_groups: vec![LocalityGroup {
            name: "names".to_owned(),
            families: vec![b"name".to_vec()],
        }],
        origin: Some(Origin {
            number: 12,
            table: 3,
        }),
        identity: NonZeroU64::new(0x0123_4567_89ab_cdef),
        ..WriterOptions::default()
    };
    (entries, options)
}

fn replace(disk: &Arc<dyn Vfs>, bytes: &[u8]) {
    disk.replace(Path::new(PATH), bytes).unwrap();
}

/// Reads everything, or returns the error.
fn try_read(file: &Arc<SortedFile>) -> Result<Vec<Entry>, crate::error::Error> {
    let mut iterator = file.iterator(&[Fence::ALL]);
    iterator.seek(&Range::all(), &ColumnSelection::all())?;
    let mut batch = Batch::new();
    let no_limit = BatchLimit {
        entries: usize::MAX,
        bytes: usize::MAX,
    };
    while iterator.next_batch(&mut batch, no_limit)? {}
    Ok(batch
        .iter()
        .map(ostrakon_cell::EntryRef::to_entry)
        .collect())
}

#[test]
fn every_flipped_byte_is_detected_and_the_file_named() {
    let (entries, options) = specimen();
    for compression in [Compression::None, Compression::Lz4] {
        let disk = disk();
        write(
            &disk,
            &entries,
            WriterOptions {
                compression,
                ..options.clone()
            },
        );
        let whole = disk.read_to_vec(Path::new(PATH), 1 << 20).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            replace(&disk, &bytes);
            let (file, _) = open(&disk);
            let error = file.verify(&mut |_| {}).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "byte {at}: {error}");
            let text = error.to_string();
            assert!(
                text.contains(PATH) && text.contains("offset"),
                "byte {at}: {text}"
            );
            match try_read(&file) {
                // Readers do not check header and filter.
                Ok(found) => assert_eq!(found, entries, "byte {at}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption, "byte {at}: {error}"),
            }
        }
    }
}

#[test]
fn a_truncated_file_is_detected() {
    let (entries, options) = specimen();
    let disk = disk();
    write(&disk, &entries, options);
    let whole = disk.read_to_vec(Path::new(PATH), 1 << 20).unwrap();
    for len in 0..whole.len() {
        replace(&disk, &whole[..len]);
        let (file, _) = open(&disk);
        assert_eq!(
            try_read(&file).unwrap_err().kind(),
            ErrorKind::Corruption,
            "{len}"
        );
        assert_eq!(
            file.summary().unwrap_err().kind(),
            ErrorKind::Corruption,
            "{len}"
        );
    }
}

#[test]
fn a_newer_format_is_recognized() {
    let (entries, options) = specimen();
    let disk = disk();
    write(&disk, &entries, options);
    let mut bytes = disk.read_to_vec(Path::new(PATH), 1 << 20).unwrap();
    let footer = bytes.len() - super::format::FOOTER_BYTES;
    bytes[footer + 24] += 1;
    let sum = crate::codec::checksum(&bytes[footer..footer + 28]).to_le_bytes();
    bytes[footer + 28..footer + 32].copy_from_slice(&sum);
    replace(&disk, &bytes);
    let (file, _) = open(&disk);
    assert_eq!(try_read(&file).unwrap_err().kind(), ErrorKind::NewerFormat);
}

proptest! {
    /// A checksum proves that bytes are those that were written, not that they are valid.
    #[test]
    fn invalid_parts_with_valid_checksums_do_no_harm(
        damage in proptest::collection::vec((any::<usize>(), any::<u8>(), any::<bool>()), 1..4),
        which: usize,
    ) {
        let (entries, options) = specimen();
        let disk = disk();
        write(&disk, &entries, WriterOptions { compression: Compression::None, ..options });
        let mut bytes = disk.read_to_vec(Path::new(PATH), 1 << 20).unwrap();
        let (file, _) = open(&disk);
        let description = file.description().unwrap();
        let footer = file.footer().unwrap();
        let mut places = vec![footer.description];
        places.extend(description.partitions.iter().map(|partition| partition.place));
        for group in 0..description.groups.len() {
            places.push(description.groups[group].index);
            let index = file.index(&description, group).unwrap();
            let partitions = (0..index.partitions()).filter_map(|at| index.place_of(at));
            places.extend(partitions.map(PartPlace::from));
            let mut cursor = IndexCursor::new(index);
            places.extend((0..cursor.blocks()).map(|at| {
                PartPlace::from(cursor.place(&file, at, true).unwrap())
            }));
        }
        let place = places[which % places.len()];
        let (start, end) = (place.offset as usize, (place.offset + place.bytes) as usize - 4);
        for (at, byte, near) in damage {
            let room = end - start - 5;
            let at = if near { at % room.min(40) } else { at % room };
            bytes[start + 5 + at] = byte;
        }
        let mark = place.offset as u32 ^ footer.identity as u32 ^ (footer.identity >> 32) as u32;
        let sum = crate::codec::checksum(&bytes[start..end]) ^ mark;
        bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
        replace(&disk, &bytes);
        let (file, _) = open(&disk);
        let _ = file.verify(&mut |_| {});
        let _ = try_read(&file);
        let _ = file.estimate(&Fence::ALL);
        let _ = file.middle_rows(&Fence::ALL, 4);
        let mut iterator = file.iterator(&[Fence::new(Some(b"row0003".to_vec()), None)]);
        let mut batch = Batch::new();
        for entry in entries.iter().step_by(17) {
            let key = entry.key.clone();
            let range = Range::keys(Some(key), false, None, false).unwrap();
            if iterator.seek(&range, &ColumnSelection::all()).is_ok() {
                batch.clear();
                let _ = iterator.next_batch(&mut batch, BatchLimit { entries: 3, bytes: 1000 });
            }
        }
    }
}

#[test]
fn huge_values_get_their_own_blocks_and_read_back() {
    let disk = disk();
    let entries: Vec<Entry> = (0..30_u8)
        .map(|at| Entry {
            key: Key::new([b'r', at], "f", "q"),
            value: if at % 10 == 3 {
                (0..5_000_000_u32)
                    .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 ^ at)
                    .collect()
            } else {
                vec![at; 100]
            },
        })
        .collect();
    write(&disk, &entries, WriterOptions::default());
    let (file, _) = open(&disk);
    assert!(try_read(&file).unwrap() == entries);
    file.verify(&mut |_| {}).unwrap();
    let (file, fresh) = open(&disk);
    let mut iterator = file.iterator(&[Fence::ALL]);
    let found = read(
        &mut iterator,
        &Range::row([b'r', 4]),
        &ColumnSelection::all(),
        BatchLimit::default(),
    );
    assert_eq!(found, [entries[4].clone()]);
    assert!(
        fresh.snapshot().block_bytes_read < 10_000,
        "a neighbour of a huge value was read with it"
    );
}

#[test]
fn filters_keep_absent_rows_from_the_disk() {
    let disk = disk();
    let entries: Vec<Entry> = (0..20_000_u32)
        .map(|at| Entry {
            key: Key::new(format!("{at:08}x"), "f", "q"),
            value: b"v".to_vec(),
        })
        .collect();
    write(&disk, &entries, WriterOptions::default());
    let (file, metrics) = open(&disk);
    let mut iterator = file.iterator(&[Fence::ALL]);
    for at in 0..20_000_u32 {
        let range = Range::row(format!("{at:08}y"));
        assert!(
            read(
                &mut iterator,
                &range,
                &ColumnSelection::all(),
                BatchLimit::default()
            )
            .is_empty()
        );
    }
    let seen = metrics.snapshot();
    assert_eq!(seen.filter_checks, 20_000);
    // The setting is 0.5 %.
    assert!(
        seen.filter_negatives > 19_840,
        "{} wrong answers",
        20_000 - seen.filter_negatives
    );
    assert_eq!(
        seen.filter_false_positives,
        seen.filter_checks - seen.filter_negatives
    );
    let range = Range::row("00000007x");
    assert_eq!(
        read(
            &mut iterator,
            &range,
            &ColumnSelection::all(),
            BatchLimit::default()
        )
        .len(),
        1
    );
}

#[test]
fn a_point_read_reads_one_block() {
    let disk = disk();
    let entries: Vec<Entry> = (0..20_000_u32)
        .map(|at| Entry {
            key: Key::new(format!("{at:08}x"), "f", "q"),
            value: at.to_le_bytes().repeat(8),
        })
        .collect();
    write(&disk, &entries, WriterOptions::default());
    let (file, metrics) = open(&disk);
    let looked_up = entries.iter().step_by(7);
    let count = looked_up.len() as u64;
    for entry in looked_up {
        // Nothing is cached, as if the data were far larger than the cache.
        file.cache().clear();
        let mut iterator = file.iterator(&[Fence::ALL]);
        let range = Range::row(entry.key.row.clone());
        let found = read(
            &mut iterator,
            &range,
            &ColumnSelection::all(),
            BatchLimit::default(),
        );
        assert_eq!(found, std::slice::from_ref(entry));
    }
    let blocks = metrics.snapshot().blocks_read;
    assert!(
        blocks * 100 <= count * 102,
        "{blocks} blocks for {count} look-ups"
    );
}

#[test]
fn blocks_whose_labels_are_all_denied_are_skipped() {
    let disk = disk();
    let entries: Vec<Entry> = (0..2_000_u32)
        .map(|at| Entry {
            key: Key {
                visibility: if at < 1_000 {
                    b"open".to_vec()
                } else {
                    b"shut".to_vec()
                },
                ..Key::new(format!("{at:08}"), "f", "q")
            },
            value: vec![7; 20],
        })
        .collect();
    write(
        &disk,
        &entries,
        WriterOptions {
            block_bytes: 1024,
            ..WriterOptions::default()
        },
    );
    let (file, metrics) = open(&disk);
    let mut iterator = file
        .iterator(&[Fence::ALL])
        .with_label_filter(Arc::new(|label: &[u8]| label == b"open"));
    let found = read(
        &mut iterator,
        &Range::all(),
        &ColumnSelection::all(),
        BatchLimit::default(),
    );
    assert!(
        found.len() >= 1_000 && found.len() < 1_100,
        "{}",
        found.len()
    );
    assert_eq!(found[..1_000], entries[..1_000]);
    assert_eq!(metrics.snapshot().entries_scanned, found.len() as u64);
}

#[test]
fn cuts_and_estimates_come_from_the_index() {
    let disk = disk();
    let entries: Vec<Entry> = (0..20_000_u32)
        .map(|at| Entry {
            key: Key::new(format!("{at:08}"), "f", "q"),
            value: at.wrapping_mul(2_654_435_761).to_le_bytes().repeat(5),
        })
        .collect();
    let summary = write(
        &disk,
        &entries,
        WriterOptions {
            block_bytes: 4096,
            ..WriterOptions::default()
        },
    );
    let (file, metrics) = open(&disk);
    let cuts = file.middle_rows(&Fence::ALL, 4).unwrap();
    assert_eq!(cuts.len(), 3);
    for (cut, expected) in cuts.iter().zip([5_000, 10_000, 15_000]) {
        let at = entries.partition_point(|entry| entry.key.row <= cut.row);
        assert!(
            (expected - 300..expected + 300).contains(&at),
            "{at} for {expected}"
        );
        assert!(cut.bytes * 4 < summary.bytes * 11 / 10 && cut.bytes * 4 > summary.bytes * 8 / 10);
    }
    let fence = Fence::new(Some(b"00005000".to_vec()), Some(b"00009999".to_vec()));
    let (bytes, count) = file.estimate(&fence).unwrap();
    assert!((5_000..5_300).contains(&count), "{count}");
    assert!(bytes * 4 < summary.bytes * 11 / 10 && bytes * 4 > summary.bytes * 8 / 10);
    let inside = file.middle_rows(&fence, 2).unwrap();
    assert!(inside.len() == 1 && fence.contains(&inside[0].row));
    let outside = Fence::new(Some(b"1".to_vec()), None);
    assert_eq!(file.estimate(&outside).unwrap(), (0, 0));
    assert_eq!(file.middle_rows(&outside, 2).unwrap(), []);
    assert_eq!(metrics.snapshot().blocks_read, 0);
}

#[test]
fn a_file_is_removed_after_its_last_user() {
    let (entries, options) = specimen();
    let disk = disk();
    write(&disk, &entries, options);
    let (file, _) = open(&disk);
    let mut iterator = file.iterator(&[Fence::ALL]);
    file.remove_when_unused();
    drop(file);
    assert_eq!(
        read(
            &mut iterator,
            &Range::all(),
            &ColumnSelection::all(),
            BatchLimit::default()
        ),
        entries
    );
    drop(iterator);
    assert!(!disk.exists(Path::new(PATH)).unwrap());
}

#[test]
fn few_open_handles_serve_many_files() {
    let (entries, options) = specimen();
    let disk = disk();
    let metrics = Arc::new(Metrics::default());
    let cache = BlockCache::new(
        CacheOptions {
            bytes: 1 << 20,
            open_files: 3,
        },
        metrics.clone(),
    )
    .unwrap();
    let files: Vec<Arc<SortedFile>> = (0..20_u64)
        .map(|id| {
            let path = format!("/t/many{id}.sf");
            let mut writer =
                SortedFileWriter::create(&disk, Path::new(&path), options.clone()).unwrap();
            writer
                .append(&batch_of(&entries), 0..entries.len())
                .unwrap();
            writer.finish().unwrap();
            SortedFile::open(&disk, Path::new(&path), id, &cache, &metrics).unwrap()
        })
        .collect();
    for file in &files {
        assert_eq!(try_read(file).unwrap(), entries);
        assert!(cache.open_files() <= 3);
    }
    let (blocks, parts) = cache.usage();
    assert!(blocks + parts <= 1 << 20, "{blocks} and {parts} bytes held");
}

fn fixture(version: u32) -> PathBuf {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    repository.join(format!("fixtures/sorted-file-v{version}/specimen.sf"))
}

/// Every version stays readable. If the newest fixture is missing, run the test below and commit
/// its output.
#[test]
fn files_of_all_versions_are_read() {
    let (entries, options) = specimen();
    let real = crate::vfs::RealVfs::shared();
    for version in 1..=super::format::VERSION {
        let path = fixture(version);
        assert!(
            real.exists(&path).unwrap(),
            "a new format needs a fixture: run writes_the_fixture_of_this_format"
        );
        let metrics = Arc::new(Metrics::default());
        let cache = BlockCache::new(CacheOptions::default(), metrics.clone()).unwrap();
        let file = SortedFile::open(&real, &path, 1, &cache, &metrics).unwrap();
        file.verify(&mut |_| {}).unwrap();
        file.check_outline().unwrap();
        assert_eq!(try_read(&file).unwrap(), entries);
        let (identity, origin) = match version {
            1 => (0, None),
            _ => (0x0123_4567_89ab_cdef, options.origin),
        };
        assert_eq!(file.summary().unwrap().identity, identity);
        assert_eq!(file.description().unwrap().origin, origin);
    }
    let disk = disk();
    write_all(&disk, Path::new(PATH), &entries, options);
    let now = disk.read_to_vec(Path::new(PATH), 1 << 20).unwrap();
    let then = real.read_to_vec(&fixture(super::format::VERSION), 1 << 20);
    assert!(now == then.unwrap(), "the bytes of this version changed");
}

fn write_all(disk: &Arc<dyn Vfs>, path: &Path, entries: &[Entry], options: WriterOptions) {
    let mut writer = SortedFileWriter::create(disk, path, options).unwrap();
    writer.append(&batch_of(entries), 0..entries.len()).unwrap();
    writer.finish().unwrap();
}

#[test]
#[ignore = "run by hand when the format changes; never replaces a fixture"]
fn writes_the_fixture_of_this_format() {
    let (entries, options) = specimen();
    let disk = crate::vfs::RealVfs::shared();
    let path = fixture(super::format::VERSION);
    assert!(!disk.exists(&path).unwrap(), "it is there");
    disk.create_dir_all(path.parent().unwrap()).unwrap();
    write_all(&disk, &path, &entries, options);
}

#[test]
fn a_range_may_start_after_the_last_entry_of_a_full_group() {
    // Three groups of sixteen: no further group begins after the last entry.
    let entries: Vec<Entry> = (0..48)
        .map(|row| Entry {
            key: Key::new(format!("r{row:02}"), "f", "q"),
            value: b"v".to_vec(),
        })
        .collect();
    let disk = disk();
    write(&disk, &entries, WriterOptions::default());
    let (file, _) = open(&disk);
    let mut iterator = file.iterator(&[Fence::ALL]);
    let all = ColumnSelection::all();
    for (start, end) in [
        ("r47", "s"),
        ("r47\0", "s"),
        ("r46\0", "r47\0"),
        ("r99", "s"),
    ] {
        let range = Range::rows(start..end);
        let expected: Vec<Entry> = entries
            .iter()
            .filter(|entry| range.contains(entry.key.as_ref()))
            .cloned()
            .collect();
        let found = read(&mut iterator, &range, &all, BatchLimit::default());
        assert_eq!(found, expected, "{range:?}");
    }
    for row in ["r46", "r47"] {
        let behind = Key {
            timestamp: -1,
            ..Key::new(row, "f", "q")
        };
        let range = Range::keys(Some(behind), true, Some(Key::new(row, "g", "")), true).unwrap();
        assert!(read(&mut iterator, &range, &all, BatchLimit::default()).is_empty());
    }
}

/// Fences outside of a range cost no block, and those that overlap it lose no entry. Otherwise a
/// scan of a table whose file has many fences would read a block for each, or miss rows at their
/// ends.
#[test]
fn a_range_reads_only_the_fences_it_overlaps() {
    let row = |at: usize| format!("{at:05}").into_bytes();
    let entries: Vec<Entry> = (0..3_000)
        .map(|at| Entry {
            key: Key::new(row(at), "f", "q"),
            value: vec![b'v'; 40],
        })
        .collect();
    let disk = disk();
    let options = WriterOptions {
        block_bytes: 1 << 10,
        ..WriterOptions::default()
    };
    write(&disk, &entries, options);
    // Rows 1..=100, 301..=400 and so on; no two in one block.
    let fences: Vec<Fence> = (0..10)
        .map(|at| Fence::new(Some(row(300 * at)), Some(row(300 * at + 100))))
        .collect();
    let blocks_and_entries = |fences: &[Fence], range: &Range| {
        let (file, metrics) = open(&disk);
        let mut iterator = file.iterator(fences);
        let all = ColumnSelection::all();
        let found = read(&mut iterator, range, &all, BatchLimit::default());
        (metrics.snapshot().blocks_read, found)
    };
    let (of_one, found) = blocks_and_entries(&fences[4..5], &Range::all());
    assert_eq!(found.len(), 100);
    assert!((2..=12).contains(&of_one), "{of_one} blocks for 100 rows");

    let ends = [
        0, 1, 50, 100, 101, 200, 300, 301, 350, 400, 401, 1_250, 1_550, 2_699, 2_700, 2_701, 2_800,
        2_801, 2_950, 2_999,
    ];
    let mut ranges = vec![Range::all(), Range::rows("".."00000"), Range::rows("1"..)];
    for (at, from) in ends.into_iter().enumerate() {
        ranges.push(Range::row(row(from)));
        ranges.push(Range::rows(row(from)..));
        ranges.push(Range::rows(..row(from)));
        for &to in &ends[at..] {
            ranges.push(Range::rows(row(from)..=row(to)));
            ranges.push(Range::tablet(Some(&row(from)), Some(&row(to))));
        }
    }
    for range in ranges {
        let inside = |fence: &Fence| {
            let kept = entries.iter().filter(|entry| {
                range.contains(entry.key.as_ref()) && fence.contains(&entry.key.row)
            });
            kept.cloned().collect::<Vec<_>>()
        };
        // All possible rows, not only existing ones.
        let tablet =
            |fence: &Fence| Range::tablet(fence.after.as_deref(), fence.through.as_deref());
        let met: Vec<&Fence> = fences
            .iter()
            .filter(|fence| range.clip(&tablet(fence)).is_some())
            .collect();
        let alone = |fence: &&Fence| blocks_and_entries(std::slice::from_ref(*fence), &range).0;
        let blocks_wanted: u64 = met.iter().map(alone).sum();
        let wanted: Vec<Entry> = met.iter().copied().flat_map(inside).collect();
        let (blocks, found) = blocks_and_entries(&fences, &range);
        assert_eq!(found, wanted, "{range:?}");
        assert_eq!(blocks, blocks_wanted, "blocks read for {range:?}");
    }
}
