//! Conditional mutations: lists of them, exact columns, and an answer for each.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, ColumnUpdate, Condition, ConditionalMutation, ConditionalStatus,
    IteratorSetting, Mutation, MutationBatch, Scanner, Source, Table, TableOptions,
};
use ostrakon_store::Store;

use ConditionalStatus::{Accepted, InvisibleVisibility, MalformedVisibility, Rejected, Violated};

fn store() -> (Arc<Store>, Arc<dyn Table>) {
    let store = Store::in_memory().unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    let table = store.table("t").unwrap();
    (store, table)
}

fn is(value: Option<&str>) -> Condition {
    Condition {
        family: b"f".to_vec(),
        qualifier: b"q".to_vec(),
        value: value.map(|value| value.as_bytes().to_vec()),
        ..Condition::default()
    }
}

fn put(row: &str, value: &str, conditions: Vec<Condition>) -> ConditionalMutation {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "q", value).unwrap();
    ConditionalMutation {
        mutation,
        conditions,
    }
}

fn labelled(row: &str, label: &str) -> ConditionalMutation {
    let mut mutation = Mutation::new(row);
    let update = ColumnUpdate {
        family: b"f",
        qualifier: b"q",
        visibility: label.as_bytes(),
        value: Some(b"labelled"),
        ..ColumnUpdate::default()
    };
    mutation.update(update).unwrap();
    ConditionalMutation {
        mutation,
        conditions: vec![is(None)],
    }
}

fn apply(table: &Arc<dyn Table>, list: Vec<ConditionalMutation>) -> Vec<ConditionalStatus> {
    let auths = Authorizations::new(["a"]).unwrap();
    table.write_conditionally(list, &auths, None).unwrap()
}

fn values(table: &Arc<dyn Table>) -> Vec<String> {
    let auths = Authorizations::new(["a", "b"]).unwrap();
    let entries = Scanner::new(table.clone()).authorizations(auths).entries();
    let entries = entries.unwrap().into_iter();
    entries
        .map(|entry| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!("{}={}", text(&entry.key.row), text(&entry.value))
        })
        .collect()
}

#[test]
fn each_mutation_of_a_list_is_answered_for_itself() {
    let (_store, table) = store();
    let no_delete = "org.apache.accumulo.core.data.constraints.NoDeleteConstraint";
    let change = ("table.constraint.9".to_owned(), Some(no_delete.to_owned()));
    table.modify_properties(&[change]).unwrap();
    let mut deletes = put("d", "1", vec![is(None)]);
    deletes.mutation.delete("f", "other").unwrap();
    let hidden = Condition {
        visibility: b"b".to_vec(),
        ..is(None)
    };
    let malformed = Condition {
        visibility: b"a&".to_vec(),
        ..is(None)
    };
    let list = vec![
        put("a", "1", vec![is(None)]),
        labelled("b", "a&"),
        put("c", "1", vec![is(Some("other"))]),
        deletes,
        put("e", "1", vec![hidden]),
        put("f", "1", vec![malformed]),
        labelled("g", "a|b"),
    ];
    let expected = [
        Accepted,
        MalformedVisibility,
        Rejected,
        Violated,
        InvisibleVisibility,
        InvisibleVisibility,
        Accepted,
    ];
    assert_eq!(apply(&table, list), expected);
    assert_eq!(values(&table), ["a=1", "g=labelled"]);
    assert_eq!(apply(&table, Vec::new()), []);
}

#[test]
fn a_list_takes_one_commit() {
    let (store, table) = store();
    let list = |value: &str, before: Option<&str>| -> Vec<ConditionalMutation> {
        let rows = (0..1_000).map(|row| put(&format!("{row:04}"), value, vec![is(before)]));
        rows.collect()
    };
    for (value, before) in [("1", None), ("2", Some("1"))] {
        let batches = store.metrics().batches_written;
        assert_eq!(apply(&table, list(value, before)), [Accepted; 1_000]);
        assert_eq!(store.metrics().batches_written - batches, 1);
    }
    assert_eq!(apply(&table, list("3", Some("1"))), [Rejected; 1_000]);
}

