//! The statements that a paper on queries of Accumulo prints (Sawyer and others 2013), over an event type.
//!
//! The paper's columns get their names by `WITH`. Two things differ from what it prints: text stands in single quotes,
//! since double quotes name columns, and `t1` and `t2` are times.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::Source;
use ostrakon_events::{EventStore, EventType, IngestOptions, Record, register_event_iterators};
use ostrakon_store::{Components, Store, StoreOptions};

use super::kit::{explain, rows, session};

const TYPE: &str = "
name = 'web_requests'
time = 'event_time'
[[shards]]
count = 3
[[fields]]
name = 'event_time'
type = 'time'
[[fields]]
name = 'bin'
type = 'i64'
[[fields]]
name = 'domain_name'
type = 'text'
indexed = true
[[fields]]
name = 'source_ip'
type = 'ip'
";

const NAMED: &str = "WITH web_requests AS (SELECT time AS event_time, bin, domain_name, source_ip FROM events.web_requests)";
const TIMES: (u64, u64) = (300, 2700);

/// Second, domain and address of a request.
fn request(number: u64) -> (u64, &'static str, String) {
    let domain = match number * 7 % 10 {
        0..3 => "example.com",
        3..6 => "example.org",
        _ => "other.example",
    };
    (number * 5, domain, format!("10.0.0.{}", number % 50))
}

const COUNT: u64 = 700;

/// The requests that both statements ask for.
fn wanted() -> impl Iterator<Item = (u64, String)> {
    let requests = (0..COUNT).map(request);
    requests
        .filter(|(second, domain, _)| {
            (TIMES.0..TIMES.1).contains(second) && *domain == "example.com"
        })
        .map(|(second, _, address)| (second, address))
}

fn web_requests() -> Arc<dyn Source> {
    let mut components = Components::default();
    register_event_iterators(&mut components.iterators);
    let source: Arc<dyn Source> =
        Store::in_memory_with(components, StoreOptions::default()).unwrap();
    let store = EventStore::new(source.clone());
    store.create(&EventType::from_toml(TYPE).unwrap()).unwrap();
    let names = ["event_time", "bin", "domain_name", "source_ip"].map(str::to_owned);
    let mut ingest = store
        .ingest("web_requests", IngestOptions::default())
        .unwrap();
    let mut record = Record::default();
    for number in 0..COUNT {
        let (second, domain, address) = request(number);
        record.clear();
        record.push(0, second.to_string().as_bytes());
        record.push(1, (second / 600).to_string().as_bytes());
        record.push(2, domain.as_bytes());
        record.push(3, address.as_bytes());
        assert_eq!(ingest.add(&names, &record).unwrap(), None);
    }
    ingest.finish().unwrap();
    source
}

fn statement(text: &str) -> String {
    let time = |second: u64| {
        format!(
            "TIMESTAMP '1970-01-01T00:{:02}:{:02}'",
            second / 60,
            second % 60
        )
    };
    let text = text
        .replace("t1", &time(TIMES.0))
        .replace("t2", &time(TIMES.1));
    format!("{NAMED} {}", text.replace('"', "'"))
}

#[test]
fn the_histogram_counts_requests_by_bin() {
    let session = session(&web_requests());
    let statement = statement(
        "SELECT bin, COUNT(bin) FROM web_requests
         WHERE event_time >= t1 AND event_time < t2
         AND domain_name = \"example.com\"
         GROUP BY bin",
    );
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (second, _) in wanted() {
        *bins.entry(second / 600).or_default() += 1;
    }
    assert_eq!(bins.len(), 5);
    let mut expected: Vec<String> = bins
        .into_iter()
        .map(|(bin, count)| format!("{bin}|{count}"))
        .collect();
    let mut found = rows(&session, &statement);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn the_lookup_finds_the_sources_of_a_domain_through_the_planner() {
    let session = session(&web_requests());
    let statement = statement(
        "SELECT source_ip FROM web_requests
         WHERE event_time >= t1 AND event_time < t2
         AND domain_name = \"example.com\"",
    );
    let mut expected: Vec<String> = wanted().map(|(_, address)| address).collect();
    let mut found = rows(&session, &statement);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // Nothing is left to the engine.
    let plan = explain(&session, &statement);
    for part in [
        "where=`domain_name` == 'example.com'",
        "from=1970-01-01T00:05:00Z",
        "to=1970-01-01T00:45:00Z",
    ] {
        assert!(plan.contains(part), "{part}\n{plan}");
    }
    assert!(!plan.contains("FilterExec"), "{plan}");
}
