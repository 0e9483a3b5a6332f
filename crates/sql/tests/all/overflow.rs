//! Integers that leave their range are errors.

use super::kit::{rows, session, store, try_rows};

#[test]
fn arithmetic_and_sums_fail_instead_of_wrapping() {
    let source = store();
    let session = session(&source);
    rows(
        &session,
        "CREATE TABLE n (k BIGINT, v BIGINT, PRIMARY KEY (k))",
    );
    rows(
        &session,
        "INSERT INTO n VALUES (1, 9223372036854775807), (2, 1), (3, -9223372036854775807), (4, NULL)",
    );
    for query in [
        "SELECT 9223372036854775807 + 1",
        "SELECT v + 1 FROM n WHERE k = 1",
        "SELECT v - 2 FROM n WHERE k = 3",
        "SELECT v * 2 FROM n",
        "SELECT sum(v) FROM n WHERE k < 3",
        "SELECT k % 2, sum(v) FROM n WHERE k <> 3 AND k <> 2 OR k = 2 GROUP BY k > 3, k % 2 - k % 2, k % 2 * 0 HAVING sum(v) > 0",
        "SELECT k FROM n WHERE v + k > 0",
        "SELECT CAST(v AS INTEGER) FROM n",
        "SELECT sum(DISTINCT v), count(DISTINCT k) FROM n WHERE k < 3",
        "SELECT k > 9, sum(DISTINCT v), count(DISTINCT k) FROM n WHERE k < 3 GROUP BY 1",
        "SELECT sum(v) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM n",
    ] {
        assert!(
            try_rows(&session, query).is_err(),
            "{query}: {:?}",
            try_rows(&session, query)
        );
    }
    // The whole is in range, whatever the parts are.
    assert_eq!(rows(&session, "SELECT sum(v) FROM n"), ["1"]);
    assert_eq!(rows(&session, "SELECT sum(v) FROM n WHERE k > 4"), ["NULL"]);
    assert_eq!(
        rows(
            &session,
            "SELECT sum(DISTINCT v), sum(DISTINCT k / k), count(DISTINCT k) FROM n"
        ),
        ["1|1|4"]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT k > 3, sum(DISTINCT v), count(DISTINCT k) FROM n GROUP BY 1 ORDER BY 1"
        ),
        ["false|1|3", "true|NULL|1"]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT k > 2, sum(v + 0), count(*) FROM n WHERE k > 1 GROUP BY 1 ORDER BY 1"
        ),
        ["false|1|1", "true|-9223372036854775807|2"]
    );
    assert_eq!(
        rows(&session, "SELECT sum(k) + 1 AS s, max(k) * 2 FROM n"),
        ["11|8"]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT k, sum(k) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM n ORDER BY k"
        ),
        ["1|1", "2|3", "3|5", "4|7"]
    );
    assert_eq!(
        rows(&session, "SELECT k FROM n ORDER BY k LIMIT 1 + 1"),
        ["1", "2"]
    );
    assert_eq!(
        rows(
            &session,
            "SELECT sum(CAST(v AS DOUBLE)) > 1e18 FROM n WHERE k < 3"
        ),
        ["true"]
    );
}
