//! What a reader gets does not depend on events that it may not see.

use std::time::Duration;

use ostrakon_events::{Condition, CountPath, Outcome, PlannerSettings, Query, parse_condition};

use super::support::{HOUR, everything, held, ingest, make, open_web};

/// Everything that a reader without authorizations can learn.
fn learned(store: &ostrakon_events::EventStore) -> Vec<String> {
    let mut seen = Vec::new();
    // Windows whose length does not depend on the time that they take.
    let fixed = PlannerSettings {
        short: Duration::ZERO,
        long: Duration::MAX,
        ..PlannerSettings::default()
    };
    for text in [
        "",
        "host == 'h1.example'",
        "port > 5 and not from in '10.0.0.0/8'",
        "note startswith 'a' or host exists",
        "note contains 'b' or not host endswith '.example'",
    ] {
        let query = Query {
            condition: parse_condition(text, 0).expect("valid"),
            authorizations: held(&[]),
            analyze: true,
            settings: fixed,
            ..everything()
        };
        let (explanation, outcome) = store
            .analyze(&query, |event| {
                seen.push(format!("{event:?}"));
                Ok(true)
            })
            .expect("read");
        let Outcome {
            token,
            events,
            windows,
            looked_up,
            handled,
            sent,
            ..
        } = outcome;
        seen.push(format!(
            "{explanation:?} {token:?} {events} {windows} {looked_up} {handled:?} {sent}"
        ));
        for path in [CountPath::Auto, CountPath::Scan] {
            seen.push(format!(
                "{:?}",
                store.histogram(&query, HOUR, path).expect("counted")
            ));
            for field in ["host", "from", "note"] {
                seen.push(format!(
                    "{:?}",
                    store.top(&query, field, 5, path).expect("counted")
                ));
            }
        }
        let limited = Query {
            limit: Some(7),
            ..query.clone()
        };
        let outcome = store.query(&limited, |_| Ok(true)).expect("read");
        seen.push(format!(
            "{:?} {:?} {}",
            outcome.token, outcome.handled, outcome.sent
        ));
        // Without an explanation, the totals are read as the windows need them.
        for limit in [None, Some(7)] {
            let plain = Query {
                analyze: false,
                limit,
                settings: PlannerSettings {
                    first_events: 3,
                    ..fixed
                },
                ..query.clone()
            };
            let outcome = store.query(&plain, |_| Ok(true)).expect("read");
            seen.push(format!(
                "{} {:?} {} {}",
                outcome.path, outcome.token, outcome.windows, outcome.sent
            ));
        }
    }
    let reader = Query {
        authorizations: held(&[]),
        ..everything()
    };
    let check = store.check(&reader).expect("checked");
    seen.push(format!("{check:?}"));
    seen.push(format!(
        "{:?}",
        store
            .calibrate(&reader)
            .map(drop)
            .map_err(|error| error.to_string())
    ));
    seen
}

#[test]
fn hidden_events_change_nothing_that_a_reader_gets() {
    let made = make(11, 300);
    let open: Vec<_> = made
        .iter()
        .filter(|made| made.label.is_empty())
        .cloned()
        .collect();
    assert!(open.len() > 50 && open.len() < 200);
    let (_, with) = open_web();
    let (_, without) = open_web();
    ingest(&with, &made, 40);
    ingest(&without, &open, 40);
    assert_eq!(learned(&with), learned(&without));
    with.settle("web").expect("compacted");
    without.settle("web").expect("compacted");
    assert_eq!(learned(&with), learned(&without));
    let reader = Query {
        authorizations: held(&[]),
        ..everything()
    };
    assert_eq!(
        with.count(&reader, CountPath::Aggregates).expect("counted"),
        open.len() as u64
    );
    assert_eq!(
        with.count(&everything(), CountPath::Aggregates)
            .expect("counted"),
        made.len() as u64
    );
    let condition = Condition::All;
    assert_eq!(
        with.events(&Query {
            condition,
            ..reader
        })
        .expect("read")
        .len(),
        open.len()
    );
}
