//! Tables of D4M's schema as relations.

use std::sync::Arc;

use ostrakon_cell::{Source, TableOptions};
use ostrakon_store::clock::Random;

use super::kit::{Entry, explain, rows, session, session_of, store, table, try_rows};

/// Writes edges (record, column, label, value) with their transpose, and degrees (column, label, count).
fn write_edges(
    source: &Arc<dyn Source>,
    name: &str,
    edges: &[(&str, &str, &str, &str)],
    degrees: &[(&str, &str, &str)],
) {
    let edge = |(record, column, label, value): &(
        &'static str,
        &'static str,
        &'static str,
        &'static str,
    )| {
        let entry: Entry<'static> = (
            record.as_bytes(),
            b"",
            column.as_bytes(),
            label,
            7,
            value.as_bytes(),
        );
        entry
    };
    // The entries of tests live as long as the test.
    let leak = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let edges: Vec<_> = edges
        .iter()
        .map(|(a, b, c, d)| (leak(a), leak(b), leak(c), leak(d)))
        .collect();
    let main: Vec<Entry<'_>> = edges.iter().map(edge).collect();
    let transposed: Vec<Entry<'_>> = main
        .iter()
        .map(|(row, family, column, label, time, value)| {
            (*column, *family, *row, *label, *time, *value)
        })
        .collect();
    table(source, name, &[b"m"], &main);
    table(source, &format!("{name}T"), &[b"n"], &transposed);
    let degrees: Vec<Entry<'_>> = degrees
        .iter()
        .map(|(column, label, count)| {
            let entry: Entry<'_> = (
                column.as_bytes(),
                b"",
                b"Degree",
                label,
                7,
                count.as_bytes(),
            );
            entry
        })
        .collect();
    table(source, &format!("{name}Deg"), &[], &degrees);
}

fn people() -> Arc<dyn Source> {
    let source = store();
    write_edges(
        &source,
        "Tedge",
        &[
            ("ann", "name|ann", "", "1"),
            ("ann", "town|Ulm", "", "1"),
            ("ann", "note|a|b", "", "2.5"),
            ("bea", "name|bea", "", "1"),
            ("bea", "town|Ulm", "hr", "1"),
            ("cid", "name|cid", "", "1"),
            ("cid", "town|Bonn", "", "1"),
            ("cid", "loose", "", "some text"),
            ("cid", "|empty", "", "inf"),
        ],
        &[
            ("town|Bonn", "", "1"),
            ("town|Ulm", "", "1"),
            ("town|Ulm", "hr", "1"),
            ("loose", "", "1"),
            ("odd|x", "", "many"),
        ],
    );
    source
}

#[test]
fn columns_are_split_into_field_and_value() {
    let source = people();
    let session = session_of(&source, &["hr"]);
    assert_eq!(
        rows(
            &session,
            "SELECT record, field, value, number, raw, visibility, timestamp FROM d4m.Tedge ORDER BY record, field, value"
        ),
        [
            "ann|name|ann|1.0|1||7",
            "ann|note|a|b|2.5|2.5||7",
            "ann|town|Ulm|1.0|1||7",
            "bea|name|bea|1.0|1||7",
            "bea|town|Ulm|1.0|1|hr|7",
            "cid||empty|NULL|inf||7",
            "cid|name|cid|1.0|1||7",
            "cid|town|Bonn|1.0|1||7",
            // Without a separator the column is a value without a field.
            "cid|NULL|loose|NULL|some text||7",
        ]
    );
    // Text functions need no cast, and names are found in any case.
    assert_eq!(
        rows(
            &session,
            "SELECT upper(value) AS v FROM d4m.tedge WHERE field IS NULL"
        ),
        ["LOOSE"]
    );
    assert_eq!(rows(&session, "SELECT count(*) FROM d4m.TedgeT"), ["9"]);
    assert_eq!(
        rows(
            &session,
            "SELECT a.value FROM d4m.Tedge a JOIN d4m.Tedge b USING (record) WHERE a.field = 'name' AND b.field = 'town' \
             AND b.value = 'Ulm' ORDER BY 1"
        ),
        ["ann", "bea"]
    );
}

