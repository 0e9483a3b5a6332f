//! Deletion, age-off, check and repair treat the three tables alike.

use ostrakon_cell::{BatchWriter, BatchWriterConfig, ColumnUpdate, Scanner};
use ostrakon_events::{CountPath, Query, parse_condition};

use super::support::{HOUR, everything, held, ingest, make, open_web, read, sorted};

#[test]
fn deleted_events_are_gone_everywhere_and_may_come_back() {
    let made = make(21, 150);
    let (source, store) = open_web();
    ingest(&store, &made, 40);
    let condition = parse_condition("host == 'h1.example'", 0).expect("valid");
    let some = Query {
        condition,
        ..everything()
    };
    let count = read(&store, &some).len() as u64;
    assert!(count > 10);
    assert_eq!(store.delete(&some).expect("deleted"), count);
    for settled in [false, true] {
        for path in [CountPath::Aggregates, CountPath::Index, CountPath::Scan] {
            assert_eq!(
                store.count(&some, path).expect("counted"),
                0,
                "{settled} {path:?}"
            );
        }
        assert_eq!(read(&store, &everything()).len() as u64, 150 - count);
        assert_eq!(
            store.check(&everything()).expect("checked").disagreements,
            []
        );
        store.settle("web").expect("compacted");
    }
    // Nothing of the deleted events is left in the files.
    let left = Scanner::new(source.table("events.web").expect("there"))
        .authorizations(held(&["a", "b"]))
        .entries()
        .expect("read");
    assert!(
        left.iter()
            .all(|entry| entry.value != b"h1.example" && entry.value != b"d")
    );
    let again = ingest(&store, &made, 40);
    assert_eq!((again.events, again.duplicates), (count, 150 - count));
    assert_eq!(sorted(read(&store, &everything())), sorted(made));
    assert_eq!(
        store.check(&everything()).expect("checked").disagreements,
        []
    );
}

#[test]
fn old_events_leave_all_tables_and_are_not_taken_again() {
    let made = make(22, 150);
    let (_, store) = open_web();
    ingest(&store, &made, 40);
    let error = store
        .age_off("web", 100 * HOUR, None)
        .expect_err("not configured")
        .to_string();
    assert!(error.contains("set `keep`"), "{error}");
    let off = store
        .age_off("web", 0, Some(24 * HOUR + HOUR / 2))
        .expect("removed");
    assert_eq!(off.since, 24 * HOUR);
    let young: Vec<_> = made
        .iter()
        .filter(|made| made.time >= off.since)
        .cloned()
        .collect();
    assert_eq!(sorted(read(&store, &everything())), sorted(young.clone()));
    for path in [CountPath::Aggregates, CountPath::Scan] {
        assert_eq!(
            store.count(&everything(), path).expect("counted"),
            young.len() as u64
        );
    }
    let check = store.check(&everything()).expect("checked");
    assert_eq!(
        (check.disagreements.len(), check.events),
        (0, young.len() as u64)
    );
    let mut late = store
        .ingest("web", ostrakon_events::IngestOptions::default())
        .expect("a type");
    let mut record = ostrakon_events::Record::default();
    record.push(0, b"5");
    let rejected = late
        .add(&["ts".to_owned()], &record)
        .expect("held")
        .expect("rejected");
    assert!(rejected.contains("older than what is kept"), "{rejected}");
}

#[test]
fn check_finds_what_other_programs_did_and_repair_corrects_it() {
    let made = make(23, 150);
    let (source, store) = open_web();
    ingest(&store, &made, 40);
    // Another program deletes rows of the index, adds an entry for no event, and changes counts.
    let index = source.table("events.web_index").expect("there");
    let rows = Scanner::new(index.clone())
        .authorizations(held(&["a", "b"]))
        .entries()
        .expect("read");
    index
        .delete_rows(Some(&rows[10].key.row), Some(&rows[20].key.row))
        .expect("deleted");
    let mut writer = BatchWriter::new(index, BatchWriterConfig::default());
    let update = ColumnUpdate {
        qualifier: &[0; 18],
        timestamp: Some(1),
        value: Some(b""),
        ..ColumnUpdate::default()
    };
    writer.put(&rows[0].key.row, update).expect("put");
    writer.close().expect("written");
    let aggregate = source.table("events.web_aggregate").expect("there");
    let counts = Scanner::new(aggregate.clone())
        .authorizations(held(&["a", "b"]))
        .entries()
        .expect("read");
    let mut writer = BatchWriter::new(aggregate, BatchWriterConfig::default());
    for entry in counts.iter().take(3) {
        let update = ColumnUpdate {
            visibility: &entry.key.visibility,
            timestamp: Some(entry.key.timestamp),
            value: Some(&7_i64.to_be_bytes()),
            ..ColumnUpdate::default()
        };
        writer.put(&entry.key.row, update).expect("put");
    }
    writer.close().expect("written");
    let check = store.check(&everything()).expect("checked");
    assert!(
        check
            .disagreements
            .iter()
            .any(|wrong| wrong.table == "index")
    );
    assert!(
        check
            .disagreements
            .iter()
            .any(|wrong| wrong.table == "aggregate")
    );
    let repair = store.repair(&everything(), &check).expect("repaired");
    assert!(
        repair.added > 0 && repair.removed == 1 && repair.counts > 0,
        "{repair:?}"
    );
    assert_eq!(
        store.check(&everything()).expect("checked").disagreements,
        []
    );
    assert_eq!(
        store
            .count(&everything(), CountPath::Aggregates)
            .expect("counted"),
        150
    );
    assert_eq!(sorted(read(&store, &everything())), sorted(made));
}

/// Counts that other programs wrote may have any value.
#[test]
fn a_count_that_cannot_be_corrected_is_an_error() {
    let (source, store) = open_web();
    ingest(&store, &make(24, 20), 40);
    let aggregate = source.table("events.web_aggregate").expect("there");
    let counts = Scanner::new(aggregate.clone())
        .authorizations(held(&["a", "b"]))
        .entries()
        .expect("read");
    let mut writer = BatchWriter::new(aggregate, BatchWriterConfig::default());
    for entry in counts.iter().take(6) {
        let update = ColumnUpdate {
            visibility: &entry.key.visibility,
            timestamp: Some(entry.key.timestamp),
            value: Some(&i64::MIN.to_be_bytes()),
            ..ColumnUpdate::default()
        };
        writer.put(&entry.key.row, update).expect("put");
    }
    writer.close().expect("written");
    let check = store.check(&everything()).expect("checked");
    assert!(!check.disagreements.is_empty());
    let error = store.repair(&everything(), &check).expect_err("too large");
    assert!(error.to_string().contains("too far"), "{error}");
}
