//! One answer is of one state, whatever is written, deleted or rewritten while it is read.

use std::sync::Arc;

use ostrakon_cell::{Authorizations, ErrorKind, Source};
use ostrakon_events::{CountPath, EventStore, Path, PlannerSettings, Query, parse_condition};

use super::meddling::Meddling;
use super::support::{HOUR, Made, everything, ingest, made_of, make, open_web, read};

/// A store of `made`, read through a source in which `happening` happens before the next scan of `table`.
fn meddled(
    made: &[Made],
    table: &'static str,
    happening: impl FnOnce(&EventStore) + Send + 'static,
) -> (Arc<Meddling>, EventStore, EventStore) {
    let (source, store) = open_web();
    ingest(&store, made, 40);
    let other = store.clone();
    let meddling = Meddling::before_scan_of(table, &source, move || happening(&other));
    let reader = EventStore::new(meddling.clone() as Arc<dyn Source>);
    (meddling, reader, store)
}

#[test]
fn a_check_compares_the_tables_of_one_moment() {
    for table in ["events.web", "events.web_index", "events.web_aggregate"] {
        for settled in [false, true] {
            let made = make(41, 120);
            let (meddling, reader, _) = meddled(&made, table, move |store| {
                ingest(store, &make(42, 50), 20);
                let condition = parse_condition("host == 'h1.example'", 0).expect("valid");
                let some = Query {
                    condition,
                    ..everything()
                };
                assert!(store.delete(&some).expect("deleted") > 0);
                if settled {
                    store.settle("web").expect("compacted");
                }
            });
            let check = reader.check(&everything()).expect("checked");
            assert!(meddling.has_happened());
            assert_eq!(check.disagreements, [], "{table} {settled}");
        }
    }
}

#[test]
fn a_repair_that_another_writer_overtakes_changes_nothing() {
    let made = make(43, 120);
    let (source, store) = open_web();
    ingest(&store, &made, 40);
    let index = source.table("events.web_index").expect("there");
    let rows = ostrakon_cell::Scanner::new(index.clone())
        .entries()
        .expect("read");
    index
        .delete_rows(Some(&rows[3].key.row), Some(&rows[9].key.row))
        .expect("deleted");
    let found = store.check(&everything()).expect("checked");
    assert_ne!(found.disagreements, []);
    // Another program repairs the same between the passes.
    let (other, again) = (store.clone(), found.clone());
    let meddling = Meddling::before_scan_of("events.web_index", &source, move || {
        other.repair(&everything(), &again).expect("repaired");
    });
    let reader = EventStore::new(meddling.clone() as Arc<dyn Source>);
    let error = reader
        .repair(&everything(), &found)
        .expect_err("another writer has started");
    assert_eq!(error.kind(), ErrorKind::ConcurrentModification);
    assert!(meddling.has_happened());
    let check = store.check(&everything()).expect("checked");
    assert_eq!(check.disagreements, []);
    let late = store.repair(&everything(), &found).expect("nothing to do");
    assert_eq!((late.added, late.removed, late.counts), (0, 0, 0));
}

#[test]
fn a_histogram_is_counted_in_one_state() {
    let before = make(44, 200);
    let query = |text: &str| Query {
        condition: parse_condition(text, 0).expect("valid"),
        // The first and the last bin are not whole.
        from: Some(HOUR / 2),
        to: Some(60 * HOUR + HOUR / 2),
        ..everything()
    };
    for (text, table) in [
        ("host exists", "events.web_index"),
        ("", "events.web"),
        ("host exists", "events.web_aggregate"),
        ("size > 100", "events.web"),
    ] {
        for settled in [false, true] {
            let (meddling, reader, store) = meddled(&before, table, move |store| {
                ingest(store, &make(45, 400), 1000);
                if settled {
                    store.settle("web").expect("compacted");
                }
            });
            let path = match text {
                "size > 100" => CountPath::Scan,
                _ => CountPath::Aggregates,
            };
            let old = store
                .histogram(&query(text), HOUR, CountPath::Scan)
                .expect("counted");
            let found = reader.histogram(&query(text), HOUR, path).expect("counted");
            assert!(meddling.has_happened());
            let new = store
                .histogram(&query(text), HOUR, CountPath::Scan)
                .expect("counted");
            assert_ne!(old, new);
            assert!(found == old || found == new, "{text} {table} {settled}");
        }
    }
}

#[test]
fn the_most_frequent_values_are_of_one_state() {
    let before = make(46, 200);
    let (meddling, reader, store) = meddled(&before, "events.web_aggregate", |store| {
        ingest(store, &make(47, 100), 1000);
        store.settle("web").expect("compacted");
    });
    let found = reader
        .top(&everything(), "host", 100, CountPath::Aggregates)
        .expect("counted");
    assert!(meddling.has_happened());
    let by_scan = Query {
        path: Path::Scan,
        ..everything()
    };
    let scanned = store
        .top(&by_scan, "host", 100, CountPath::Scan)
        .expect("counted");
    assert_eq!(found, scanned);
    let nothing = Query {
        authorizations: Authorizations::default(),
        ..everything()
    };
    assert!(read(&store, &nothing).len() < read(&store, &everything()).len());
}

/// Totals are read while the query runs, and settling sums up counts that the query's state does not see.
#[test]
fn a_query_whose_type_is_settled_meanwhile_returns_all_that_was_not_deleted() {
    let (_, store) = open_web();
    ingest(&store, &make(48, 3000), 100);
    for (seed, path, text) in [(49, Path::Scan, ""), (50, Path::Index, "host exists")] {
        let query = Query {
            condition: parse_condition(text, 0).expect("valid"),
            path,
            ..everything()
        };
        let before = read(&store, &query);
        let slow = Query {
            settings: PlannerSettings {
                first_events: 1,
                // Short windows, which skip the bins without events.
                window_events: 10,
                ..PlannerSettings::default()
            },
            ..query.clone()
        };
        let mut found = Vec::new();
        let outcome = store.query(&slow, |event| {
            if found.is_empty() {
                let some = Query {
                    condition: parse_condition("port < 15", 0).expect("valid"),
                    ..everything()
                };
                assert!(store.delete(&some).expect("deleted") > 0);
                ingest(&store, &make(seed, 200), 100);
                store.settle("web").expect("compacted");
            }
            found.push(made_of(event));
            Ok(true)
        });
        assert!(outcome.expect("read").windows > 1);
        let left = read(&store, &query);
        let missing = before
            .iter()
            .filter(|made| left.contains(made) && !found.contains(made));
        let missing: Vec<_> = missing.collect();
        assert_eq!(missing, Vec::<&Made>::new(), "{path:?}");
        assert!(found.iter().all(|made| before.contains(made)), "{path:?}");
    }
}
