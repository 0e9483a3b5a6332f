//! Events are stored and counted once, whatever happens between the tables.

use ostrakon_events::{CountPath, EqualRecords, EventType, IngestOptions, Query};

use super::support::{
    HOUR, TYPE, everything, held, ingest, make, open, open_web, read, records, sorted,
};

fn assert_agrees(store: &ostrakon_events::EventStore) {
    let check = store.check(&everything()).expect("checked");
    assert_eq!(check.disagreements, []);
}

#[test]
fn the_same_file_twice_adds_nothing() {
    let made = make(1, 200);
    let (_, store) = open_web();
    assert_eq!(ingest(&store, &made, 70).events, 200);
    let again = ingest(&store, &made, 30);
    assert_eq!((again.events, again.duplicates, again.entries), (0, 200, 0));
    // Within one batch as well, and mixed with new events.
    let more = [make(2, 20), make(2, 20), made.clone()].concat();
    let mixed = ingest(&store, &more, 1000);
    assert_eq!((mixed.events, mixed.duplicates), (20, 220));
    let all = [made, make(2, 20)].concat();
    assert_eq!(sorted(read(&store, &everything())), sorted(all));
    assert_eq!(
        store
            .count(&everything(), CountPath::Aggregates)
            .expect("counted"),
        220
    );
    assert_agrees(&store);
}

/// A store with a type that keeps equal records.
fn open_keeping() -> ostrakon_events::EventStore {
    let (_, store) = open();
    let text = TYPE.replace("time = 'ts'", "time = 'ts'\nequal_records = 'keep'");
    store
        .create(&EventType::from_toml(&text).expect("valid"))
        .expect("created");
    store
}

#[test]
fn repeated_records_are_told_from_stored_ones() {
    let made = make(1, 60);
    let (_, store) = open_web();
    assert_eq!(ingest(&store, &made, 1000).repeated, 0);
    // In one batch, and in several.
    for batch in [1000, 7] {
        let more = [made.clone(), make(batch, 20), make(batch, 20)].concat();
        let report = ingest(&store, &more, batch as usize);
        let counted = (report.events, report.duplicates, report.repeated);
        assert_eq!(counted, (20, 80, 20), "{batch}");
    }
}

#[test]
fn equal_records_are_kept_once_for_each_place() {
    let made = make(1, 60);
    let twice = [made.clone(), made.clone()].concat();
    for batch in [1000, 7] {
        let store = open_keeping();
        let report = ingest(&store, &twice, batch);
        let counted = (report.events, report.duplicates, report.repeated);
        assert_eq!(counted, (120, 0, 0), "{batch}");
        let again = ingest(&store, &twice, 30);
        assert_eq!((again.events, again.duplicates), (0, 120), "{batch}");
        // A source that begins otherwise is another one.
        assert_eq!(ingest(&store, &made[1..], batch).events, 59);
        let all = [twice.clone(), made[1..].to_vec()].concat();
        assert_eq!(sorted(read(&store, &everything())), sorted(all));
        let count = store.count(&everything(), CountPath::Aggregates);
        assert_eq!(count.expect("counted"), 179);
        assert_agrees(&store);
    }
}

#[test]
fn what_becomes_of_equal_records_is_settled_with_the_first_event() {
    let store = open_keeping();
    let mut definition = store.get("web").expect("a type");
    assert_eq!(definition.equal_records, EqualRecords::Keep);
    definition.equal_records = EqualRecords::Merge;
    store.change(&definition).expect("no events");
    definition.equal_records = EqualRecords::Keep;
    store.change(&definition).expect("no events");
    ingest(&store, &make(1, 3), 10);
    definition.equal_records = EqualRecords::Merge;
    let error = store.change(&definition).expect_err("events");
    assert!(error.to_string().contains("equal records"), "{error}");
}

#[test]
fn a_batch_that_stops_between_the_tables_never_counts_and_can_be_ingested_again() {
    let made = make(3, 120);
    for table in [
        "events.web",
        "events.web_index",
        "events.web_aggregate",
        "events.types",
    ] {
        let (source, store) = open_web();
        ingest(&store, &made[..40], 1000);
        let before = read(&store, &everything());
        let mut broken = store
            .ingest("web", IngestOptions::default())
            .expect("a type");
        let (names, all) = records(&made);
        for record in all.iter().take(80).skip(40) {
            broken.add(&names, record).expect("held");
        }
        broken.commit().expect("committed");
        for record in all.iter().skip(80) {
            broken.add(&names, record).expect("held");
        }
        source.set_online(table, false).expect("off-line");
        broken.commit().expect_err("the table is offline");
        drop(broken);
        source.set_online(table, true).expect("on-line");
        // Nothing of the batch shows, in no table.
        assert_eq!(
            read(&store, &everything()).len(),
            before.len() + 40,
            "{table}"
        );
        for path in [CountPath::Aggregates, CountPath::Scan] {
            assert_eq!(
                store.count(&everything(), path).expect("counted"),
                80,
                "{table}"
            );
        }
        assert_agrees(&store);
        let again = ingest(&store, &made, 50);
        assert_eq!((again.events, again.duplicates), (40, 80), "{table}");
        for path in [CountPath::Aggregates, CountPath::Scan] {
            assert_eq!(
                store.count(&everything(), path).expect("counted"),
                120,
                "{table}"
            );
        }
        assert_agrees(&store);
        // What is left of the broken batch leaves the files.
        store.settle("web").expect("compacted");
        assert_eq!(sorted(read(&store, &everything())), sorted(made.clone()));
        assert_agrees(&store);
    }
}

