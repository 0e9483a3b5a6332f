//! Queries that are stopped, resumed, and steered by windows of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{Error, ErrorKind, Interrupt, Result, iterator::Interruption};
use ostrakon_events::{
    CountPath, EventType, FollowUp, Path, PlannerSettings, Query, parse_condition,
};

use super::support::{HOUR, TYPE, everything, ingest, make, open_web};

/// Stops after so many looks.
struct After(AtomicUsize);

impl Interruption for After {
    fn check(&self) -> Result<()> {
        let look = |left: usize| left.checked_sub(1);
        match self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, look)
        {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(ErrorKind::Cancelled, "stopped")),
        }
    }
}

fn small_windows() -> PlannerSettings {
    PlannerSettings {
        first_events: 8,
        window_events: 8,
        ..PlannerSettings::default()
    }
}

#[test]
fn a_query_that_is_stopped_anywhere_goes_on_with_its_token() {
    let (_, store) = open_web();
    ingest(&store, &make(51, 150), 100);
    for (condition, path) in [("", Path::Scan), ("host == 'h0.example'", Path::Index)] {
        let query = Query {
            condition: parse_condition(condition, 0).expect("valid"),
            path,
            settings: small_windows(),
            ..everything()
        };
        let all = store.events(&query).expect("read");
        let (mut looks, mut halfway) = (0, 0);
        loop {
            let stopped = Query {
                interrupt: Some(Interrupt::watching(Arc::new(After(looks.into())))),
                ..query.clone()
            };
            let mut found = Vec::new();
            let outcome = store.query(&stopped, |event| {
                found.push(event.clone());
                Ok(true)
            });
            let Err(error) = outcome else {
                break;
            };
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            let token = error.context().iter().find(|(name, _)| *name == "token");
            assert_eq!(token.is_some(), !found.is_empty(), "{error}");
            halfway += usize::from(!found.is_empty());
            let rest = Query {
                resume: token.map(|(_, token)| token.clone()),
                ..query.clone()
            };
            found.extend(store.events(&rest).expect("read"));
            assert_eq!(found, all, "{condition} {looks}");
            looks += 1;
        }
        assert!(halfway > 10, "{condition} {halfway}");
    }
}

#[test]
fn a_token_of_another_query_is_refused() {
    let (_, store) = open_web();
    let mut other = EventType::from_toml(TYPE).expect("valid");
    other.name = "other".into();
    store.create(&other).expect("created");
    ingest(&store, &make(52, 60), 100);
    let query = |condition: &str| Query {
        condition: parse_condition(condition, 0).expect("valid"),
        ..everything()
    };
    let asked = Query {
        limit: Some(5),
        to: Some(60 * HOUR),
        ..query("port < 20")
    };
    let token = store.query(&asked, |_| Ok(true)).expect("read").token;
    let resumed = Query {
        resume: token,
        ..asked
    };
    // Where the times begin, the number of events and the fields may differ.
    let same = Query {
        from: Some(HOUR),
        limit: None,
        fields: Some(vec!["port".into()]),
        path: Path::Scan,
        ..resumed.clone()
    };
    store.query(&same, |_| Ok(true)).expect("goes on");
    let in_condition = Query {
        to: None,
        condition: parse_condition("port < 20 and time < '1970-01-03T12:00:00Z'", 0)
            .expect("valid"),
        ..resumed.clone()
    };
    store
        .query(&in_condition, |_| Ok(true))
        .expect("the same times");
    for other in [
        Query {
            condition: query("port < 21").condition,
            ..resumed.clone()
        },
        Query {
            to: Some(61 * HOUR),
            ..resumed.clone()
        },
        Query {
            to: None,
            ..resumed.clone()
        },
        Query {
            event_type: "other".into(),
            ..resumed.clone()
        },
    ] {
        let error = store.query(&other, |_| Ok(true)).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("of another query"), "{error}");
    }
    let step = FollowUp::parse("web.host=host").expect("valid");
    // A step that finds nothing leaves nothing to look up.
    let nothing = Query {
        path: Path::Index,
        ..query("host = 'nobody'")
    };
    let steps = [step.clone(), step.clone()];
    let outcome = store.query_then(&nothing, &steps, |_| Ok(true));
    assert!(outcome.expect("no event").token.is_none());
    let error = store.query_then(&resumed, &[step], |_| Ok(true));
    assert!(error.is_err(), "the last step has another condition");
    for text in ["", "xyz", "é", "0"] {
        let wrong = Query {
            resume: Some(text.into()),
            ..resumed.clone()
        };
        let error = store.query(&wrong, |_| Ok(true)).expect_err("refused");
        assert!(error.to_string().contains("not a token"), "{error}");
    }
}

