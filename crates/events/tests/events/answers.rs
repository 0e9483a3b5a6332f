//! Random conditions, answered every way and by a plain loop over the same events.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use ostrakon_cell::Authorizations;
use ostrakon_events::{Condition, CountPath, EventType, Operator, Path, PlannerSettings, Query};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use super::support::{
    HOUR, Made, TYPE, everything, held, ingest, make, open, open_web, read, sorted,
};

fn number(value: &[u8]) -> Option<f64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn address(value: &[u8]) -> Option<u128> {
    match std::str::from_utf8(value).ok()?.parse().ok()? {
        IpAddr::V4(address) => Some(address.to_ipv6_mapped().into()),
        IpAddr::V6(address) => Some(address.into()),
    }
}

/// Compares two values of a field.
fn compare(field: &str, value: &[u8], literal: &[u8]) -> std::cmp::Ordering {
    match field {
        "port" | "size" => number(value)
            .partial_cmp(&number(literal))
            .expect("numbers"),
        "from" => address(value).cmp(&address(literal)),
        _ => value.cmp(literal),
    }
}

fn holds(condition: &Condition, made: &Made) -> bool {
    match condition {
        Condition::All => true,
        Condition::And(parts) => parts.iter().all(|part| holds(part, made)),
        Condition::Or(parts) => parts.iter().any(|part| holds(part, made)),
        Condition::Not(part) => !holds(part, made),
        Condition::Test { field, operator } if field == "time" => {
            let literal = |text: &[u8]| {
                (number(text.strip_prefix(b"@").unwrap_or(text)).expect("a number") * 1e6) as i64
            };
            match operator {
                Operator::Less(text) => made.time < literal(text),
                Operator::AtMost(text) => made.time <= literal(text),
                Operator::Greater(text) => made.time > literal(text),
                Operator::AtLeast(text) => made.time >= literal(text),
                _ => unreachable!("not made"),
            }
        }
        Condition::Test { field, operator } => {
            let Some(value) = made.fields.get(field) else {
                return false;
            };
            let is = |literal: &[u8]| compare(field, value, literal);
            match operator {
                Operator::Equal(literal) => is(literal).is_eq(),
                Operator::In(literals) => literals.iter().any(|literal| is(literal).is_eq()),
                Operator::Less(literal) => is(literal).is_lt(),
                Operator::AtMost(literal) => is(literal).is_le(),
                Operator::Greater(literal) => is(literal).is_gt(),
                Operator::AtLeast(literal) => is(literal).is_ge(),
                Operator::Prefix(prefix) => value.starts_with(prefix),
                Operator::Suffix(suffix) => value.ends_with(suffix),
                Operator::Contains(part) => {
                    part.is_empty() || value.windows(part.len()).any(|window| window == part)
                }
                Operator::Regex(pattern) => {
                    String::from_utf8_lossy(value).contains(pattern.trim_end_matches('$'))
                        && (!pattern.ends_with('$')
                            || value.ends_with(pattern.trim_end_matches('$').as_bytes()))
                }
                Operator::Network(network) => {
                    let (start, length) = network.split_once('/').expect("a network");
                    let length: u32 = length.parse().expect("a length");
                    let length = if start.contains(':') {
                        length
                    } else {
                        length + 96
                    };
                    let bits = |address: u128| address.checked_shr(128 - length).unwrap_or(0);
                    address(value).map(bits) == address(start.as_bytes()).map(bits)
                }
                Operator::Exists => true,
            }
        }
    }
}

