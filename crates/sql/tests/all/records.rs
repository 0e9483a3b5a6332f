//! Tables with a schema as relations of records.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::lexicoder::{encode_f64, encode_i64, push_part};
use ostrakon_cell::{ColumnUpdate, Mutation, MutationBatch, Scanner, Source, TableOptions};
use ostrakon_store::clock::ManualClock;
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

use super::kit::{Entry, explain, rows, session, session_of, store, table, try_rows};

fn city() -> Arc<dyn Source> {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE city (name VARCHAR, people BIGINT, area DOUBLE, founded DATE, PRIMARY KEY (name))",
    );
    rows(
        &session,
        "INSERT INTO city VALUES ('bern', 134000, 51.6, DATE '1191-01-01'), ('basel', 173000, NULL, NULL), ('chur', NULL, 28.0, NULL)",
    );
    source
}

#[test]
fn records_come_back_as_they_were_written() {
    let session = session(&city());
    assert_eq!(
        rows(&session, "SELECT * FROM city ORDER BY name"),
        [
            "basel|173000|NULL|NULL",
            "bern|134000|51.6|1191-01-01",
            "chur|NULL|28.0|NULL"
        ]
    );
    assert_eq!(
        rows(&session, "SELECT people FROM city WHERE name = 'bern'"),
        ["134000"]
    );
    assert_eq!(
        rows(&session, "SELECT name FROM city WHERE people IS NULL"),
        ["chur"]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT count(*), count(people), sum(people) FROM city"
        ),
        ["3|2|307000"]
    );
}

#[test]
fn a_record_replaces_the_one_with_its_key() {
    let source = city();
    let session = session(&source);
    assert_eq!(
        rows(
            &session,
            "INSERT INTO city (name, area) VALUES ('bern', 52.0)"
        ),
        ["1"]
    );
    assert_eq!(
        rows(&session, "SELECT * FROM city WHERE name = 'bern'"),
        ["bern|NULL|52.0|NULL"]
    );
    // Of two records with one key in one statement, the second counts.
    assert_eq!(
        rows(
            &session,
            "INSERT INTO city (name, people) VALUES ('x', 1), ('x', 2), ('y', 3), ('x', NULL)"
        ),
        ["4"]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT name, people FROM city WHERE name >= 'x' ORDER BY name"
        ),
        ["x|NULL", "y|3"]
    );
    // The statement reads what was there before it.
    assert_eq!(
        rows(
            &session,
            "INSERT INTO city (name, people) SELECT name || name, people FROM city"
        ),
        ["5"]
    );
    assert_eq!(rows(&session, "SELECT count(*) FROM city"), ["10"]);
}

#[test]
fn records_without_values_exist() {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE t (a BIGINT, b BIGINT, c VARCHAR, PRIMARY KEY (b, a))",
    );
    rows(
        &session,
        "INSERT INTO t (a, b) VALUES (1, 2), (-1, 2), (5, -7)",
    );
    assert_eq!(
        rows(&session, "SELECT * FROM t ORDER BY b, a"),
        ["5|-7|NULL", "-1|2|NULL", "1|2|NULL"]
    );
    assert_eq!(rows(&session, "SELECT count(c), count(*) FROM t"), ["0|3"]);
    assert!(try_rows(&session, "INSERT INTO t (a, c) VALUES (1, 'x')").is_err());
    assert_eq!(rows(&session, "SELECT count(*) FROM t"), ["3"]);
}

