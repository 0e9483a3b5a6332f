//! A part of the registry is lost, and the tables of the type are newer than their state.

use std::sync::Arc;

use ostrakon_cell::{BatchWriter, BatchWriterConfig, ErrorKind, Mutation, ReaderSource, Scanner};
use ostrakon_cell::{Range, Result, Source};
use ostrakon_events::{
    ConcernedType, CountPath, EventCheck, EventStore, EventType, IngestOptions, Query,
    has_batch_numbers, parse_condition, types_concerned,
};

use super::support::{Made, TYPE, everything, held, ingest, make, open_web, read, records, sorted};

/// The cells of the type's row in the registry: family, qualifier, value.
type Row = Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>;

fn row(source: &Arc<dyn Source>) -> Row {
    let registry = source.table("events.types").expect("there");
    let entries = Scanner::new(registry).range(Range::row("web")).entries();
    let cells = entries.expect("read").into_iter();
    cells
        .map(|entry| (entry.key.family, entry.key.qualifier, entry.value))
        .collect()
}

/// Makes the row what it was.
fn put_back(source: &Arc<dyn Source>, before: &Row) {
    let registry = source.table("events.types").expect("there");
    let mut mutation = Mutation::new("web");
    for (family, qualifier, _) in row(source) {
        mutation.delete(&family, &qualifier).expect("short");
    }
    for (family, qualifier, value) in before {
        mutation.put(family, qualifier, value).expect("short");
    }
    let mut writer = BatchWriter::new(registry, BatchWriterConfig::default());
    writer.add(&mutation).expect("held");
    writer.close().expect("written");
}

fn check(store: &EventStore) -> EventCheck {
    store.check(&everything()).expect("checked")
}

/// Every way to count agrees.
fn assert_counts(store: &EventStore, expected: u64, what: &str) {
    for path in [CountPath::Aggregates, CountPath::Scan] {
        let count = store.count(&everything(), path).expect("counted");
        assert_eq!(count, expected, "{what}: {path:?}");
    }
    let some = Query {
        condition: parse_condition("host == 'h2.example'", 0).expect("valid"),
        ..everything()
    };
    let count = |path| store.count(&some, path).expect("counted");
    assert_eq!(
        count(CountPath::Aggregates),
        count(CountPath::Scan),
        "{what}"
    );
    assert_eq!(count(CountPath::Index), count(CountPath::Scan), "{what}");
}

fn try_to_ingest(store: &EventStore, made: &[Made]) -> Result<u64> {
    let mut ingest = store.ingest("web", IngestOptions::default())?;
    let (names, records) = records(made);
    for record in &records {
        assert_eq!(ingest.add(&names, record)?, None);
    }
    ingest.finish().map(|report| report.events)
}

#[test]
fn batches_that_the_state_does_not_know_count_once_repair_has_taken_them_in() {
    let made = make(71, 160);
    let some = Query {
        condition: parse_condition("host == 'h1.example'", 0).expect("valid"),
        ..everything()
    };
    // Each step leaves a state, to which the registry goes back after the last step.
    for back_to in 0..4 {
        for loses_index in [false, true] {
            let what = format!("back to {back_to}, loses index: {loses_index}");
            let (source, store) = open_web();
            let (mut rows, mut known) = (Vec::new(), Vec::new());
            let mut note = || {
                rows.push(row(&source));
                known.push(sorted(read(&store, &everything())));
            };
            note();
            ingest(&store, &made[..60], 20);
            note();
            store.delete(&some).expect("deleted");
            note();
            ingest(&store, &made[40..120], 30);
            note();
            ingest(&store, &made[100..140], 30);
            let newest = sorted(read(&store, &everything()));
            put_back(&source, &rows[back_to]);
            assert_eq!(
                sorted(read(&store, &everything())),
                known[back_to],
                "{what}"
            );
            assert_counts(&store, known[back_to].len() as u64, &what);
            if loses_index {
                let index = source.table("events.web_index").expect("there");
                index.delete_rows(None, None).expect("deleted");
            }
            let unknown = check(&store).unknown_batches;
            let (first, last) = unknown.expect("batches");
            assert!(first <= last && last >= 7, "{what}: {first} to {last}");
            // No number is given out again.
            for outcome in [
                try_to_ingest(&store, &made),
                store.delete(&everything()).map(|deleted| deleted + 1),
            ] {
                // There may be nothing to delete.
                if outcome.as_ref().is_ok_and(|deleted| *deleted == 1) {
                    continue;
                }
                let error = outcome.expect_err("refused");
                assert_eq!(error.kind(), ErrorKind::Corruption, "{what}");
                let text = error.to_string();
                for part in ["events repair", "web", &format!("{first} to {last}")] {
                    assert!(text.contains(part), "{what}: {text}");
                }
            }
            assert_eq!(row(&source), rows[back_to], "{what}");
            store
                .repair(&everything(), &check(&store))
                .expect("repaired");
            let repaired = check(&store);
            assert_eq!(repaired.disagreements, [], "{what}");
            assert_eq!(repaired.unknown_batches, None, "{what}");
            assert_eq!(sorted(read(&store, &everything())), newest, "{what}");
            assert_counts(&store, newest.len() as u64, &what);
            let all = try_to_ingest(&store, &made).expect("ingested");
            assert_eq!(all, 160 - newest.len() as u64, "{what}");
            assert_counts(&store, 160, &what);
            assert_eq!(sorted(read(&store, &everything())), sorted(made.clone()));
            assert_eq!(check(&store).disagreements, [], "{what}");
        }
    }
}

