//! The memory of windows is that of the query: what does not fit ends it, and what need not be kept is not.

use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::{Authorizations, Source};
use ostrakon_sql::{SqlOptions, SqlSession};

use super::kit::{rows, session, store, try_rows};

const MEMORY: usize = 4 << 20;

fn small(source: &Arc<dyn Source>) -> SqlSession {
    let options = SqlOptions {
        threads: 1,
        memory_bytes: MEMORY,
        ..SqlOptions::default()
    };
    SqlSession::new(source.clone(), Authorizations::default(), options).unwrap()
}

/// Some 100 bytes for each of 100,000 rows, in the order of `k`.
fn table() -> Arc<dyn Source> {
    table_of(100_000)
}

fn table_of(count: u32) -> Arc<dyn Source> {
    let source = store();
    let filler = session(&source);
    rows(
        &filler,
        "CREATE TABLE n (k BIGINT PRIMARY KEY, p BIGINT, v VARCHAR)",
    );
    rows(
        &filler,
        &format!(
            "INSERT INTO n SELECT value, value / 1000, repeat('x', 80) || value FROM range({count})"
        ),
    );
    source
}

#[test]
fn windows_end_when_the_memory_is_used_up() {
    let source = table();
    let small = small(&source);
    for window in [
        // Whole partitions.
        "count(v) OVER ()",
        "ntile(4) OVER (ORDER BY k)",
        "max(v) OVER (PARTITION BY k >= 0)",
        // Rows that frames need.
        "sum(length(v)) OVER (ORDER BY k ROWS BETWEEN 60000 PRECEDING AND CURRENT ROW)",
        "lag(v, 60000) OVER (ORDER BY k)",
        "first_value(v) OVER (ORDER BY k RANGE BETWEEN 60000 PRECEDING AND CURRENT ROW)",
        "count(v) OVER (ORDER BY k / 60000)",
        // What accumulators keep.
        "avg(CAST(k AS DOUBLE)) OVER (ORDER BY k ROWS BETWEEN 60000 PRECEDING AND CURRENT ROW)",
        "median(k) OVER (ORDER BY k ROWS BETWEEN 60000 PRECEDING AND 1 PRECEDING)",
        "min(k) OVER (ORDER BY k ROWS BETWEEN CURRENT ROW AND 60000 FOLLOWING)",
        "count(DISTINCT v) OVER (ORDER BY k)",
        "count(DISTINCT k) OVER (ORDER BY k ROWS BETWEEN 60000 PRECEDING AND CURRENT ROW)",
    ] {
        let query = format!("SELECT k, v, {window} FROM n");
        let error = try_rows(&small, &query).expect_err(window).to_string();
        assert!(error.contains("more memory"), "{window}: {error}");
        assert!(
            error.contains("a window needs") && error.contains(&MEMORY.to_string()),
            "{window}: {error}"
        );
    }
}

#[test]
fn windows_keep_only_the_rows_that_they_need() {
    let source = table();
    let (small, large) = (small(&source), session(&source));
    for window in [
        "sum(k) OVER (ORDER BY k)",
        "rank() OVER (ORDER BY k)",
        "max(v) OVER (ORDER BY k)",
        "lag(v, 3) OVER (ORDER BY k)",
        "lead(v) OVER (ORDER BY k)",
        "avg(CAST(k AS DOUBLE)) OVER (ORDER BY k ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)",
        "array_agg(k) OVER (ORDER BY k ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)",
        "median(k) OVER (ORDER BY k RANGE BETWEEN 100 PRECEDING AND CURRENT ROW)",
        // A partition after the other.
        "count(v) OVER (PARTITION BY p)",
        "ntile(4) OVER (PARTITION BY p ORDER BY k)",
        "last_value(v) OVER (PARTITION BY p ORDER BY k ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
        "sum(k) OVER (PARTITION BY k % 7 ORDER BY k)",
        "row_number() OVER (PARTITION BY v ORDER BY k)",
    ] {
        let query = format!(
            "SELECT count(w), sum(length(CAST(w AS VARCHAR))), max(k) FROM (SELECT {window} AS w, k, v FROM n) q"
        );
        let found = try_rows(&small, &query).unwrap_or_else(|error| panic!("{window}: {error}"));
        assert_eq!(found, rows(&large, &query), "{window}");
    }
}

