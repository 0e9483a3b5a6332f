//! Every class before the examiner of iterators.

use ostrakon_cell::{
    Entry, IteratorClass, IteratorEnvironment, IteratorScope, IteratorSetting, Key,
};
use ostrakon_testkit::iterators::{IteratorCase, Seeks, examine_iterator};

use super::aggregates::{AGGREGATE_SCAN, TOTAL_SCAN};
use super::events::EventScanClass;
use super::index::INDEX_SCAN;
use super::settle::SettleClass;
use super::*;
use crate::condition::parse_condition;
use crate::layout::{DELETED, event_row, index_qualifier, value_row};
use crate::value::FieldType;

/// Batches 1 to 9; 4 and 5 were never committed, nor was 9.
fn snapshot() -> Snapshot {
    Snapshot {
        committed: 8,
        aborted: vec![(4, 5)],
        since: 20,
    }
}

fn entry(row: &[u8], qualifier: &[u8], label: &str, batch: i64, value: &[u8]) -> Entry {
    Entry {
        key: Key {
            visibility: label.into(),
            timestamp: batch,
            ..Key::new(row, "", qualifier)
        },
        value: value.to_vec(),
    }
}

/// Events of several batches and times; some written twice, some deleted, some of both.
fn events() -> Vec<Entry> {
    let mut entries = Vec::new();
    for number in 0..24_u8 {
        let time = i64::from(number) * 3;
        let row = event_row(u16::from(number % 2), time, &[number; 16]);
        let label = ["", "a|b"][usize::from(number % 5 == 0)];
        for batch in [1 + i64::from(number % 9), 3 + i64::from(number % 4)] {
            entries.push(entry(&row, b"", label, batch, b""));
            for field in ["host", "status"] {
                let value = format!("{}", number % 3);
                entries.push(entry(
                    &row,
                    field.as_bytes(),
                    label,
                    batch,
                    value.as_bytes(),
                ));
            }
        }
        if number % 4 == 1 {
            entries.push(entry(&row, b"", label, 6 + i64::from(number % 3), DELETED));
        }
    }
    entries
}

/// Rows of values and times, each with the versions of a few events or of a count.
fn values(counts: bool) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut row = Vec::new();
    for value in *b"abc" {
        for time in (0..60).step_by(7) {
            value_row(&mut row, 1, &[value], time);
            for number in 0..1 + value % 3 {
                let qualifier = index_qualifier(&event_row(0, time, &[number; 16]));
                for batch in [1_i64, 4, 6, 8, 9] {
                    let label = ["", "a", "a|b"][(usize::from(number) + batch as usize) % 3];
                    let (qualifier, value): (&[u8], Vec<u8>) = if counts {
                        (b"", (batch - 5).to_be_bytes().to_vec())
                    } else if batch == 6 && time % 2 == 0 {
                        (&qualifier, DELETED.to_vec())
                    } else {
                        (&qualifier, Vec::new())
                    };
                    entries.push(entry(&row, qualifier, label, batch, &value));
                }
            }
        }
    }
    entries
}

fn examine(
    class: &dyn IteratorClass,
    setting: &IteratorSetting,
    environment: IteratorEnvironment,
    entries: Vec<Entry>,
) {
    let outcome = examine_iterator(IteratorCase {
        class,
        options: setting.options.clone(),
        environment,
        entries,
        seeks: Seeks::Anywhere,
    });
    assert_eq!(outcome, Ok(()), "{setting:?}");
}

#[test]
fn scans_pass_the_examiner() {
    let scan = || IteratorEnvironment::new(IteratorScope::Scan);
    // All times: entries of others are skipped unread, and the examiner wants each of them to be read.
    let snapshot = Snapshot {
        since: i64::MIN,
        ..snapshot()
    };
    let (from, to) = (i64::MIN, i64::MAX);
    let index = index_scan(&snapshot, from, to);
    examine(&INDEX_SCAN, &index, scan(), values(false));
    let counts = aggregate_scan(&snapshot, from, to);
    examine(&AGGREGATE_SCAN, &counts, scan(), values(true));
    let totals = total_scan(&snapshot, from, to);
    examine(&TOTAL_SCAN, &totals, scan(), values(true));
    for (condition, fields) in [("", None), ("host == '1'", Some(vec!["status".to_owned()]))] {
        let events_scan = event_scan(&EventScan {
            snapshot: &snapshot,
            condition: &parse_condition(condition, 0).expect("sound"),
            types: vec![("host".to_owned(), Some(FieldType::Text))],
            fields,
            from,
            to,
            report: false,
        });
        examine(&EventScanClass, &events_scan, scan(), events());
    }
}

#[test]
fn the_compaction_passes_the_examiner() {
    for full in [true, false] {
        for (table, entries) in [
            (EventTable::Event, events()),
            (EventTable::Index, values(false)),
            (EventTable::Aggregate, values(true)),
        ] {
            let environment = IteratorEnvironment {
                full_major_compaction: full,
                ..IteratorEnvironment::new(IteratorScope::Majc)
            };
            examine(
                &SettleClass,
                &settle(&snapshot(), table),
                environment,
                entries,
            );
        }
    }
}
