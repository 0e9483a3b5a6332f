//! Tables as relations of their entries.

use std::sync::Arc;

use ostrakon_cell::Source;

use super::kit::{Entry, explain, rows, session, session_of, store, table, try_rows};

const ENTRIES: [Entry<'static>; 7] = [
    (b"alice", b"contact", b"mail", "", 3, b"a@example.org"),
    (b"alice", b"contact", b"phone", "hr", 4, b"123"),
    (b"alice", b"edge", b"bob", "", 5, b"1"),
    (b"bob", b"contact", b"mail", "", 6, b"b@example.org"),
    (b"bob", b"edge", b"carol", "", 7, b"2"),
    (b"bo\xff", b"edge", b"x", "", 8, b"\x00\xff"),
    (b"carol", b"edge", b"alice", "", 9, b"3"),
];

fn people() -> Arc<dyn Source> {
    let source = store();
    table(&source, "people", &[b"b", b"c"], &ENTRIES);
    source
}

#[test]
fn entries_are_rows_and_bytes_are_kept() {
    let source = people();
    let all = rows(
        &session(&source),
        "SELECT * FROM people ORDER BY row, family, qualifier",
    );
    assert_eq!(
        all,
        [
            "alice|contact|mail||3|a@example.org",
            "alice|edge|bob||5|1",
            "bob|contact|mail||6|b@example.org",
            "bob|edge|carol||7|2",
            "bo\\xff|edge|x||8|\\x00\\xff",
            "carol|edge|alice||9|3",
        ]
    );
    assert_eq!(
        rows(&session(&source), "SELECT count(*) FROM people"),
        ["6"]
    );
    let hr = session_of(&source, &["hr"]);
    assert_eq!(
        rows(&hr, "SELECT value FROM people WHERE visibility = 'hr'"),
        ["123"]
    );
    assert_eq!(rows(&hr, "SELECT count(*) FROM people"), ["7"]);
}

/// Each condition alone and with others, against the same condition on rows that are not pushed down to a scan.
#[test]
fn pushed_conditions_select_what_the_engine_selects() {
    let source = people();
    let session = session_of(&source, &["hr"]);
    let conditions = [
        "row = 'alice'",
        "'bob' = row",
        "row IN ('alice', 'carol', 'x')",
        "row < 'bob'",
        "row <= 'bob'",
        "row > 'bob'",
        "row >= 'bo'",
        "row BETWEEN 'alice' AND 'bob'",
        "row NOT BETWEEN 'alice' AND 'bob'",
        "row LIKE 'bo%'",
        "starts_with(row, 'al')",
        "row = 'alice' OR row > 'bz'",
        "row <> 'alice'",
        "row NOT IN ('alice')",
        "family = 'edge'",
        "family IN ('edge', 'contact') AND qualifier = 'mail'",
        "qualifier >= 'm'",
        "family = 'edge' OR qualifier = 'mail'",
        "timestamp > 4",
        "timestamp BETWEEN 4 AND 6",
        "timestamp = 5 OR timestamp >= 9",
        "timestamp < -1",
        "value = '1'",
        "value < '3' AND row > 'a'",
        "visibility = ''",
        "row = 'alice' AND row = 'bob'",
        "row IS NULL",
        "row IS NOT NULL",
        "NULL",
        "row = NULL",
    ];
    for (at, a) in conditions.iter().enumerate() {
        for b in conditions.iter().cycle().skip(at).step_by(7).take(4) {
            let pushed = format!(
                "SELECT row, family, qualifier FROM people WHERE ({a}) AND ({b}) ORDER BY 1, 2, 3"
            );
            // Random numbers keep a condition where it is.
            let kept = format!(
                "SELECT row, family, qualifier FROM people WHERE random() >= 0 AND CASE WHEN random() < 2 THEN ({a}) AND ({b}) END \
                 ORDER BY 1, 2, 3"
            );
            match (try_rows(&session, &pushed), try_rows(&session, &kept)) {
                (Ok(pushed), Ok(kept)) => assert_eq!(pushed, kept, "{a} AND {b}"),
                // The engine cannot take a row as text that is none; the scan compares bytes.
                (Ok(_), Err(_))
                    if a.contains("LIKE")
                        || a.contains("starts")
                        || b.contains("LIKE")
                        || b.contains("starts") => {}
                (Err(_), Err(_)) => {}
                (one, other) => panic!("{a} AND {b}: {one:?} {other:?}"),
            }
        }
    }
}

