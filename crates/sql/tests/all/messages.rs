//! What errors say: the column and the value, and nothing of the engine's own names.

use ostrakon_sql::{SqlSession, SqlValue, parse_statements};

use super::kit::{rows, session, store, try_rows};

fn table(session: &SqlSession) {
    rows(
        session,
        "CREATE TABLE t (k BIGINT, v BIGINT, d DATE, b BOOLEAN, f DOUBLE, at TIMESTAMP, PRIMARY KEY (k))",
    );
    rows(
        session,
        "CREATE TABLE texts (k BIGINT, s VARCHAR, PRIMARY KEY (k))",
    );
}

fn refusal(session: &SqlSession, statement: &str) -> String {
    try_rows(session, statement)
        .expect_err(statement)
        .to_string()
}

#[test]
fn tables_without_a_schema_are_not_dropped() {
    let source = store();
    source
        .create_table("entries", &ostrakon_cell::TableOptions::default())
        .unwrap();
    let session = session(&source);
    for statement in ["DROP TABLE entries", "DROP TABLE IF EXISTS entries"] {
        let error = try_rows(&session, statement).unwrap_err().to_string();
        assert!(error.contains("has no schema"), "{error}");
    }
    assert!(source.table("entries").is_ok());
    rows(&session, "DROP TABLE IF EXISTS missing");
}

