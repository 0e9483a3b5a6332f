//! What a reader gets from SQL does not depend on cells, records and events that it may not see: two stores that
//! differ in these alone give the same rows, batches, plans, counts of changes and errors.
//!
//! `OSTRAKON_MODEL_SEED=N` plays one seed, `OSTRAKON_MODEL_RUNS=N` plays N new ones.

use std::fmt::Write as _;
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use ostrakon_cell::{
    Authorizations, Batch, BatchWriter, BatchWriterConfig, ColumnUpdate, CompactOptions, Range,
    ReaderSource, Result, ScanOptions, Source, Table, TableOptions,
};
use ostrakon_events::{EventStore, EventType, IngestOptions, Record, register_event_iterators};
use ostrakon_sql::{SqlOptions, SqlSession};
use ostrakon_store::clock::Random;
use ostrakon_store::{Components, Store, StoreOptions};

use super::kit::{seeds, session_of, try_rows};

/// Is part of every hidden row, column, value and label, and of nothing visible.
const HIDDEN: &str = "hidden";
/// What the reader holds.
const HELD: [&str; 2] = ["A", "B"];
const VISIBLE: [&str; 5] = ["", "", "A", "A&B", "A|C"];
const SECRET: [&str; 3] = ["hidden", "A&hidden", "C&(hidden|A)"];

const WEB: &str = "
name = 'web'
time = 'ts'
visibility = ''
visibility_field = 'label'
[[shards]]
count = 2
[[fields]]
name = 'ts'
type = 'time'
[[fields]]
name = 'host'
type = 'text'
indexed = true
[[fields]]
name = 'port'
type = 'i64'
indexed = true
[[fields]]
name = 'label'
type = 'text'
";

fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[random.below(from.len() as u64) as usize]
}

/// One cell to be written: row, family, qualifier, label, timestamp, and a value or a deletion.
type Cell = (Vec<u8>, Vec<u8>, Vec<u8>, String, i64, Option<Vec<u8>>);

fn write(table: &Arc<dyn Table>, cells: &[Cell]) {
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    for (row, family, qualifier, label, timestamp, value) in cells {
        let update = ColumnUpdate {
            family,
            qualifier,
            visibility: label.as_bytes(),
            timestamp: Some(*timestamp),
            value: value.as_deref(),
        };
        writer.put(row, update).unwrap();
    }
    writer.close().unwrap();
}

/// All that is in a table.
fn cells_of(table: &dyn Table) -> Vec<Cell> {
    let options = ScanOptions {
        authorizations: Authorizations::new(HELD).unwrap(),
        ..ScanOptions::default()
    };
    let mut scan = table.scan(&[Range::all()], &options).unwrap();
    let (mut batch, mut found) = (Batch::new(), Vec::new());
    while scan.next_batch(&mut batch).unwrap() {
        found.extend(batch.iter().map(|entry| {
            (
                entry.key.row.to_vec(),
                entry.key.family.to_vec(),
                entry.key.qualifier.to_vec(),
                String::from_utf8(entry.key.visibility.to_vec()).unwrap(),
                entry.key.timestamp,
                Some(entry.value.to_vec()),
            )
        }));
    }
    found
}

/// Hidden cells near those that are there: in their places, between them, and with values that have no type.
fn hidden_near(random: &mut Random, near: &[Cell]) -> Vec<Cell> {
    let mut hidden = Vec::new();
    for at in 0..1 + random.below(400) {
        let Some(cell) = near.get(random.below(near.len().max(1) as u64) as usize) else {
            break;
        };
        let (mut row, mut family, mut qualifier, _, timestamp, _) = cell.clone();
        let mut value = Some(format!("{HIDDEN} {at}").into_bytes());
        match random.below(8) {
            0 => row.extend_from_slice(HIDDEN.as_bytes()),
            1 => row = format!("{HIDDEN}{at}").into_bytes(),
            2 => family = HIDDEN.into(),
            3 => qualifier = format!("{HIDDEN}{at}").into_bytes(),
            4 => value = None,
            5 => value = Some(HIDDEN.repeat(1 + random.below(3000) as usize).into_bytes()),
            6 => value = Some(vec![0xff; random.below(12) as usize]),
            _ => {}
        }
        let later = random.below(30) as i64 - 15;
        hidden.push((
            row,
            family,
            qualifier,
            pick(random, &SECRET).to_owned(),
            timestamp + later,
            value,
        ));
    }
    hidden
}

fn settle(table: &Arc<dyn Table>, random: &mut Random) {
    match random.below(4) {
        0 => table.flush(true).unwrap(),
        1 => table.compact(&CompactOptions::default()).unwrap(),
        2 => table
            .add_splits(&[format!("row{:02}", random.below(40)).into_bytes()])
            .unwrap(),
        _ => {}
    }
}