#[test]
fn deletes_remove_whole_records() {
    let source = city();
    let session = session(&source);
    assert_eq!(
        rows(&session, "DELETE FROM city WHERE name = 'bern'"),
        ["1"]
    );
    assert_eq!(
        rows(&session, "DELETE FROM city WHERE people > 1000000"),
        ["0"]
    );
    assert_eq!(rows(&session, "DELETE FROM city WHERE area IS NULL"), ["1"]);
    assert_eq!(rows(&session, "SELECT name FROM city"), ["chur"]);
    assert_eq!(rows(&session, "DELETE FROM city"), ["1"]);
    assert!(
        Scanner::new(source.table("city").unwrap())
            .entries()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn labels_come_from_a_column_or_a_setting() {
    let source = store();
    let all = session_of(&source, &["a", "b"]);
    rows(
        &all,
        "CREATE TABLE t (k BIGINT, v VARCHAR, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')",
    );
    rows(
        &all,
        "INSERT INTO t VALUES (1, 'one', 'a'), (2, 'two', 'b'), (3, 'three', NULL)",
    );
    rows(&all, "SET label = 'a&b'");
    rows(&all, "INSERT INTO t (k, v) VALUES (4, 'four')");
    assert_eq!(
        rows(&all, "SELECT k, v, l FROM t ORDER BY k"),
        ["1|one|a", "2|two|b", "3|three|", "4|four|a&b"]
    );
    let a = session_of(&source, &["a"]);
    assert_eq!(rows(&a, "SELECT k FROM t ORDER BY k"), ["1", "3"]);
    // Who sees a record replaces it, under another label too.
    rows(&a, "INSERT INTO t VALUES (1, 'uno', '')");
    assert_eq!(rows(&all, "SELECT v, l FROM t WHERE k = 1"), ["uno|"]);
    // What one does not see stays.
    rows(&a, "INSERT INTO t VALUES (2, 'dos', 'a')");
    assert_eq!(rows(&a, "SELECT v FROM t WHERE k = 2"), ["dos"]);
    rows(&a, "DELETE FROM t WHERE k = 2");
    assert_eq!(rows(&all, "SELECT v FROM t WHERE k = 2"), ["two"]);
    assert!(try_rows(&all, "INSERT INTO t VALUES (9, 'x', 'a&')").is_err());
    assert!(try_rows(&all, "SET label = '|'").is_err());
}

/// A new value is as secret as the one before, and what the session does not see stays.
#[test]
fn an_update_keeps_labels() {
    let source = store();
    let all = session_of(&source, &["a", "b", "c"]);
    rows(
        &all,
        "CREATE TABLE t (k BIGINT, v BIGINT, w BIGINT, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')",
    );
    rows(
        &all,
        "INSERT INTO t VALUES (1, 1, NULL, 'a'), (2, 1, 2, 'b'), (3, NULL, NULL, 'b')",
    );
    // Another label for one column, whose cell is newer.
    let hidden = session_of(&source, &["c"]);
    rows(&hidden, "INSERT INTO t VALUES (1, NULL, 5, 'c')");
    // Column and label of each cell of a record.
    let labels = |record: usize| -> Vec<String> {
        let keys = rows(&all, "SELECT DISTINCT row FROM cells.t ORDER BY row");
        let cells = rows(
            &all,
            "SELECT row, qualifier, visibility FROM cells.t ORDER BY row, qualifier, visibility",
        );
        let key = format!("{}|", keys[record - 1]);
        let cells = cells.iter().filter_map(|cell| cell.strip_prefix(&key));
        cells.map(str::to_owned).collect()
    };
    rows(&all, "SET label = 'c'");
    rows(&all, "UPDATE t SET v = v + 10, w = coalesce(w, 0) + 1");
    assert_eq!(
        rows(&all, "SELECT k, v, w FROM t"),
        ["1|11|6", "2|11|3", "3|NULL|1"]
    );
    // Each value has the label of the one it replaces, and one in a new column that of its record.
    assert_eq!(labels(1), ["v|a", "w|c"]);
    assert_eq!(labels(2), ["v|b", "w|b"]);
    assert_eq!(labels(3), ["w|b&c"]);
    // A session changes what it sees.
    let a = session_of(&source, &["a"]);
    assert_eq!(rows(&a, "UPDATE t SET v = 0, w = 9"), ["1"]);
    assert_eq!(labels(1), ["v|a", "w|a", "w|c"]);
    assert_eq!(rows(&hidden, "SELECT k, v, w FROM t"), ["1|NULL|6"]);
    assert_eq!(rows(&a, "SELECT k, v, w FROM t"), ["1|0|9"]);
    // A NULL hides nothing of others, and the record stays visible to its reader.
    rows(&a, "UPDATE t SET v = NULL, w = NULL");
    assert_eq!(rows(&a, "SELECT * FROM t"), ["1|NULL|NULL|a"]);
    assert_eq!(
        rows(&all, "SELECT k, v, w FROM t WHERE k = 1"),
        ["1|NULL|6"]
    );
    // A new label is one for the whole record, as far as the session sees it.
    rows(&a, "UPDATE t SET v = 4");
    rows(&a, "UPDATE t SET l = 'b' WHERE k = 1");
    assert_eq!(rows(&a, "SELECT * FROM t"), [""; 0]);
    assert_eq!(labels(1), ["v|b", "w|c"]);
    let refused = try_rows(&all, "UPDATE t SET l = NULLIF('a', 'a') WHERE k = 1").unwrap_err();
    assert!(refused.to_string().contains("NULL"), "{refused}");
    rows(&all, "UPDATE t SET l = 'c', w = 8 WHERE k = 1");
    assert_eq!(labels(1), ["v|c", "w|c"]);
    assert_eq!(rows(&hidden, "SELECT * FROM t"), ["1|4|8|c"]);
    assert!(try_rows(&all, "UPDATE t SET l = 'a&'").is_err());
    // A record with only its key.
    rows(&all, "INSERT INTO t VALUES (4, NULL, NULL, 'a')");
    rows(&all, "UPDATE t SET l = 'b' WHERE k = 4");
    assert_eq!(labels(4), ["|b"]);
    rows(&all, "UPDATE t SET v = NULL WHERE k = 4");
    assert_eq!(labels(4), ["|b"]);
    rows(&all, "UPDATE t SET v = 1 WHERE k = 4");
    assert_eq!(labels(4), ["v|b&c"]);
}

/// A new label is that of all that is written, and `l = l` is none.
#[test]
fn an_update_publishes_nothing() {
    let source = store();
    let [all, public] = [&["hr"][..], &[]].map(|names| session_of(&source, names));
    rows(
        &all,
        "CREATE TABLE t (k BIGINT, name VARCHAR, salary BIGINT, bonus BIGINT, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')",
    );
    rows(
        &public,
        "INSERT INTO t VALUES (1, 'ann', NULL, NULL, ''), (2, 'bob', 20, NULL, ''), (3, 'cy', 30, NULL, '')",
    );
    rows(&all, "SET label = 'hr'");
    rows(&all, "UPDATE t SET salary = 100 WHERE k = 1");
    rows(&all, "UPDATE t SET name = 'eve' WHERE k = 1");
    // The column shows one of the labels of a record, which is none for its other cells.
    for set in [
        "l = CASE WHEN k = 2 THEN 'hr' ELSE l END",
        "l = coalesce(public.t.l, '')",
        "l = (SELECT max(l) FROM cells.t c WHERE c.visibility = t.l)",
        "l = l, l = 'a'",
    ] {
        assert!(
            try_rows(&all, &format!("UPDATE t SET {set}")).is_err(),
            "{set}"
        );
    }
    // A subquery that reads the table again is taken at its word.
    rows(
        &all,
        "UPDATE t SET l = (SELECT max(o.l) FROM t o WHERE o.k = t.k + 9) || 'hr' WHERE k = 9",
    );
    for set in [
        "l = l",
        "l = (public.t.l)",
        "l = (t.l)",
        "name = 'eva', l = l",
    ] {
        assert_eq!(
            rows(&all, &format!("UPDATE t SET {set} WHERE k = 1")),
            ["1"]
        );
    }
    assert_eq!(
        rows(&public, "SELECT name, salary FROM t WHERE k = 1"),
        ["eva|NULL"]
    );
    // The record shows this label already, but not all of its cells have it.
    rows(&all, "UPDATE t SET bonus = 5");
    rows(&all, "UPDATE t SET salary = 99999, l = 'hr' WHERE k = 2");
    rows(&all, "UPDATE t SET l = 'hr' WHERE k = 3");
    assert_eq!(rows(&public, "SELECT k FROM t"), ["1"]);
    assert_eq!(
        rows(&all, "SELECT k, name, salary, bonus FROM t WHERE k > 1"),
        ["2|bob|99999|5", "3|cy|30|5"]
    );
}

/// A value in a column that was NULL is as secret as all that its writer sees of the record.
#[test]
fn an_update_of_a_null_requires_all_labels_of_the_record() {
    let source = store();
    let all = session_of(&source, &["a", "b", "c"]);
    rows(
        &all,
        "CREATE TABLE t (k BIGINT, v BIGINT, w BIGINT, x BIGINT, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')",
    );
    for (held, values) in [
        (&["a"][..], "(1, 1, NULL, NULL, 'a|b')"),
        (&["c"], "(1, NULL, 2, NULL, 'c')"),
        (&["c"], "(2, 1, NULL, NULL, '')"),
        (&["a"], "(2, 1, 2, NULL, '')"),
    ] {
        rows(
            &session_of(&source, held),
            &format!("INSERT INTO t VALUES {values}"),
        );
    }
    rows(&all, "UPDATE t SET x = v + w");
    assert_eq!(
        rows(
            &all,
            "SELECT visibility, value FROM cells.t WHERE qualifier = 'x' ORDER BY row"
        ),
        [
            "(a|b)&c|\\x08\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x03",
            "|\\x08\\x80\\x00\\x00\\x00\\x00\\x00\\x00\\x03"
        ]
    );
    assert_eq!(
        rows(
            &session_of(&source, &["c"]),
            "SELECT k, v, w, x FROM t ORDER BY k"
        ),
        ["1|NULL|2|NULL", "2|1|2|3"]
    );
    // A column of such a value is like others: labels that are made of labels do not grow.
    for _ in 0..20 {
        rows(&all, "UPDATE t SET x = NULL WHERE k = 1");
        rows(&all, "UPDATE t SET v = NULL, x = 1 WHERE k = 1");
        rows(&all, "UPDATE t SET v = x WHERE k = 1");
    }
    assert_eq!(
        rows(
            &all,
            "SELECT DISTINCT visibility FROM cells.t WHERE qualifier <> 'w' AND visibility <> ''"
        ),
        ["(a|b)&c"]
    );
    // The label of the session is required, too.
    rows(&all, "SET label = 'a'");
    rows(&all, "UPDATE t SET x = NULL WHERE k = 2");
    rows(&all, "UPDATE t SET x = 3 WHERE k = 2");
    assert_eq!(
        rows(&session_of(&source, &["c"]), "SELECT x FROM t WHERE k = 2"),
        ["NULL"]
    );
    assert_eq!(
        rows(&session_of(&source, &["a"]), "SELECT x FROM t WHERE k = 2"),
        ["3"]
    );
    rows(&all, "SET label = ''");
    // With another label for cells without one.
    let change = (
        "table.security.scan.visibility.default".to_owned(),
        Some("b".to_owned()),
    );
    source
        .table("t")
        .unwrap()
        .modify_properties(&[change])
        .unwrap();
    rows(&all, "INSERT INTO t VALUES (3, 1, NULL, NULL, '')");
    rows(
        &session_of(&source, &["c"]),
        "INSERT INTO t VALUES (3, NULL, 2, NULL, 'c')",
    );
    rows(&all, "UPDATE t SET x = 7 WHERE k = 3");
    assert_eq!(
        rows(
            &session_of(&source, &["c"]),
            "SELECT k, x FROM t WHERE k = 3"
        ),
        ["3|NULL"]
    );
    assert_eq!(
        rows(
            &session_of(&source, &["b", "c"]),
            "SELECT k, x FROM t WHERE k = 3"
        ),
        ["3|7"]
    );
}

/// Of a statement that fails, nothing is written as long as its rows fit into memory.
#[test]
fn an_update_that_fails_changes_nothing() {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE t (PRIMARY KEY (k)) AS SELECT value AS k, 0 AS n FROM range(20000)",
    );
    let failed = try_rows(&session, "UPDATE t SET n = n + 1 + 0 / (k - 15000)").unwrap_err();
    assert!(!failed.to_string().contains("changed"), "{failed}");
    assert_eq!(rows(&session, "SELECT sum(n) FROM t"), ["0"]);
    assert_eq!(rows(&session, "UPDATE t SET n = n + 1"), ["20000"]);
    assert_eq!(rows(&session, "SELECT sum(n) FROM t"), ["20000"]);
    rows(
        &session,
        "CREATE TABLE l (k BIGINT, v BIGINT, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')",
    );
    rows(
        &session,
        "INSERT INTO l SELECT value, 1, '' FROM range(20000)",
    );
    for last in ["'a&&b'", "NULL"] {
        let update = format!("UPDATE l SET v = 0, l = CASE WHEN k < 19999 THEN '' ELSE {last} END");
        let failed = try_rows(&session, &update).unwrap_err();
        assert!(!failed.to_string().contains("changed"), "{failed}");
        assert_eq!(rows(&session, "SELECT sum(v) FROM l"), ["20000"]);
    }
}

/// Two values of one time under labels that their writer does not see: the last one counts.
#[test]
fn an_update_under_an_unseen_label_is_newer() {
    let source = store();
    let [all, none] = [&["a", "b"][..], &[]].map(|names| session_of(&source, names));
    rows(
        &none,
        "CREATE TABLE t (k BIGINT, v BIGINT, w BIGINT, PRIMARY KEY (k))",
    );
    rows(&none, "INSERT INTO t VALUES (1, NULL, 1)");
    // The clock of the table stands still behind an entry of the future.
    let table = source.table("t").unwrap();
    let mut batch = MutationBatch::new();
    let mut mutation = Mutation::new(b"later".to_vec());
    mutation
        .update(ColumnUpdate {
            timestamp: Some(4_000_000_000_000),
            value: Some(b"x"),
            ..ColumnUpdate::default()
        })
        .unwrap();
    batch.push(&mutation).unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
    for (label, value) in [("a", 1), ("b", 2), ("a", 3), ("b", 4)] {
        rows(&none, &format!("SET label = '{label}'"));
        rows(&none, &format!("UPDATE t SET v = {value} WHERE k = 1"));
        assert_eq!(
            rows(&all, "SELECT v FROM t WHERE k = 1"),
            [value.to_string()]
        );
    }
}

/// A cell that the reader may not see is a null; a row of which none is visible is no record.
#[test]
fn hidden_cells_are_nulls() {
    let source = store();
    let schema = r#"{"row":{"id":"text"},"columns":{"a":"text","f:b":"text"}}"#;
    let entries: [Entry<'_>; 6] = [
        (b"r1", b"", b"a", "", 1, b"x"),
        (b"r1", b"f", b"b", "s", 1, b"secret"),
        (b"r2", b"", b"a", "s", 1, b"hidden"),
        (b"r3", b"other", b"column", "", 1, b"z"),
        (b"r4", b"", b"a", "", 5, b"new"),
        (b"r4", b"", b"a", "s", 4, b"old"),
    ];
    table(&source, "t", &[b"r2"], &entries);
    let change = (
        "table.custom.ostrakon.schema".to_owned(),
        Some(schema.to_owned()),
    );
    source
        .table("t")
        .unwrap()
        .modify_properties(&[change])
        .unwrap();
    let reader = session(&source);
    assert_eq!(
        rows(&reader, "SELECT * FROM t ORDER BY id"),
        ["r1|x|NULL", "r3|NULL|NULL", "r4|new|NULL"]
    );
    assert_eq!(rows(&reader, "SELECT count(*) FROM t"), ["3"]);
    let all = session_of(&source, &["s"]);
    assert_eq!(
        rows(&all, r#"SELECT id, a, "f:b" FROM t ORDER BY id"#),
        [
            "r1|x|secret",
            "r2|hidden|NULL",
            "r3|NULL|NULL",
            "r4|new|NULL"
        ]
    );
    assert_eq!(rows(&all, "SELECT count(*) FROM cells.t"), ["6"]);
}

#[test]
fn plans_read_few_rows_and_columns() {
    let session = session(&city());
    let plan = explain(
        &session,
        "SELECT area FROM city WHERE name = 'bern' AND people > 5",
    );
    for part in ["columns=[area]", "rows='bern'", "tested=[name, people]"] {
        assert!(plan.contains(part), "{part}\n{plan}");
    }
    assert!(!plan.contains("FilterExec"), "{plan}");
    let plan = explain(&session, "SELECT * FROM city ORDER BY name LIMIT 2");
    assert!(
        plan.contains("limit=2") && !plan.contains("SortExec"),
        "{plan}"
    );
}

#[test]
fn a_large_table_is_read_by_several_threads() {
    let source = store();
    let session = session(&source);
    let numbers = "SELECT value AS number, value % 7 AS rest FROM range(100000)";
    rows(
        &session,
        &format!("CREATE TABLE numbers (PRIMARY KEY (number)) AS {numbers}"),
    );
    let sums = "SELECT rest, count(*), sum(number) FROM numbers GROUP BY rest ORDER BY rest";
    let plan = explain(&session, sums);
    assert!(plan.contains("partitions=2"), "{plan}");
    let expected = format!("SELECT rest, count(*), sum(number) FROM ({numbers}) GROUP BY rest");
    assert_eq!(
        rows(&session, sums),
        rows(&session, &format!("{expected} ORDER BY rest"))
    );
    // In the order of the key, a part after the other.
    let first = "SELECT number FROM numbers ORDER BY number LIMIT 3 OFFSET 49998";
    assert_eq!(rows(&session, first), ["49998", "49999", "50000"]);
    // As entries, too.
    let entries = "SELECT count(*) FROM cells.numbers WHERE qualifier = 'rest'";
    assert_eq!(rows(&session, entries), ["100000"]);
    let plan = explain(&session, "SELECT count(*) FROM cells.numbers");
    assert!(plan.contains("partitions=2"), "{plan}");
    // Few rows are read by one.
    let plan = explain(&session, "SELECT rest FROM numbers WHERE number < 5");
    assert!(!plan.contains("partitions"), "{plan}");
}

/// Also if the query's threads finish in another order.
#[test]
fn of_records_with_one_key_the_last_in_the_order_of_the_query_stays() {
    let source = store();
    let session = session(&source);
    let keys = 20_011;
    let query = format!(
        "SELECT (value * 7919) % {keys} AS k, CAST(value AS VARCHAR) AS s, value AS seq FROM generate_series(0, 59999)"
    );
    for order in ["seq", "seq DESC", "k, seq"] {
        for _ in 0..3 {
            rows(
                &session,
                "CREATE TABLE r (k BIGINT, s VARCHAR, seq BIGINT, PRIMARY KEY (k))",
            );
            let inserted = rows(&session, &format!("INSERT INTO r {query} ORDER BY {order}"));
            assert_eq!(inserted, ["60000"]);
            let wrong = match order {
                "seq DESC" => format!("seq >= {keys}"),
                _ => format!("seq < {}", 60_000 - keys),
            };
            let wrong =
                format!("SELECT count(*) FROM r WHERE {wrong} OR s <> CAST(seq AS VARCHAR)");
            assert_eq!(rows(&session, &wrong), ["0"], "{order}");
            assert_eq!(rows(&session, "SELECT count(*) FROM r"), [keys.to_string()]);
            rows(&session, "DROP TABLE r");
        }
    }
}

/// A record that was written just before is replaced as far as its writer may see it.
#[test]
fn repeated_keys_of_one_statement_keep_what_their_writer_does_not_see() {
    let source = store();
    let writer = session_of(&source, &["A"]);
    rows(
        &writer,
        "CREATE TABLE t (k BIGINT, a VARCHAR, b VARCHAR, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')",
    );
    // The first record of 1 is seen by its writer, that of 2 is not.
    rows(
        &writer,
        "INSERT INTO t VALUES (1, 'a1', 'b1', 'A'), (2, 'a1', 'b1', 'B'), (1, 'a2', NULL, 'A'), (2, 'a2', NULL, 'B'),
         (3, 'a1', 'b1', 'A'), (3, NULL, 'b2', 'B'), (4, 'old', NULL, 'B'), (4, 'new', NULL, 'C'), (4, 'last', NULL, 'D')",
    );
    // Of what stays, the newest counts.
    assert_eq!(
        rows(
            &session_of(&source, &["B", "C"]),
            "SELECT a, l FROM t WHERE k = 4"
        ),
        ["new|C"]
    );
    rows(
        &session_of(&source, &["B", "C", "D"]),
        "DELETE FROM t WHERE k = 4",
    );
    let all = session_of(&source, &["A", "B"]);
    assert_eq!(
        rows(&all, "SELECT k, a, b FROM t ORDER BY k"),
        ["1|a2|NULL", "2|a2|b1", "3|NULL|b2"]
    );
    // One after the other it is the same.
    let copy = "INSERT INTO t VALUES";
    rows(&all, "DELETE FROM t");
    for record in [
        "(1, 'a1', 'b1', 'A')",
        "(2, 'a1', 'b1', 'B')",
        "(1, 'a2', NULL, 'A')",
        "(2, 'a2', NULL, 'B')",
        "(3, 'a1', 'b1', 'A')",
        "(3, NULL, 'b2', 'B')",
    ] {
        rows(&writer, &format!("{copy} {record}"));
    }
    assert_eq!(
        rows(&all, "SELECT k, a, b FROM t ORDER BY k"),
        ["1|a2|NULL", "2|a2|b1", "3|NULL|b2"]
    );
}

#[test]
fn tables_are_created_from_queries_and_dropped() {
    let source = city();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE big (PRIMARY KEY (name)) AS SELECT people / 1000 AS thousands, name FROM city WHERE people > 0",
    );
    assert_eq!(
        rows(&session, "SELECT * FROM big ORDER BY name"),
        ["173|basel", "134|bern"]
    );
    for statement in [
        "CREATE TABLE big (a BIGINT, PRIMARY KEY (a))",
        "CREATE TABLE x (a BIGINT)",
        "CREATE TABLE x (a DECIMAL(5, 2), PRIMARY KEY (a))",
        "CREATE TABLE x (a BIGINT, PRIMARY KEY (a)) WITH (label = 'b')",
        "CREATE TABLE cells.x (a BIGINT, PRIMARY KEY (a))",
        "CREATE TABLE x (PRIMARY KEY (a)) AS SELECT CAST(name AS BIGINT) AS a FROM city",
        "DROP TABLE x",
        "INSERT INTO cells.city VALUES (1)",
    ] {
        assert!(try_rows(&session, statement).is_err(), "{statement}");
    }
    assert!(source.table("x").is_err());
    rows(
        &session,
        "CREATE TABLE IF NOT EXISTS big (a BIGINT, PRIMARY KEY (a))",
    );
    rows(&session, "DROP TABLE big");
    rows(&session, "DROP TABLE IF EXISTS big");
    assert!(source.table("big").is_err());
    source
        .create_table("raw", &TableOptions::default())
        .unwrap();
    assert!(
        try_rows(
            &session,
            "INSERT INTO raw VALUES ('r', 'f', 'q', '', 1, 'v')"
        )
        .is_err()
    );
}

/// The engine simplifies such conditions after it has pushed them down.
#[test]
fn conditions_that_are_simplified_late_still_hold() {
    let session = session(&store());
    rows(
        &session,
        "CREATE TABLE t (k BIGINT, b BOOLEAN, PRIMARY KEY (k))",
    );
    rows(
        &session,
        "INSERT INTO t VALUES (1, true), (2, false), (3, NULL)",
    );
    for (condition, expected) in [
        ("b IN (TRUE)", &["1"][..]),
        ("b IN (FALSE)", &["2"]),
        ("b = TRUE", &["1"]),
        ("NOT b", &["2"]),
        ("b", &["1"]),
        ("NOT (b NOT IN (TRUE, FALSE, TRUE))", &["1", "2"]),
        ("b IN (TRUE) AND k IN (1)", &["1"]),
        ("b >= FALSE", &["1", "2"]),
    ] {
        let query = format!("SELECT k FROM t WHERE {condition} ORDER BY k");
        assert_eq!(rows(&session, &query), expected, "{condition}");
        assert_eq!(
            rows(&session, &format!("{query} LIMIT 5")),
            expected,
            "{condition}"
        );
    }
}

fn numbers() -> Arc<dyn Source> {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE n (k BIGINT, v BIGINT, x DOUBLE, b BOOLEAN, ts TIMESTAMP, PRIMARY KEY (k))",
    );
    rows(
        &session,
        "INSERT INTO n VALUES (1, 5, -0.0, true, '0001-01-01 00:00:00'), (2, NULL, 0.0, false, '9999-12-31 23:59:59'), \
         (3, 7, 1.5, NULL, NULL)",
    );
    source
}