/// The first event comes after little work, however many events there are.
#[test]
fn the_first_event_of_many_is_found_in_a_short_window() {
    let (_, store) = open_web();
    ingest(&store, &make(53, 6000), 3000);
    let settings = PlannerSettings {
        first_events: 200,
        ..PlannerSettings::default()
    };
    for (condition, path, most) in [
        ("", Path::Scan, 1),
        ("port >= 15", Path::Scan, 1),
        ("host == 'h0.example'", Path::Index, 1),
        // One of a hundred and fifty.
        ("port == 3 and host == 'h3.example'", Path::Scan, 4),
    ] {
        let query = Query {
            condition: parse_condition(condition, 0).expect("valid"),
            path,
            settings,
            analyze: true,
            ..everything()
        };
        let all = store.count(&query, CountPath::Scan).expect("counted");
        let outcome = store.query(&query, |_| Ok(false)).expect("read");
        assert_eq!(outcome.events, 1);
        assert!(outcome.windows <= most, "{condition} {}", outcome.windows);
        // An event has at most nine entries; windows grow fourfold.
        let handled = outcome.handled.expect("asked for");
        assert!(
            all > 10 && handled <= 9 * 2 * 200 * (1 + 4 * (most - 1)),
            "{condition} {all} {handled}"
        );
    }
}

/// Threads divide shards: neither what is found nor its order, nor where a query goes on, depends on them.
#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let (_, store) = open_web();
    ingest(&store, &make(55, 900), 300);
    for (condition, limit) in [
        ("", None),
        ("port > 10", None),
        ("", Some(37)),
        ("", Some(1)),
    ] {
        let asked = |threads| Query {
            condition: parse_condition(condition, 0).expect("valid"),
            path: Path::Scan,
            limit,
            analyze: true,
            settings: PlannerSettings {
                threads,
                short: std::time::Duration::ZERO,
                long: std::time::Duration::MAX,
                ..small_windows()
            },
            ..everything()
        };
        let answer = |query: &Query| {
            let mut found = Vec::new();
            let outcome = store
                .query(query, |event| {
                    found.push(event.clone());
                    Ok(true)
                })
                .expect("read");
            let counted = (outcome.windows, outcome.handled, outcome.sent);
            (found, outcome.token, counted)
        };
        let one = answer(&asked(1));
        assert!(one.0.is_sorted_by(|newer, older| newer.time >= older.time));
        for threads in [0, 2, 3, 64] {
            let query = asked(threads);
            assert_eq!(answer(&query), one, "{condition} {limit:?} {threads}");
            let resumed = Query {
                resume: one.1.clone(),
                limit: Some(5),
                ..query
            };
            let resumed_by_one = Query {
                settings: asked(1).settings,
                ..resumed.clone()
            };
            assert_eq!(answer(&resumed), answer(&resumed_by_one), "{threads}");
        }
    }
}

/// More events than may be held, though no thread has so many of them.
#[test]
fn threads_share_the_memory_of_a_window() {
    let (_, store) = open_web();
    ingest(&store, &make(56, 600), 300);
    let settings = |threads, memory_bytes| PlannerSettings {
        threads,
        memory_bytes,
        first_events: 100_000,
        ..PlannerSettings::default()
    };
    let windows = |threads, memory_bytes| {
        let query = Query {
            path: Path::Scan,
            settings: settings(threads, memory_bytes),
            ..everything()
        };
        let outcome = store.query(&query, |_| Ok(true)).expect("read");
        assert_eq!(outcome.events, 600);
        outcome.windows
    };
    assert_eq!(windows(3, 64 << 20), 1);
    let mut enough = 1000;
    while windows(1, enough) > 1 {
        enough = enough * 6 / 5;
    }
    // Each of the three shards has about a third of the events.
    assert!(windows(3, enough * 2 / 3) > 1);
}

/// One event far away from the others costs no windows between them.
#[test]
fn an_event_in_another_century_costs_one_window() {
    let (_, store) = open_web();
    let mut made = make(54, 300);
    let far = "2199-06-01T12:00:00Z";
    made[0].time = ostrakon_events::parse_time(far.as_bytes()).expect("a time");
    made[0].fields.insert("ts".into(), far.into());
    ingest(&store, &made, 100);
    let settings = PlannerSettings {
        first_events: 100_000,
        ..PlannerSettings::default()
    };
    let query = Query {
        settings,
        ..everything()
    };
    let outcome = store.query(&query, |_| Ok(true)).expect("read");
    assert_eq!(outcome.events, 300);
    assert!(outcome.windows <= 2, "{}", outcome.windows);
    let small = Query {
        settings: small_windows(),
        ..everything()
    };
    let outcome = store.query(&small, |_| Ok(true)).expect("read");
    assert_eq!(outcome.events, 300);
    assert!(outcome.windows <= 300, "{}", outcome.windows);
    let top = store
        .top(&query, "host", 10, CountPath::Aggregates)
        .expect("counted");
    assert_eq!(
        top,
        store
            .top(&query, "host", 10, CountPath::Scan)
            .expect("counted")
    );
    assert_eq!(store.check(&query).expect("checked").disagreements, []);
}
