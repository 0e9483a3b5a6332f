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

/// What cannot spill counts, too: the side of a join that is kept, and what aggregates without groups keep.
#[test]
fn joins_and_aggregates_that_cannot_spill_fail() {
    let source = store();
    let options = SqlOptions {
        threads: 1,
        memory_bytes: 8 << 20,
        ..SqlOptions::default()
    };
    let small = SqlSession::new(source.clone(), Authorizations::default(), options).unwrap();
    let many = "(SELECT value AS k, repeat('x', 80) || value AS v FROM range(200000))";
    for query in [
        format!("SELECT count(a.v || b.v) FROM {many} a CROSS JOIN {many} b"),
        format!("SELECT count(a.v || b.v) FROM {many} a JOIN {many} b ON a.k = b.k"),
        format!("SELECT count(a.v) FROM {many} a FULL JOIN {many} b ON a.v = b.v AND a.k < b.k"),
        format!("SELECT count(DISTINCT k), count(DISTINCT v) FROM {many} a"),
        format!("SELECT length(string_agg(v, ',')) FROM {many} a"),
        format!("SELECT array_agg(v) FROM {many} a"),
        format!(
            "SELECT median(k), median(k + 1), median(k * 2), median(-k), median(k % 7), median(k % 8) FROM {many} a"
        ),
        format!(
            "SELECT percentile_cont(k, 0.3), median(k), percentile_cont(k + 1, 0.3), median(k + 1), percentile_cont(-k, 0.3), median(k % 7) FROM {many} a"
        ),
    ] {
        let error = try_rows(&small, &query).expect_err(&query).to_string();
        assert!(error.contains("needs more memory"), "{query}: {error}");
    }
    // Parts of one side are kept, and the other side is read for each of them.
    let (a, b) = (many, "(SELECT value AS k FROM range(3))");
    let query = format!("SELECT count(a.v || b.k) FROM {a} a JOIN {b} b ON a.k < b.k");
    assert_eq!(rows(&small, &query), ["3"]);
    // A sketch, and the extremes, have one size.
    let query = format!(
        "SELECT approx_distinct(v) > 150000, max(k), approx_median(k) > 90000 FROM {many} a"
    );
    assert_eq!(rows(&small, &query), ["true|199999|true"]);
}

