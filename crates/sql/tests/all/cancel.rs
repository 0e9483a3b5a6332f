//! Rows that are dropped end their query.

use std::time::Duration;

use ostrakon_sql::Step;

use super::kit::{rows, session, store};

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
