//! Statements of several threads that change one table.

use std::sync::Barrier;

use super::kit::{rows, session, session_of, store};

/// A reader finds the cells of one INSERT, also of two with one key at once.
#[test]
fn records_of_one_key_are_not_mixed() {
    const KEYS: usize = 100;
    let source = store();
    rows(
        &session(&source),
        "CREATE TABLE r (k BIGINT PRIMARY KEY, v VARCHAR, u VARCHAR, l VARCHAR) WITH (label = 'l')",
    );
    let start = Barrier::new(3);
    let insert = |values: &str, many: usize| {
        let session = session_of(&source, &["secret"]);
        for key in 0..KEYS {
            start.wait();
            let keys: Vec<String> = (0..many)
                .map(|at| values.replace('K', &(key * many + at).to_string()))
                .collect();
            rows(
                &session,
                &format!("INSERT INTO r VALUES {}", keys.join(", ")),
            );
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| insert("(K, 'public', NULL, '')", 3));
        scope.spawn(|| insert("(K, NULL, 'secret', 'secret')", 3));
        // The same label, and a record that has only its key.
        scope.spawn(|| insert("(K, NULL, NULL, '')", 3));
    });
    let all = session_of(&source, &["secret"]);
    assert_eq!(
        rows(&all, "SELECT count(*), count(DISTINCT k) FROM r"),
        ["300|300"]
    );
    assert_eq!(
        rows(
            &all,
            "SELECT * FROM r WHERE v IS NOT NULL AND u IS NOT NULL"
        ),
        [""; 0]
    );
}

/// A record that is deleted while it is replaced is gone or whole.
#[test]
fn records_are_deleted_as_a_whole() {
    let source = store();
    rows(
        &session(&source),
        "CREATE TABLE r (k BIGINT PRIMARY KEY, v VARCHAR, u VARCHAR)",
    );
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = session(&source);
            for _ in 0..50 {
                start.wait();
                rows(
                    &session,
                    "INSERT INTO r VALUES (1, 'v', 'u'), (2, 'v', 'u')",
                );
            }
        });
        scope.spawn(|| {
            let session = session(&source);
            for _ in 0..50 {
                start.wait();
                rows(&session, "DELETE FROM r WHERE k > 0");
            }
        });
    });
    assert_eq!(
        rows(
            &session(&source),
            "SELECT * FROM r WHERE v IS NULL OR u IS NULL"
        ),
        [""; 0]
    );
}