/// Both zeros are equal, also where a condition is a range of encoded values.
#[test]
fn zeros_are_equal_whatever_their_sign() {
    let source = numbers();
    let session = session(&source);
    for (condition, wanted) in [
        ("x = 0.0", vec!["1", "2"]),
        ("x = -0.0", vec!["1", "2"]),
        ("x IN (0.0)", vec!["1", "2"]),
        ("x < 0.0", vec![]),
        ("x <= -0.0", vec!["1", "2"]),
        ("x > -0.0", vec!["3"]),
        ("x >= 0.0", vec!["1", "2", "3"]),
        ("x BETWEEN 0.0 AND 1.0", vec!["1", "2"]),
    ] {
        let query = format!("SELECT k FROM n WHERE {condition} ORDER BY k");
        assert_eq!(rows(&session, &query), wanted, "{condition}");
    }
    rows(
        &session,
        "CREATE TABLE z (x DOUBLE, y BIGINT, v BIGINT, PRIMARY KEY (x, y))",
    );
    rows(
        &session,
        "INSERT INTO z VALUES (-0.0, 1, 1), (0.0, 1, 2), (1.0, 1, 3)",
    );
    assert_eq!(
        rows(
            &session,
            "SELECT v FROM z WHERE x = 0.0 AND y = 1 ORDER BY v"
        ),
        ["2"]
    );
    // Others than SQL may have written the negative zero.
    rows(
        &session,
        "CREATE TABLE w (x DOUBLE, v BIGINT, PRIMARY KEY (x))",
    );
    let (mut row, mut value) = (Vec::new(), Vec::new());
    encode_f64(-0.0, &mut row);
    encode_i64(9, &mut value);
    let mut mutation = Mutation::new(row);
    mutation.put("", "v", value).unwrap();
    let mut batch = MutationBatch::new();
    batch.push(&mutation).unwrap();
    let table = source.table("w").unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
    assert_eq!(
        rows(&session, "SELECT x, v FROM w WHERE x = 0.0"),
        ["0.0|9"]
    );
}