fn test(random: &mut StdRng) -> Condition {
    let fields = ["host", "port", "from", "note", "size", "time"];
    let field = fields[random.random_range(0..fields.len())];
    let literal = |random: &mut StdRng| -> Vec<u8> {
        match field {
            "host" => format!("h{}.example", random.random_range(0..7)).into_bytes(),
            "port" => random.random_range(0..32).to_string().into_bytes(),
            "from" => match random.random_bool(0.7) {
                true => format!(
                    "10.0.{}.{}",
                    random.random_range(0..3),
                    random.random_range(0..4)
                )
                .into_bytes(),
                false => format!("2001:db8::{:x}", random.random_range(1..6)).into_bytes(),
            },
            "note" => [
                &b"abc"[..],
                b"a",
                b"",
                b"a\x00b",
                b"\xff",
                &[b'x'; 300],
                &[b'x'; 100],
            ][random.random_range(0..7)]
            .to_vec(),
            "size" => format!("{}.5", random.random_range(0..1000)).into_bytes(),
            _ => format!(
                "@{}",
                random.random_range(0..74) * 3600 + random.random_range(0..2) * 1800
            )
            .into_bytes(),
        }
    };
    let text = matches!(field, "host" | "note");
    let one = literal(random);
    let operator = match random.random_range(0..12) {
        0 if field != "time" => Operator::In(vec![one, literal(random), literal(random)]),
        1 => Operator::Less(one),
        2 => Operator::AtMost(one),
        3 => Operator::Greater(one),
        4 => Operator::AtLeast(one),
        5 if text => Operator::Prefix(one.into_iter().take(2).collect()),
        6 if text => {
            Operator::Regex(["example$", "h1", "b", "abc$"][random.random_range(0..4)].into())
        }
        7 if field == "from" => Operator::Network(
            ["10.0.1.0/24", "10.0.0.0/8", "2001:db8::/64", "10.0.0.2/31"]
                [random.random_range(0..4)]
            .into(),
        ),
        8 if field != "time" => Operator::Exists,
        9 if text => Operator::Suffix(one.into_iter().skip(2).collect()),
        10 if text => Operator::Contains(one.into_iter().skip(1).take(2).collect()),
        _ if field == "time" => Operator::AtLeast(one),
        _ => Operator::Equal(one),
    };
    Condition::test(field, operator)
}

fn condition(random: &mut StdRng, depth: u32) -> Condition {
    let several = |random: &mut StdRng| {
        (0..random.random_range(2..4))
            .map(|_| condition(random, depth - 1))
            .collect()
    };
    match random.random_range(0..6) {
        0 | 1 if depth > 0 => Condition::And(several(random)),
        2 if depth > 0 => Condition::Or(several(random)),
        3 if depth > 0 => Condition::Not(Box::new(condition(random, depth - 1))),
        _ => test(random),
    }
}

fn sees(authorizations: &Authorizations, label: &str) -> bool {
    let has = |name: &[u8]| authorizations.contains(name);
    match label {
        "a" => has(b"a"),
        "b" => has(b"b"),
        "a&b" => has(b"a") && has(b"b"),
        "a|b" => has(b"a") || has(b"b"),
        _ => true,
    }
}

fn settings(random: &mut StdRng) -> PlannerSettings {
    // The last two take every window for too short, and for too long.
    let spans = [
        (Duration::from_millis(5), Duration::from_millis(500)),
        (Duration::MAX, Duration::MAX),
        (Duration::ZERO, Duration::ZERO),
    ];
    let (short, long) = spans[random.random_range(0..3)];
    PlannerSettings {
        short,
        long,
        threshold: [None, Some(0.0), Some(1.0), Some(0.3)][random.random_range(0..4)],
        factor: [1.0, 10.0, 1000.0][random.random_range(0..3)],
        first_events: [5, 20, 100_000][random.random_range(0..3)],
        memory_bytes: [2000, 64 << 20][random.random_range(0..2)],
        threads: random.random_range(0..5),
        ..PlannerSettings::default()
    }
}

fn random_query(random: &mut StdRng) -> Query {
    let bound = |random: &mut StdRng| match random.random_range(0..3) {
        0 => None,
        1 => Some(random.random_range(0..74) * HOUR),
        _ => Some(random.random_range(0..73 * HOUR)),
    };
    let names: &[&str] = [&[][..], &["a"], &["b"], &["a", "b"]][random.random_range(0..4)];
    Query {
        condition: condition(random, 2),
        from: bound(random),
        to: bound(random),
        authorizations: held(names),
        settings: settings(random),
        ..everything()
    }
}

fn expected(made: &[Made], query: &Query) -> Vec<Made> {
    made.iter()
        .filter(|made| {
            query.from.is_none_or(|from| made.time >= from)
                && query.to.is_none_or(|to| made.time < to)
                && sees(&query.authorizations, &made.label)
                && holds(&query.condition, made)
        })
        .cloned()
        .collect()
}

fn bins(made: &[Made], span: i64) -> BTreeMap<i64, u64> {
    let mut bins = BTreeMap::new();
    for made in made {
        *bins
            .entry(made.time - made.time.rem_euclid(span))
            .or_default() += 1;
    }
    bins
}