/// A cast that the statement has is the user's conversion, in VALUES as in a query; the one to the column's type is not.
#[test]
fn values_are_cast_where_the_statement_says_so() {
    let session = session(&store());
    rows(
        &session,
        "CREATE TABLE t (k BIGINT, d DATE, PRIMARY KEY (k))",
    );
    let noon = "TIMESTAMP '2024-01-01 12:00:00'";
    for number in [
        "CAST(1.9 AS BIGINT)",
        "1.9::BIGINT",
        "(CAST(CAST(1.9 AS DOUBLE) AS BIGINT))",
    ] {
        for form in ["VALUES ({})", "SELECT {}"] {
            let row = form.replace("{}", &format!("{number}, CAST({noon} AS DATE)"));
            rows(&session, &format!("INSERT INTO t {row}"));
            assert_eq!(rows(&session, "SELECT * FROM t"), ["1|2024-01-01"], "{row}");
            rows(&session, "DELETE FROM t");
            for row in [
                "1.9",
                "CAST(1.9 AS DOUBLE)",
                "CAST(CAST(1.9 AS FLOAT) AS DOUBLE)",
            ] {
                let statement = format!("INSERT INTO t (k) {}", form.replace("{}", row));
                let said = refusal(&session, &statement);
                assert!(said.contains("cannot hold"), "{statement}: {said}");
            }
        }
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_with_its_column_in_every_insert() {
    let source = store();
    let session = session(&source);
    table(&session);
    for (column, value) in [
        ("k", "1.9"),
        ("v", "1.9"),
        ("v", "x"),
        ("d", "abc"),
        ("b", "maybe"),
        ("f", "x"),
        ("at", "noon"),
        ("at", "2024-01-01T00:00:00.1234567"),
    ] {
        rows(&session, "DELETE FROM texts");
        rows(
            &session,
            &format!("INSERT INTO texts VALUES (1, '{value}')"),
        );
        let columns = match column {
            "k" => "(k)".to_owned(),
            other => format!("({other}, k)"),
        };
        let key = if column == "k" { "" } else { ", 7" };
        let statements = [
            format!("INSERT INTO t {columns} VALUES ('{value}'{key})"),
            format!("INSERT INTO t {columns} SELECT '{value}'{key}"),
            format!("INSERT INTO t {columns} SELECT s{key} FROM texts"),
        ];
        for statement in statements {
            let said = refusal(&session, &statement);
            for part in [format!("column: {column}"), format!("value: {value}")] {
                assert!(said.contains(&part), "{statement}: {said}");
            }
        }
        let statement = format!("INSERT INTO t {columns} VALUES (?{key})");
        let statement = parse_statements(&statement).unwrap().pop().unwrap();
        let bound = statement.bind(&[SqlValue::Text(value.to_owned())]).unwrap();
        let said = match session.execute_blocking(bound) {
            Err(error) => error.to_string(),
            Ok(rows) => {
                let mut errors = rows.filter_map(Result::err);
                errors.next().expect("it does not fit").to_string()
            }
        };
        assert!(said.contains(&format!("column: {column}")), "{said}");
        assert!(said.contains(&format!("value: {value}")), "{said}");
    }
    let said = refusal(&session, "INSERT INTO t (k, v) VALUES (7, '1'), (8, 'x')");
    assert!(
        said.contains("column: v") && said.contains("value: x"),
        "{said}"
    );
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn nanoseconds_are_stored_as_they_are_or_refused() {
    let source = store();
    let session = session(&source);
    table(&session);
    for value in [
        "TIMESTAMP '2024-01-01T00:00:00.123456789'",
        "'2024-01-01T00:00:00.123456789'",
    ] {
        let said = refusal(
            &session,
            &format!("INSERT INTO t (k, at) VALUES (7, {value})"),
        );
        assert!(said.contains("column: at"), "{said}");
        let exact = value.replace("789", "000");
        rows(
            &session,
            &format!("INSERT INTO t (k, at) VALUES (7, {exact})"),
        );
        let query = "SELECT CAST(at AS VARCHAR) FROM t";
        assert_eq!(rows(&session, query), ["2024-01-01T00:00:00.123456"]);
    }
}

#[test]
fn subqueries_run_or_are_refused_in_words_of_sql() {
    let source = store();
    let session = session(&source);
    table(&session);
    rows(&session, "INSERT INTO t (k, v) VALUES (1, 3), (2, 5)");
    rows(&session, "INSERT INTO texts VALUES (1, 'a'), (2, 'b')");
    for (query, expected) in [
        (
            "SELECT k FROM t WHERE v = 3 OR k IN (SELECT DISTINCT k + 1 FROM texts) ORDER BY k",
            &["1", "2"][..],
        ),
        (
            "SELECT k FROM t WHERE v = 5 OR k NOT IN (SELECT DISTINCT k + 1 FROM texts) ORDER BY k",
            &["1", "2"],
        ),
        (
            "SELECT k FROM t WHERE k IN (SELECT DISTINCT k + 1 FROM texts WHERE texts.k < t.k)",
            &["2"],
        ),
    ] {
        assert_eq!(rows(&session, query), expected, "{query}");
    }
    for (query, advice) in [
        (
            "SELECT k, (SELECT DISTINCT texts.k FROM texts WHERE texts.k = t.k) AS x FROM t",
            "DISTINCT inside of a subquery",
        ),
        (
            "SELECT k, (SELECT DISTINCT texts.k FROM texts WHERE texts.k = t.k) FROM t",
            "DISTINCT inside of a subquery",
        ),
        (
            "SELECT k, (SELECT texts.k + 1 FROM texts WHERE texts.k > t.k) FROM t",
            "aggregate it",
        ),
        (
            "SELECT sum((SELECT max(x.k) FROM texts x WHERE x.k = t.k)) FROM t",
            "inside of an aggregate",
        ),
        (
            "SELECT count(*) FROM t JOIN texts ON texts.k = (SELECT max(x.k) FROM texts x WHERE x.k = t.k)",
            "not in ON",
        ),
    ] {
        for query in [
            query.to_owned(),
            format!("EXPLAIN {query}"),
            format!("EXPLAIN VERBOSE {query}"),
        ] {
            let said = refusal(&session, &query);
            assert!(said.contains(advice), "{query}: {said}");
            for own in ["__", "Projection", "Scalar", "scalar subquery", "plan node"] {
                assert!(!said.contains(own), "{query}: {said}");
            }
        }
    }
}

/// The habits of users of other databases: each error says what to write here.
#[test]
fn habits_from_other_databases_get_a_next_step() {
    let source = store();
    let session = session(&source);
    table(&session);
    for (statement, expected) in [
        ("UPDATE t SET v = s.v FROM t s", "UPDATE takes one table"),
        (
            "COPY t FROM 'x.csv'",
            "INSERT INTO table SELECT * FROM 'FILE'",
        ),
        ("COPY t TO 'x.csv'", "--output FILE"),
        ("CREATE VIEW w AS SELECT 1", "there are no views"),
        ("CREATE INDEX i ON t (v)", "there are no indexes"),
        ("BEGIN", "there are no transactions"),
        ("SHOW CREATE TABLE t", "DESCRIBE table"),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT (k) DO NOTHING",
            "to keep those that are there",
        ),
        (
            "INSERT INTO t VALUES (1) ON CONFLICT (k) DO UPDATE SET v = 2",
            "INSERT replaces the record with the same key",
        ),
        ("SELECT * FROM read_xlsx('odd.xlsx')", "FROM 'data.csv'"),
        ("SELECT strftime(at, '%Y') FROM t", "to_char"),
        ("SELECT time_bucket(at) FROM t", "date_bin"),
        ("SELECT [1, 2]", "arrays cannot be constructed"),
        ("SELECT k FROM t LIMIT ?", "no values were given"),
        (
            "SELECT nope FROM generate_series(1, 3)",
            "No field named nope",
        ),
        ("SELECT a.k FROM t a JOIN t b USING (nope)", "nope"),
        ("SELECT v FROM t WHERE v SIMILAR TO '1'", "use LIKE"),
        ("SELECT count(*) FROM t JOIN texts", "CROSS JOIN"),
        ("FROM t", "SELECT * FROM"),
    ] {
        let said = refusal(&session, statement);
        assert!(said.contains(expected), "{statement}: {said}");
        for engine in ["ParserError", "feature", "Placeholder", "inside of another"] {
            assert!(!said.contains(engine), "{statement}: {said}");
        }
    }
    let said = refusal(&session, "SELECT a FROM t WHERE a = \\");
    assert!(
        !said.contains("ParserError") && !said.contains("\\\\"),
        "{said}"
    );
}

#[test]
fn errors_of_statements_say_what_to_write() {
    let source = store();
    let session = session(&source);
    table(&session);
    for (statement, advice) in [
        ("EXPLAIN DELETE FROM t WHERE v = 1", "explain the SELECT"),
        ("EXPLAIN INSERT INTO t (k) VALUES (1)", "explain the SELECT"),
        ("EXPLAIN ANALYZE UPDATE t SET v = 1", "explain the SELECT"),
        ("SELECT v FROM t a JOIN t b USING (k)", "as in `relation.v`"),
        (
            "CREATE TABLE u (k UUID, PRIMARY KEY (k))",
            "there is no type UUID: use BIGINT",
        ),
    ] {
        let said = refusal(&session, statement);
        assert!(said.contains(advice), "{statement}: {said}");
    }
}

#[test]
fn bytes_have_the_names_that_other_systems_give_them() {
    let source = store();
    let session = session(&source);
    for name in ["BYTEA", "BINARY", "VARBINARY", "BLOB"] {
        rows(
            &session,
            &format!("CREATE TABLE b (k {name}, v {name}, PRIMARY KEY (k))"),
        );
        rows(&session, "INSERT INTO b VALUES ('a', x'00ff')");
        assert_eq!(
            rows(
                &session,
                &format!("SELECT encode(v, 'hex') FROM b WHERE k = CAST('a' AS {name})")
            ),
            ["00ff"]
        );
        let described = rows(&session, "DESCRIBE b");
        assert!(
            described.iter().all(|row| row.contains("BYTEA")),
            "{described:?}"
        );
        rows(&session, "DROP TABLE b");
    }
}

#[test]
fn what_the_engine_cannot_do_is_answered_with_what_to_write() {
    let source = store();
    let session = session(&source);
    table(&session);
    for (statement, advice) in [
        (
            "SELECT k * INTERVAL '1 day' FROM t",
            "CAST(n || ' days' AS INTERVAL)",
        ),
        (
            "SELECT INTERVAL '1 day' / 2",
            "CAST(n || ' days' AS INTERVAL)",
        ),
        (
            "SELECT k FROM t WHERE (k, v) IN (SELECT k, v FROM t)",
            "write EXISTS",
        ),
        (
            "INSERT INTO t (k) VALUES (1) RETURNING k",
            "select the records by their keys",
        ),
        ("SELECT s COLLATE \"C\" FROM texts", "ordered by its bytes"),
        (
            "SELECT * FROM texts PIVOT (max(k) FOR s IN ('a'))",
            "FILTER (WHERE",
        ),
    ] {
        let said = refusal(&session, statement);
        assert!(said.contains(advice), "{statement}: {said}");
    }
    let days = "SELECT DATE '2024-01-01' + CAST(column1 || ' days' AS INTERVAL) AS day FROM (VALUES (1), (31)) v";
    assert_eq!(rows(&session, days).len(), 2);
}

/// The engine would answer all of these, or show its own parts.
#[test]
fn windows_that_have_no_meaning_are_refused() {
    let session = session(&store());
    let values = "(VALUES (1, 1.5, 'a'), (2, 2.5, 'b')) v(k, d, s)";
    for (window, reason) in [
        (
            "count(*) OVER (ORDER BY s RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
            "a number or a time",
        ),
        (
            "count(*) OVER (ORDER BY k > 1 RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
            "a number or a time",
        ),
        (
            "sum(k) OVER (ORDER BY CAST(k AS DOUBLE) RANGE BETWEEN 'NaN' PRECEDING AND CURRENT ROW)",
            "not NaN",
        ),
        ("lag(k, NULL) OVER (ORDER BY k)", "not NULL"),
        ("rank()", "window function: write rank(…) OVER"),
    ] {
        let said = refusal(&session, &format!("SELECT {window} FROM {values}"));
        assert!(said.contains(reason), "{window}: {said}");
    }
    let said = refusal(
        &session,
        &format!("SELECT k FROM {values} WHERE row_number() OVER (ORDER BY k) = 1"),
    );
    assert!(
        said.contains("QUALIFY") && !said.contains("WindowUDF"),
        "{said}"
    );
    let query = format!(
        "SELECT regr_count(d, k) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS moving, \
         regr_count(DISTINCT d, k) OVER (ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS growing FROM {values}"
    );
    assert_eq!(rows(&session, &query), ["0|0", "1|1"]);
}
