#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, ColumnSelection, ColumnUpdate, Entry, Key, Mutation, MutationBatch, Range,
    SortedKeyValueIterator,
};
use proptest::prelude::*;

use super::*;

fn read(memtable: &Memtable, range: &Range, entries: usize) -> Vec<Entry> {
    let mut iterator = MemtableIterator::new(memtable.snapshot());
    iterator.seek(range, &ColumnSelection::all()).unwrap();
    let mut all = Vec::new();
    let mut batch = Batch::new();
    loop {
        batch.clear();
        let more = iterator
            .next_batch(
                &mut batch,
                BatchLimit {
                    entries,
                    bytes: 1 << 20,
                },
            )
            .unwrap();
        all.extend(batch.iter().map(ostrakon_cell::EntryRef::to_entry));
        if !more {
            return all;
        }
    }
}

/// Qualifiers that share their first bytes, or differ in zeros at the end alone.
const QUALIFIERS: [&[u8]; 8] = [
    b"",
    b"a",
    b"a\0",
    b"column-1",
    b"column-1\0",
    b"column-1b-and-more",
    b"column-1b-and-most",
    b"column-2",
];

/// Family, qualifier, timestamp, and whether it is a delete.
type Update = (&'static str, &'static [u8], Option<i64>, bool);

/// A row and its updates.
type RowUpdates = (Vec<u8>, Vec<Update>);

/// Batches of mutations of few short rows, so that ties and duplicates are frequent: in the first
/// bytes alone, which marks contain, and in whole rows.
fn batches() -> impl Strategy<Value = Vec<Vec<RowUpdates>>> {
    let byte = prop_oneof![Just(b'a'), Just(b'b'), any::<u8>()];
    let row = prop_oneof![
        proptest::collection::vec(byte, 0..12),
        "a{7,9}[ab]{0,2}".prop_map(String::into_bytes),
    ];
    let family = prop_oneof![5 => Just("f"), 1 => Just("g")];
    let qualifier = proptest::sample::select(&QUALIFIERS[..]);
    let timestamp = proptest::option::of(-2_i64..3);
    let update = (family, qualifier, timestamp, any::<bool>());
    let mutation = (row, proptest::collection::vec(update, 1..9));
    proptest::collection::vec(proptest::collection::vec(mutation, 1..5), 1..40)
}

proptest! {
    #[test]
    fn a_memtable_reads_sorted_and_newest_first(
        batches in batches(),
        start in any::<Option<Vec<u8>>>(),
        end in any::<Option<Vec<u8>>>(),
        entries in 1_usize..100,
    ) {
        let memtable = Memtable::default();
        let mut expected: Vec<(Key, usize, Vec<u8>)> = Vec::new();
        // Like a slow writer, some batches use the prefix from before the previous batch.
        let mut prefix = RowPrefix::default();
        let mut order = usize::MAX;
        for (sequence, mutations) in batches.iter().enumerate() {
            let mut batch = MutationBatch::new();
            for (row, updates) in mutations {
                let mut mutation = Mutation::new(row.clone());
                for (family, qualifier, timestamp, deleted) in updates {
                    let value = order.to_le_bytes();
                    let update = ColumnUpdate {
                        family: family.as_bytes(),
                        qualifier,
                        timestamp: *timestamp,
                        value: (!deleted).then_some(&value[..]),
                        ..ColumnUpdate::default()
                    };
                    mutation.update(update).unwrap();
                    let key = Key {
                        timestamp: timestamp.unwrap_or(sequence as i64 / 8),
                        deleted: *deleted,
                        ..Key::new(row.clone(), *family, *qualifier)
                    };
                    let value = if *deleted { Vec::new() } else { value.to_vec() };
                    expected.push((key, order, value));
                    order -= 1;
                }
                batch.push(&mutation).unwrap();
            }
            let prefix = if sequence % 3 == 0 {
                prefix.clone()
            } else {
                prefix = memtable.prefix_for(&batch);
                prefix.clone()
            };
            let chunk = Arc::new(Chunk::new(batch, sequence as i64 / 8, Arc::default()));
            let run = Arc::new(Run::of_chunk(chunk, prefix));
            memtable.insert(run, sequence as u64, None).unwrap();
            if sequence % 20 == 19 {
                memtable.merge_runs();
            }
        }
        expected.sort();
        let range = match (&start, &end) {
            (Some(start), Some(end)) => Range::rows(start.as_slice()..=end.as_slice()),
            (Some(start), None) => Range::rows(start.as_slice()..),
            (None, Some(end)) => Range::rows(..end.as_slice()),
            (None, None) => Range::all(),
        };
        let expected: Vec<Entry> = expected
            .into_iter()
            .filter(|(key, _, _)| range.contains(key.as_ref()))
            .map(|(key, _, value)| Entry { key, value })
            .collect();
        prop_assert_eq!(read(&memtable, &range, entries), expected);
    }
}

