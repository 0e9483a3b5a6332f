//! Scans: as iterators, in batches, and both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon::{Batch, Entry, ErrorKind, IteratorSetting, Store, Table};

/// More entries than two batches hold.
const MANY: usize = 5000;

fn numbered() -> Table {
    let table = Store::in_memory().unwrap().create_table("t").unwrap();
    let mut writer = table.batch_writer();
    for n in 0..MANY {
        let label = if n % 2 == 0 { "" } else { "odd" };
        writer
            .put_labeled(format!("{n:06}"), ("f", "q"), label, n.to_string())
            .unwrap();
    }
    writer.close().unwrap();
    table
}

fn number(entry: &Entry) -> usize {
    entry.value_str().unwrap().parse().unwrap()
}

#[test]
fn entries_come_in_order_and_stay_as_they_were() {
    let table = numbered();
    // Held entries must not be overwritten by later batches.
    let held: Vec<Entry> = table.scan().auths(["odd"]).collect().unwrap();
    assert!(held.iter().map(number).eq(0..MANY));
    let mut seen = 0;
    let mut kept = None;
    for entry in table.scan().auths(["odd"]) {
        let entry = entry.unwrap();
        assert_eq!(number(&entry), seen);
        if seen == 7 {
            kept = Some(entry.detach());
        }
        seen += 1;
    }
    assert_eq!(seen, MANY);
    let kept = kept.unwrap();
    assert_eq!((number(&kept), kept.label()), (7, &b"odd"[..]));
    assert_eq!(kept, held[7]);
}

#[test]
fn one_reader_sees_what_another_does_not() {
    let table = numbered();
    assert_eq!(table.scan().count().unwrap(), MANY as u64 / 2);
    assert_eq!(
        table.scan().auths(["even"]).count().unwrap(),
        MANY as u64 / 2
    );
    assert_eq!(table.scan().auths(["odd"]).count().unwrap(), MANY as u64);
}

#[test]
fn batches_and_entries_can_be_mixed() {
    let table = numbered();
    let mut entries = table.scan().auths(["odd"]).start().unwrap();
    let first: Vec<usize> = entries
        .by_ref()
        .take(10)
        .map(|entry| number(&entry.unwrap()))
        .collect();
    assert!(first.into_iter().eq(0..10));
    let mut batch = Batch::new();
    let mut next = 10;
    while entries.next_batch(&mut batch).unwrap() {
        for entry in batch.iter() {
            assert_eq!(entry.value, next.to_string().as_bytes());
            next += 1;
        }
    }
    assert_eq!(next, MANY);
    assert!(entries.next().is_none() && batch.is_empty());
    assert!(!entries.next_batch(&mut batch).unwrap());
}

#[test]
fn a_limit_counts_what_filters_let_through() {
    let table = numbered();
    let scan = table.scan().auths(["odd"]).limit(3);
    let numbers = |scan: ostrakon::Scan| -> Vec<usize> {
        scan.into_iter()
            .map(|entry| number(&entry.unwrap()))
            .collect()
    };
    assert_eq!(numbers(scan.clone()), [0, 1, 2]);
    assert_eq!(
        numbers(scan.clone().filter(|entry| entry.value.ends_with(b"99"))),
        [99, 199, 299]
    );
    assert!(numbers(scan.clone().limit(0)).is_empty());
    let doubled = scan.map_values(|entry| [entry.value, entry.value].concat());
    assert_eq!(numbers(doubled), [0, 11, 22]);
    assert_eq!(
        table.scan().limit(MANY as u64).count().unwrap(),
        MANY as u64 / 2
    );
}

#[test]
fn a_limit_reads_no_more_than_it_needs() {
    let table = numbered();
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = seen.clone();
    let scan = table.scan().limit(2).map_values(move |entry| {
        counter.fetch_add(1, Ordering::Relaxed);
        entry.value.to_vec()
    });
    assert_eq!(scan.count().unwrap(), 2);
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[test]
fn rows_columns_and_ranges_narrow_a_scan() {
    let table = Store::in_memory().unwrap().create_table("t").unwrap();
    for row in ["a", "b", "ba", "c"] {
        let write = table
            .put(row, ("f", "x"), "1")
            .put(("f", "y"), "2")
            .put(("g", "x"), "3");
        write.commit().unwrap();
    }
    let count = |scan: ostrakon::Scan| scan.count().unwrap();
    assert_eq!(count(table.scan().row("b")), 3);
    assert_eq!(count(table.scan().row("a").row("c")), 6);
    assert_eq!(count(table.scan().rows("b".."c")), 6);
    assert_eq!(count(table.scan().rows("b"..="c")), 9);
    assert_eq!(count(table.scan().row_prefix("b")), 6);
    assert_eq!(count(table.scan().family("f")), 8);
    assert_eq!(count(table.scan().column(("f", "y"))), 4);
    assert_eq!(
        count(table.scan().columns([("f", "y"), ("g", "x")]).row("a")),
        2
    );
    assert_eq!(count(table.scan().rows("a"..).unordered()), 12);
}

#[test]
fn what_is_malformed_is_the_first_item() {
    let table = numbered();
    let mut refused = table.scan().auths([""]).into_iter();
    assert_eq!(
        refused.next().unwrap().unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert!(refused.next().is_none());
    let unknown = IteratorSetting::new(30, "x", "NoSuchClass");
    let started = table.scan().iterator(unknown.clone()).start();
    assert_eq!(started.unwrap_err().kind(), ErrorKind::ClassNotFound);
    let first = table.scan().iterator(unknown).first();
    assert_eq!(first.unwrap_err().kind(), ErrorKind::ClassNotFound);
}

#[test]
fn a_scan_ends_after_its_error() {
    let store = Store::in_memory().unwrap();
    let other = store.create_table("t").unwrap();
    other.put("a", ("f", "q"), "1").commit().unwrap();
    let mut entries = other.scan().start().unwrap();
    store.drop_table("t").unwrap();
    assert_eq!(
        entries.next().unwrap().unwrap_err().kind(),
        ErrorKind::TableNotFound
    );
    assert!(entries.next().is_none());
    assert!(entries.next().is_none());
}

#[test]
fn text_that_is_not_utf_8_is_an_error() {
    let table = Store::in_memory().unwrap().create_table("t").unwrap();
    table
        .put(b"\xff", ("f", b"\xfe"), b"\xfd")
        .commit()
        .unwrap();
    let entry = table.scan().first().unwrap().unwrap();
    assert_eq!((entry.row(), entry.value()), (&b"\xff"[..], &b"\xfd"[..]));
    for text in [entry.row_str(), entry.qualifier_str(), entry.value_str()] {
        assert_eq!(text.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(entry.family_str().unwrap(), "f");
}

#[test]
fn debug_shows_no_values() {
    let table = Store::in_memory().unwrap().create_table("t").unwrap();
    table.put("row", ("f", "q"), "secret").commit().unwrap();
    let entry = table.scan().first().unwrap().unwrap();
    let mutation = ostrakon::Mutation::new("row").put(("f", "q"), "secret");
    for shown in [format!("{entry:?}"), format!("{mutation:?}")] {
        assert!(
            shown.contains("row") && !shown.contains("secret"),
            "{shown}"
        );
    }
}