/// A store of a seed, with or without what is hidden.
fn make(seed: u64, with_hidden: bool) -> Arc<dyn Source> {
    let mut components = Components::default();
    register_event_iterators(&mut components.iterators);
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let source: Arc<dyn Source> = Store::in_memory_with(components, options).unwrap();
    // The first draws are those of both stores, the others are their own.
    let mut random = Random::from_seed(seed);
    let mut random_edges = Random::from_seed(seed ^ 0xd4);

    let cells: Vec<Cell> = (0..20 + random.below(300))
        .map(|at| {
            (
                format!("row{:02}", random.below(40)).into_bytes(),
                format!("f{}", random.below(3)).into_bytes(),
                format!("q{}", random.below(4)).into_bytes(),
                pick(&mut random, &VISIBLE).to_owned(),
                1000 + 10 * at as i64,
                (random.below(20) > 0).then(|| random.below(100).to_string().into_bytes()),
            )
        })
        .collect();
    source.create_table("t", &TableOptions::default()).unwrap();
    write(&source.table("t").unwrap(), &cells);

    let writer = session_of(&source, &HELD);
    let run =
        |text: &str| try_rows(&writer, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    run(
        "CREATE TABLE r (a VARCHAR, b BIGINT, x DOUBLE, note VARCHAR, lab VARCHAR, PRIMARY KEY (a, b)) WITH (label = 'lab')",
    );
    for _ in 0..2 {
        let mut insert = "INSERT INTO r VALUES ".to_owned();
        for at in 0..1 + random.below(60) {
            let comma = if at > 0 { ", " } else { "" };
            let note = match random.below(4) {
                0 => "NULL".to_owned(),
                1 => "'12'".to_owned(),
                _ => format!("'note{}'", random.below(9)),
            };
            let _ = write!(
                insert,
                "{comma}('k{}', {}, {}.5, {note}, '{}')",
                random.below(6),
                random.below(20),
                random.below(50),
                pick(&mut random, &VISIBLE)
            );
        }
        run(&insert);
    }

    let store = EventStore::new(source.clone());
    store.create(&EventType::from_toml(WEB).unwrap()).unwrap();
    let names = ["ts", "host", "port", "label"].map(str::to_owned);
    let mut events: Vec<[String; 4]> = (0..10 + random.below(200))
        .map(|_| {
            [
                random.below(100_000).to_string(),
                format!("h{}", random.below(5)),
                random.below(10).to_string(),
                pick(&mut random, &VISIBLE).to_owned(),
            ]
        })
        .collect();
    if with_hidden {
        for at in 0..1 + random.below(200) {
            let (port, host) = (random.below(10), random.below(5));
            let host = match random.below(3) {
                0 => format!("{HIDDEN}{at}"),
                _ => format!("h{host}"),
            };
            let place = random.below(events.len() as u64) as usize;
            let time = random.below(120_000).to_string();
            events.insert(
                place,
                [
                    time,
                    host,
                    port.to_string(),
                    pick(&mut random, &SECRET).to_owned(),
                ],
            );
        }
    }
    let mut ingest = store.ingest("web", IngestOptions::default()).unwrap();
    for event in &events {
        let mut record = Record::default();
        for (name, value) in (0..).zip(event) {
            if !value.is_empty() {
                record.push(name, value.as_bytes());
            }
        }
        assert_eq!(ingest.add(&names, &record).unwrap(), None);
    }
    ingest.finish().unwrap();

    // A table of D4M's schema with its transpose and degrees, which need not agree.
    for (name, is_transpose) in [("e", false), ("eT", true), ("eDeg", true)] {
        let edges: Vec<Cell> = (0..20 + random_edges.below(200))
            .map(|at| {
                let column = match random_edges.below(6) {
                    0 => format!("loose{}", random_edges.below(4)),
                    _ => format!("f{}|v{}", random_edges.below(3), random_edges.below(9)),
                };
                let record = match name {
                    "eDeg" => "Degree".to_owned(),
                    _ => format!("row{:02}", random_edges.below(40)),
                };
                let (row, qualifier) = match is_transpose {
                    true => (column, record),
                    false => (record, column),
                };
                (
                    row.into_bytes(),
                    Vec::new(),
                    qualifier.into_bytes(),
                    pick(&mut random_edges, &VISIBLE).to_owned(),
                    1000 + 10 * at as i64,
                    Some(random_edges.below(9).to_string().into_bytes()),
                )
            })
            .collect();
        source.create_table(name, &TableOptions::default()).unwrap();
        write(&source.table(name).unwrap(), &edges);
    }
    for name in ["t", "r", "e", "eT", "eDeg"] {
        let table = source.table(name).unwrap();
        settle(&table, &mut random);
        if with_hidden {
            let near = cells_of(&*table);
            for _ in 0..2 {
                write(&table, &hidden_near(&mut random, &near));
                settle(&table, &mut random);
            }
        }
    }
    source
}

/// Queries of a seed; what is between braces is drawn.
fn queries(seed: u64) -> Vec<String> {
    let mut random = Random::from_seed(seed ^ 0x5eed);
    let random = &mut random;
    let mut texts = Vec::new();
    for _ in 0..12 {
        let row = format!("row{:02}", random.below(40));
        let condition = match random.below(6) {
            0 => String::new(),
            1 => format!("WHERE row >= '{row}'"),
            2 => format!("WHERE family = 'f{}'", random.below(3)),
            3 => format!("WHERE row > '{row}' AND qualifier IN ('q1', 'q2')"),
            4 => format!("WHERE value = '{}'", random.below(100)),
            _ => "WHERE visibility = ''".to_owned(),
        };
        texts.push(match random.below(4) {
            0 => format!("SELECT * FROM t {condition}"),
            1 => format!("SELECT count(*), count(DISTINCT row), min(qualifier), max(value) FROM t {condition}"),
            2 => format!("SELECT family, count(*) FROM t {condition} GROUP BY family ORDER BY family"),
            _ => format!("SELECT row, value FROM t {condition} ORDER BY row, family, qualifier, visibility LIMIT {}", random.below(20)),
        });
        let condition = match random.below(6) {
            0 => String::new(),
            1 => format!("WHERE a = 'k{}'", random.below(6)),
            2 => format!("WHERE a >= 'k2' AND b < {}", random.below(20)),
            3 => format!("WHERE x > {}", random.below(50)),
            4 => "WHERE note LIKE 'note%'".to_owned(),
            _ => "WHERE note IS NULL OR lab = 'A'".to_owned(),
        };
        texts.push(match random.below(5) {
            0 => format!("SELECT * FROM r {condition}"),
            1 => format!(
                "SELECT a, sum(b), count(note), avg(x) FROM r {condition} GROUP BY a ORDER BY a"
            ),
            // An error, or not, by what is seen alone.
            2 => format!("SELECT sum(CAST(note AS BIGINT)) FROM r {condition}"),
            3 => format!(
                "SELECT a, b FROM r {condition} ORDER BY a, b LIMIT {}",
                random.below(9)
            ),
            _ => format!(
                "SELECT l.a, l.b, r.x FROM r AS l JOIN r ON l.b = r.b {} ORDER BY 1, 2, 3",
                condition
                    .replace("a ", "l.a ")
                    .replace("WHERE b", "WHERE l.b")
                    .replace("AND b", "AND l.b")
                    .replace("x >", "l.x >")
                    .replace("note", "l.note")
                    .replace("'l.note", "'note")
                    .replace("lab", "l.lab")
            ),
        });
        let condition = match random.below(5) {
            0 => String::new(),
            1 => format!("WHERE host = 'h{}'", random.below(5)),
            2 => format!("WHERE port > {}", random.below(10)),
            3 => "WHERE time > TIMESTAMP '1970-01-01 10:00:00'".to_owned(),
            _ => "WHERE host IS NOT NULL AND visibility = ''".to_owned(),
        };
        texts.push(match random.below(4) {
            0 => format!("SELECT * FROM events.web {condition}"),
            1 => format!("SELECT host, count(*) FROM events.web {condition} GROUP BY host ORDER BY host"),
            2 => format!("SELECT date_bin(INTERVAL '1 hour', time) AS h, count(*) FROM events.web {condition} GROUP BY h ORDER BY h"),
            _ => "SELECT DISTINCT port FROM events.web ORDER BY port".to_owned(),
        });
        let value = random.below(9);
        let condition = match random.below(6) {
            0 => String::new(),
            1 => "WHERE field = 'f1'".to_owned(),
            2 => format!("WHERE field = 'f2' AND value = 'v{value}'"),
            3 => format!("WHERE value = 'v{value}'"),
            4 => "WHERE field IS NULL".to_owned(),
            _ => "WHERE field < 'f2'".to_owned(),
        };
        texts.push(match random.below(4) {
            0 => format!("SELECT * FROM d4m.e {condition}"),
            1 => format!("SELECT * FROM d4m.eDeg {condition}"),
            2 => format!("SELECT record, sum(number) FROM d4m.e {condition} GROUP BY record ORDER BY record"),
            _ => format!("SELECT value, degree FROM d4m.eDeg {condition} ORDER BY degree DESC, value, field LIMIT 3"),
        });
        // Which side of a join is read first depends on sizes.
        let names = ["t", "cells.r", "d4m.e", "d4m.eDeg", "events.web", "r"];
        let columns = ["row", "row", "record", "value", "host", "a"];
        let (left, right) = (random.below(6) as usize, random.below(6) as usize);
        texts.push(format!(
            "SELECT count(*) FROM {} l JOIN {} r ON CAST(l.{} AS VARCHAR) = CAST(r.{} AS VARCHAR)",
            names[left], names[right], columns[left], columns[right]
        ));
        if random.one_in(3) {
            texts.push(match random.below(5) {
                0 => format!(
                    "INSERT INTO r VALUES ('k{}', {}, 1, 'new', 'A')",
                    random.below(7),
                    random.below(20)
                ),
                1 => format!("DELETE FROM r WHERE b = {}", random.below(20)),
                2 => format!(
                    "UPDATE r SET x = b, note = lab WHERE b < {}",
                    random.below(20)
                ),
                3 => format!(
                    "UPDATE r SET note = NULL, lab = 'A' WHERE x < {}",
                    random.below(50)
                ),
                _ => format!(
                    "INSERT INTO r (a, b, note) SELECT a, b, 'copy' FROM r WHERE b < {}",
                    random.below(8)
                ),
            });
        }
    }
    texts
}

/// The rows of a statement with the sizes of their batches, or its error.
fn answer(session: &SqlSession, text: &str) -> Vec<String> {
    let read = || -> Result<Vec<usize>> {
        let batches: Vec<RecordBatch> = session.query_blocking(text)?.collect::<Result<_>>()?;
        Ok(batches.iter().map(RecordBatch::num_rows).collect())
    };
    // A change would be made twice.
    let sizes = match text.starts_with("SELECT") {
        true => format!("{:?}", read().unwrap_or_default()),
        false => String::new(),
    };
    match try_rows(session, text) {
        Ok(rows) => std::iter::once(sizes).chain(rows).collect(),
        Err(error) => vec![format!("{error:?}"), "an error".to_owned()],
    }
}

/// Everything that a reader with these authorizations learns. `confined`: through a handle that has them, which shows
/// plans and the borders of batches, too.
fn transcript(source: &Arc<dyn Source>, held: &[&str], confined: bool, seed: u64) -> Vec<String> {
    let authorizations = Authorizations::new(held).unwrap();
    let source: Arc<dyn Source> = match confined {
        true => Arc::new(ReaderSource::new(source.clone(), authorizations.clone())),
        false => source.clone(),
    };
    let options = SqlOptions {
        threads: 2,
        ..SqlOptions::default()
    };
    let session = SqlSession::new(source, authorizations, options).unwrap();
    let mut seen = Vec::new();
    for text in queries(seed) {
        seen.push(text.clone());
        if confined && text.starts_with("SELECT") {
            seen.extend(answer(&session, &format!("EXPLAIN {text}")));
        }
        let mut found = answer(&session, &text);
        if !confined {
            // Several threads read: neither the order of rows nor the sizes of batches is given, nor which row fails.
            found.remove(0);
            found.sort();
        }
        seen.extend(found);
    }
    seen
}

/// The first line in which the transcripts of a seed differ.
fn difference(seed: u64, held: &[&str], confined: bool) -> Option<String> {
    let plain = transcript(&make(seed, false), held, confined, seed);
    let mixed = transcript(&make(seed, true), held, confined, seed);
    if let Some(line) = mixed.iter().find(|line| line.contains(HIDDEN)) {
        return Some(format!("says {line}"));
    }
    let length = plain.len().max(mixed.len());
    let at = (0..length).find(|&at| plain.get(at) != mixed.get(at))?;
    let asked = plain.iter().take(at + 1).rfind(|line| {
        ["SELECT", "INSERT", "UPDATE", "DELETE"]
            .iter()
            .any(|verb| line.starts_with(verb))
    });
    Some(format!(
        "{asked:?}: {:?} without, {:?}",
        plain.get(at),
        mixed.get(at)
    ))
}

fn readers_get_the_same(confined: bool) {
    for seed in seeds(3) {
        let found = difference(seed, &HELD, confined);
        assert_eq!(found, None, "OSTRAKON_MODEL_SEED={seed}");
    }
}

#[test]
fn a_confined_reader_gets_the_same_with_and_without_hidden_cells() {
    readers_get_the_same(true);
}

#[test]
fn another_reader_gets_the_same_with_and_without_hidden_cells() {
    readers_get_the_same(false);
}

/// The comparison notices a reader who sees what is hidden.
#[test]
fn the_comparison_finds_what_others_see() {
    let all = ["A", "B", "C", HIDDEN];
    for confined in [true, false] {
        assert!(difference(3, &all, confined).is_some());
    }
}
