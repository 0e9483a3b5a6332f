//! Statements of several threads that change one table.

use std::sync::Barrier;

use ostrakon_cell::{ErrorKind, TableOptions};

use super::kit::{rows, session, session_of, store, try_rows};

/// A reader finds the cells of one INSERT, also of two with one key at once.
#[test]
fn records_of_one_key_are_not_mixed() {
    const KEYS: usize = 100;
    let source = store();
    rows(
        &session(&source),
        "CREATE TABLE r (k BIGINT PRIMARY KEY, v VARCHAR, u VARCHAR, l VARCHAR) WITH (label = 'l')",
    );
    let start = Barrier::new(3);
    let insert = |values: &str, many: usize| {
        let session = session_of(&source, &["secret"]);
        for key in 0..KEYS {
            start.wait();
            let keys: Vec<String> = (0..many)
                .map(|at| values.replace('K', &(key * many + at).to_string()))
                .collect();
            rows(
                &session,
                &format!("INSERT INTO r VALUES {}", keys.join(", ")),
            );
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| insert("(K, 'public', NULL, '')", 3));
        scope.spawn(|| insert("(K, NULL, 'secret', 'secret')", 3));
        // The same label, and a record that has only its key.
        scope.spawn(|| insert("(K, NULL, NULL, '')", 3));
    });
    let all = session_of(&source, &["secret"]);
    assert_eq!(
        rows(&all, "SELECT count(*), count(DISTINCT k) FROM r"),
        ["300|300"]
    );
    assert_eq!(
        rows(
            &all,
            "SELECT * FROM r WHERE v IS NOT NULL AND u IS NOT NULL"
        ),
        [""; 0]
    );
}

/// A record that is deleted while it is replaced is gone or whole.
#[test]
fn records_are_deleted_as_a_whole() {
    let source = store();
    rows(
        &session(&source),
        "CREATE TABLE r (k BIGINT PRIMARY KEY, v VARCHAR, u VARCHAR)",
    );
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = session(&source);
            for _ in 0..50 {
                start.wait();
                rows(
                    &session,
                    "INSERT INTO r VALUES (1, 'v', 'u'), (2, 'v', 'u')",
                );
            }
        });
        scope.spawn(|| {
            let session = session(&source);
            for _ in 0..50 {
                start.wait();
                rows(&session, "DELETE FROM r WHERE k > 0");
            }
        });
    });
    assert_eq!(
        rows(
            &session(&source),
            "SELECT * FROM r WHERE v IS NULL OR u IS NULL"
        ),
        [""; 0]
    );
}

const FAILS: &str = "CREATE TABLE dst (k BIGINT, v BIGINT, PRIMARY KEY (k)) AS \
                     SELECT value, CAST(CASE WHEN value = 39999 THEN 'x' ELSE '1' END AS BIGINT) FROM range(40000)";

#[test]
fn a_table_is_there_once_it_is_filled() {
    let source = store();
    let other = session(&source);
    let mut accepted = 0;
    std::thread::scope(|scope| {
        let fill = scope.spawn(|| try_rows(&session(&source), FAILS));
        while !fill.is_finished() {
            accepted += u32::from(try_rows(&other, "INSERT INTO dst VALUES (1000000, 1)").is_ok());
        }
        assert!(fill.join().unwrap().is_err());
    });
    // An acknowledged record would have been deleted with the table.
    assert_eq!(accepted, 0);
    assert_eq!(source.tables().unwrap(), []);
    let filled = FAILS.replace("'x'", "'2'");
    std::thread::scope(|scope| {
        let fill = scope.spawn(|| rows(&session(&source), &filled));
        while !fill.is_finished() {
            if let Ok(found) = try_rows(&other, "SELECT count(*) FROM dst") {
                assert_eq!(found, ["40000"]);
            }
        }
    });
    assert_eq!(rows(&other, "SELECT count(*) FROM dst"), ["40000"]);
}

#[test]
fn a_table_that_another_statement_creates_meanwhile_stays() {
    let source = store();
    let first = session(&source);
    let filled = FAILS.replace("'x'", "'2'");
    for (fill, is_error) in [
        (filled.clone(), true),
        (
            filled.replace("TABLE dst", "TABLE IF NOT EXISTS dst"),
            false,
        ),
    ] {
        // It is created when it is planned, and filled when its rows are read.
        let mut waiting = first.query_blocking(&fill).unwrap();
        assert_eq!(first.tables().unwrap(), [""; 0]);
        rows(&first, "CREATE TABLE dst (k BIGINT PRIMARY KEY)");
        rows(&first, "INSERT INTO dst VALUES (7)");
        let outcome = waiting.try_for_each(|rows| rows.map(drop));
        let kind = outcome.map_err(|error| error.kind());
        let expected = match is_error {
            true => Err(ErrorKind::AlreadyExists),
            false => Ok(()),
        };
        assert_eq!(kind, expected);
        drop(waiting);
        assert_eq!(rows(&first, "SELECT k FROM dst"), ["7"]);
        assert_eq!(source.tables().unwrap().len(), 1);
        rows(&first, "DROP TABLE dst");
    }
}

/// What a killed process leaves.
#[test]
fn unfinished_tables_are_hidden_and_deleted_by_the_next_statement() {
    let source = store();
    source.create_namespace("space").unwrap();
    let names = || -> Vec<String> {
        let tables = source.tables().unwrap().into_iter();
        tables.map(|table| table.name).collect()
    };
    for name in [
        "unfinished__7__dst",
        "unfinished__1__other",
        "unfinished__x__dst",
        "space.unfinished__7__dst",
    ] {
        source.create_table(name, &TableOptions::default()).unwrap();
    }
    let session = session(&source);
    assert_eq!(session.tables().unwrap(), ["unfinished__x__dst"]);
    for statement in [
        "SELECT * FROM unfinished__7__dst",
        "CREATE TABLE unfinished__8__x (k BIGINT PRIMARY KEY)",
        "CREATE TABLE unfinished__8__x (PRIMARY KEY (k)) AS SELECT 1 AS k",
        "CREATE TABLE absent.dst (PRIMARY KEY (k)) AS SELECT 1 AS k",
        "CREATE TABLE \"d-t\" (PRIMARY KEY (k)) AS SELECT 1 AS k",
    ] {
        let error = try_rows(&session, statement).expect_err(statement);
        let shows = error.to_string().contains("unfinished");
        assert_eq!(shows, statement.contains("unfinished"), "{error}");
    }
    rows(
        &session,
        "CREATE TABLE dst (PRIMARY KEY (k)) AS SELECT 1 AS k",
    );
    assert_eq!(
        names(),
        [
            "dst",
            "space.unfinished__7__dst",
            "unfinished__1__other",
            "unfinished__x__dst"
        ]
    );
    rows(
        &session,
        "CREATE TABLE space.dst (PRIMARY KEY (k)) AS SELECT 1 AS k",
    );
    assert_eq!(
        names(),
        [
            "dst",
            "space.dst",
            "unfinished__1__other",
            "unfinished__x__dst"
        ]
    );
}
