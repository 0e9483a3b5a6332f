//! Events of 50 fields with 8 indexes: ingest, filters, lookups, the first page, histograms.
//!
//! `EVENTS=1000000 cargo bench -p ostrakon-events` chooses the number of events, which spread over a month.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, criterion_group, criterion_main};
use ostrakon_events::{
    CountPath, Epoch, EventStore, EventType, Field, FieldType, IngestOptions, Path, Query, Record,
    parse_condition, register_event_iterators,
};
use ostrakon_store::{Components, Store, StoreOptions};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

const MONTH_SECONDS: u64 = 30 * 86_400;

fn definition() -> EventType {
    let field = |at: usize| Field {
        name: format!("field_{at:02}"),
        kind: match at {
            0 => FieldType::Time,
            1 => FieldType::Ip,
            2 | 3 => FieldType::U64,
            _ => FieldType::Text,
        },
        indexed: (1..=8).contains(&at),
        id: None,
    };
    EventType {
        name: "web_request".into(),
        time: "field_00".into(),
        resolution: "us".into(),
        bin: "1h".into(),
        visibility: None,
        visibility_field: None,
        keep: None,
        shards: vec![Epoch {
            from: None,
            count: 4,
        }],
        fields: (0..50).map(field).collect(),
    }
}

/// Fills the record with an event. Of 10,000 events, one has `rare` as field 40.
fn make(random: &mut StdRng, record: &mut Record) {
    record.clear();
    let micros = random.random_range(0..MONTH_SECONDS * 1_000_000);
    record.push(
        0,
        format!(
            "{}.{:06}",
            1_400_000_000 + micros / 1_000_000,
            micros % 1_000_000
        )
        .as_bytes(),
    );
    record.push(
        1,
        format!(
            "10.0.{}.{}",
            random.random_range(0..16),
            random.random_range(0..256)
        )
        .as_bytes(),
    );
    record.push(2, random.random_range(0..1000_u32).to_string().as_bytes());
    record.push(3, random.random_range(0..65_536_u32).to_string().as_bytes());
    for at in 4..50_u32 {
        // Low numbers are frequent, as domains are.
        let number = random.random_range(0..2000_u32) * random.random_range(0..2000_u32) / 2000;
        let value = match at {
            40 if random.random_range(0..10_000) == 0 => "rare".to_owned(),
            _ => format!("value-{at}-{number}"),
        };
        record.push(at, value.as_bytes());
    }
}

fn events(criterion: &mut Criterion) {
    let count: usize = std::env::var("EVENTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100_000);
    let folder = tempfile::tempdir().expect("a folder");
    let mut components = Components::default();
    register_event_iterators(&mut components.iterators);
    let options = StoreOptions {
        create: true,
        ..StoreOptions::default()
    };
    let source = Store::open_with(components, folder.path().join("store"), options).expect("opens");
    let store = EventStore::new(source);
    let definition = store.create(&definition()).expect("created");
    let names: Vec<String> = definition
        .fields
        .iter()
        .map(|field| field.name.clone())
        .collect();
    let mut random = StdRng::seed_from_u64(1);
    let records: Vec<Record> = (0..count.min(200_000))
        .map(|_| {
            let mut record = Record::default();
            make(&mut random, &mut record);
            record
        })
        .collect();
    let started = Instant::now();
    let mut ingest = store
        .ingest("web_request", IngestOptions::default())
        .expect("a type");
    for record in &records {
        assert_eq!(ingest.add(&names, record).expect("written"), None);
    }
    let report = ingest.finish().expect("committed");
    let seconds = started.elapsed().as_secs_f64();
    #[allow(
        clippy::print_stderr,
        reason = "the rate of the one ingest that there is"
    )]
    {
        eprintln!(
            "ingest: {:.0} events/s, {:.0} entries/s, durable",
            report.events as f64 / seconds,
            report.entries as f64 / seconds
        );
    }
    let query = |text: &str| Query {
        event_type: "web_request".into(),
        condition: parse_condition(text, 0).expect("valid"),
        ..Query::default()
    };
    let mut group = criterion.benchmark_group("events");
    group.sample_size(10);
    let filter = Query {
        path: Path::Scan,
        ..query("field_40 == 'rare'")
    };
    let handled = store
        .query(
            &Query {
                analyze: true,
                ..filter.clone()
            },
            |_| Ok(true),
        )
        .expect("read")
        .handled;
    #[allow(
        clippy::print_stderr,
        reason = "what the time of the next line stands for"
    )]
    {
        eprintln!("filter at 0.01 %: handles {handled:?} entries");
    }
    group.bench_function("filter at 0.01 %", |bench| {
        bench.iter(|| {
            store
                .query(
                    black_box(&Query {
                        analyze: true,
                        ..filter.clone()
                    }),
                    |_| Ok(true),
                )
                .expect("read")
        });
    });
    let indexed = Query {
        path: Path::Index,
        limit: Some(1000),
        ..query("field_02 in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)")
    };
    group.bench_function("1,000 events by index", |bench| {
        bench.iter(|| {
            store
                .query(black_box(&indexed), |_| Ok(true))
                .expect("read")
        });
    });
    let page = Query {
        limit: Some(100),
        ..query("field_30 startswith 'value-30-1'")
    };
    group.bench_function("first page over a month", |bench| {
        bench.iter(|| store.query(black_box(&page), |_| Ok(true)).expect("read"));
    });
    let day = Query {
        from: Some(1_400_025_600_000_000),
        to: Some(1_400_112_000_000_000),
        ..query("field_05 == 'value-5-3'")
    };
    for (name, path) in [
        ("aggregates", CountPath::Aggregates),
        ("index", CountPath::Index),
        ("scan", CountPath::Scan),
    ] {
        group.bench_function(format!("histogram over a day by {name}"), |bench| {
            bench.iter(|| {
                store
                    .histogram(black_box(&day), 3_600_000_000, path)
                    .expect("counted")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