/// The engine answers some of these wrongly, or not at all, when there are nulls.
#[test]
fn in_a_query_is_null_where_it_is_not_known() {
    let source = numbers();
    let session = session(&source);
    for (query, wanted) in [
        (
            "SELECT k, v IN (SELECT v FROM n) FROM n ORDER BY k",
            vec!["1|true", "2|NULL", "3|true"],
        ),
        (
            "SELECT count(*) FILTER (WHERE v IN (SELECT v FROM n)) FROM n",
            vec!["2"],
        ),
        (
            "SELECT k FROM n ORDER BY v IN (SELECT v FROM n), k",
            vec!["1", "3", "2"],
        ),
        (
            "SELECT CASE WHEN v NOT IN (SELECT v FROM n) THEN 1 ELSE k END FROM n ORDER BY k",
            vec!["1", "2", "3"],
        ),
    ] {
        assert_eq!(rows(&session, query), wanted, "{query}");
    }
    for (condition, wanted) in [
        ("k = 100 OR 99 NOT IN (SELECT v FROM n)", vec![]),
        ("(k IN (SELECT v FROM n)) IS NULL", vec!["1", "2", "3"]),
        ("NOT (k = 1 AND k IN (SELECT v FROM n))", vec!["2", "3"]),
        ("v IN (SELECT v FROM n)", vec!["1", "3"]),
        (
            "k = 2 OR v IN (SELECT v FROM n WHERE v = 7)",
            vec!["2", "3"],
        ),
        ("v NOT IN (SELECT v FROM n WHERE v = 7)", vec!["1"]),
        ("k NOT IN (SELECT v FROM n)", vec![]),
    ] {
        let query = format!("SELECT k FROM n WHERE {condition} ORDER BY k");
        assert_eq!(rows(&session, &query), wanted, "{condition}");
    }
}

