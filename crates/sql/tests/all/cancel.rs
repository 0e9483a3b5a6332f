//! Rows that are dropped end their query.

use std::time::Duration;

use ostrakon_sql::{SqlStatement, Step, parse_statements};

use super::kit::{rows, session, store};

#[test]
fn a_statement_can_be_left_while_it_is_planned() {
    let source = store();
    let session = session(&source);
    // The optimizer takes more than a second for this many relations.
    let mut text = "SELECT count(*) FROM (VALUES (1)) t0(k)".to_owned();
    for n in 1..150 {
        text += &format!(" JOIN (VALUES (1)) t{n}(k) ON t{n}.k = t{}.k", n - 1);
    }
    let statement = only(&text);
    let mut start = session.start(statement.clone()).unwrap();
    assert!(start.within(Duration::from_millis(1)).unwrap().is_none());
    drop(start);
    assert_eq!(rows(&session, "SELECT 7"), ["7"]);
    let mut start = session.start(only("SELECT 8")).unwrap();
    let answer = loop {
        if let Some(answer) = start.within(Duration::from_millis(10)).unwrap() {
            break answer;
        }
    };
    assert_eq!(
        answer.map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
        1
    );
    let failed = session.execute_blocking(only("SELECT nothing FROM nowhere"));
    assert!(failed.is_err());
}

fn only(text: &str) -> SqlStatement {
    parse_statements(text).unwrap().pop().unwrap()
}

#[test]
fn dropped_rows_end_their_query() {
    let source = store();
    let session = session(&source);
    rows(&session, "CREATE TABLE n (k BIGINT, PRIMARY KEY (k))");
    rows(
        &session,
        "INSERT INTO n SELECT value FROM generate_series(1, 30000)",
    );
    // Three tables joined on nothing are years of work. If it went on, the two threads of the session would not be free
    // for what follows.
    for _ in 0..3 {
        let query =
            "SELECT count(*) FROM n a CROSS JOIN n b CROSS JOIN n c WHERE a.k + b.k + c.k = 1";
        let mut running = session.query_blocking(query).unwrap();
        let step = running.next_within(Duration::from_millis(20)).unwrap();
        assert!(matches!(step, Step::Waiting));
    }
    for _ in 0..3 {
        let mut some = session.query_blocking("SELECT k FROM n").unwrap();
        assert!(some.next().unwrap().unwrap().num_rows() > 0);
    }
    assert_eq!(
        rows(&session, "SELECT count(*), max(k) FROM n"),
        ["30000|30000"]
    );
}