#[test]
fn aborted_batches_that_the_state_knows_stay_aborted() {
    let made = make(72, 90);
    let (source, store) = open_web();
    ingest(&store, &made[..30], 100);
    // A batch is written, and never committed, because another writer begins.
    let options = IngestOptions {
        batch_events: 10,
        ..IngestOptions::default()
    };
    let mut slow = store.ingest("web", options).expect("a type");
    let (names, records) = records(&made[30..60]);
    slow.add(&names, &records[0]).expect("held");
    slow.commit().expect("committed");
    assert_eq!(ingest(&store, &made[60..], 100).events, 30);
    let before = row(&source);
    let text = String::from_utf8_lossy(&before[0].2).into_owned();
    assert!(text.contains("aborted=3-3"), "{text}");
    let seen = sorted(read(&store, &everything()));
    store.delete(&everything()).expect("deleted");
    put_back(&source, &before);
    assert_eq!(check(&store).unknown_batches, Some((5, 5)));
    assert_eq!(store.recover("web").expect("taken in"), Some((5, 5)));
    assert_eq!(store.recover("web").expect("known"), None);
    assert_eq!(read(&store, &everything()), []);
    assert!(String::from_utf8_lossy(&row(&source)[0].2).contains("aborted=3-3"));
    assert_eq!(try_to_ingest(&store, &made[60..]).expect("again"), 30);
    assert_eq!(seen.len(), 61);
}

#[test]
fn settled_tables_keep_their_state_in_a_file() {
    let made = make(73, 100);
    let (source, store) = open_web();
    ingest(&store, &made, 40);
    let some = Query {
        condition: parse_condition("host == 'h1.example'", 0).expect("valid"),
        ..everything()
    };
    assert!(store.delete(&some).expect("deleted") > 0);
    let in_memory = || {
        let registry = source.table("events.types").expect("there");
        let tablets = registry.tablets().expect("listed").into_iter();
        tablets.map(|tablet| tablet.memory_entries).sum::<u64>()
    };
    assert!(in_memory() > 0);
    store.settle("web").expect("settled");
    assert_eq!(in_memory(), 0);
}

#[test]
fn a_state_behind_settled_tables_is_found() {
    let made = make(74, 100);
    let (source, store) = open_web();
    ingest(&store, &made[..60], 100);
    let old = row(&source);
    ingest(&store, &made[60..], 100);
    store.settle("web").expect("settled");
    // The state went back, and the cell that says up to where the tables are settled did not.
    let settled = row(&source).into_iter().filter(|cell| cell.1 == b"settled");
    put_back(&source, &old.into_iter().chain(settled).collect());
    let error = store.check(&everything()).expect_err("settled beyond");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(store.recover("web").expect("taken in"), Some((2, 2)));
    store
        .repair(&everything(), &check(&store))
        .expect("repaired");
    assert_eq!(check(&store).disagreements, []);
    assert_counts(&store, 100, "repaired");
}

/// A type whose row in the registry is lost, with its events.
fn without_definition() -> (Arc<dyn Source>, EventStore, Vec<Made>) {
    let made = make(75, 120);
    let (source, store) = open_web();
    ingest(&store, &made, 50);
    put_back(&source, &Row::new());
    (source, store, made)
}

fn web() -> EventType {
    EventType::from_toml(TYPE).expect("valid")
}

