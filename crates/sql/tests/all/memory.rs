//! Queries stay within their memory: they spill, or fail with an error.

use ostrakon_cell::Authorizations;
use ostrakon_sql::{SqlOptions, SqlSession};

use super::kit::{rows, session, store, try_rows};

#[test]
fn large_sorts_spill_and_what_cannot_spill_fails() {
    let source = store();
    rows(
        &session(&source),
        "CREATE TABLE n (k BIGINT, v VARCHAR, PRIMARY KEY (k))",
    );
    rows(
        &session(&source),
        "INSERT INTO n SELECT value, repeat('x', 50) || CAST(value * 7919 % 40009 AS VARCHAR) FROM generate_series(1, 40000)",
    );
    let small = |memory_bytes| {
        let options = SqlOptions {
            threads: 1,
            memory_bytes,
            ..SqlOptions::default()
        };
        SqlSession::new(source.clone(), Authorizations::default(), options).unwrap()
    };
    let query = "SELECT v, k FROM n ORDER BY v DESC, k";
    let sorted = rows(&session(&source), query);
    assert_eq!(sorted.len(), 40_000);
    assert_eq!(rows(&small(2 << 20), query), sorted);
    let error = try_rows(&small(16 << 10), query).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
}
