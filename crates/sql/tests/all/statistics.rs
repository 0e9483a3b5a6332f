//! Sizes of relations decide which side of a join is kept in memory, and nothing else.

use std::sync::Arc;

use ostrakon_cell::{Authorizations, ReaderSource, Source};
use ostrakon_events::{EventStore, EventType, IngestOptions, Record, register_event_iterators};
use ostrakon_sql::{SqlOptions, SqlSession};
use ostrakon_store::{Components, Store, StoreOptions};

use super::kit::{Entry, explain, rows, session, table};

const WEB: &str = "
name = 'web'
time = 'ts'
[[shards]]
count = 2
[[fields]]
name = 'ts'
type = 'time'
[[fields]]
name = 'host'
type = 'text'
indexed = true
";

/// Relations of three sizes: `small` (5), `large` (2000) and `hidden`, whose entries nobody without authorizations sees.
fn source() -> Arc<dyn Source> {
    let mut components = Components::default();
    register_event_iterators(&mut components.iterators);
    let source: Arc<dyn Source> =
        Store::in_memory_with(components, StoreOptions::default()).unwrap();
    let keys: Vec<String> = (0..2000).map(|n| format!("k{n:04}")).collect();
    let entries = |count: usize, label: &'static str| -> Vec<Entry<'_>> {
        let keys = keys.iter().take(count);
        keys.map(|key| {
            let entry: Entry<'_> = (key.as_bytes(), b"", b"f|v", label, 1, b"1");
            entry
        })
        .collect()
    };
    table(&source, "small", &[], &entries(5, ""));
    table(&source, "large", &[b"k1000"], &entries(2000, ""));
    table(&source, "hidden", &[], &entries(2000, "secret"));
    let session = session(&source);
    for (name, count) in [("few", 5), ("many", 2000)] {
        rows(
            &session,
            &format!("CREATE TABLE {name} (k VARCHAR PRIMARY KEY, a BIGINT, b BIGINT)"),
        );
        rows(
            &session,
            &format!(
                "INSERT INTO {name} SELECT 'k' || lpad(CAST(x AS VARCHAR), 4, '0'), x, x FROM generate_series(0, {}) s (x)",
                count - 1
            ),
        );
    }
    let store = EventStore::new(source.clone());
    store.create(&EventType::from_toml(WEB).unwrap()).unwrap();
    let names = ["ts", "host"].map(str::to_owned);
    let mut ingest = store.ingest("web", IngestOptions::default()).unwrap();
    for n in 0..500 {
        let mut record = Record::default();
        record.push(0, n.to_string().as_bytes());
        record.push(1, format!("k{:04}", n % 10).as_bytes());
        assert_eq!(ingest.add(&names, &record).unwrap(), None);
    }
    ingest.finish().unwrap();
    source
}

/// The scans of a plan, from its top.
fn scans(plan: &str) -> Vec<&str> {
    let scans = plan
        .lines()
        .filter_map(|line| line.trim().strip_prefix("TableScan: "));
    scans
        .map(|scan| scan.split([' ', ',']).next().unwrap_or_default())
        .collect()
}

const PAIRS: [(&str, &str, &str, &str); 6] = [
    (
        "small",
        "CAST(s.row AS VARCHAR)",
        "large",
        "CAST(l.row AS VARCHAR)",
    ),
    ("few", "s.k", "many", "l.k"),
    ("few", "s.k", "large", "CAST(l.row AS VARCHAR)"),
    ("d4m.small", "s.record", "d4m.large", "l.record"),
    ("few", "s.k", "events.web", "l.host"),
    ("events.web", "s.host", "many", "l.k"),
];

#[test]
fn the_smaller_relation_of_a_join_is_the_one_in_memory() {
    let source = source();
    let session = session(&source);
    for (small, small_key, large, large_key) in PAIRS {
        let orders = [
            format!("{small} s JOIN {large} l"),
            format!("{large} l JOIN {small} s"),
        ];
        let mut counts = Vec::new();
        for join in orders {
            let query = format!("SELECT count(*) FROM {join} ON {small_key} = {large_key}");
            let plan = explain(&session, &query);
            let first = small.rsplit('.').next().unwrap();
            let scans = scans(&plan);
            assert!(
                scans.len() == 2 && scans[0].ends_with(&format!("={first}")),
                "{query}: {plan}"
            );
            // A small side is read once, and the other one is not sent between threads.
            assert!(plan.contains("mode=CollectLeft"), "{query}: {plan}");
            counts.push(rows(&session, &query));
        }
        assert_eq!(counts[0], counts[1], "{small} {large}");
    }
}

#[test]
fn conditions_make_a_relation_smaller() {
    let source = source();
    let session = session(&source);
    for (condition, first) in [
        ("true", "=few"),
        ("l.k = 'k0001'", "=many"),
        ("l.k IN ('k0001', 'k0002')", "=many"),
    ] {
        let query =
            format!("SELECT count(*) FROM few s JOIN many l ON s.a = l.a WHERE {condition}");
        let plan = explain(&session, &query);
        let found = scans(&plan)[0].to_owned();
        assert!(found.ends_with(first), "{condition}: {plan}");
    }
}

/// An estimate is not an answer.
#[test]
fn no_count_comes_from_an_estimate() {
    let source = source();
    let session = session(&source);
    // Deleted records are entries until they are compacted.
    rows(&session, "DELETE FROM many WHERE a >= 100");
    for (query, expected) in [
        ("SELECT count(*) FROM many", "100"),
        ("SELECT count(*), max(k) FROM many", "100|k0099"),
        (
            "SELECT count(*) FROM (SELECT * FROM many LIMIT 200) m",
            "100",
        ),
        ("SELECT count(*) FROM hidden", "0"),
        ("SELECT count(*) FROM hidden h, few", "0"),
        (
            "SELECT count(*) FROM few LEFT JOIN hidden h ON few.k = CAST(h.row AS VARCHAR)",
            "5",
        ),
        (
            "SELECT count(*) FROM few WHERE k NOT IN (SELECT CAST(row AS VARCHAR) FROM hidden)",
            "5",
        ),
        ("SELECT EXISTS (SELECT 1 FROM hidden)", "false"),
    ] {
        assert_eq!(rows(&session, query), [expected], "{query}");
    }
}

/// Sizes include what is hidden. So a session that does not see the layout of tables has none.
#[test]
fn readers_have_no_sizes_of_tables() {
    let source = source();
    let of = |source: Arc<dyn Source>, sees_layout| {
        let options = SqlOptions {
            threads: 2,
            sees_layout,
            ..SqlOptions::default()
        };
        SqlSession::new(source, Authorizations::empty(), options).unwrap()
    };
    let confined: Arc<dyn Source> =
        Arc::new(ReaderSource::new(source.clone(), Authorizations::empty()));
    let query = "SELECT count(*) FROM hidden h JOIN small s ON h.row = s.row";
    for session in [
        of(source.clone(), false),
        of(confined.clone(), false),
        of(confined, true),
    ] {
        let plan = explain(&session, query);
        assert_eq!(scans(&plan), ["table=hidden", "table=small"], "{plan}");
    }
    let plan = explain(&of(source.clone(), true), query);
    assert_eq!(scans(&plan), ["table=small", "table=hidden"], "{plan}");
    let query = "SELECT count(*) FROM many m JOIN events.web w ON w.host = m.k";
    let plan = explain(&of(source, false), query);
    // The counts of events are of those that the reader sees, so the events are known to be few.
    assert_eq!(scans(&plan), ["events=web", "table=many"], "{plan}");
}