#[test]
fn a_commit_that_failed_can_be_repeated() {
    let made = make(4, 80);
    for table in ["events.web", "events.web_aggregate", "events.types"] {
        let (source, store) = open_web();
        let mut ingest = store
            .ingest("web", IngestOptions::default())
            .expect("a type");
        let (names, all) = records(&made);
        for (at, record) in all.iter().enumerate() {
            ingest.add(&names, record).expect("held");
            if at == 30 {
                ingest.commit().expect("committed");
            }
        }
        source.set_online(table, false).expect("off-line");
        ingest.commit().expect_err("the table is offline");
        source.set_online(table, true).expect("on-line");
        ingest.commit().expect("committed by another batch");
        let report = ingest.finish().expect("ends");
        assert_eq!((report.events, report.duplicates), (80, 0), "{table}");
        for path in [CountPath::Aggregates, CountPath::Scan] {
            assert_eq!(
                store.count(&everything(), path).expect("counted"),
                80,
                "{table}"
            );
        }
        assert_agrees(&store);
    }
}

#[test]
fn of_two_writers_the_later_wins_and_the_earlier_is_told() {
    let made = make(5, 60);
    let (_, store) = open_web();
    let (names, all) = records(&made);
    let start = || {
        store
            .ingest("web", IngestOptions::default())
            .expect("a type")
    };
    let (mut first, mut second) = (start(), start());
    first.add(&names, &all[0]).expect("held");
    first.commit().expect("committed");
    second.add(&names, &all[1]).expect("held");
    second.commit().expect("takes over");
    first.add(&names, &all[2]).expect("held");
    let error = first.commit().expect_err("overtaken");
    assert_eq!(
        error.kind(),
        ostrakon_cell::ErrorKind::ConcurrentModification
    );
    second.finish().expect("ends");
    assert_eq!(read(&store, &everything()).len(), 2);
    assert_agrees(&store);
    assert_eq!(ingest(&store, &made, 7).events, 58);
    assert_agrees(&store);
}

#[test]
fn records_that_are_no_events_are_rejected_and_leave_nothing() {
    let (_, store) = open_web();
    let names = ["ts", "port", "label", "from", "host", "ts"].map(String::from);
    let mut ingest = store
        .ingest("web", IngestOptions::default())
        .expect("a type");
    for (fields, reason) in [
        (vec![(1, "80")], "the field with the time is missing"),
        (vec![(0, "noon")], "is not a time"),
        (vec![(0, "-9223372036854.775807")], "is not a time between"),
        (
            vec![(0, "1"), (1, "eighty")],
            "`port` is not of type u64: eighty",
        ),
        (vec![(0, "1"), (2, "a&")], "the label is not valid"),
        (vec![(0, "1"), (3, "1.2.3")], "`from` is not of type ip"),
        (vec![(0, "1"), (5, "1")], "occurs twice"),
        (vec![(0, "1"), (9, "x")], "without a name"),
    ] {
        let mut record = ostrakon_events::Record::default();
        for (name, value) in fields {
            record.push(name, value.as_bytes());
        }
        let rejected = ingest
            .add(&names, &record)
            .expect("held")
            .expect("rejected");
        assert!(rejected.contains(reason), "{rejected}");
    }
    let mut record = ostrakon_events::Record::default();
    record.push(0, b"1");
    record.push(4, &vec![b'x'; 1 << 20]);
    assert_eq!(ingest.add(&names, &record).expect("held"), None);
    assert_eq!(ingest.finish().expect("committed").events, 1);
    let found = read(&store, &everything());
    assert_eq!(found[0].fields["host"].len(), 1 << 20);
    let query = Query {
        condition: ostrakon_events::Condition::equal("host", vec![b'x'; 1 << 20]),
        ..everything()
    };
    assert_eq!(store.count(&query, CountPath::Index).expect("counted"), 1);
    assert_agrees(&store);
}