#[test]
fn timestamps_are_of_microseconds_from_the_first_year_to_the_last() {
    let source = numbers();
    let session = session(&source);
    assert_eq!(
        rows(
            &session,
            "SELECT k FROM n WHERE ts > TIMESTAMP '2500-01-01 00:00:00'"
        ),
        ["2"]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT k FROM n WHERE ts < CAST('1000-01-01' AS TIMESTAMP)"
        ),
        ["1"]
    );
}

#[test]
fn tables_are_listed_once() {
    let source = numbers();
    let session = session(&source);
    let query =
        "SELECT table_catalog, table_schema FROM information_schema.tables WHERE table_name = 'n'";
    assert_eq!(rows(&session, query).len(), 1);
}

/// A moment that is a parameter is compared as a moment.
#[test]
fn times_are_parameters() {
    use ostrakon_sql::{SqlValue, parse_statements};

    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE d (k BIGINT, d DATE, t TIMESTAMP, PRIMARY KEY (k))",
    );
    rows(
        &session,
        "INSERT INTO d VALUES (1, DATE '2024-01-01', TIMESTAMP '2500-01-01 00:00:00')",
    );
    let noon = SqlValue::Timestamp(1_704_110_400_000_000);
    let far = SqlValue::Timestamp(16_725_225_600_000_000);
    for (condition, values, found) in [
        ("d < ?", vec![noon.clone()], 1),
        ("d = ?", vec![noon], 0),
        ("d = ?", vec![SqlValue::Date(19_723)], 1),
        ("t = ?", vec![far.clone()], 1),
        ("t IN (?)", vec![far.clone()], 1),
        ("t BETWEEN ? AND ?", vec![far.clone(), far], 1),
    ] {
        let text = format!("SELECT k FROM d WHERE {condition}");
        let statement = parse_statements(&text)
            .unwrap()
            .remove(0)
            .bind(&values)
            .unwrap();
        let batches = session.execute_blocking(statement).unwrap();
        let count: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(count, found, "{condition}");
    }
}