/// The result of each row has all rows before it, or the longest value of its partition.
#[test]
fn long_results_of_windows_have_the_limit_of_a_call() {
    let source = table();
    let small = small(&source);
    for (function, query) in [
        ("array_agg", "SELECT array_agg(k) OVER (ORDER BY k) FROM n"),
        (
            "string_agg",
            "SELECT string_agg(v, '') OVER (ORDER BY k ROWS UNBOUNDED PRECEDING) FROM n",
        ),
        (
            "max",
            "SELECT max(CASE WHEN k % 1000 = 0 THEN repeat(v, 20) END) OVER (PARTITION BY p) FROM n",
        ),
        (
            "array_agg",
            "SELECT array_agg(k) OVER (PARTITION BY p) FROM n",
        ),
        // Of the small partitions of a batch together.
        (
            "array_agg",
            "SELECT array_agg(v) OVER (PARTITION BY k / 100) FROM n WHERE k < 1000",
        ),
    ] {
        let error = try_rows(&small, query).expect_err(query).to_string();
        let limit = format!("`{function}` would return");
        assert!(error.contains(&limit), "{query}: {error}");
    }
}

/// In the other order than the table, the engine would compute the functions from the rows after each one. So all rows would
/// be kept, as they would for values that come late or are NULL.
#[test]
fn frames_that_grow_do_not_keep_the_partition() {
    let source = table_of(6_000);
    let (small, large) = (small(&source), session(&source));
    for (windows, order) in [
        (
            "sum(k) OVER w, count(*) OVER w, min(k) OVER w, length(first_value(v) OVER w), length(nth_value(v, 3) OVER w)",
            "k DESC",
        ),
        (
            "last_value(nullif(k % 2, 0)) IGNORE NULLS OVER w, last_value(CASE WHEN k = 5 THEN k END) IGNORE NULLS OVER w, nth_value(k, 1000) OVER w, nth_value(nullif(k % 3, 0), 700) IGNORE NULLS OVER w, first_value(nullif(k, 0)) IGNORE NULLS OVER w",
            "k",
        ),
        // Texts whose bytes are apart from the rows.
        (
            "length(lag(t, 3) OVER w), length(lead(t) OVER w), length(max(t) OVER w), length(first_value(t) OVER w), length(max(t) OVER (w ROWS 100 PRECEDING))",
            "k",
        ),
    ] {
        let query = format!(
            "SELECT sum(a), sum(b), sum(c), sum(d), sum(e), max(v) FROM (SELECT v, {windows} FROM (SELECT k, repeat(v, 10) AS v, CAST(repeat(v, 10) AS VARCHAR) AS t FROM n) m WINDOW w AS (ORDER BY {order})) q(v, a, b, c, d, e)"
        );
        let found = try_rows(&small, &query).unwrap_or_else(|error| panic!("{windows}: {error}"));
        assert_eq!(found, rows(&large, &query), "{windows}");
    }
}