#[test]
fn full_levels_are_merged_and_nothing_is_lost() {
    let memtable = Memtable::default();
    for at in 0..300_u32 {
        let mut batch = MutationBatch::new();
        let row = at.wrapping_mul(2_654_435_761).to_be_bytes();
        batch
            .put(
                &row,
                ColumnUpdate {
                    value: Some(b"v"),
                    ..ColumnUpdate::default()
                },
            )
            .unwrap();
        let chunk = Arc::new(Chunk::new(batch, 1, Arc::default()));
        let run = Run::of_chunk(chunk, RowPrefix::default());
        memtable
            .insert(Arc::new(run), u64::from(at), Some(4))
            .unwrap();
        if memtable.wants_merge() {
            memtable.merge_runs();
        }
    }
    assert!(memtable.snapshot().runs().len() <= 16 + 16 + 2);
    assert_eq!(
        (
            memtable.len(),
            memtable.last_sequence(),
            memtable.first_segment()
        ),
        (300, 299, Some(4))
    );
    let entries = read(&memtable, &Range::all(), 7);
    assert_eq!(entries.len(), 300);
    assert!(entries.is_sorted_by(|a, b| a.key < b.key));
}

/// A sample gives the distribution of rows; a shortened row never sorts before all rows.
#[test]
fn samples_represent_the_content() {
    let memtable = Memtable::default();
    let run = |rows: std::ops::Range<u32>, value: &[u8]| {
        let mut batch = MutationBatch::new();
        for row in rows {
            let update = ColumnUpdate {
                value: Some(value),
                ..ColumnUpdate::default()
            };
            let row = format!("row-{row:04}-and-more");
            batch.put(row.as_bytes(), update).unwrap();
        }
        let chunk = Arc::new(Chunk::new(batch, 1, Arc::default()));
        let run = Run::of_chunk(chunk, RowPrefix::default());
        memtable.insert(Arc::new(run), 1, None).unwrap();
    };
    run(0..1000, &[0; 100]);
    run(1000..1010, &[0; 10_000]);
    // Runs of one entry.
    (1010..1013).for_each(|row| run(row..row + 1, b"small"));
    let memtable = memtable.snapshot();
    let all = memtable.sample(1, None, None).unwrap();
    assert_eq!(all.len(), 1013);
    assert!(all.iter().all(|(row, _)| row.as_slice() > b"row-0000"));
    assert!(all.iter().any(|(row, _)| row == b"row-0034"));
    let (sum, exact): (u64, u64) = (
        all.iter().map(|(_, bytes)| bytes).sum(),
        1013 * (17 + 8) + 1000 * 100 + 10 * 10_000 + 3 * 5,
    );
    assert_eq!(sum, exact);
    let some = memtable.sample(5, None, None).unwrap();
    let sum: u64 = some.iter().map(|(_, bytes)| bytes).sum();
    assert!(sum.abs_diff(exact) < exact / 50, "{sum}, {exact}");
    let some = memtable.sample(1, Some(b"row-0007"), Some(b"row-0009"));
    assert_eq!(some.unwrap().len(), 2);
    // A large entry among a few does not represent more than the content.
    let sum: u64 = memtable.sample(2020, None, None).unwrap()[0].1;
    assert!(sum <= memtable.memory());
}

