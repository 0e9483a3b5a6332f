//! A store in memory, and events to put into it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::{Authorizations, Source};
use ostrakon_events::{
    Event, EventStore, EventType, IngestOptions, IngestReport, Query, Record,
    register_event_iterators,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

pub(crate) const TYPE: &str = "
name = 'web'
time = 'ts'
visibility = ''
visibility_field = 'label'
[[shards]]
count = 3
[[fields]]
name = 'ts'
type = 'time'
[[fields]]
name = 'host'
type = 'text'
indexed = true
[[fields]]
name = 'port'
type = 'u64'
indexed = true
[[fields]]
name = 'from'
type = 'ip'
indexed = true
[[fields]]
name = 'note'
type = 'text'
indexed = true
[[fields]]
name = 'size'
type = 'f64'
[[fields]]
name = 'label'
type = 'text'
";

pub(crate) const HOUR: i64 = 3_600_000_000;

/// An event as the tests know it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Made {
    pub(crate) time: i64,
    pub(crate) label: String,
    pub(crate) fields: BTreeMap<String, Vec<u8>>,
}

pub(crate) fn open() -> (Arc<dyn Source>, EventStore) {
    let mut components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    register_event_iterators(&mut components.iterators);
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let source: Arc<dyn Source> = Store::open_with(components, "/store", options).expect("opens");
    (source.clone(), EventStore::new(source))
}

pub(crate) fn open_web() -> (Arc<dyn Source>, EventStore) {
    let (source, store) = open();
    store
        .create(&EventType::from_toml(TYPE).expect("valid"))
        .expect("created");
    (source, store)
}

/// Events over three days; some have the same time, and some lack fields.
pub(crate) fn make(seed: u64, count: usize) -> Vec<Made> {
    let mut random = StdRng::seed_from_u64(seed);
    let notes: [&[u8]; 7] = [
        b"",
        b"a\x00b",
        b"a\x01",
        b"\xff\xfe",
        b"it's",
        b"abc",
        &[b'x'; 300],
    ];
    let mut made: Vec<Made> = (0..count)
        .map(|number| {
            let time = match random.random_range(0..4) {
                0 => 24 * HOUR,
                1 => random.random_range(0..HOUR),
                _ => random.random_range(0..72 * HOUR),
            };
            let label = ["", "", "a", "b", "a&b", "a|b"][random.random_range(0..6)].to_owned();
            let mut fields = BTreeMap::new();
            let mut put = |name: &str, value: Vec<u8>| drop(fields.insert(name.to_owned(), value));
            put(
                "ts",
                format!("{}.{:06}", time / 1_000_000, time % 1_000_000).into_bytes(),
            );
            if random.random_bool(0.9) {
                let host = random.random_range(0..6_u32).min(random.random_range(0..6));
                put("host", format!("h{host}.example").into_bytes());
            }
            if random.random_bool(0.8) {
                put(
                    "port",
                    random.random_range(0..30_u32).to_string().into_bytes(),
                );
            }
            if random.random_bool(0.8) {
                let from = match random.random_bool(0.8) {
                    true => format!(
                        "10.0.{}.{}",
                        random.random_range(0..3),
                        random.random_range(0..4)
                    ),
                    false => format!("2001:db8::{:x}", random.random_range(1..6)),
                };
                put("from", from.into_bytes());
            }
            if random.random_bool(0.5) {
                put("note", notes[random.random_range(0..notes.len())].to_vec());
            }
            put(
                "size",
                format!("{}.5", random.random_range(0..1000)).into_bytes(),
            );
            put("number", number.to_string().into_bytes());
            if !label.is_empty() {
                put("label", label.clone().into_bytes());
            }
            Made {
                time,
                label,
                fields,
            }
        })
        .collect();
    made.sort_by_key(|made| std::cmp::Reverse(made.time));
    made
}

/// The records of events, and the names of their fields.
pub(crate) fn records(made: &[Made]) -> (Vec<String>, Vec<Record>) {
    let mut names: Vec<String> = Vec::new();
    let records = made
        .iter()
        .map(|made| {
            let mut record = Record::default();
            for (name, value) in &made.fields {
                let at = names
                    .iter()
                    .position(|known| known == name)
                    .unwrap_or_else(|| {
                        names.push(name.clone());
                        names.len() - 1
                    });
                record.push(at as u32, value);
            }
            record
        })
        .collect();
    (names, records)
}

pub(crate) fn ingest(store: &EventStore, made: &[Made], batch: usize) -> IngestReport {
    let options = IngestOptions {
        batch_events: batch,
        ..IngestOptions::default()
    };
    let mut ingest = store.ingest("web", options).expect("a type");
    let (names, records) = records(made);
    for record in &records {
        assert_eq!(ingest.add(&names, record).expect("written"), None);
    }
    ingest.finish().expect("committed")
}

pub(crate) fn held(names: &[&str]) -> Authorizations {
    Authorizations::new(names).expect("names")
}

pub(crate) fn everything() -> Query {
    Query {
        event_type: "web".into(),
        authorizations: held(&["a", "b"]),
        ..Query::default()
    }
}

/// The names and values of an event.
pub(crate) fn fields_of<T: FromIterator<(String, Vec<u8>)>>(event: &Event) -> T {
    let fields = event.fields();
    fields
        .map(|(name, value)| (name.to_owned(), value.to_vec()))
        .collect()
}

/// An event as the tests know it.
pub(crate) fn made_of(event: &Event) -> Made {
    Made {
        time: event.time,
        fields: fields_of(event),
        label: String::from_utf8(event.label().to_vec()).expect("text"),
    }
}

/// Events as the tests know them.
pub(crate) fn read(store: &EventStore, query: &Query) -> Vec<Made> {
    let events = store.events(query).expect("read");
    events.iter().map(made_of).collect()
}

/// The same, in an order of its own.
pub(crate) fn sorted(mut made: Vec<Made>) -> Vec<Made> {
    made.sort();
    made
}
