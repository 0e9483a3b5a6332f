#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use ostrakon_cell::iterator::{IteratorScope, IteratorSetting};
use ostrakon_cell::{
    Authorizations, Batch, Column, ColumnUpdate, CompactOptions, Condition, ConditionalMutation,
    ConditionalStatus, Entry, ErrorKind, Key, Mutation, MutationBatch, Range, ScanOptions, Scanner,
    Source, Table, TableOptions, TimeType,
};

use super::MapSource;

fn put(at: i64, value: &str) -> ColumnUpdate<'_> {
    ColumnUpdate {
        family: b"f",
        qualifier: b"q",
        timestamp: Some(at),
        value: Some(value.as_bytes()),
        ..ColumnUpdate::default()
    }
}

fn delete(at: i64) -> ColumnUpdate<'static> {
    ColumnUpdate {
        value: None,
        ..put(at, "")
    }
}

fn write(table: &Arc<dyn Table>, row: &str, updates: &[ColumnUpdate<'_>]) {
    let mut batch = MutationBatch::new();
    for update in updates {
        batch.put(row.as_bytes(), *update).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

fn values(scanner: Scanner) -> Vec<String> {
    let text = |entry: Entry| String::from_utf8(entry.value).unwrap();
    scanner.entries().unwrap().into_iter().map(text).collect()
}

fn table_with(options: &TableOptions) -> (MapSource, Arc<dyn Table>) {
    let source = MapSource::new();
    source.create_table("t", options).unwrap();
    let table = source.table("t").unwrap();
    (source, table)
}

fn plain() -> (MapSource, Arc<dyn Table>) {
    table_with(&TableOptions::default())
}

fn every_version() -> (MapSource, Arc<dyn Table>) {
    table_with(&TableOptions {
        without_default_iterators: true,
        ..TableOptions::default()
    })
}

#[test]
fn versions_and_deletes_are_those_of_accumulo() {
    let (_source, table) = every_version();
    let updates = [put(3, "c"), put(1, "a"), put(2, "b"), put(4, "d")];
    write(&table, "r", &updates);
    assert_eq!(values(Scanner::new(table.clone())), ["d", "c", "b", "a"]);
    write(&table, "r", &[delete(2)]);
    assert_eq!(values(Scanner::new(table.clone())), ["d", "c"]);
    // A marker hides what is written later too, as long as its timestamp is not above.
    write(&table, "r", &[put(2, "late")]);
    assert_eq!(values(Scanner::new(table.clone())), ["d", "c"]);
    let newest = IteratorSetting::new(30, "newest", "VersioningIterator");
    assert_eq!(values(Scanner::new(table).iterator(newest)), ["d"]);
}

#[test]
fn of_equal_keys_the_one_written_last_comes_first() {
    let (_source, table) = plain();
    write(&table, "r", &[put(5, "first"), put(5, "second")]);
    assert_eq!(values(Scanner::new(table.clone())), ["second"]);
    write(&table, "r", &[put(5, "third")]);
    assert_eq!(values(Scanner::new(table)), ["third"]);
}

#[test]
fn a_range_that_begins_inside_a_column_knows_its_deletes_and_versions() {
    let (_source, table) = plain();
    write(&table, "r", &[put(9, "new"), put(4, "old")]);
    let old = Key {
        timestamp: 5,
        ..Key::new("r", "f", "q")
    };
    let range = Range::keys(Some(old), true, None, false).unwrap();
    assert!(values(Scanner::new(table.clone()).range(range.clone())).is_empty());
    let (_source, table) = every_version();
    write(&table, "r", &[put(9, "new"), delete(8), put(4, "old")]);
    assert!(values(Scanner::new(table).range(range)).is_empty());
}

#[test]
fn labels_decide_visibility_and_an_invalid_one_hides_its_entry() {
    let (_source, table) = plain();
    for label in ["", "a", "a&b", "a|b", "a&"] {
        let update = ColumnUpdate {
            visibility: label.as_bytes(),
            ..put(1, label)
        };
        write(&table, "r", &[update]);
    }
    let seen = |auths: &str| {
        let auths = Authorizations::parse(auths).unwrap();
        values(Scanner::new(table.clone()).authorizations(auths))
    };
    assert_eq!(seen(""), [""]);
    assert_eq!(seen("a"), ["", "a", "a|b"]);
    assert_eq!(seen("b"), ["", "a|b"]);
    assert_eq!(seen("a,b"), ["", "a", "a&b", "a|b"]);
    let change = ("table.security.scan.visibility.default", Some("b"));
    let change = (change.0.to_owned(), change.1.map(str::to_owned));
    table.modify_properties(&[change]).unwrap();
    assert_eq!(seen("a"), ["a", "a|b"]);
}

#[test]
fn timestamps_come_from_the_clock_and_never_go_back() {
    let (source, table) = plain();
    let newest = || {
        Scanner::new(table.clone()).entries().unwrap()[0]
            .key
            .timestamp
    };
    let unset = ColumnUpdate {
        timestamp: None,
        ..put(0, "x")
    };
    source.set_millis(1_000);
    write(&table, "r", &[unset]);
    assert_eq!(newest(), 1_000);
    source.set_millis(900);
    write(&table, "r", &[unset]);
    assert_eq!(newest(), 1_000);
    let (_source, table) = table_with(&TableOptions {
        time_type: TimeType::Logical,
        ..TableOptions::default()
    });
    write(&table, "r", &[unset]);
    write(&table, "r", &[unset]);
    assert_eq!(Scanner::new(table).entries().unwrap()[0].key.timestamp, 2);
}

#[test]
fn scans_take_columns_and_overlapping_ranges_once() {
    let (_source, table) = plain();
    for row in ["a", "b", "c"] {
        write(
            &table,
            row,
            &[
                put(1, row),
                ColumnUpdate {
                    family: b"g",
                    ..put(1, "g")
                },
            ],
        );
    }
    let scanner = || Scanner::new(table.clone()).column(Column::family("f"));
    assert_eq!(values(scanner()), ["a", "b", "c"]);
    let ranges = scanner()
        .range(Range::rows("b"..))
        .range(Range::rows(.."c"));
    assert_eq!(values(ranges), ["a", "b", "c"]);
    assert_eq!(values(scanner().range(Range::row("b"))), ["b"]);
}

#[test]
fn a_running_scan_keeps_its_snapshot_and_a_restarted_one_takes_a_new_one() {
    let (_source, table) = plain();
    write(&table, "a", &[put(1, "one")]);
    let mut scan = table.scan(&[Range::all()], &Default::default()).unwrap();
    write(&table, "b", &[put(1, "two")]);
    let mut batch = Batch::new();
    assert!(scan.next_batch(&mut batch).unwrap());
    assert_eq!(batch.len(), 1);
    assert!(!scan.next_batch(&mut batch).unwrap());
    scan.restart(&[Range::all()]).unwrap();
    assert!(scan.next_batch(&mut batch).unwrap());
    assert_eq!(batch.len(), 2);
}

#[test]
fn conditions_are_checked_with_the_write() {
    let (_source, table) = plain();
    let set = |value: &str, expected: Option<&str>| {
        let mut mutation = Mutation::new("r");
        mutation.put("f", "q", value).unwrap();
        ConditionalMutation {
            mutation,
            conditions: vec![Condition {
                family: b"f".to_vec(),
                qualifier: b"q".to_vec(),
                value: expected.map(|value| value.as_bytes().to_vec()),
                ..Condition::default()
            }],
        }
    };
    let mut hidden = set("3", None);
    hidden.conditions[0].visibility = b"secret".to_vec();
    let batch = vec![set("1", None), set("2", None), set("2", Some("1")), hidden];
    let answers = table
        .write_conditionally(batch, &Authorizations::empty(), None)
        .unwrap();
    use ConditionalStatus::{Accepted, InvisibleVisibility, Rejected};
    assert_eq!(answers, [Accepted, Rejected, Accepted, InvisibleVisibility]);
    assert_eq!(values(Scanner::new(table)), ["2"]);
}

#[test]
fn splits_merge_and_rows_are_deleted() {
    let (_source, table) = plain();
    for row in ["a", "c", "m", "t"] {
        write(&table, row, &[put(1, row)]);
    }
    let ends = || -> Vec<Option<Vec<u8>>> {
        let tablets = table.tablets().unwrap();
        tablets.into_iter().map(|tablet| tablet.end).collect()
    };
    let splits = ["b", "m", "s"].map(|row| row.as_bytes().to_vec());
    table.add_splits(&splits).unwrap();
    assert_eq!(ends().len(), 4);
    assert_eq!(table.tablets().unwrap()[1].entries, 2);
    // Rows (b, s] lie in the tablets that end in m and s: the point between them goes.
    table.merge(Some(b"b"), Some(b"s")).unwrap();
    assert_eq!(ends(), [Some(b"b".to_vec()), Some(b"s".to_vec()), None]);
    assert_eq!(
        table.merge(Some(b"b"), Some(b"b")).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    table.delete_rows(Some(b"a"), Some(b"m")).unwrap();
    assert_eq!(values(Scanner::new(table)), ["a", "t"]);
}

#[test]
fn unknown_properties_get_a_suggestion_and_change_nothing() {
    let (_source, table) = plain();
    let change = |name: &str, value: &str| {
        table.modify_properties(&[
            ("table.file.max".to_owned(), Some("7".to_owned())),
            (name.to_owned(), Some(value.to_owned())),
        ])
    };
    let error = change("table.splt.threshold", "1G").unwrap_err();
    assert!(
        error.to_string().contains("table.split.threshold"),
        "{error}"
    );
    assert!(change("table.durability", "maybe").is_err());
    assert!(change("table.iterator.scan.x", "5,NoSuchIterator").is_err());
    assert!(change("table.iterator.scan.x", "0,VersioningIterator").is_err());
    assert_eq!(table.properties().unwrap()["table.file.max"], "15");
    change("table.custom.mine", "1").unwrap();
    assert_eq!(table.properties().unwrap()["table.file.max"], "7");
}

#[test]
fn handles_survive_renames_and_notice_deletes() {
    let (source, table) = plain();
    write(&table, "a", &[put(1, "one")]);
    source.rename_table("t", "u").unwrap();
    assert_eq!(table.name(), "u");
    source.clone_table("u", "v", &Default::default()).unwrap();
    write(&table, "b", &[put(1, "two")]);
    assert_eq!(values(Scanner::new(source.table("v").unwrap())), ["one"]);
    source.set_online("u", false).unwrap();
    let refused = Scanner::new(table.clone()).entries().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Offline);
    source.set_online("u", true).unwrap();
    assert_eq!(values(Scanner::new(table.clone())), ["one", "two"]);
    source.delete_table("u").unwrap();
    let gone = table
        .submit(MutationBatch::new(), None)
        .map(drop)
        .unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::TableNotFound);
    let names: Vec<String> = source
        .tables()
        .unwrap()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["v"]);
}

#[test]
fn bulk_imports_are_sorted_and_come_at_once() {
    let (_source, table) = plain();
    let mut batch = Batch::new();
    for row in ["a", "b"] {
        batch
            .push(Key::new(row, "f", "q").as_ref(), row.as_bytes())
            .unwrap();
    }
    let mut writer = table.bulk_writer().unwrap();
    writer.append(&batch).unwrap();
    assert!(writer.append(&batch).is_err());
    drop(writer);
    assert!(values(Scanner::new(table.clone())).is_empty());
    let mut writer = table.bulk_writer().unwrap();
    writer.append(&batch).unwrap();
    assert_eq!(writer.finish().unwrap(), 2);
    assert_eq!(values(Scanner::new(table)), ["a", "b"]);
}

#[test]
fn combiners_of_the_table_and_of_one_compaction_run() {
    let (_source, table) = every_version();
    write(&table, "r", &[put(1, "3"), put(2, "4"), delete(1)]);
    write(&table, "s", &[put(1, "5"), put(2, "6")]);
    let sum = IteratorSetting::new(10, "sum", "SummingCombiner")
        .with("all", "true")
        .with("type", "STRING");
    assert_eq!(
        values(Scanner::new(table.clone()).iterator(sum.clone())),
        ["4", "11"]
    );
    let options = CompactOptions {
        iterators: vec![sum],
        end: Some(b"r".to_vec()),
        ..CompactOptions::default()
    };
    table.compact(&options).unwrap();
    assert_eq!(values(Scanner::new(table)), ["4", "6", "5"]);
}

/// The largest value that fits was taken although the sum had the time of another one.
#[test]
fn a_sum_has_the_time_of_one_of_its_parts() {
    let scopes = IteratorScope::ALL.into_iter().flat_map(|scope| {
        let name = format!("table.iterator.{}.sum", scope.as_str());
        [
            (name.clone(), "10,SummingCombiner".to_owned()),
            (format!("{name}.opt.all"), "true".to_owned()),
            (format!("{name}.opt.type"), "STRING".to_owned()),
        ]
    });
    let (source, table) = table_with(&TableOptions {
        without_default_iterators: true,
        properties: scopes.collect(),
        ..TableOptions::default()
    });
    // More than every combination is tried for.
    let others = (0..10).map(|at| (20 + at, (1_u64 << (20 + at)).to_string()));
    let mut written: Vec<(i64, String)> = others.collect();
    written.insert(0, (10, "32768".to_owned()));
    written.insert(4, (5, "131072".to_owned()));
    written.insert(6, (11, "32768".to_owned()));
    written.push((90, "65536".to_owned()));
    write(&table, "r", &[delete(100)]);
    for (time, value) in &written {
        write(&table, "r", &[put(*time, value)]);
    }
    let options = ScanOptions::default();
    let read = || Scanner::new(table.clone()).entries().unwrap();
    assert_eq!(read(), [], "the marker hides them");
    let sum = |time: i64| Entry {
        key: Key {
            timestamp: time,
            ..Key::new("r", "f", "q")
        },
        value: b"131072".to_vec(),
    };
    // No part has this time.
    source.reconcile("t", &[sum(12)], &options).unwrap_err();
    source.reconcile("t", &[sum(90)], &options).unwrap();
    assert_eq!(read(), [sum(90)]);
}

#[test]
fn going_back_to_a_snapshot_undoes_everything_since() {
    let (source, table) = plain();
    write(&table, "a", &[put(1, "one")]);
    let before = source.snapshot();
    write(&table, "b", &[put(1, "two")]);
    source.create_table("u", &TableOptions::default()).unwrap();
    source.restore(&before);
    assert_eq!(values(Scanner::new(table)), ["one"]);
    assert!(source.table("u").is_err());
}
