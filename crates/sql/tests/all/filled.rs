//! Tables that CREATE TABLE … AS fills, and records that are read in parts.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{PropertyOwner, Source};
use ostrakon_store::clock::ManualClock;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

use super::kit::{rows, session, session_of, store, try_rows};

/// Keys of 6000 records in the order in which they are written.
const KEYS: [&str; 5] = [
    "value",
    "value / 2",
    "(value * 7919) % 2003",
    "value % 5000",
    "-value",
];

#[test]
fn a_new_table_has_what_an_insert_would_store() {
    let source = store();
    let writer = session_of(&source, &["A"]);
    let readers = [&["A"][..], &["A", "B"], &["B"], &[]];
    let readers = readers.map(|held| session_of(&source, held));
    for (number, key) in KEYS.iter().enumerate() {
        let query = format!(
            "SELECT {key} AS k, CASE value % 3 WHEN 0 THEN NULL ELSE 'a' || CAST(value AS VARCHAR) END AS a,
             CASE value % 4 WHEN 0 THEN 0.5 * value END AS b,
             CASE value % 5 WHEN 0 THEN 'A' WHEN 1 THEN 'B' END AS l FROM range(6000) ORDER BY value"
        );
        let count = rows(
            &writer,
            &format!("CREATE TABLE t{number} (PRIMARY KEY (k)) WITH (label = 'l') AS {query}"),
        );
        assert_eq!(count, ["6000"]);
        rows(
            &writer,
            &format!(
                "CREATE TABLE i{number} (k BIGINT, a VARCHAR, b DOUBLE, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')"
            ),
        );
        rows(&writer, &format!("INSERT INTO i{number} {query}"));
        for reader in &readers {
            let of = |table: &str| {
                let records = format!("SELECT k, a, b, l FROM {table}{number} ORDER BY k");
                let cells = format!(
                    "SELECT row, family, qualifier, visibility, value FROM cells.{table}{number}
                     ORDER BY row, family, qualifier, visibility, value"
                );
                (rows(reader, &records), rows(reader, &cells))
            };
            assert_eq!(of("t"), of("i"), "{key}");
        }
    }
}

#[test]
fn new_tables_take_any_record() {
    let source = store();
    let session = session(&source);
    // An empty key, one that is longer than those around it, and records without values.
    rows(
        &session,
        "CREATE TABLE t (PRIMARY KEY (k, n)) AS SELECT k, n, CASE n WHEN 2 THEN 'v' END AS v FROM (VALUES
         ('', 1), ('', 2), (repeat('a', 100000), 1), ('b', 1), ('b', 2)) AS r(k, n) ORDER BY k, n",
    );
    assert_eq!(
        rows(&session, "SELECT length(k), n, v FROM t ORDER BY k, n"),
        ["0|1|NULL", "0|2|v", "100000|1|NULL", "1|1|NULL", "1|2|v"]
    );
    // One zero and one NaN, whatever their signs; the last record of a key is stored.
    rows(
        &session,
        "CREATE TABLE f (PRIMARY KEY (k)) AS SELECT k, v FROM (VALUES
         (-1.0, 1), (-0.0, 2), (0.0, 3), (1.0, 4)) AS r(k, v) ORDER BY v",
    );
    assert_eq!(
        rows(&session, "SELECT k, v FROM f ORDER BY v"),
        ["-1.0|1", "0.0|3", "1.0|4"]
    );
    // A record that is refused leaves no table, wherever it comes.
    for refused in [0, 4999] {
        let query = format!(
            "CREATE TABLE x (PRIMARY KEY (k)) AS SELECT CASE value WHEN {refused} THEN NULL ELSE value END AS k, 1 AS v
             FROM range(5000) ORDER BY value"
        );
        let error = try_rows(&session, &query).expect_err("a key is missing");
        assert!(error.to_string().contains("give it one"), "{error}");
        assert!(source.table("x").is_err());
    }
    let labelled = "CREATE TABLE x (PRIMARY KEY (k)) WITH (label = 'l') AS
         SELECT value AS k, CASE value WHEN 3000 THEN 'a&' END AS l FROM range(5000) ORDER BY value";
    let error = try_rows(&session, labelled).expect_err("a label is malformed");
    assert!(
        error.to_string().contains("not a valid expression"),
        "{error}"
    );
    assert!(source.table("x").is_err());
}

