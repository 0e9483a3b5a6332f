use proptest::prelude::*;

use super::*;

type Owned = (Vec<u8>, Vec<u8>, Vec<u8>, Option<i64>, Option<Vec<u8>>);

fn updates() -> impl Strategy<Value = Vec<Owned>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..200);
    proptest::collection::vec(
        (
            bytes(),
            bytes(),
            bytes(),
            any::<Option<i64>>(),
            proptest::option::of(bytes()),
        ),
        1..8,
    )
}

proptest! {
    #[test]
    fn batches_round_trip(rows in proptest::collection::vec((any::<Vec<u8>>(), updates()), 1..6)) {
        let mut batch = MutationBatch::new();
        let mut expected = Vec::new();
        for (row, updates) in &rows {
            let mut mutation = Mutation::new(row.clone());
            for (family, qualifier, visibility, timestamp, value) in updates {
                let update = ColumnUpdate {
                    family, qualifier, visibility, timestamp: *timestamp, value: value.as_deref(),
                };
                mutation.update(update).expect("small enough");
                expected.push((row.clone(), update));
            }
            batch.push(&mutation).expect("small enough");
        }
        let reread = MutationBatch::from_encoded(batch.encoded().to_vec()).expect("valid");
        prop_assert_eq!((reread.len(), reread.mutations()), (expected.len(), rows.len()));
        for ((offset, got), (row, want)) in reread.updates().zip(&expected) {
            prop_assert_eq!(got.row, row.as_slice());
            prop_assert_eq!(got.family, want.family);
            prop_assert_eq!(got.qualifier, want.qualifier);
            prop_assert_eq!(got.visibility, want.visibility);
            prop_assert_eq!(got.timestamp, want.timestamp);
            prop_assert_eq!(got.deleted, want.value.is_none());
            prop_assert_eq!(got.value, want.value.unwrap_or_default());
            let alone = read_update(reread.encoded(), offset as usize);
            prop_assert_eq!(alone.map(|(update, _)| update), Some(got));
        }
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(mut batch) = MutationBatch::from_encoded(bytes) {
            prop_assert_eq!(batch.updates().count(), batch.len());
            prop_assert_eq!(batch.has_late(), batch.updates().any(|(_, update)| update.late));
            batch.clear_late();
            prop_assert!(!batch.updates().any(|(_, update)| update.late));
        }
    }
}

#[test]
fn oversized_keys_and_values_are_rejected_by_name() {
    let mut mutation = Mutation::new(vec![b'r'; crate::MAX_KEY_BYTES]);
    let error = mutation.put("f", "", "").expect_err("one byte too many");
    assert!(error.to_string().contains("1048577 bytes"), "{error}");
    assert!(mutation.is_empty(), "a rejected update adds nothing");
}

#[test]
fn mutations_of_a_batch_can_be_taken_one_by_one() {
    let mut batch = MutationBatch::new();
    for (row, columns) in [("a", 1), ("b", 3), ("b", 1), ("c", 2)] {
        let mut mutation = Mutation::new(row);
        for column in 0..columns {
            mutation
                .put("f", format!("{column}"), "v")
                .expect("small enough");
        }
        batch.push(&mutation).expect("small enough");
    }
    let mut chosen = MutationBatch::new();
    let mut seen = Vec::new();
    for mutation in batch.each_mutation() {
        seen.push((mutation.row().to_vec(), mutation.updates().count()));
        if mutation.row() == b"b" {
            chosen.push_ref(&mutation).expect("small enough");
        }
    }
    let rows = |pairs: &[(&str, usize)]| -> Vec<(Vec<u8>, usize)> {
        pairs
            .iter()
            .map(|(row, count)| (row.as_bytes().to_vec(), *count))
            .collect()
    };
    assert_eq!(seen, rows(&[("a", 1), ("b", 3), ("b", 1), ("c", 2)]));
    assert_eq!((chosen.mutations(), chosen.len()), (2, 4));
    let reread = MutationBatch::from_encoded(chosen.encoded().to_vec()).expect("valid");
    assert_eq!(reread, chosen);
}

#[test]
fn the_limits_hold_for_encoded_bytes() {
    use super::owned::{Head, append};
    let row = vec![b'r'; crate::MAX_KEY_BYTES + 1];
    let mut bytes = Vec::new();
    append(&mut bytes, Head::Row(&row), &ColumnUpdate::default());
    let error = MutationBatch::from_encoded(bytes).expect_err("too large");
    assert_eq!(error.kind(), crate::ErrorKind::InvalidArgument);
}

#[test]
fn a_late_update_takes_the_timestamp_after_the_batch() {
    let mut mutation = Mutation::new("r");
    mutation.delete("f", "q").expect("small enough");
    mutation.put("f", "q", "v").expect("small enough");
    let explicit = ColumnUpdate {
        timestamp: Some(3),
        value: Some(b"w"),
        ..ColumnUpdate::default()
    };
    mutation.update(explicit).expect("small enough");
    let mut batch = MutationBatch::new();
    batch.push(&mutation).expect("small enough");
    assert!(batch.has_server_deletes() && !batch.has_late());
    let plain = batch.clone();
    let offsets: Vec<u32> = batch.updates().map(|(offset, _)| offset).collect();
    for offset in offsets {
        batch.mark_late(offset);
    }
    assert!(batch.has_late());
    let mut reread = MutationBatch::from_encoded(batch.encoded().to_vec()).expect("valid");
    assert!(reread.has_late());
    let stamps = |batch: &MutationBatch, at: i64| -> Vec<i64> {
        let updates = batch.updates();
        updates.map(|(_, update)| update.timestamp_in(at)).collect()
    };
    assert_eq!(stamps(&reread, 7), [7, 8, 3]);
    assert_eq!(stamps(&reread, i64::MAX), [i64::MAX, i64::MAX, 3]);
    reread.clear_late();
    assert_eq!(reread, plain);
    // LATE on a delete, or together with a timestamp, is invalid.
    for flags in [1 | 2 | 16, 1 | 4 | 16, 1 | 32] {
        let mut bytes = plain.encoded().to_vec();
        bytes[0] = flags;
        MutationBatch::from_encoded(bytes).expect_err("no version writes that");
    }
}

/// The facts of a batch are the same however it was built.
#[test]
fn facts_of_a_batch_do_not_depend_on_how_it_was_built() {
    let delete = |timestamp| ColumnUpdate {
        timestamp,
        ..ColumnUpdate::default()
    };
    for (timestamp, expected) in [(None, true), (Some(1), false)] {
        let mut put = MutationBatch::new();
        put.put(b"r", delete(timestamp)).expect("small enough");
        let mut mutation = Mutation::new("r");
        mutation.update(delete(timestamp)).expect("small enough");
        let mut pushed = MutationBatch::new();
        pushed.push(&mutation).expect("small enough");
        let mut copied = MutationBatch::new();
        for mutation in put.each_mutation() {
            copied.push_ref(&mutation).expect("small enough");
        }
        let reread = MutationBatch::from_encoded(put.encoded().to_vec()).expect("valid");
        for batch in [put, pushed, copied, reread] {
            assert_eq!(batch.has_server_deletes(), expected);
        }
        mutation.reset(b"s");
        let mut after = MutationBatch::new();
        mutation.put("f", "q", "v").expect("small enough");
        after.push(&mutation).expect("small enough");
        assert!(!after.has_server_deletes());
    }
}
