//! Events of 50 fields with 8 indexes: ingest of a CSV log, filters, lookups, the first page, histograms, several clients,
//! labels.
//!
//! `EVENTS=1000000 cargo bench -p ostrakon-events` chooses the number of events, which spread over a month.

use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufReader, BufWriter, Write as _};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
// The program's allocator.
use ostrakon_allocator as _;
use ostrakon_cell::{Authorizations, Source as _};
use ostrakon_events::{
    CountPath, Epoch, EqualRecords, EventStore, EventType, Field, FieldType, IngestOptions,
    LogFormat, LogText, Path, Query, parse_condition, register_event_iterators,
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
        equal_records: EqualRecords::Merge,
        shards: vec![Epoch {
            from: None,
            count: 4,
        }],
        fields: (0..50).map(field).collect(),
    }
}

/// The labels of the type that has them.
const LABELS: usize = 16;

/// Appends an event as a line of CSV. Of 10,000 events, one has `rare` as field 40; field 49 is a label.
fn make(random: &mut StdRng, line: &mut String) {
    let micros = random.random_range(0..MONTH_SECONDS * 1_000_000);
    let seconds = 1_400_000_000 + micros / 1_000_000;
    let (one, two) = (random.random_range(0..16), random.random_range(0..256));
    let (three, four) = (random.random_range(0..1000), random.random_range(0..65_536));
    let micros = micros % 1_000_000;
    let _ = write!(
        line,
        "{seconds}.{micros:06},10.0.{one}.{two},{three},{four}"
    );
    for at in 4..49_u32 {
        // Low numbers are frequent, as domains are.
        let number = random.random_range(0..2000_u32) * random.random_range(0..2000_u32) / 2000;
        let _ = match at {
            40 if random.random_range(0..10_000) == 0 => write!(line, ",rare"),
            _ => write!(line, ",value-{at}-{number}"),
        };
    }
    let _ = writeln!(line, ",label{}", random.random_range(0..LABELS));
}

/// A log with `count` events.
fn write_log(path: &std::path::Path, count: usize) {
    let mut file = BufWriter::new(File::create(path).expect("created"));
    let mut random = StdRng::seed_from_u64(1);
    let mut line = (0..50)
        .map(|at| format!("field_{at:02}"))
        .collect::<Vec<_>>()
        .join(",");
    line.push('\n');
    for _ in 0..count {
        file.write_all(line.as_bytes()).expect("written");
        line.clear();
        make(&mut random, &mut line);
    }
    file.write_all(line.as_bytes()).expect("written");
    file.flush().expect("written");
}

/// Reads the log into a type, and prints how fast that was.
fn ingest(store: &EventStore, name: &str, log: &std::path::Path, threads: usize) {
    let options = IngestOptions {
        threads,
        ..IngestOptions::default()
    };
    let text = LogText {
        format: LogFormat::Csv,
        reference: 0,
        renamed: Vec::new(),
        tables: Vec::new(),
        rest: None,
        grows: false,
    };
    let started = Instant::now();
    let mut ingest = store.ingest(name, options).expect("a type");
    let input = BufReader::with_capacity(1 << 18, File::open(log).expect("opens"));
    let mut reader = ingest.read_log(&text, Box::new(input));
    while let Some(part) = reader.next_part().expect("read") {
        assert_eq!(part.rejected, []);
        ingest.add_part(part).expect("written");
    }
    let report = ingest.finish().expect("committed");
    let seconds = started.elapsed().as_secs_f64();
    tell(&format!(
        "ingest of {} events into {name}: {:.0} events/s, {:.0} entries/s, durable",
        report.events,
        report.events as f64 / seconds,
        report.entries as f64 / seconds
    ));
}

#[allow(clippy::print_stderr, reason = "figures of what is measured once")]
fn tell(text: &str) {
    eprintln!("{text}");
}

/// Runs a query; returns how many events it found.
fn run(store: &EventStore, query: &Query) -> u64 {
    let mut found = 0_u64;
    let counted = store.query(black_box(query), |_| {
        found += 1;
        Ok(true)
    });
    counted.expect("read");
    found
}

/// How long two queries are compared, at least.
const COMPARED: Duration = Duration::from_secs(4);