#[test]
fn plans_show_what_is_pushed_down() {
    let source = people();
    let session = session(&source);
    for (query, parts) in [
        (
            "SELECT value FROM people WHERE row = 'alice' AND family = 'edge'",
            &["columns=[value]", "rows='alice'", "family in 'edge'"][..],
        ),
        (
            "SELECT row FROM people WHERE row LIKE 'bo%'",
            &["columns=[row]", "rows='bo'..'bp'"],
        ),
        (
            "SELECT count(*) FROM people WHERE timestamp >= 5",
            &["columns=[]", "timestamp in 5..="],
        ),
        (
            "SELECT count(*) FROM people WHERE timestamp > 5 AND timestamp < 9",
            &["columns=[]", "timestamp in 6..=8"],
        ),
        ("SELECT row FROM people LIMIT 3", &["limit=3"]),
    ] {
        let plan = explain(&session, query);
        for part in parts {
            assert!(plan.contains(part), "{query}: {part}\n{plan}");
        }
        assert!(!plan.contains("FilterExec"), "{query}\n{plan}");
    }
}

#[test]
fn the_order_of_rows_needs_no_sort() {
    let source = people();
    let session = session(&source);
    for query in [
        "SELECT row, value FROM people ORDER BY row",
        "SELECT row, family FROM people ORDER BY row, family",
        "SELECT row FROM people ORDER BY row LIMIT 2",
    ] {
        let plan = explain(&session, query);
        assert!(!plan.contains("SortExec"), "{query}\n{plan}");
    }
    let plan = explain(&session, "SELECT row FROM people ORDER BY row DESC");
    assert!(plan.contains("SortExec"), "{plan}");
    assert_eq!(
        rows(&session, "SELECT row FROM people ORDER BY row LIMIT 2"),
        ["alice", "alice"]
    );
}

#[test]
fn names_that_are_not_there_are_answered_with_similar_ones() {
    let session = session(&people());
    let error = try_rows(&session, "SELECT * FROM poeple").unwrap_err();
    assert_eq!(error.kind(), ostrakon_cell::ErrorKind::TableNotFound);
    assert!(
        error.context().contains(&("similar", "people".to_owned())),
        "{error}"
    );
    assert_eq!(rows(&session, "SELECT count(*) FROM PEOPLE"), ["6"]);
    assert!(try_rows(&session, "SELECT nothing FROM people").is_err());
}

#[test]
fn tables_of_namespaces_have_a_schema() {
    let source = people();
    source.create_namespace("hr").unwrap();
    table(&source, "hr.pay", &[], &[(b"r", b"f", b"q", "", 1, b"v")]);
    let session = session(&source);
    assert_eq!(rows(&session, "SELECT value FROM hr.pay"), ["v"]);
    assert_eq!(rows(&session, "SELECT value FROM ostrakon.hr.pay"), ["v"]);
    assert_eq!(rows(&session, "SELECT value FROM cells.hr.pay"), ["v"]);
    assert_eq!(rows(&session, "SELECT count(*) FROM cells.people"), ["6"]);
    assert!(try_rows(&session, "SELECT value FROM pay").is_err());
}

#[test]
fn a_self_join_reads_the_table_twice() {
    let session = session(&people());
    let found = rows(
        &session,
        "SELECT a.row, b.qualifier FROM people a JOIN people b ON a.qualifier = b.row WHERE a.family = 'edge' AND b.family = 'edge' \
         ORDER BY 1, 2",
    );
    assert_eq!(found, ["alice|carol", "bob|alice", "carol|bob"]);
}