#[test]
fn the_second_mutation_of_a_row_sees_the_first() {
    let (store, table) = store();
    let mut release = put("lock", "", vec![is(Some("x"))]);
    release.mutation.reset(b"lock");
    release.mutation.delete("f", "q").unwrap();
    let list = vec![
        put("r", "1", vec![is(None)]),
        put("s", "1", vec![is(None)]),
        put("r", "no", vec![is(None)]),
        put("r", "2", vec![is(Some("1"))]),
        // No visible change, but later in order.
        put("r", "3", vec![]),
        put("r", "4", vec![is(Some("3"))]),
        put("lock", "x", vec![is(None)]),
        put("lock", "y", vec![is(None)]),
        release.clone(),
        put("lock", "y", vec![is(None)]),
        release,
    ];
    let expected = [
        Accepted, Accepted, Rejected, Accepted, Accepted, Accepted, Accepted, Rejected, Accepted,
        Accepted, Rejected,
    ];
    let batches = store.metrics().batches_written;
    assert_eq!(apply(&table, list), expected);
    assert_eq!(values(&table), ["lock=y", "r=4", "s=1"]);
    // As many as there are dependent mutations in sequence.
    assert_eq!(store.metrics().batches_written - batches, 3);
}

/// The check seeks the column with its label, and takes what comes out first whatever its key is.
#[test]
fn conditions_look_at_the_exact_column_under_their_iterators() {
    let (_store, table) = store();
    let mut batch = MutationBatch::new();
    for (label, timestamp, value) in [("a", 7, "of a"), ("b", 9, "of b"), ("", 5, "of none")] {
        let update = ColumnUpdate {
            family: b"f",
            qualifier: b"q",
            visibility: label.as_bytes(),
            timestamp: Some(timestamp),
            value: Some(value.as_bytes()),
        };
        batch.put(b"r", update).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
    let whole_row = IteratorSetting::new(
        30,
        "whole",
        "org.apache.accumulo.core.iterators.user.WholeRowIterator",
    );
    let filter = IteratorSetting::new(
        30,
        "regex",
        "org.apache.accumulo.core.iterators.user.RegExFilter",
    );
    let of = |label: &str, value: Option<&str>| Condition {
        visibility: label.as_bytes().to_vec(),
        ..is(value)
    };
    let with = |iterator: &IteratorSetting, condition: Condition| Condition {
        iterators: vec![iterator.clone()],
        ..condition
    };
    let at = |timestamp: i64, condition: Condition| Condition {
        timestamp: Some(timestamp),
        ..condition
    };
    let mut none_of_none = filter.clone();
    none_of_none
        .options
        .insert("valueRegex".to_owned(), "of a".to_owned());
    let cases = [
        (of("a", Some("of a")), true),
        (of("", Some("of none")), true),
        (of("", Some("of a")), false),
        (at(7, of("a", Some("of a"))), true),
        (at(5, of("a", None)), true),
        (at(5, of("", Some("of none"))), true),
        // The row as one entry has neither this label nor this time, and is there.
        (with(&whole_row, of("a", None)), false),
        (with(&whole_row, at(7, of("a", None))), false),
        (with(&whole_row, at(6, of("a", None))), true),
        // Of another column nothing reaches the iterators.
        (with(&none_of_none, of("", None)), true),
        (with(&none_of_none, of("a", Some("of a"))), true),
    ];
    for (number, (condition, holds)) in cases.into_iter().enumerate() {
        let mut mutation = Mutation::new("r");
        mutation.put("other", "", "x").unwrap();
        let one = ConditionalMutation {
            mutation,
            conditions: vec![condition],
        };
        let expected = if holds { Accepted } else { Rejected };
        assert_eq!(apply(&table, vec![one]), [expected], "case {number}");
    }
}

#[test]
fn lists_in_any_order_do_not_wait_for_each_other_in_a_circle() {
    let (_store, table) = store();
    let sum = |table: &Arc<dyn Table>| -> u64 {
        let values = values(table);
        let numbers = values.iter().filter_map(|one| one.split('=').nth(1));
        numbers.map(|number| number.parse::<u64>().unwrap()).sum()
    };
    let accepted: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_usize)
            .map(|thread| {
                let table = table.clone();
                scope.spawn(move || {
                    let mut accepted = 0;
                    let mut seen = vec![0_u64; 40];
                    for round in 0..30 {
                        let mut rows: Vec<usize> = (0..40).collect();
                        rows.rotate_left((thread * 7 + round) % 40);
                        if thread % 2 == 1 {
                            rows.reverse();
                        }
                        let list = rows.iter().map(|row| {
                            let before = seen[*row].to_string();
                            let before = (seen[*row] > 0).then_some(before.as_str());
                            let value = (seen[*row] + 1).to_string();
                            put(&format!("{row:02}"), &value, vec![is(before)])
                        });
                        let answers = apply(&table, list.collect());
                        for (row, answer) in rows.iter().zip(answers) {
                            // Who lost looks again by guessing the next.
                            seen[*row] += 1;
                            accepted += u64::from(answer == Accepted);
                        }
                    }
                    accepted
                })
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(sum(&table), accepted);
}