#[test]
fn every_path_gives_the_answer_of_a_plain_loop() {
    let mut random = StdRng::seed_from_u64(7);
    let made = make(1, 400);
    let (_, store) = open_web();
    // Late events: the newest come first, in several batches.
    let report = ingest(&store, &made, 90);
    assert_eq!(
        (report.events, report.duplicates, report.batches),
        (400, 0, 5)
    );
    let (mut by_index, mut answered) = (0, 0);
    for round in 0..60 {
        let query = random_query(&mut random);
        let wanted = expected(&made, &query);
        answered += wanted.len();
        for path in [Path::Auto, Path::Scan, Path::Index] {
            let query = Query {
                path,
                ..query.clone()
            };
            if path == Path::Index && store.explain(&query).is_err() {
                continue;
            }
            by_index += usize::from(path == Path::Index);
            let found = read(&store, &query);
            assert!(
                found.is_sorted_by(|a, b| a.time >= b.time),
                "newest first: {}",
                query.condition
            );
            assert_eq!(
                sorted(found),
                sorted(wanted.clone()),
                "round {round}, {path:?}: {}",
                query.condition
            );
        }
        pages(&store, &query, &wanted, random.random_range(10..60));
    }
    assert!(by_index > 8 && answered > 400, "{by_index} {answered}");
}

/// Pages of a query, each resumed where the one before ended.
fn pages(store: &ostrakon_events::EventStore, query: &Query, wanted: &[Made], limit: usize) {
    let all = store.events(query).expect("read");
    let (mut paged, mut resume) = (Vec::new(), None);
    loop {
        let page = Query {
            limit: Some(limit),
            resume: resume.clone(),
            ..query.clone()
        };
        let before = paged.len();
        let outcome = store
            .query(&page, |event| {
                paged.push(event.clone());
                Ok(true)
            })
            .expect("read");
        assert!(paged.len() - before <= limit);
        resume = outcome.token;
        if resume.is_none() {
            break;
        }
    }
    assert_eq!(paged, all, "{}", query.condition);
    assert_eq!(paged.len(), wanted.len());
}

#[test]
fn histograms_counts_and_top_values_agree_on_every_path() {
    let mut random = StdRng::seed_from_u64(8);
    let made = make(2, 300);
    let (_, store) = open_web();
    ingest(&store, &made, 64);
    let (mut kept, mut indexed) = (0, 0);
    for round in 0..60 {
        let mut query = random_query(&mut random);
        if round % 2 == 0 {
            query.condition = match round % 4 {
                0 => Condition::All,
                _ => test(&mut random),
            };
        }
        let span = [HOUR, 24 * HOUR, HOUR / 4][random.random_range(0..3)];
        let wanted = expected(&made, &query);
        let shown = || {
            format!(
                "round {round}: {} from {:?} to {:?}",
                query.condition, query.from, query.to
            )
        };
        for path in [
            CountPath::Auto,
            CountPath::Scan,
            CountPath::Aggregates,
            CountPath::Index,
        ] {
            let answer = match path {
                CountPath::Auto | CountPath::Scan => {
                    store.histogram(&query, span, path).expect("counted")
                }
                _ => match store.histogram(&query, span, path) {
                    Ok(answer) => answer,
                    Err(_) => continue,
                },
            };
            kept += usize::from(path == CountPath::Aggregates);
            indexed += usize::from(path == CountPath::Index);
            assert_eq!(answer, bins(&wanted, span), "{path:?} {}", shown());
            assert_eq!(
                store.count(&query, CountPath::Auto).expect("counted"),
                wanted.len() as u64,
                "{}",
                shown()
            );
        }
        for field in ["host", "port", "from", "note"] {
            let mut values: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
            for made in &wanted {
                if let Some(value) = made.fields.get(field) {
                    *values.entry(value.clone()).or_default() += 1;
                }
            }
            for path in [CountPath::Auto, CountPath::Scan, CountPath::Aggregates] {
                let top = match store.top(&query, field, 1000, path) {
                    Err(error)
                        if path == CountPath::Aggregates
                            || error.kind() == ostrakon_cell::ErrorKind::OutOfSpace =>
                    {
                        continue;
                    }
                    top => top.expect("counted"),
                };
                let found: BTreeMap<Vec<u8>, u64> = top.values.iter().cloned().collect();
                assert_eq!(found, values, "{path:?} {field} {}", shown());
                assert_eq!(top.distinct, values.len() as u64);
                assert!(top.values.is_sorted_by(|a, b| a.1 >= b.1));
            }
        }
    }
    assert!(kept > 5 && indexed > 3, "{kept} {indexed}");
}

