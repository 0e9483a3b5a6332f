//! The memory of windows is that of the query: what does not fit ends it, and what need not be kept is not.

use std::sync::Arc;

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
    let source = store();
    let filler = session(&source);
    rows(
        &filler,
        "CREATE TABLE n (k BIGINT PRIMARY KEY, p BIGINT, v VARCHAR)",
    );
    rows(
        &filler,
        "INSERT INTO n SELECT value, value / 1000, repeat('x', 80) || value FROM range(100000)",
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
    ] {
        let error = try_rows(&small, query).expect_err(query).to_string();
        let limit = format!("`{function}` would return");
        assert!(error.contains(&limit), "{query}: {error}");
    }
}