/// Allocations that fail end the process, so none depends on a number in a statement alone.
#[test]
fn functions_return_a_share_of_the_memory_at_most() {
    let source = store();
    let options = SqlOptions {
        threads: 1,
        memory_bytes: 32 << 20,
        ..SqlOptions::default()
    };
    let small = SqlSession::new(source, Authorizations::default(), options).unwrap();
    rows(
        &small,
        "CREATE TABLE w (k BIGINT, v VARCHAR, n BIGINT, PRIMARY KEY (k))",
    );
    rows(
        &small,
        "INSERT INTO w SELECT value, repeat('ab', 1000), 100000000 FROM range(2000)",
    );
    let doubled = |expression: &str| {
        let mut query = "SELECT v AS c0 FROM w".to_owned();
        for level in 0..12 {
            let expression = expression.replace('#', &format!("c{level}"));
            query = format!("SELECT {expression} AS c{} FROM ({query})", level + 1);
        }
        format!("SELECT max(length(c12)) FROM ({query})")
    };
    for (function, query) in [
        ("repeat", "SELECT length(repeat('x', 2000000000))".to_owned()),
        ("repeat", "SELECT max(length(repeat(v, n))) FROM w".to_owned()),
        ("repeat", "SELECT max(length(repeat(v, 9223372036854775807))) FROM w".to_owned()),
        ("lpad", "SELECT length(lpad('x', 2000000000))".to_owned()),
        ("rpad", "SELECT max(length(rpad(v, n, 'ü'))) FROM w".to_owned()),
        ("replace", "SELECT max(length(replace(v, 'a', repeat(v, 100)))) FROM w".to_owned()),
        ("replace", "SELECT max(length(replace(v, '', repeat('y', 100000)))) FROM w".to_owned()),
        ("regexp_replace", "SELECT max(length(regexp_replace(v, 'a', repeat(v, 100), 'g'))) FROM w".to_owned()),
        ("regexp_replace", "SELECT max(length(regexp_replace(v, '(.*)', repeat('\\1', 30000)))) FROM w".to_owned()),
        ("regexp_match", format!("SELECT count(regexp_match(v, '{}.*{}')) FROM w", "(".repeat(100), ")".repeat(100))),
        ("concat", doubled("concat(#, #)")),
        ("concat_ws", doubled("concat_ws('-', #, #)")),
        ("||", doubled("# || #")),
        ("encode", doubled("encode(CAST(# AS BYTEA), 'hex')")),
        ("overlay", doubled("overlay(# PLACING # FROM length(#))")),
        ("to_char", "SELECT max(length(to_char(to_timestamp(k), repeat('%Y', 3000000)))) FROM w".to_owned()),
        ("||", "SELECT max(length(x)) FROM (SELECT (SELECT max(i.v) FROM w i WHERE i.k = o.k) || repeat(o.v, 3000) AS x FROM w o)".to_owned()),
    ] {
        let error = try_rows(&small, &query).expect_err(&query).to_string();
        let named = error.contains(&format!("`{function}`")) || error.contains("`repeat`");
        assert!(named && error.contains("the limit is 8388608"), "{query}: {error}");
    }
    for query in [
        "SELECT CAST(array_agg(k) AS BIGINT[2000000000]) FROM w",
        "SELECT CAST(NULL AS BIGINT[2000000000][])",
        // The arguments are computed while the statement is planned.
        "SELECT count(*) FROM range(length(repeat('x', 2000000000)))",
        "SELECT arrow_cast(array_agg(k), 'FixedSizeList(2000000000, Int64)') FROM w",
        "SELECT arrow_try_cast(k, 'FixedSizeBinary(2000000000)') FROM w",
        "SELECT approx_percentile_cont(k, 0.5, 4000000000) FROM w",
        "SELECT approx_percentile_cont(0.5, 40000 * 100000) WITHIN GROUP (ORDER BY k) FROM w",
    ] {
        let error = try_rows(&small, query).expect_err(query).to_string();
        assert!(!error.contains("panicked"), "{query}: {error}");
    }
    // Long constants are not copied for thousands of rows at once.
    assert_eq!(
        rows(
            &small,
            "SELECT count(*), sum(length(v)) FROM (SELECT repeat('x', 1000000) AS v, k FROM w LIMIT 500) WHERE k >= 0"
        ),
        ["500|500000000"]
    );
    // What fits is as before.
    for (query, expected) in [
        ("SELECT length(repeat('x', 1000000))", "1000000"),
        (
            "SELECT 'a' || NULL, 'a' || 1, 'a' || 'b' || 'c'",
            "NULL|a1|abc",
        ),
        (
            "SELECT concat('a', NULL, 'b'), concat_ws('-', 'a', NULL, 'b')",
            "ab|a-b",
        ),
        (
            "SELECT lpad('x', 3), rpad('x', 3, 'ü'), rpad('xyz', 2), lpad('x', -1), repeat('x', -1)",
            "  x|xüü|xy||",
        ),
        (
            "SELECT replace('aXbX', 'X', '--'), overlay('abc' PLACING 'X' FROM 2), encode(X'00ff', 'hex')",
            "a--b--|aXc|00ff",
        ),
        (
            "SELECT sum(length(replace(v, 'a', 'abc'))), sum(length(regexp_replace(v, '(a)', '\\1x', 'g'))) FROM w",
            "8000000|6000000",
        ),
        (
            "SELECT max(v || k || v) = repeat('ab', 1000) || 9 || repeat('ab', 1000) FROM w",
            "true",
        ),
        (
            "SELECT regexp_match('abc', '(b)(c)'), to_char(DATE '2024-02-03', '%Y')",
            "[b, c]|2024",
        ),
    ] {
        assert_eq!(rows(&small, query), [expected], "{query}");
    }
}

/// Programs that clean up temporary files remove the directory.
#[test]
fn sessions_spill_again_when_their_directory_was_removed() {
    let source = store();
    let numbers = "(SELECT value AS k, repeat('x', 100) || CAST(value * 7919 % 200000 AS VARCHAR) AS v FROM range(200000)) n";
    let query = format!(
        "SELECT count(*), sum(n * (k % 7)) FROM (SELECT k, v, row_number() OVER (ORDER BY v, k) AS n FROM {numbers})"
    );
    let expected = rows(&session(&source), &query);
    let directory = tempfile::tempdir().unwrap();
    for temporary in [Some(directory.path().join("named")), None] {
        let options = SqlOptions {
            threads: 2,
            memory_bytes: 16 << 20,
            temporary: temporary.clone(),
            ..SqlOptions::default()
        };
        let small = SqlSession::new(source.clone(), Authorizations::default(), options).unwrap();
        for _ in 0..2 {
            assert_eq!(rows(&small, &query), expected);
            // That of the process belongs to other tests, too.
            if let Some(directory) = &temporary {
                std::fs::remove_dir_all(directory).unwrap();
            }
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