#[test]
fn the_planner_prefers_the_index_for_rare_values_only() {
    let made = make(3, 300);
    let (_, store) = open_web();
    ingest(&store, &made, 1000);
    let explain = |text: &str, threshold: f64| {
        let mut query = everything();
        query.condition = ostrakon_events::parse_condition(text, 0).expect("valid");
        query.settings.threshold = Some(threshold);
        store.explain(&query).expect("planned")
    };
    let rare = explain("host == 'h5.example' and size > 10", 0.2);
    assert_eq!(rare.path, "index");
    let count = made
        .iter()
        .filter(|made| {
            made.fields
                .get("host")
                .is_some_and(|host| host == b"h5.example")
        })
        .count();
    assert_eq!((rare.estimate, rare.total), (count as u64, 300));
    assert_eq!(explain("host == 'h0.example'", 0.2).path, "scan");
    assert_eq!(explain("size > 10", 1.0).path, "scan");
    assert_eq!(explain("not host == 'h5.example'", 1.0).path, "scan");
    assert_eq!(
        explain("host == 'h5.example' or size > 10", 1.0).path,
        "scan"
    );
    assert_eq!(
        explain("host == 'h5.example' or port == 3", 1.0).path,
        "index"
    );
    // Of two tests, the one that finds much more is left to the filter.
    let both = explain("host exists and port == 3", 0.5);
    let used: BTreeSet<(bool, bool)> = both
        .tests
        .iter()
        .map(|test| (test.test.contains("port"), test.used))
        .collect();
    assert_eq!(used, BTreeSet::from([(true, true), (false, false)]));
    // Tests of fields with an index are shown, and not said to be looked up, if the other side of an `or` has none.
    for (text, used) in [
        ("host == 'h5.example' or size > 10", &[("h5", false)][..]),
        (
            "(host == 'h5.example' or size > 10) and port == 3",
            &[("h5", false), ("port", true)],
        ),
    ] {
        let shown = explain(text, 1.0).tests;
        assert_eq!(shown.len(), used.len(), "{text}");
        for (test, (name, is_used)) in shown.iter().zip(used) {
            assert!(
                test.test.contains(name) && test.used == *is_used,
                "{test:?}"
            );
            assert!(test.events.is_some(), "{test:?}");
        }
    }
}

#[test]
fn questions_that_make_no_sense_are_refused_with_a_reason() {
    let (_, store) = open_web();
    let ask = |text: &str| {
        let condition = ostrakon_events::parse_condition(text, 0).expect("valid");
        store
            .events(&Query {
                condition,
                ..everything()
            })
            .expect_err(text)
            .to_string()
    };
    assert!(ask("hots == 'x'").contains("no such field"));
    assert!(ask("port == 'x'").contains("is not one"));
    assert!(ask("from in '10.0.0.0/99'").contains("not a network"));
    let wrong = Query {
        event_type: "../../etc".into(),
        ..everything()
    };
    assert!(
        store
            .events(&wrong)
            .expect_err("refused")
            .to_string()
            .contains("not a name")
    );
    let wrong = Query {
        event_type: "other".into(),
        ..everything()
    };
    assert!(
        store
            .events(&wrong)
            .expect_err("refused")
            .to_string()
            .contains("no such event type")
    );
    let wrong = Query {
        resume: Some("xyz".into()),
        ..everything()
    };
    assert!(
        store
            .events(&wrong)
            .expect_err("refused")
            .to_string()
            .contains("token")
    );
    let interrupt = ostrakon_cell::Interrupt::default();
    interrupt.set();
    ingest(&store, &make(4, 10), 100);
    let stopped = Query {
        interrupt: Some(interrupt),
        ..everything()
    };
    assert_eq!(
        store.events(&stopped).expect_err("stopped").kind(),
        ostrakon_cell::ErrorKind::Cancelled
    );
}