/// The results of all rows with one key are computed at once, and each takes more memory than such a row.
#[test]
fn results_that_are_computed_at_once_count() {
    let small = small(&store());
    let query = "SELECT sum(c) FROM (SELECT count(*) OVER (ORDER BY k / 200000) AS c FROM (SELECT value AS k FROM range(70000)) n) q";
    let error = try_rows(&small, query).expect_err(query).to_string();
    assert!(error.contains("a window needs"), "{error}");
    // Groups of rows, each of which is known by its key.
    let query = "SELECT sum(c) FROM (SELECT count(*) OVER (ORDER BY k GROUPS BETWEEN 40000 PRECEDING AND CURRENT ROW) AS c FROM (SELECT value AS k FROM range(60000)) n) q";
    let error = try_rows(&small, query).expect_err(query).to_string();
    assert!(error.contains("a window needs"), "{error}");
    // Nothing is collected for functions that return a column.
    let ranked = "SELECT max(r), min(r) FROM (SELECT percent_rank() OVER (ORDER BY k) AS r FROM (SELECT value AS k FROM range(70000)) n) q";
    assert_eq!(rows(&small, ranked), ["1.0|0.0"]);
}

/// A list of a row is a part of the list of all values of the batch.
#[test]
fn lists_count_once_in_frames() {
    let small = small(&store());
    for function in [
        "max(l) OVER (ORDER BY k ROWS BETWEEN 1000 PRECEDING AND CURRENT ROW)",
        "count(DISTINCT arrow_cast(v, 'Dictionary(Int32, Utf8)')) OVER (ORDER BY k ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)",
    ] {
        let query = format!(
            "SELECT count(c) FROM (SELECT {function} AS c FROM (SELECT k, max(v) AS v, array_agg(k) AS l FROM (SELECT value AS k, repeat('x', 80) || value AS v FROM range(2000)) n GROUP BY k) m) q"
        );
        let found = try_rows(&small, &query).unwrap_or_else(|error| panic!("{function}: {error}"));
        assert_eq!(found, ["2000"], "{function}");
    }
}

/// The parts of a union may differ in whether their columns can be NULL.
#[test]
fn unions_have_windows() {
    let session = session(&store());
    let union = "(SELECT CAST(NULL AS BIGINT) AS x FROM range(3) UNION ALL SELECT 1 FROM range(2))";
    for (window, expected) in [
        ("count(*) OVER ()", "25|5|1"),
        (
            "count(*) OVER (ORDER BY x RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING)",
            "9|3|1",
        ),
        ("sum(x) OVER (PARTITION BY x)", "4|2|1"),
    ] {
        let query = format!(
            "SELECT sum(c), count(nullif(c, 0)), max(x) FROM (SELECT x, {window} AS c FROM {union} u) q"
        );
        assert_eq!(rows(&session, &query), [expected], "{window}");
    }
}

/// Sums of distinct numbers are added in one order, on which the last digits depend.
#[test]
fn sums_of_distinct_numbers_are_the_same_each_time() {
    let session = session(&store());
    let query = "SELECT sum(DISTINCT x) OVER (ORDER BY k ROWS BETWEEN 30 PRECEDING AND CURRENT ROW) FROM (SELECT value AS k, sin(value) * power(10, value % 9) AS x FROM range(200)) n ORDER BY k";
    let first = rows(&session, query);
    for _ in 0..4 {
        assert_eq!(rows(&session, query), first);
    }
}

/// Frames that grow, of rows that are all needed for a result or that have one key.
#[test]
fn twice_as_many_rows_take_about_twice_as_long() {
    let session = session(&store());
    for (window, count) in [
        ("count(*) OVER (ORDER BY k / 1000000)", 60_000),
        ("median(k) OVER (ORDER BY k)", 15_000),
        (
            "last_value(nullif(k % 2, 0)) IGNORE NULLS OVER (ORDER BY k)",
            40_000,
        ),
    ] {
        let seconds = |count: u32| {
            let query = format!(
                "SELECT count(w) FROM (SELECT {window} AS w FROM (SELECT value AS k FROM range({count})) n) q"
            );
            let begun = Instant::now();
            rows(&session, &query);
            begun.elapsed().as_secs_f64()
        };
        // Other tests run at the same time.
        let is_linear = || seconds(2 * count) < 3.0 * seconds(count);
        assert!((0..4).any(|_| is_linear()), "{window}");
    }
}