/// Writes a cell as programs do that do not know SQL's encodings.
fn put(source: &Arc<dyn Source>, table: &str, row: &[u8], value: i64) {
    let mut encoded = Vec::new();
    encode_i64(value, &mut encoded);
    let mut mutation = Mutation::new(row.to_vec());
    mutation.put("", "v", encoded).unwrap();
    let mut batch = MutationBatch::new();
    batch.push(&mutation).unwrap();
    let table = source.table(table).unwrap();
    table.submit(batch, None).unwrap().wait().unwrap();
}

fn float(number: f64) -> Vec<u8> {
    let mut encoded = Vec::new();
    encode_f64(number, &mut encoded);
    encoded
}

/// A quiet NaN with a sign, which processors compute, and two others.
const NANS: [u64; 3] = [
    0xfff8_0000_0000_0000,
    0x7ff8_0000_0000_0001,
    0xffff_ffff_ffff_ffff,
];

#[test]
fn keys_in_other_encodings_are_deleted_and_replaced() {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE one (x DOUBLE, v BIGINT, PRIMARY KEY (x))",
    );
    rows(
        &session,
        "CREATE TABLE two (a VARCHAR, x DOUBLE, y DOUBLE, v BIGINT, PRIMARY KEY (a, x, y))",
    );
    let fill = || {
        let nans = NANS.map(f64::from_bits);
        for (value, number) in (1..).zip([-0.0, nans[0], nans[1], nans[2]]) {
            put(&source, "one", &float(number), value);
            let mut row = Vec::new();
            push_part(true, b"k", &mut row);
            push_part(false, &float(number), &mut row);
            push_part(false, &float(-0.0), &mut row);
            put(&source, "two", &row, value);
        }
        rows(
            &session,
            "INSERT INTO two VALUES ('k', 1, 1, 5), ('l', 0, 0, 6)",
        );
    };
    let all = |table: &str| {
        let columns = if table == "one" { "x" } else { "a, x, y" };
        rows(
            &session,
            &format!("SELECT {columns}, v FROM {table} ORDER BY v"),
        )
    };
    fill();
    assert_eq!(all("one"), ["0.0|1", "NaN|2", "NaN|3", "NaN|4"]);
    assert_eq!(
        all("two"),
        [
            "k|0.0|0.0|1",
            "k|NaN|0.0|2",
            "k|NaN|0.0|3",
            "k|NaN|0.0|4",
            "k|1.0|1.0|5",
            "l|0.0|0.0|6"
        ]
    );
    // As conditions see them.
    for (condition, found) in [
        ("x = 0.0", 1),
        ("x = CAST('NaN' AS DOUBLE)", 3),
        ("x > 5", 3),
        ("x < 5", 1),
        ("x <= CAST('NaN' AS DOUBLE)", 4),
        ("x < CAST('NaN' AS DOUBLE)", 1),
        ("x IN (0, CAST('NaN' AS DOUBLE))", 4),
        ("x BETWEEN -1 AND 1", 1),
    ] {
        let count = format!("SELECT count(*) FROM one WHERE {condition}");
        assert_eq!(rows(&session, &count), [found.to_string()], "{condition}");
        let count = format!("SELECT count(*) FROM two WHERE a = 'k' AND v < 5 AND {condition}");
        assert_eq!(rows(&session, &count), [found.to_string()], "{condition}");
    }
    // Records with one key are deleted one by one.
    for table in ["one", "two"] {
        let delete =
            |condition: &str| rows(&session, &format!("DELETE FROM {table} WHERE {condition}"));
        assert_eq!(delete("v = 3"), ["1"]);
        assert_eq!(delete("x > 5"), ["2"]);
        assert_eq!(delete("x = 0"), [if table == "one" { "1" } else { "2" }]);
    }
    assert_eq!(all("one"), [""; 0]);
    assert_eq!(all("two"), ["k|1.0|1.0|5"]);
    // A record replaces all of those with its key.
    fill();
    rows(
        &session,
        "INSERT INTO one VALUES (0, 10), (CAST('NaN' AS DOUBLE), 20), (1, 30)",
    );
    assert_eq!(all("one"), ["0.0|10", "NaN|20", "1.0|30"]);
    rows(
        &session,
        "INSERT INTO two VALUES ('k', 0, 0, 10), ('k', CAST('NaN' AS DOUBLE), -0.0, 20), ('k', CAST('NaN' AS DOUBLE), 7, 30)",
    );
    assert_eq!(
        all("two"),
        [
            "k|1.0|1.0|5",
            "l|0.0|0.0|6",
            "k|0.0|0.0|10",
            "k|NaN|0.0|20",
            "k|NaN|7.0|30"
        ]
    );
    assert_eq!(rows(&session, "DELETE FROM one"), ["3"]);
    let entries = Scanner::new(source.table("one").unwrap())
        .entries()
        .unwrap();
    assert!(entries.is_empty(), "{entries:?}");
}