#[test]
fn top_values_need_memory_once_if_the_kept_counts_cannot_answer() {
    let (_, store) = open_web();
    ingest(&store, &make(19, 60), 100);
    // The kept counts hold six short notes, 398 bytes, and then one that is too long for them.
    let mut query = everything();
    query.settings.memory_bytes = 800;
    let top = store.top(&query, "note", 9, CountPath::Auto).expect("fits");
    assert_eq!(top.distinct, 7);
    query.settings.memory_bytes = 700;
    let error = store.top(&query, "note", 9, CountPath::Auto);
    assert_eq!(
        error.expect_err("too many").kind(),
        ostrakon_cell::ErrorKind::OutOfSpace
    );
}

/// A value that is too long for an expression can be looked up, but not sent to the tablets.
#[test]
fn a_condition_that_is_too_long_fails_before_the_scan() {
    let (_, store) = open_web();
    ingest(&store, &make(9, 50), 1000);
    let query = Query {
        condition: Condition::equal("host", vec![0xff; 100_000]),
        ..everything()
    };
    assert_eq!(store.count(&query, CountPath::Index).expect("counted"), 0);
    let scan = Query {
        path: Path::Scan,
        ..query
    };
    let error = store.events(&scan).expect_err("too long").to_string();
    assert!(error.contains("256 KiB"), "{error}");
}

/// Both zeros are one value, whatever they are written as.
#[test]
fn the_negative_zero_is_zero_in_every_answer() {
    let (_, store) = open_web();
    let mut made = make(41, 3);
    for (made, size) in made.iter_mut().zip(["-0.0", "0", "-0"]) {
        made.label.clear();
        made.fields.remove("label");
        made.fields.insert("size".into(), size.into());
    }
    ingest(&store, &made, 10);
    for fields in [None, Some(vec!["size".to_owned()])] {
        let query = Query {
            fields,
            ..everything()
        };
        let found = store.events(&query).expect("read");
        let sizes = found.iter().filter_map(|event| event.get("size"));
        assert_eq!(sizes.collect::<Vec<_>>(), [b"0"; 3]);
    }
    let top = store.top(&everything(), "size", 9, CountPath::Auto);
    assert_eq!(top.expect("counted").values, [(b"0".to_vec(), 3)]);
}

/// With many bins that lie apart, what is between them is read at once.
#[test]
fn events_in_many_separate_bins_are_counted_once() {
    let (_, store) = open();
    let text = TYPE.replace("time = 'ts'", "time = 'ts'\nbin = '1s'");
    let definition = EventType::from_toml(&text).expect("valid");
    store.create(&definition).expect("created");
    let second = 1_000_000;
    let mut made = make(12, 600);
    for (at, made) in (0..).zip(&mut made) {
        made.time = 1_400_000_000 * second + at / 2 * 2 * second + at % 2 * 500_000;
        let text = ostrakon_events::show_time(made.time).into_bytes();
        made.fields.insert("ts".into(), text);
    }
    ingest(&store, &made, 1000);
    for (bins, from, to) in [(300, 0, 600), (3, 100, 105), (3, 101, 107), (0, 101, 102)] {
        let start = 1_400_000_000 * second;
        let query = Query {
            from: Some(start + from * second),
            to: Some(start + to * second),
            ..everything()
        };
        for path in [CountPath::Scan, CountPath::Aggregates] {
            let found = store.histogram(&query, second, path).expect("counted");
            assert_eq!(found.len(), bins, "{path:?} {from}");
            let visible = |made: &&Made| {
                (start + from * second..start + to * second).contains(&made.time)
                    && sees(&query.authorizations, &made.label)
            };
            let expected = made.iter().filter(visible).count() as u64;
            assert_eq!(found.values().sum::<u64>(), expected, "{path:?} {from}");
        }
    }
}

#[test]
fn settings_of_the_planner_out_of_range_are_refused() {
    let (_, store) = open_web();
    let usual = PlannerSettings::default();
    let asked = |threshold, factor| {
        let settings = PlannerSettings {
            threshold,
            factor,
            ..usual
        };
        store.explain(&Query {
            settings,
            ..everything()
        })
    };
    for threshold in [f64::NAN, -1.0, 1.5, f64::INFINITY] {
        let error = asked(Some(threshold), 10.0).expect_err("no share");
        assert!(error.to_string().contains("from 0 to 1"), "{error}");
    }
    for factor in [0.0, -1.0, f64::NAN] {
        let error = asked(None, factor).expect_err("no factor");
        assert!(error.to_string().contains("at least 1"), "{error}");
    }
    asked(Some(0.0), 1.0).expect("valid");
    asked(Some(1.0), f64::INFINITY).expect("valid");
}