#[test]
fn degrees_are_sums_over_the_labels_that_the_reader_sees() {
    let source = people();
    let all = "SELECT field, value, kind, degree FROM d4m.TedgeDeg ORDER BY field, value";
    assert_eq!(
        rows(&session(&source), all),
        [
            "odd|x|Degree|NULL",
            "town|Bonn|Degree|1",
            "town|Ulm|Degree|1",
            "NULL|loose|Degree|1"
        ]
    );
    assert_eq!(
        rows(&session_of(&source, &["hr"]), all)[2],
        "town|Ulm|Degree|2"
    );
    let top =
        "SELECT value, degree FROM d4m.TedgeDeg WHERE field = 'town' ORDER BY degree DESC LIMIT 1";
    let session = session_of(&source, &["hr"]);
    assert_eq!(rows(&session, top), ["Ulm|2"]);
    let plan = explain(&session, top);
    assert!(
        plan.contains("table=TedgeDeg") && plan.contains("rows='town|'..'town}'"),
        "{plan}"
    );
    // Several kinds of degrees of one vertex.
    table(&source, "Tadj", &[], &[]);
    let entries: [Entry<'_>; 3] = [
        (b"alice", b"", b"InDeg", "", 1, b"2"),
        (b"alice", b"", b"OutDeg", "", 1, b"3"),
        (b"alice", b"", b"OutDeg", "hr", 1, b"4"),
    ];
    table(&source, "TadjDeg", &[], &entries);
    let found = rows(&session, "SELECT * FROM d4m.TadjDeg ORDER BY kind");
    assert_eq!(found, ["NULL|alice|InDeg|2", "NULL|alice|OutDeg|7"]);
    let found = rows(
        &session,
        "SELECT degree FROM d4m.TadjDeg WHERE kind = 'OutDeg'",
    );
    assert_eq!(found, ["7"]);
}

/// Degrees of one place may come in several batches of a scan.
#[test]
fn degrees_of_many_labels_are_one_sum() {
    let source = store();
    table(&source, "E", &[], &[]);
    let labels: Vec<String> = (0..20_000).map(|n| format!("\"label {n}\"|hr")).collect();
    let entries: Vec<Entry<'_>> = labels
        .iter()
        .map(|label| {
            (
                b"a|b".as_slice(),
                b"".as_slice(),
                b"Degree".as_slice(),
                label.as_str(),
                1,
                b"1".as_slice(),
            )
        })
        .collect();
    table(&source, "EDeg", &[], &entries);
    let session = session_of(&source, &["hr"]);
    for limit in ["", " LIMIT 1"] {
        let found = rows(
            &session,
            &format!("SELECT field, degree FROM d4m.EDeg{limit}"),
        );
        assert_eq!(found, ["a|20000"]);
    }
    let large: [Entry<'_>; 2] = [
        (b"a|b", b"", b"Degree", "", 1, b"9223372036854775807"),
        (b"a|b", b"", b"Degree", "hr", 1, b"1"),
    ];
    table(&source, "F", &[], &[]);
    table(&source, "FDeg", &[], &large);
    let error = try_rows(&session, "SELECT * FROM d4m.FDeg").unwrap_err();
    assert!(
        error.to_string().contains("too large for a BIGINT"),
        "{error}"
    );
}

/// Keys may be long, and a batch of degrees has some megabytes of them at most.
#[test]
fn degrees_of_long_keys_come_in_small_batches() {
    let source = store();
    table(&source, "E", &[], &[]);
    let keys: Vec<Vec<u8>> = (0..80)
        .map(|n| format!("{n:02}|{}", "x".repeat(100_000)).into_bytes())
        .collect();
    let entries: Vec<Entry<'_>> = keys
        .iter()
        .map(|key| {
            (
                key.as_slice(),
                b"".as_slice(),
                b"Degree".as_slice(),
                "",
                1,
                b"1".as_slice(),
            )
        })
        .collect();
    table(&source, "EDeg", &[], &entries);
    let session = session_of(&source, &[]);
    let query = "SELECT field, value, degree FROM d4m.EDeg";
    let batches = session.query_blocking(query).unwrap();
    let sizes = batches.map(|batch| batch.unwrap().num_rows());
    let sizes: Vec<usize> = sizes.collect();
    assert_eq!(sizes.iter().sum::<usize>(), 80);
    assert!(sizes.iter().all(|rows| *rows <= 60), "{sizes:?}");
}

