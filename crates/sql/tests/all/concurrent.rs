//! Statements of several threads that change one table.

use std::sync::Barrier;

use ostrakon_cell::{ErrorKind, Source, TableOptions};

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

/// What one UPDATE has read does not change until it has written, and a record that is gone stays so.
#[test]
fn updates_do_not_miss_each_other() {
    const EACH: usize = 25;
    let source = store();
    rows(
        &session(&source),
        "CREATE TABLE r (k BIGINT PRIMARY KEY, n BIGINT, m BIGINT)",
    );
    rows(
        &session(&source),
        "INSERT INTO r VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0)",
    );
    let step = |statement: &str| {
        let session = session(&source);
        for _ in 0..EACH {
            rows(&session, statement);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| step("UPDATE r SET n = n + 1"));
        scope.spawn(|| step("UPDATE r SET n = n + 1, m = n WHERE k < 3"));
        scope.spawn(|| step("UPDATE r SET n = n + 1 WHERE m >= 0"));
        // Records that are replaced meanwhile are whole.
        scope.spawn(|| step("INSERT INTO r SELECT 4, 7, 7"));
        scope.spawn(|| step("DELETE FROM r WHERE k = 4 AND n <> m"));
    });
    let all = session(&source);
    let many = EACH;
    assert_eq!(
        rows(&all, "SELECT k, n FROM r WHERE k < 4 ORDER BY k"),
        [
            format!("1|{}", 3 * many),
            format!("2|{}", 3 * many),
            format!("3|{}", 2 * many)
        ]
    );
    // One that is given up keeps nobody waiting.
    drop(all.query_blocking("UPDATE r SET n = n").unwrap());
    rows(&all, "DELETE FROM r WHERE k = 2");
    assert_eq!(
        rows(&all, "SELECT count(*) FROM r WHERE k < 4 AND n > 0"),
        ["2"]
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

const MARK: &str = "table.custom.ostrakon.unfinished";

/// A table as a killed statement leaves it.
fn leave(source: &dyn Source, name: &str, mark: &str) {
    let mut options = TableOptions::default();
    options.properties.insert(MARK.to_owned(), mark.to_owned());
    source.create_table(name, &options).unwrap();
}

fn names(source: &dyn Source) -> Vec<String> {
    let tables = source.tables().unwrap().into_iter();
    tables.map(|table| table.name).collect()
}

/// What a killed process leaves.
#[test]
fn unfinished_tables_are_hidden_and_deleted_by_the_next_statement() {
    let source = store();
    source.create_namespace("space").unwrap();
    leave(&*source, "unfinished__7", "unfinished__7 dst");
    leave(&*source, "unfinished__1", "unfinished__1 other");
    leave(&*source, "space.unfinished__7", "unfinished__7 dst");
    let session = session(&source);
    assert!(session.tables().unwrap().is_empty());
    assert!(
        rows(
            &session,
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )
        .is_empty()
    );
    for statement in [
        "SELECT * FROM unfinished__7",
        "INSERT INTO unfinished__7 VALUES (1)",
        "CREATE TABLE absent.dst (PRIMARY KEY (k)) AS SELECT 1 AS k",
        "CREATE TABLE \"d-t\" (PRIMARY KEY (k)) AS SELECT 1 AS k",
    ] {
        let error = try_rows(&session, statement).expect_err(statement);
        let shows = error.to_string().contains("unfinished");
        assert_eq!(shows, statement.contains("unfinished"), "{error}");
    }
    let create = |name| format!("CREATE TABLE {name} (PRIMARY KEY (k)) AS SELECT 1 AS k");
    rows(&session, &create("dst"));
    let left = ["dst", "space.unfinished__7", "unfinished__1"];
    assert_eq!(names(&*source), left);
    rows(&session, &create("space.dst"));
    assert_eq!(names(&*source), ["dst", "space.dst", "unfinished__1"]);
    for name in ["dst", "space.dst"] {
        let properties = source.table(name).unwrap().properties().unwrap();
        assert!(!properties.contains_key(MARK), "{name}");
    }
}

/// Only tables that a statement of SQL has made and not finished are hidden and deleted.
#[test]
fn tables_that_are_only_called_unfinished_are_kept() {
    let source = store();
    let session = session(&source);
    let kept = [
        "unfinished__2",
        "unfinished__2024__report",
        "unfinished__3",
        "unfinished__x",
    ];
    for name in ["unfinished__2", "unfinished__2024__report", "unfinished__x"] {
        let options = TableOptions::default();
        source.create_table(name, &options).unwrap();
    }
    // A mark that came with a new name.
    leave(&*source, "unfinished__3", "unfinished__4 report");
    assert_eq!(session.tables().unwrap(), kept);
    assert!(rows(&session, "SELECT * FROM unfinished__2024__report").is_empty());
    rows(
        &session,
        "CREATE TABLE report (PRIMARY KEY (a)) AS SELECT 1 AS a, 2 AS b",
    );
    assert_eq!(names(&*source)[1..], kept);
    assert_eq!(rows(&session, "SELECT a, b FROM report"), ["1|2"]);
}

/// A statement that fills a table takes the names that one without a query takes.
#[test]
fn filled_tables_have_long_names() {
    let source = store();
    let session = session(&source);
    let create = |length: usize| {
        let name = "n".repeat(length);
        format!("CREATE TABLE {name} (PRIMARY KEY (k)) AS SELECT 1 AS k")
    };
    rows(&session, &create(1024));
    assert_eq!(names(&*source), ["n".repeat(1024)]);
    let error = try_rows(&session, &create(1025)).unwrap_err();
    assert!(!error.to_string().contains("unfinished"), "{error}");
    assert_eq!(names(&*source).len(), 1);
}