#[test]
fn a_lost_definition_is_given_again_and_the_events_are_kept() {
    let (source, store, made) = without_definition();
    let error = store.check(&everything()).expect_err("no type");
    assert!(error.kind().is_not_found());
    assert!(
        error.to_string().contains("there are tables of it"),
        "{error}"
    );
    let error = store.create(&web()).expect_err("there are tables");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("adopt the tables"), "{error}");
    let reader = ReaderSource::new(source.clone(), held(&["a"]));
    let error = EventStore::new(Arc::new(reader)).adopt(&web());
    assert_eq!(
        error.expect_err("a reader").kind(),
        ErrorKind::PermissionDenied
    );
    let mut fewer = web();
    fewer.shards[0].count = 2;
    let error = store.adopt(&fewer).expect_err("other shards");
    assert!(error.to_string().contains("number of shards"), "{error}");
    store.adopt(&web()).expect("adopted");
    let error = store.adopt(&web()).expect_err("registered");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(sorted(read(&store, &everything())), sorted(made.clone()));
    assert_eq!(check(&store).disagreements, []);
    assert_eq!(check(&store).unknown_batches, None);
    assert_counts(&store, 120, "adopted");
    assert_eq!(try_to_ingest(&store, &made).expect("known"), 0);
    let more = make(76, 30);
    assert_eq!(try_to_ingest(&store, &more).expect("ingested"), 30);
    assert_counts(&store, 150, "ingested");
    let mut other = web();
    other.name = "other".into();
    let error = store.adopt(&other).expect_err("no tables");
    assert!(error.kind().is_not_found(), "{error}");
}

#[test]
fn index_and_counts_are_made_again_for_other_ids_and_lost_tables() {
    let (source, store, made) = without_definition();
    source
        .delete_table("events.web_aggregate")
        .expect("deleted");
    let mut web = web();
    let ids = [9, 2, 8, 7, 6, 5, 4];
    for (field, id) in web.fields.iter_mut().zip(ids) {
        field.id = Some(id);
    }
    let adopted = store.adopt(&web).expect("adopted");
    assert_eq!(adopted.field("port").and_then(|field| field.id), Some(8));
    let found = check(&store);
    assert!(found.disagreements.iter().any(|one| one.field == "id 3"));
    store.repair(&everything(), &found).expect("repaired");
    assert_eq!(check(&store).disagreements, []);
    assert_counts(&store, made.len() as u64, "repaired");
}

#[test]
fn a_creation_that_stopped_is_completed() {
    let (source, store) = open_web();
    put_back(&source, &Row::new());
    source
        .delete_table("events.web_aggregate")
        .expect("deleted");
    store.create(&web()).expect("completed");
    assert_eq!(ingest(&store, &make(77, 20), 100).events, 20);
    assert_counts(&store, 20, "created");
}

#[test]
fn a_loss_names_the_types_that_it_concerns() {
    let (source, store, _) = without_definition();
    let mut other = web();
    other.name = "other".into();
    store.create(&other).expect("created");
    source
        .create_table("plain", &ostrakon_cell::TableOptions::default())
        .expect("created");
    let type_of = |name: &str, is_registered| ConcernedType {
        name: name.into(),
        is_registered,
    };
    let concerned = |tables: &[&str]| {
        let tables: Vec<String> = tables.iter().map(|&table| table.into()).collect();
        types_concerned(&*source, &tables).expect("listed")
    };
    assert_eq!(concerned(&["plain"]), []);
    assert_eq!(
        concerned(&["plain", "events.web_index"]),
        [type_of("web", false)]
    );
    assert_eq!(
        concerned(&["events.types"]),
        [type_of("other", true), type_of("web", false)]
    );
}

#[test]
fn readers_see_the_numbers_of_batches_only() {
    let (source, store) = open_web();
    ingest(&store, &make(78, 20), 100);
    let reader = ReaderSource::new(source.clone(), held(&["a", "b"]));
    let table = reader.table("events.web").expect("there");
    let error = table.newest_timestamp().expect_err("a reader");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let reader = reader.showing_times(has_batch_numbers);
    let table = reader.table("events.web").expect("there");
    assert_eq!(table.newest_timestamp().expect("shown"), Some(1));
    source
        .create_table("plain", &ostrakon_cell::TableOptions::default())
        .expect("created");
    let table = reader.table("plain").expect("there");
    table.newest_timestamp().expect_err("another table");
    let restricted = EventStore::new(Arc::new(reader));
    assert!(restricted.delete(&everything()).expect("deleted") > 0);
}
