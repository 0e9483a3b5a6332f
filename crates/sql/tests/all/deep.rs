//! Long and deep expressions: planned in a time that does not explode, or refused, and never by a stack that overflows.

use std::time::{Duration, Instant};

use super::kit::{rows, session, store, try_rows};

#[test]
fn long_rows_of_operators_are_planned_fast() {
    let session = session(&store());
    rows(
        &session,
        "CREATE TABLE t (i BIGINT, s VARCHAR, f DOUBLE, PRIMARY KEY (i))",
    );
    rows(&session, "INSERT INTO t VALUES (2, 'x', 0.5)");
    let of = |operator: &str, term: &str, terms: usize| vec![term; terms].join(operator);
    let mut slow = Vec::new();
    for (expression, value) in [
        (of(" + ", "i", 480), "960"),
        (of(" - i + ", "i", 240), "2"),
        (of(" + ", "i * i", 240), "960"),
        (format!("length({})", of(" || ", "s", 400)), "400"),
        (of(" + ", "f", 480), "240.0"),
        (of(" / f * ", "f", 200), "0.5"),
        (of(" + ", "abs(i)", 240), "480"),
    ] {
        let begun = Instant::now();
        let query = format!("SELECT {expression} AS v FROM t WHERE {expression} = {value}");
        assert_eq!(rows(&session, &query), [value]);
        let taken = begun.elapsed();
        if taken > Duration::from_secs(20) {
            let begin: String = expression.chars().take(30).collect();
            slow.push(format!("{taken:?}: {begin}…"));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn deep_statements_are_answered_or_refused() {
    let session = session(&store());
    rows(&session, "CREATE TABLE t (i BIGINT, PRIMARY KEY (i))");
    rows(&session, "INSERT INTO t VALUES (1)");
    let wrapped = |before: &str, inner: &str, after: &str, depth: usize| {
        format!("{}{inner}{}", before.repeat(depth), after.repeat(depth))
    };
    for depth in [10, 40, 100, 200, 480, 3000, 20_000] {
        let expressions = [
            wrapped("(", "i", ")", depth),
            wrapped("(i + ", "i", ")", depth),
            wrapped("abs(", "i", ")", depth),
            wrapped("- ", "i", "", depth),
            wrapped("NOT ", "(i = 1)", "", depth),
            wrapped("CASE WHEN i = 1 THEN ", "i", " END", depth),
            wrapped("(SELECT ", "1", ")", depth),
            wrapped("struct(", "i", ", i)", depth),
        ];
        let mut statements: Vec<String> = expressions
            .iter()
            .map(|expression| format!("SELECT {expression} AS v FROM t"))
            .collect();
        statements.push(wrapped("SELECT * FROM (", "SELECT 1 AS i", ") x", depth));
        let inner = "SELECT 1 AS i FROM t";
        statements.push(wrapped("SELECT i FROM t WHERE i IN (", inner, ")", depth));
        statements.push(wrapped("SELECT i FROM t WHERE EXISTS (", inner, ")", depth));
        for statement in statements {
            let begun = Instant::now();
            let outcome = try_rows(&session, &statement);
            let taken = begun.elapsed();
            let start: String = statement.chars().take(60).collect();
            match outcome {
                Ok(rows) => assert_eq!(rows.len(), 1, "{depth}: {start}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(depth >= 40, "{depth}: {start}: {error}");
                    assert!(error.len() < 1000, "{depth}: {start}: {error}");
                    assert!(!error.contains("recursion"), "{depth}: {start}: {error}");
                }
            }
            assert!(
                taken < Duration::from_secs(20),
                "{depth}: {start}: {taken:?}"
            );
        }
    }
}

/// A named window is written out at each of its uses, and may have a query with such windows.
#[test]
fn windows_within_windows_are_refused_before_they_are_too_many() {
    let session = session(&store());
    let uses = vec!["sum(y) OVER w"; 30].join("+");
    let mut inner = "1".to_owned();
    for _ in 0..5 {
        inner = format!(
            "(SELECT max(n) FROM (SELECT {uses} AS n FROM (VALUES (1)) s(y) WINDOW w AS (ORDER BY {inner})) q)"
        );
    }
    let begun = Instant::now();
    let error = try_rows(&session, &format!("SELECT {inner}")).unwrap_err();
    assert!(error.to_string().contains("named window"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// Items that are computed stay items: as a row of alternatives, so many would be as deep as they are many.
#[test]
fn long_lists_of_computed_items_are_planned() {
    let session = session(&store());
    rows(&session, "CREATE TABLE t (i BIGINT, PRIMARY KEY (i))");
    rows(&session, "INSERT INTO t VALUES (1), (5000)");
    let items: Vec<String> = (0..4000)
        .map(|at| format!("CASE WHEN i > 9 THEN i - {at} END"))
        .collect();
    let query = format!("SELECT i FROM t WHERE 1001 IN ({})", items.join(", "));
    let begun = Instant::now();
    assert_eq!(rows(&session, &query), ["5000"]);
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(60), "{taken:?}");
}

/// Each level has twice the values of the one below.
#[test]
fn nested_values_that_double_are_refused() {
    let session = session(&store());
    let mut query = "WITH a0 AS (SELECT 1 AS s)".to_owned();
    for level in 1..30 {
        let below = level - 1;
        query += &format!(", a{level} AS (SELECT struct(s, s) AS s FROM a{below})");
    }
    query += " SELECT s FROM a29";
    let begun = Instant::now();
    let error = try_rows(&session, &query)
        .expect_err("too large")
        .to_string();
    assert!(error.contains("struct"), "{error}");
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(20), "{taken:?}");
    assert_eq!(
        rows(&session, "SELECT struct(1, 'a') AS s"),
        ["{c0: 1, c1: a}"]
    );
}
