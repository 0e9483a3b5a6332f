//! Nothing in a statement changes what the session may read.

use super::kit::{rows, session, session_of, store, table, try_rows};

#[test]
fn statements_cannot_change_authorizations() {
    let source = store();
    table(
        &source,
        "t",
        &[],
        &[
            (b"a", b"f", b"q", "", 1, b"open"),
            (b"b", b"f", b"q", "secret", 1, b"hidden"),
        ],
    );
    let session = session(&source);
    for attempt in [
        "SET authorizations = 'secret'",
        "SET auths = 'secret'",
        "SET label = 'secret'",
        "SET datafusion.authorizations = 'secret'",
        "SET datafusion.catalog.default_catalog = 'cells'",
        "SET SESSION AUTHORIZATION secret",
        "SET ROLE secret",
        "RESET label",
        "SELECT set_config('authorizations', 'secret', false)",
        "GRANT secret TO me",
        "CREATE VIEW v AS SELECT * FROM t",
        "SELECT * FROM t WITH (authorizations = 'secret')",
        "SELECT * FROM t OPTIONS (authorizations 'secret')",
        "SELECT value FROM t WHERE visibility = 'secret' OR 1 = 1",
        "SELECT value FROM cells.t WHERE visibility LIKE '%'",
        "EXPLAIN ANALYZE VERBOSE SELECT * FROM t",
        "SHOW ALL",
    ] {
        if let Ok(found) = try_rows(&session, attempt) {
            assert!(!found.join("\n").contains("hidden"), "{attempt}");
        }
        assert_eq!(rows(&session, "SELECT value FROM t"), ["open"], "{attempt}");
        assert_eq!(
            rows(&session, "SELECT count(*), max(row) FROM t"),
            ["1|a"],
            "{attempt}"
        );
    }
    assert_eq!(
        rows(&session_of(&source, &["secret"]), "SELECT count(*) FROM t"),
        ["2"]
    );
}