/// Two zeros are one, but what follows them in the key is sorted for each.
#[test]
fn records_are_sorted_by_what_their_keys_are_shown_as() {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE t (x DOUBLE, y BIGINT, v BIGINT, PRIMARY KEY (x, y))",
    );
    let row = |x: f64, y: i64| {
        let (mut row, mut encoded) = (Vec::new(), Vec::new());
        push_part(true, &float(x), &mut row);
        encode_i64(y, &mut encoded);
        push_part(false, &encoded, &mut row);
        row
    };
    for (value, (x, y)) in (1..).zip([(f64::from_bits(NANS[0]), 0), (-0.0, 9), (0.0, 3)]) {
        put(&source, "t", &row(x, y), value);
    }
    assert_eq!(
        rows(&session, "SELECT x, y FROM t ORDER BY x, y"),
        ["0.0|3", "0.0|9", "NaN|0"]
    );
    assert_eq!(
        rows(&session, "SELECT x, y FROM t ORDER BY x, y LIMIT 1"),
        ["0.0|3"]
    );
}

/// Whether they are written by one statement, in one batch or several, or by statements that follow each other quickly.
#[test]
fn of_records_that_their_writer_does_not_see_the_last_is_the_newest() {
    // A clock that stands still shows what happens within a millisecond.
    let components = Components {
        vfs: MemoryVfs::shared(),
        clock: Arc::new(ManualClock::new(1_700_000_000_000)),
        ..Components::default()
    };
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let source: Arc<dyn Source> =
        Store::open_with(components, Path::new("/store"), options).unwrap();
    let writer = session_of(&source, &["A"]);
    let reader = session_of(&source, &["A", "B", "C"]);
    rows(
        &writer,
        "CREATE TABLE t (k BIGINT, a VARCHAR, l VARCHAR, PRIMARY KEY (k)) WITH (label = 'l')",
    );
    let last = |key: i64| rows(&reader, &format!("SELECT a, l FROM t WHERE k = {key}"));
    // Across the chunks in which present cells are read: 2000 keys, each twice, first all with C.
    let many = "SELECT value % 2000 AS k, CAST(value / 2000 AS VARCHAR) AS a, \
                CASE value / 2000 WHEN 0 THEN 'C' ELSE 'B' END AS l FROM range(4000) ORDER BY value";
    rows(&writer, &format!("INSERT INTO t {many}"));
    assert_eq!(
        rows(&reader, "SELECT a, l, count(*) FROM t GROUP BY a, l"),
        ["1|B|2000"]
    );
    // Statements in a row, where the label of the last sorts before and after the one before it, and the writer sees it.
    for round in 0..20 {
        for (value, label) in [("x", "C"), ("y", "B"), ("z", "A"), ("u", "B"), ("v", "A")] {
            rows(
                &writer,
                &format!("INSERT INTO t VALUES (-{round}, '{value}', '{label}')"),
            );
            assert_eq!(last(-round), [format!("{value}|{label}")], "round {round}");
        }
    }
}

