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

/// A row and its updates: qualifier, timestamp, whether it deletes.
type RowUpdates = (Vec<u8>, Vec<(u8, Option<i64>, bool)>);

/// Batches of mutations of few short rows, so that ties and duplicates abound.
fn batches() -> impl Strategy<Value = Vec<Vec<RowUpdates>>> {
    let row = proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), any::<u8>()], 0..12);
    let update = (0_u8..4, proptest::option::of(-2_i64..3), any::<bool>());
    let mutation = (row, proptest::collection::vec(update, 1..4));
    proptest::collection::vec(proptest::collection::vec(mutation, 1..5), 1..40)
}

proptest! {
    #[test]
    fn a_memtable_is_a_sorted_list_newest_first(
        batches in batches(),
        start in any::<Option<Vec<u8>>>(),
        end in any::<Option<Vec<u8>>>(),
        entries in 1_usize..100,
    ) {
        let memtable = Memtable::default();
        let mut expected: Vec<(Key, usize, Vec<u8>)> = Vec::new();
        let mut prefix = None;
        let mut order = usize::MAX;
        for (sequence, mutations) in batches.iter().enumerate() {
            let mut batch = MutationBatch::new();
            for (row, updates) in mutations {
                let mut mutation = Mutation::new(row.clone());
                for (qualifier, timestamp, deleted) in updates {
                    let value = order.to_le_bytes();
                    let update = ColumnUpdate {
                        qualifier: &[*qualifier],
                        timestamp: *timestamp,
                        value: (!deleted).then_some(&value[..]),
                        ..ColumnUpdate::default()
                    };
                    mutation.update(update).unwrap();
                    let key = Key {
                        timestamp: timestamp.unwrap_or(sequence as i64 / 8),
                        deleted: *deleted,
                        ..Key::new(row.clone(), "", [*qualifier])
                    };
                    let value = if *deleted { Vec::new() } else { value.to_vec() };
                    expected.push((key, order, value));
                    order -= 1;
                }
                batch.push(&mutation).unwrap();
            }
            let prefix = prefix.get_or_insert_with(|| RowPrefix::of_batch(&batch)).clone();
            let chunk = Arc::new(Chunk::new(batch, sequence as i64 / 8, Arc::default()));
            memtable.insert(Arc::new(Run::of_chunk(chunk, prefix)), sequence as u64, None);
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
        memtable.insert(Arc::new(run), u64::from(at), Some(4));
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

/// A sample says where rows lie and how much; cut off, none lies before all rows.
#[test]
fn samples_stand_for_what_is_there() {
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
        memtable.insert(Arc::new(run), 1, None);
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
    // One large entry of a few does not stand for more than there is.
    let sum: u64 = memtable.sample(2020, None, None).unwrap()[0].1;
    assert!(sum <= memtable.memory());
}
