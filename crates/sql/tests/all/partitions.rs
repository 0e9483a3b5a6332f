//! Tables that are read in parts: how many there may be, how much of them is in memory, and what they tell.

use std::fmt::Write as _;

use ostrakon_cell::Authorizations;
use ostrakon_sql::{SqlOptions, SqlSession, Step};

use super::kit::{Entry, explain, rows, session, store, table};

fn with_options(
    source: &std::sync::Arc<dyn ostrakon_cell::Source>,
    options: SqlOptions,
) -> SqlSession {
    SqlSession::new(source.clone(), Authorizations::default(), options).unwrap()
}

/// More than a runtime has threads for blocking work, which is 512. The merge needs rows of all of them.
#[test]
fn a_query_may_have_more_parts_than_there_are_threads() {
    let source = store();
    let maker = session(&source);
    rows(&maker, "CREATE TABLE t (k BIGINT, PRIMARY KEY (k))");
    rows(&maker, "INSERT INTO t SELECT value FROM range(18000)");
    let splits: Vec<Vec<u8>> = (1..4)
        .map(|part| {
            let mut row = Vec::new();
            ostrakon_cell::lexicoder::encode_i64(part * 4500, &mut row);
            row
        })
        .collect();
    source.table("t").unwrap().add_splits(&splits).unwrap();
    let session = with_options(
        &source,
        SqlOptions {
            threads: 4,
            // Batches of 1024 rows, so that the parts have more of them than wait.
            memory_bytes: 32 << 20,
            sees_layout: true,
            ..SqlOptions::default()
        },
    );
    assert!(explain(&session, "SELECT k FROM t").contains("partitions=4"));
    let mut union = "SELECT k FROM t".to_owned();
    for _ in 1..150 {
        union.push_str(" UNION ALL SELECT k FROM t");
    }
    let query = format!("SELECT k FROM ({union}) ORDER BY k");
    let mut found = session.query_blocking(&query).unwrap();
    let mut count = 0;
    loop {
        match found
            .next_within(std::time::Duration::from_mins(1))
            .unwrap()
        {
            Step::Rows(batch) => count += batch.num_rows(),
            Step::Waiting => panic!("the query waits after {count} rows"),
            Step::End => break,
        }
    }
    assert_eq!(count, 150 * 18_000);
}

/// Beside the memory of the query, so that they are small if that is small, or if there are many parts.
#[test]
fn batches_of_large_values_are_bounded_by_the_memory_of_the_query() {
    let source = store();
    rows(
        &session(&source),
        "CREATE TABLE t (k BIGINT, v VARCHAR, PRIMARY KEY (k))",
    );
    rows(
        &session(&source),
        "INSERT INTO t SELECT value, repeat('x', 50000) FROM range(200)",
    );
    for (relation, memory_bytes, most) in [
        ("t", 16 << 20, 1 << 20),
        ("t", 64 << 20, 4 << 20),
        ("cells.t", 8 << 20, 512 << 10),
    ] {
        let options = SqlOptions {
            threads: 1,
            memory_bytes,
            ..SqlOptions::default()
        };
        let session = with_options(&source, options);
        let column = relation.strip_prefix("cells").map_or("v", |_| "value");
        let query = format!("SELECT {column} FROM {relation}");
        let mut count = 0;
        for batch in session.query_blocking(&query).unwrap() {
            let batch = batch.unwrap();
            let bytes = batch.num_rows() * 50_000;
            assert!(
                bytes <= most + 50_000,
                "{relation}: {bytes} bytes with {memory_bytes}"
            );
            count += batch.num_rows();
        }
        assert_eq!(count, 200, "{relation}");
    }
}

/// Otherwise the number of parts would tell how much is hidden.
#[test]
fn plans_are_the_same_whatever_is_hidden_from_a_reader() {
    let mut plans = Vec::new();
    for hidden in [0, 100_000] {
        let source = store();
        let rows: Vec<String> = (0..hidden).map(|row| format!("{row:06}")).collect();
        let mut entries: Vec<Entry<'_>> = vec![(b"000000", b"f", b"q", "", 1, b"open")];
        let concealed = rows.iter();
        entries.extend(concealed.map(|row| {
            let entry: Entry<'_> = (row.as_bytes(), b"f", b"hidden", "secret", 1, b"x");
            entry
        }));
        table(&source, "t", &[], &entries);
        let reader = with_options(
            &source,
            SqlOptions {
                threads: 4,
                ..SqlOptions::default()
            },
        );
        let mut shown = String::new();
        for query in [
            "SELECT * FROM t",
            "SELECT value, count(*) FROM t GROUP BY value",
        ] {
            writeln!(shown, "{}", explain(&reader, query)).unwrap();
        }
        plans.push(shown);
    }
    assert_eq!(plans.first(), plans.last());
}