/// Records of one label need no different times.
#[test]
fn many_records_that_their_writer_does_not_see_are_written_quickly() {
    let source = store();
    let writer = session(&source);
    rows(
        &writer,
        "CREATE TABLE t (k BIGINT, a VARCHAR, b VARCHAR, PRIMARY KEY (k))",
    );
    rows(&writer, "SET label = 'secret'");
    let begun = std::time::Instant::now();
    rows(
        &writer,
        "INSERT INTO t SELECT 7, CAST(value AS VARCHAR), CASE value WHEN 0 THEN 'b' END FROM range(20000) ORDER BY value",
    );
    let taken = begun.elapsed();
    assert!(taken < std::time::Duration::from_secs(15), "{taken:?}");
    let reader = session_of(&source, &["secret"]);
    assert_eq!(rows(&reader, "SELECT k, a, b FROM t"), ["7|19999|b"]);
}

#[test]
fn statements_say_what_to_write() {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE t (kk BIGINT PRIMARY KEY, v VARCHAR, x TIMESTAMP, d DOUBLE, b BOOLEAN, y BYTEA, da DATE, u BIGINT UNSIGNED)",
    );
    assert_eq!(
        rows(&session, "DESCRIBE t"),
        [
            "kk|BIGINT|NO",
            "v|VARCHAR|YES",
            "x|TIMESTAMP|YES",
            "d|DOUBLE|YES",
            "b|BOOLEAN|YES",
            "y|BYTEA|YES",
            "da|DATE|YES",
            "u|BIGINT UNSIGNED|YES"
        ]
    );
    for statement in [
        "INSERT INTO t (kk, v) VALUES (NULL, 'a')",
        "INSERT INTO t (v, kk) VALUES ('a', 1), ('b', NULL)",
        "INSERT INTO t (v) VALUES ('a')",
        "INSERT INTO t (v, kk) SELECT 'a', NULL",
    ] {
        let error = try_rows(&session, statement)
            .expect_err(statement)
            .to_string();
        assert!(
            error.contains("column: kk") && !error.contains("column1"),
            "{error}"
        );
    }
    rows(
        &session,
        "INSERT INTO t (kk, x) VALUES (1, '2013-09-15 23:48'), (2, '2013-09-15T23:49'), (3, '2013-09-16 00:00:01')",
    );
    for (condition, found) in [
        ("x > '2013-09-15 23:48'", ["2", "3"].as_slice()),
        (
            "x BETWEEN '2013-09-15 23:48' AND '2013-09-15T23:49'",
            &["1", "2"],
        ),
        ("x IN ('2013-09-15 23:49', '2013-09-16 00:01')", &["2"]),
        ("x = TIMESTAMP '2013-09-15 23:48'", &["1"]),
        ("x < CAST('2013-09-15 23:49' AS TIMESTAMP)", &["1"]),
    ] {
        let query = format!("SELECT kk FROM t WHERE {condition} ORDER BY kk");
        assert_eq!(rows(&session, &query), found, "{condition}");
    }
    for (statement, said) in [
        ("SELECT * FROM 'a.csv'", "files=True"),
        (
            "CREATE TABLE x (a BIGINT)",
            "a table needs a primary key: add PRIMARY KEY (COLUMN, …)",
        ),
        ("SELECT * FROM t WHERE x > '2013-09-15 23'", "2013-09-15 23"),
    ] {
        let error = try_rows(&session, statement)
            .expect_err(statement)
            .to_string();
        assert!(error.contains(said), "{error}");
    }
}