fn run_of(
    rows: impl Iterator<Item = String>,
    prefix: impl FnOnce(&MutationBatch) -> RowPrefix,
) -> Arc<Run> {
    let mut batch = MutationBatch::new();
    for row in rows {
        let update = ColumnUpdate {
            value: Some(b"v"),
            ..ColumnUpdate::default()
        };
        batch.put(row.as_bytes(), update).unwrap();
    }
    let prefix = prefix(&batch);
    let chunk = Arc::new(Chunk::new(batch, 1, Arc::default()));
    Arc::new(Run::of_chunk(chunk, prefix))
}

/// Number of distinct marks: they should tell rows apart.
fn different_marks(memtable: &Memtable) -> usize {
    let mut marks: Vec<u64> = Vec::new();
    for run in memtable.snapshot().runs() {
        marks.extend((0..run.len()).map(|at| run.row_mark(at)));
    }
    marks.sort_unstable();
    marks.dedup();
    marks.len()
}

#[test]
fn each_memtable_chooses_its_prefix() {
    let rows = |day: &str, rows: std::ops::Range<u32>| -> Vec<String> {
        rows.map(|row| format!("events/{day}/{row:06}")).collect()
    };
    let insert = |memtable: &Memtable, rows: Vec<String>| {
        let run = run_of(rows.into_iter(), |batch| memtable.prefix_for(batch));
        memtable.insert(run, 1, None).unwrap();
    };
    // The first batch has one row, which tells little about the others.
    let first = Memtable::default();
    insert(&first, rows("2026-01-01", 7..8));
    insert(&first, rows("2026-01-01", 0..1_000));
    assert_eq!(different_marks(&first), 1_000);
    // The next day's rows begin with the previous prefix, which is then shortened.
    let second = Memtable::following(&first, 2);
    insert(&second, rows("2026-01-02", 0..1_000));
    assert!(different_marks(&second) > 9, "shortened as needed");
    let third = Memtable::following(&second, 3);
    insert(&third, rows("2026-01-02", 0..1_000));
    assert_eq!(different_marks(&third), 1_000);
    // A run marked with the previous memtable's prefix, by a slow writer.
    let stale = run_of(rows("2026-01-02", 500..1_500).into_iter(), |_| {
        RowPrefix::default()
    });
    third.insert(stale, 1, None).unwrap();
    assert_eq!(different_marks(&third), 1_500);
    let entries = read(&third, &Range::all(), 7);
    assert_eq!(entries.len(), 2_000);
    assert!(entries.is_sorted_by(|a, b| a.key <= b.key));
}

#[test]
fn a_large_memtable_keeps_its_prefix_and_its_order() {
    let memtable = Memtable::default();
    let insert = |rows: Vec<String>| {
        let run = run_of(rows.into_iter(), |batch| memtable.prefix_for(batch));
        memtable.insert(run, 1, None).unwrap();
    };
    insert((0..40_000).map(|row| format!("same/{row:06}")).collect());
    insert(vec!["a".into(), "same/".into(), "same0".into(), "z".into()]);
    insert((0..10).map(|row| format!("same/{row:06}")).collect());
    assert!(different_marks(&memtable) >= 40_000);
    let entries = read(&memtable, &Range::all(), 1_000);
    assert_eq!(entries.len(), 40_014);
    assert!(entries.is_sorted_by(|a, b| a.key <= b.key));
    let some = read(&memtable, &Range::rows("same/000005"..="same/000006"), 10);
    assert_eq!(some.len(), 4);
}

#[test]
fn a_mostly_empty_buffer_is_not_kept() {
    let buffers = Arc::new(BufferPool::new(4 << 20));
    let run = |bytes: usize, value: usize| {
        let mut batch = MutationBatch::with_buffer(Vec::with_capacity(bytes));
        let update = ColumnUpdate {
            value: Some(&vec![1; value]),
            ..ColumnUpdate::default()
        };
        batch.put(b"r", update).unwrap();
        let chunk = Arc::new(Chunk::new(batch, 1, buffers.clone()));
        Run::of_chunk(chunk, RowPrefix::default())
    };
    // The buffer is back in the pool, and only the memory held is counted.
    let small = run(1 << 20, 100);
    assert!(small.memory() < 1 << 10, "{}", small.memory());
    assert!(buffers.take(1 << 20).capacity() >= 1 << 20);
    let large = run(1 << 20, 900 << 10);
    assert!(large.memory() >= 1 << 20, "{}", large.memory());
}