#[test]
fn conditions_on_values_read_the_transpose_and_on_records_the_edges() {
    let source = people();
    let session = session(&source);
    for (condition, parts) in [
        (
            "field = 'town' AND value = 'Ulm'",
            vec!["table=TedgeT", "rows='town|Ulm'", "tested=[field, value]"],
        ),
        (
            "field = 'town' AND value IN ('Ulm', 'Bonn')",
            vec!["table=TedgeT", "rows='town|Bonn' or 'town|Ulm'"],
        ),
        (
            "field = 'town' AND value LIKE 'U%'",
            vec!["table=TedgeT", "rows='town|U'..'town|V'"],
        ),
        (
            "field = 'town'",
            vec!["table=TedgeT", "rows='town|'..'town}'"],
        ),
        ("record = 'ann'", vec!["table=Tedge,", "rows='ann'"]),
        (
            "record = 'ann' AND field = 'town'",
            vec!["table=Tedge,", "rows='ann'", "tested=[record, field]"],
        ),
        (
            "record > 'b' AND field = 'town' AND value = 'Bonn'",
            vec!["table=TedgeT", "rows='town|Bonn'"],
        ),
        ("record > 'b'", vec!["table=Tedge,", "rows='b\\x00'.."]),
        (
            "value = 'Ulm'",
            vec!["table=Tedge,", "rows=all", "tested=[value]"],
        ),
        ("field = 'a|b'", vec!["table=TedgeT", "rows=none"]),
    ] {
        let plan = explain(
            &session,
            &format!("SELECT record FROM d4m.Tedge WHERE {condition}"),
        );
        let are_there = parts.iter().all(|part| plan.contains(part));
        assert!(
            are_there && !plan.contains("FilterExec"),
            "{condition}: {plan}"
        );
    }
    let plan = explain(
        &session,
        "SELECT record FROM d4m.Tedge WHERE field = 'town' AND number > 1",
    );
    assert!(
        plan.contains("FilterExec") && plan.contains("table=TedgeT"),
        "{plan}"
    );
}

#[test]
fn tables_without_a_transpose_are_read_as_a_whole() {
    let source = people();
    source.delete_table("TedgeT").unwrap();
    let session = session_of(&source, &["hr"]);
    let query = "SELECT record FROM d4m.Tedge WHERE field = 'town' AND value = 'Ulm'";
    assert_eq!(rows(&session, query), ["ann", "bea"]);
    let plan = explain(&session, query);
    assert!(
        plan.contains("table=Tedge,") && plan.contains("rows=all"),
        "{plan}"
    );
    // A table of degrees that is not there is an error.
    source.delete_table("TedgeDeg").unwrap();
    let error = try_rows(&session, "SELECT * FROM d4m.TedgeDeg").unwrap_err();
    assert!(
        error.to_string().contains("there is no such table"),
        "{error}"
    );
}

#[test]
fn properties_name_the_separator_and_the_transpose() {
    let source = store();
    let properties = [
        ("table.custom.ostrakon.separator", "::"),
        ("table.custom.ostrakon.transpose", "back"),
    ];
    let options = TableOptions {
        properties: properties
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..TableOptions::default()
    };
    let entry: Entry<'_> = (b"r", b"", b"a|b::c::d", "", 1, b"1");
    table(&source, "other", &[], &[entry]);
    source.create_table("E", &options).unwrap();
    table(
        &source,
        "back",
        &[],
        &[(b"a|b::c::d", b"", b"r", "", 1, b"1")],
    );
    // Of another purpose, in spite of its name.
    table(&source, "ET", &[], &[(b"x", b"", b"y", "", 1, b"1")]);
    let session = session(&source);
    let query = "SELECT record, field, value FROM d4m.E WHERE field = 'a|b'";
    assert_eq!(rows(&session, query), ["r|a|b|c::d"]);
    assert!(explain(&session, query).contains("table=back"));
    assert_eq!(
        rows(&session, "SELECT record, field, value FROM d4m.ET"),
        ["x|NULL|y"]
    );
}

#[test]
fn what_the_relations_cannot_show_or_do_is_an_error() {
    let source = people();
    table(
        &source,
        "bytes",
        &[],
        &[
            (b"r\xff", b"", b"a|b", "", 1, b"1"),
            (b"s", b"", b"a|\xff", "hr", 1, b"1"),
        ],
    );
    let session = session(&source);
    let error = try_rows(&session, "SELECT record FROM d4m.bytes").unwrap_err();
    let error = format!("{error:?}");
    assert!(
        error.contains("not UTF-8") && error.contains("xff"),
        "{error}"
    );
    // A column that is not asked for, and an entry that the reader does not see, are no errors.
    assert_eq!(rows(&session, "SELECT value FROM d4m.bytes"), ["b"]);
    for statement in [
        "INSERT INTO d4m.Tedge SELECT * FROM d4m.Tedge",
        "DELETE FROM d4m.Tedge",
        "DROP TABLE d4m.Tedge",
        "CREATE TABLE d4m.x (a BIGINT PRIMARY KEY)",
    ] {
        let error = try_rows(&session, statement).unwrap_err();
        assert!(
            error.to_string().contains("only read"),
            "{statement}: {error}"
        );
    }
    let error = try_rows(&session, "SELECT * FROM d4m.Nope").unwrap_err();
    assert!(
        error.to_string().contains("there is no such table"),
        "{error}"
    );
}

