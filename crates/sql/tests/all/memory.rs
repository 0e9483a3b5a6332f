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

/// Of many times their memory, on two threads, whose sorts and merges share it.
#[test]
fn sorts_and_groups_spill_with_little_memory() {
    let source = store();
    let long = "repeat('x', 100) || CAST(value * 7919 % 200000 AS VARCHAR) AS v";
    let numbers = format!("(SELECT value AS k, {long} FROM range(200000)) n");
    let sorted = format!(
        "SELECT count(*), sum(n * (k % 7)) FROM (SELECT k, v, row_number() OVER (ORDER BY v, k) AS n FROM {numbers})"
    );
    let grouped =
        format!("SELECT count(*), sum(c) FROM (SELECT v, count(*) AS c FROM {numbers} GROUP BY v)");
    let expected = [&sorted, &grouped].map(|query| rows(&session(&source), query));
    for memory_bytes in [16 << 20, 24 << 20, 48 << 20] {
        let options = SqlOptions {
            threads: 2,
            memory_bytes,
            ..SqlOptions::default()
        };
        let small = SqlSession::new(source.clone(), Authorizations::default(), options).unwrap();
        for (query, expected) in [&sorted, &grouped].into_iter().zip(&expected) {
            let found = try_rows(&small, query);
            let found = found.unwrap_or_else(|error| panic!("{memory_bytes} bytes: {error}"));
            assert_eq!(found, *expected, "{memory_bytes} bytes: {query}");
        }
    }
}

/// Other users of the machine cannot read what a query spills, without a setting.
#[test]
#[cfg(unix)]
fn temporary_files_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let session = session(&store());
    let prefix = format!("ostrakon-sql-{}-", std::process::id());
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap();
    let modes = entries.filter_map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name();
        let is_own = name.to_str().is_some_and(|name| name.starts_with(&prefix));
        let found = entry.metadata().ok().filter(|_| is_own)?;
        found.is_dir().then(|| found.permissions().mode() & 0o777)
    });
    // That of sessions which just ended may be there, too.
    let modes: Vec<u32> = modes.collect();
    assert!(
        !modes.is_empty() && modes.iter().all(|mode| *mode == 0o700),
        "{modes:?}"
    );
    drop(session);
}