/// Prints how much longer a query takes with labels. Runs of both alternate, so that a machine whose speed changes does not
/// change the ratio; the shortest of each are compared.
fn compare(store: &EventStore, name: &str, plain: &Query, labelled: &Query) {
    let time = |query: &Query| {
        let started = Instant::now();
        run(store, query);
        started.elapsed().as_secs_f64()
    };
    let (mut without, mut with) = (f64::INFINITY, f64::INFINITY);
    let started = Instant::now();
    let mut rounds = 0;
    let at_least = match is_measured() {
        true => COMPARED,
        false => Duration::ZERO,
    };
    while rounds < 5 || started.elapsed() < at_least {
        without = without.min(time(plain));
        with = with.min(time(labelled));
        rounds += 1;
    }
    tell(&format!(
        "{name}: {:.1} ms without labels, {:.1} ms with {LABELS}, {:+.1} %",
        without * 1e3,
        with * 1e3,
        (with / without - 1.0) * 100.0
    ));
}

/// Without `--bench`, it is a test of the program.
fn is_measured() -> bool {
    std::env::args().any(|arg| arg == "--bench")
}

fn events(criterion: &mut Criterion) {
    let count: usize = std::env::var("EVENTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(match is_measured() {
            true => 100_000,
            false => 5000,
        });
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log.csv");
    write_log(&log, count);
    let mut components = Components::default();
    register_event_iterators(&mut components.iterators);
    let options = StoreOptions {
        create: true,
        ..StoreOptions::default()
    };
    let source = Store::open_with(components, folder.path().join("store"), options).expect("opens");
    let store = EventStore::new(source.clone());
    let plain = definition();
    let labelled = EventType {
        name: "labelled".into(),
        visibility_field: Some("field_49".into()),
        ..plain.clone()
    };
    for definition in [&plain, &labelled] {
        store.create(definition).expect("created");
        ingest(&store, &definition.name, &log, 0);
    }
    // The tables of both types are in files.
    for definition in [&plain, &labelled] {
        for table in EventStore::table_names(&definition.name) {
            let table = source.table(&table).expect("a table");
            table.flush(true).expect("flushed");
        }
    }
    std::fs::remove_file(&log).expect("removed");
    let query = |text: &str| Query {
        event_type: "web_request".into(),
        condition: parse_condition(text, 0).expect("valid"),
        ..Query::default()
    };
    let every = Authorizations::new((0..LABELS).map(|at| format!("label{at}"))).expect("labels");
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
    tell(&format!(
        "filter at 0.01 %: handles {} entries",
        handled.unwrap_or(0)
    ));
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
    let everything = Query {
        path: Path::Scan,
        ..query("")
    };
    for clients in [1, 2, 4] {
        for (name, query) in [
            ("all events", &everything),
            ("filter at 0.01 %", &filter),
            ("1,000 events by index", &indexed),
        ] {
            group.bench_function(format!("{name}, {clients} clients"), |bench| {
                bench.iter(|| {
                    std::thread::scope(|scope| {
                        for _ in 0..clients {
                            scope.spawn(|| run(&store, query));
                        }
                    });
                });
            });
        }
    }
    // One thread each, so that the figures are those of one processor.
    let questions = [
        ("all events", everything),
        ("filter at 0.01 %", filter),
        ("1,000 events by index", indexed),
        (
            "newest 1,000 events",
            Query {
                limit: Some(1000),
                ..query("")
            },
        ),
    ];
    // Ingest may leave one type in more files than the other, and each file costs more than all labels.
    for name in ["web_request", "labelled"] {
        store.settle(name).expect("compacted");
    }
    for (name, plain) in &questions {
        let mut plain = plain.clone();
        plain.settings.threads = 1;
        let labelled = Query {
            event_type: "labelled".into(),
            authorizations: every.clone(),
            ..plain.clone()
        };
        let found = (run(&store, &plain), run(&store, &labelled));
        assert_eq!(found.0, found.1, "the reader has every label");
        compare(&store, name, &plain, &labelled);
        for (labels, query) in [("no label", &plain), ("16 labels", &labelled)] {
            group.bench_function(format!("{name}, one thread, {labels}"), |bench| {
                bench.iter(|| run(&store, query));
            });
        }
    }
    group.bench_function("count of all events by a scan", |bench| {
        let all = query("");
        bench.iter(|| store.count(black_box(&all), CountPath::Scan).expect("read"));
    });
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