#[test]
fn types_evolve_without_rewriting() {
    let made = make(6, 80);
    let (_, store) = open_web();
    ingest(&store, &made, 1000);
    let mut web = store.get("web").expect("a type");
    // A field that events had all along, and more shards from a time on.
    web.fields.push(ostrakon_events::Field {
        name: "number".into(),
        kind: ostrakon_events::FieldType::U64,
        indexed: false,
        id: None,
    });
    web.shards.push(ostrakon_events::Epoch {
        from: Some("1970-01-05".into()),
        count: 7,
    });
    store.change(&web).expect("allowed");
    let query = Query {
        condition: ostrakon_events::parse_condition("number < 10", 0).expect("valid"),
        ..everything()
    };
    assert_eq!(read(&store, &query).len(), 10);
    let mut later = make(7, 80);
    for made in &mut later {
        made.time += 100 * HOUR;
        made.fields.insert(
            "ts".into(),
            format!("{}.{:06}", made.time / 1_000_000, made.time % 1_000_000).into(),
        );
    }
    assert_eq!(ingest(&store, &later, 1000).events, 80);
    assert_eq!(ingest(&store, &made, 1000).events, 0);
    assert_eq!(
        sorted(read(&store, &everything())),
        sorted([made, later].concat())
    );
    assert_agrees(&store);
}

#[test]
fn an_empty_label_field_leaves_the_visibility_to_the_type() {
    let (_, store) = open();
    let names = ["ts", "label"].map(String::from);
    let add = |text: &str| {
        let definition = EventType::from_toml(text).expect("valid");
        store.create(&definition).expect("created");
        let mut ingest = store
            .ingest(&definition.name, IngestOptions::default())
            .expect("a type");
        let mut record = ostrakon_events::Record::default();
        record.push(0, b"1");
        record.push(1, b"");
        let rejected = ingest.add(&names, &record).expect("held");
        ingest.finish().expect("committed");
        rejected
    };
    assert_eq!(
        add(&TYPE.replace("visibility = ''", "visibility = 'a'")),
        None
    );
    let found = store.events(&everything()).expect("read");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].label(), b"a");
    let public = Query {
        authorizations: held(&[]),
        ..everything()
    };
    assert_eq!(read(&store, &public), []);
    let text = TYPE
        .replace("visibility = ''", "")
        .replace("'web'", "'strict'");
    let reason = add(&text).expect("rejected");
    assert!(reason.contains("missing or empty"), "{reason}");
}

/// An epoch may begin before events that are stored: they are still recognised, wherever they are.
#[test]
fn more_shards_for_times_in_the_past_store_no_event_twice() {
    let made = make(8, 200);
    let (_, store) = open_web();
    ingest(&store, &made, 70);
    for (from, count) in [("1970-01-01T06:00:00Z", 7), ("1970-01-02", 5)] {
        let mut web = store.get("web").expect("a type");
        web.shards.push(ostrakon_events::Epoch {
            from: Some(from.into()),
            count,
        });
        store.change(&web).expect("allowed");
        let more = [made.clone(), make(u64::from(count), 20)].concat();
        let again = ingest(&store, &more, 90);
        assert_eq!((again.events, again.duplicates), (20, 200), "{from}");
        let agains = ingest(&store, &more, 1000);
        assert_eq!((agains.events, agains.duplicates), (0, 220), "{from}");
        assert_agrees(&store);
    }
    assert_eq!(read(&store, &everything()).len(), 240);
    // Deleted in one shard, it may come back in another.
    assert_eq!(store.delete(&everything()).expect("deleted"), 240);
    assert_eq!(ingest(&store, &made, 1000).events, 200);
    assert_eq!(ingest(&store, &made, 1000).duplicates, 200);
    assert_agrees(&store);
    store.settle("web").expect("compacted");
    assert_eq!(sorted(read(&store, &everything())), sorted(made));
}

/// Two names of one source that would become one field.
#[test]
fn names_that_become_the_same_are_refused() {
    let (_, store) = open_web();
    let mut ingest = store
        .ingest("web", IngestOptions::default())
        .expect("a type");
    let names = ["ts", "user name", "user_name", "user/name"].map(String::from);
    let mut record = ostrakon_events::Record::default();
    record.push(0, b"1");
    record.push(1, b"x");
    assert_eq!(ingest.add(&names, &record).expect("held"), None);
    record.clear();
    record.push(0, b"2");
    record.push(2, b"y");
    let reason = ingest
        .add(&names, &record)
        .expect("held")
        .expect("rejected");
    assert!(
        reason.contains("`user name` and `user_name`") && reason.contains("--map user_name=NAME"),
        "{reason}"
    );
    // In another source the name is alone.
    ingest.start_source();
    let names = ["ts", "user_name"].map(String::from);
    record.clear();
    record.push(0, b"2");
    record.push(1, b"y");
    assert_eq!(ingest.add(&names, &record).expect("held"), None);
    assert_eq!(ingest.finish().expect("committed").events, 2);
    let error = ostrakon_events::infer(
        "other",
        &["ts".into(), "a b".into(), "a_b".into()],
        &[],
        &[record],
        None,
    )
    .expect_err("the same name");
    assert!(error.to_string().contains("`a b` and `a_b`"), "{error}");
}