/// The constraints of a namespace hold for its new tables.
#[test]
fn new_tables_obey_constraints() {
    let source = store();
    source.create_namespace("n").unwrap();
    let constraint = (
        "table.constraint.2".to_owned(),
        Some("org.apache.accumulo.examples.constraints.AlphaNumKeyConstraint".to_owned()),
    );
    source
        .change_properties(PropertyOwner::Namespace("n"), None, &[constraint])
        .unwrap();
    let session = session(&source);
    let create = |name: &str, key: &str| {
        try_rows(
            &session,
            &format!("CREATE TABLE n.{name} (PRIMARY KEY (k)) AS SELECT '{key}' AS k, 'v' AS v"),
        )
    };
    create("good", "abc").unwrap();
    create("bad", "a b").expect_err("the constraint refuses the key");
    assert!(source.table("n.bad").is_err());
}

/// Also where the clock stands still, and where the writer sees neither record.
#[test]
fn what_is_inserted_into_a_new_table_is_newer() {
    let components = Components {
        vfs: MemoryVfs::shared(),
        clock: Arc::new(ManualClock::new(1_700_000_000_000)),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let source: Arc<dyn Source> =
        Store::open_with(components, Path::new("/store"), options).unwrap();
    let writer = session(&source);
    let reader = session_of(&source, &["A", "B", "C"]);
    for (at, label) in ["A", "B", "C"].into_iter().enumerate() {
        rows(
            &writer,
            &format!(
                "CREATE TABLE t{at} (PRIMARY KEY (k)) WITH (label = 'l') AS SELECT 1 AS k, 'old' AS a, 'B' AS l"
            ),
        );
        rows(
            &writer,
            &format!("INSERT INTO t{at} VALUES (1, 'new', '{label}')"),
        );
        assert_eq!(
            rows(&reader, &format!("SELECT a, l FROM t{at}")),
            [format!("new|{label}")]
        );
    }
}

/// A record whose cells do not come in one batch of a scan.
#[test]
fn records_of_any_size_are_read() {
    let source = store();
    let session = session_of(&source, &["A", "B"]);
    rows(
        &session,
        "CREATE TABLE t (PRIMARY KEY (k, n)) WITH (label = 'l') AS SELECT 'key' AS k, value AS n,
         repeat('a', 400000) || CAST(value AS VARCHAR) AS a, CAST(value AS VARCHAR) AS b,
         repeat('c', 700000) || CAST(value AS VARCHAR) AS c, CASE value % 2 WHEN 0 THEN value END AS d,
         CASE value % 3 WHEN 0 THEN 'A' ELSE 'B' END AS l FROM range(12) ORDER BY value",
    );
    let expected: Vec<String> = (0..12)
        .map(|at| {
            let end = at.to_string();
            let (a, c) = (400_000 + end.len(), 700_000 + end.len());
            let d = match at % 2 {
                0 => end.clone(),
                _ => "NULL".to_owned(),
            };
            let label = if at % 3 == 0 { "A" } else { "B" };
            format!("key|{at}|{a}|{end}|{end}|{c}|{end}|{d}|{label}")
        })
        .collect();
    let found = rows(
        &session,
        "SELECT k, n, length(a), replace(a, 'a', ''), b, length(c), replace(c, 'c', ''), d, l FROM t ORDER BY n",
    );
    assert_eq!(found, expected);
    // With few of its columns, and with none.
    let ends: Vec<String> = (0..12).map(|at| at.to_string()).collect();
    assert_eq!(rows(&session, "SELECT b FROM t ORDER BY n"), ends);
    assert_eq!(rows(&session, "SELECT n FROM t ORDER BY n"), ends);
    assert_eq!(rows(&session, "SELECT count(*), count(d) FROM t"), ["12|6"]);
}