#[test]
fn tables_of_namespaces_are_relations_too() {
    let source = store();
    source.create_namespace("ns").unwrap();
    write_edges(
        &source,
        "ns.E",
        &[("r", "a|b", "", "1")],
        &[("a|b", "", "1")],
    );
    let session = session(&source);
    assert_eq!(
        rows(&session, "SELECT record FROM d4m.ns.E WHERE field = 'a'"),
        ["r"]
    );
    assert_eq!(rows(&session, "SELECT degree FROM d4m.ns.EDeg"), ["1"]);
}

/// Conditions give the same rows whatever is read for them: the edges, their transpose, or everything.
#[test]
fn every_path_gives_the_rows_of_the_condition() {
    let mut random = Random::from_seed(5);
    let fields = ["a", "ab", "a!", "b", "", "town"];
    let values = ["", "x", "x|y", "y", "z", "ü"];
    let edges: Vec<(String, String, &str, &str)> = (0..300)
        .map(|_| {
            let field = fields[random.below(6) as usize];
            let value = values[random.below(6) as usize];
            let column = match random.below(8) {
                0 => value.replace('|', ""),
                _ => format!("{field}|{value}"),
            };
            let label = ["", "hr", "hidden"][random.below(3) as usize];
            (format!("r{}", random.below(40)), column, label, "1")
        })
        .collect();
    let edges: Vec<(&str, &str, &str, &str)> = edges
        .iter()
        .map(|(a, b, c, d)| (a.as_str(), b.as_str(), *c, *d))
        .collect();
    let with = store();
    write_edges(&with, "E", &edges, &[]);
    let without = store();
    write_edges(&without, "E", &edges, &[]);
    without.delete_table("ET").unwrap();
    let terms = [
        "record = 'r1'",
        "record IN ('r1', 'r2', 'r30')",
        "record < 'r2'",
        "field = 'a'",
        "field IN ('a', 'ab', 'town')",
        "field < 'ab'",
        "field <= 'a!'",
        "field > 'a'",
        "field LIKE 'a%'",
        "field BETWEEN 'a' AND 'b'",
        "field IS NULL",
        "field <> 'a'",
        "value = 'x'",
        "value = 'x|y'",
        "value >= 'x'",
        "value LIKE 'x%'",
        "value IN ('', 'ü')",
        "NOT (value = 'x')",
        "number = 1",
        "(field = 'a' OR record = 'r3')",
    ];
    let names = "record, field, value, visibility";
    for _ in 0..60 {
        let count = 1 + random.below(3);
        let condition: Vec<&str> = (0..count)
            .map(|_| terms[random.below(terms.len() as u64) as usize])
            .collect();
        let condition = condition.join(" AND ");
        let order = "ORDER BY record, field, value, visibility";
        let query = format!("SELECT {names} FROM d4m.E WHERE {condition} {order}");
        // What is evaluated above a scan of everything.
        let whole = format!(
            "SELECT {names} FROM (SELECT {names}, number FROM d4m.E LIMIT 100000) e WHERE {condition} {order}"
        );
        let expected = rows(&session_of(&without, &["hr"]), &whole);
        for source in [&with, &without] {
            let session = session_of(source, &["hr"]);
            assert_eq!(rows(&session, &query), expected, "{condition}");
            let counted = format!("SELECT count(*) FROM d4m.E WHERE {condition}");
            assert_eq!(
                rows(&session, &counted),
                [expected.len().to_string()],
                "{condition}"
            );
        }
    }
}

/// Conditions that no row meets become constants before a relation sees them.
#[test]
fn conditions_on_degrees_select_what_they_would_select_above_the_scan() {
    let session = session_of(&people(), &["hr"]);
    let terms = [
        "field = 'town'",
        "field = 'odd'",
        "field IN ('town', 'odd')",
        "value = 'Ulm'",
        "value = 'Bonn'",
        "value LIKE 'U%'",
        "kind = 'Degree'",
        "kind = 'x'",
        "field > 'b'",
        "degree = 1",
        "NOT (value = 'x')",
        "field IS NULL",
    ];
    let names = "field, value, kind, degree";
    for one in terms {
        for other in terms {
            for condition in [
                format!("{one} AND {other}"),
                format!("{one} AND NOT ({other})"),
            ] {
                let query = |relation: &str| {
                    let query = format!(
                        "SELECT {names} FROM {relation} WHERE {condition} ORDER BY {names}"
                    );
                    rows(&session, &query)
                };
                let whole = format!("(SELECT {names} FROM d4m.TedgeDeg LIMIT 1000) d");
                assert_eq!(query("d4m.TedgeDeg"), query(&whole), "{condition}");
            }
        }
    }
}
