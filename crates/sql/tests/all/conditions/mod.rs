//! Random conditions in every place of a statement, compared with their values in three-valued logic.

pub(crate) mod truth;

use std::fmt::Display;

use ostrakon_sql::SqlSession;
use ostrakon_store::clock::Random;

use super::kit::{explain, rows, seeds, session, store, try_rows};
use truth::{Condition, Row, Truth, and, not, or};

/// Seeds of the run that every test makes; each plays some conditions.
const SEEDS: u64 = 2;
const CONDITIONS: usize = 12;

fn shown<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

/// A table with every combination of values of three columns.
fn some_table(session: &SqlSession) -> Vec<Row> {
    rows(
        session,
        "CREATE TABLE t (k BIGINT, x BIGINT, y BIGINT, b BOOLEAN, PRIMARY KEY (k))",
    );
    let mut all = Vec::new();
    for x in [None, Some(1), Some(2), Some(3)] {
        for y in [None, Some(1), Some(2)] {
            for b in [None, Some(true), Some(false)] {
                let k = i64::try_from(all.len()).unwrap() + 1;
                all.push(Row { k, x, y, b });
            }
        }
    }
    let values = all.iter().map(|row| {
        let Row { k, x, y, b } = *row;
        format!("({k}, {}, {}, {})", shown(x), shown(y), shown(b))
    });
    let values: Vec<String> = values.collect();
    rows(
        session,
        &format!("INSERT INTO t VALUES {}", values.join(", ")),
    );
    all
}

/// A statement and the rows that it has to return, in any order.
type Expected = (String, Vec<String>);

fn keys(all: &[Row], truth: impl Fn(&Row) -> Truth) -> Vec<String> {
    let kept = all.iter().filter(|row| truth(row) == Some(true));
    kept.map(|row| row.k.to_string()).collect()
}

fn values(all: &[Row], truth: impl Fn(&Row) -> Truth) -> Vec<String> {
    let value = |row: &Row| format!("{}|{}", row.k, shown(truth(row)));
    all.iter().map(value).collect()
}

/// A condition in every place that a statement has for one.
fn statements_with(all: &[Row], condition: &Condition) -> Vec<Expected> {
    let c = condition.text();
    let kept = keys(all, |row| condition.of(row));
    let other = "(SELECT k AS k2 FROM t)";
    let grouped = "SELECT k, max(x) AS x, max(y) AS y, bool_or(b) AS b FROM t GROUP BY k";
    let joined = all.iter().map(|row| {
        let other = (condition.of(row) == Some(true)).then_some(row.k);
        format!("{}|{}", row.k, shown(other))
    });
    vec![
        (format!("SELECT k FROM t WHERE {c}"), kept.clone()),
        (
            format!("SELECT k, {c} AS c FROM t"),
            values(all, |row| condition.of(row)),
        ),
        (
            format!("SELECT t.k FROM t JOIN {other} u ON t.k = u.k2 AND {c}"),
            kept.clone(),
        ),
        (
            format!("SELECT t.k, u.k2 FROM t LEFT JOIN {other} u ON t.k = u.k2 AND {c}"),
            joined.collect(),
        ),
        (
            format!(
                "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM {other} u WHERE u.k2 = t.k AND {c})"
            ),
            kept.clone(),
        ),
        (
            format!("SELECT k FROM t WHERE k IN (SELECT k2 FROM {other} u WHERE {c})"),
            kept.clone(),
        ),
        (format!("SELECT k FROM ({grouped}) WHERE {c}"), kept.clone()),
        (
            format!("SELECT k FROM t GROUP BY k, x, y, b HAVING {c}"),
            kept.clone(),
        ),
        (
            format!(
                "SELECT k FROM (SELECT k, x, y, b, count(*) OVER (PARTITION BY k, x, y, b) FROM t) WHERE {c}"
            ),
            kept.clone(),
        ),
        (
            format!(
                "SELECT k FROM (SELECT * FROM t UNION ALL SELECT * FROM t WHERE false) WHERE {c}"
            ),
            kept,
        ),
        (
            format!("SELECT count(*) FILTER (WHERE {c}) FROM t"),
            vec![keys(all, |row| condition.of(row)).len().to_string()],
        ),
    ]
}

/// Two conditions that meet only when the engine merges the parts of a statement.
fn statements_with_two(all: &[Row], one: &Condition, two: &Condition) -> Vec<Expected> {
    let (a, b) = (one.text(), two.text());
    let flags = format!("(SELECT k, {a} AS f, {b} AS g FROM t)");
    let both = |row: &Row| and([one.of(row), two.of(row)]);
    let either = |row: &Row| or([one.of(row), two.of(row)]);
    vec![
        (
            format!("SELECT k FROM {flags} WHERE NOT (f AND g)"),
            keys(all, |row| not(both(row))),
        ),
        (
            format!("SELECT k FROM {flags} WHERE f OR g"),
            keys(all, either),
        ),
        (format!("SELECT k, f AND g FROM {flags}"), values(all, both)),
        (
            format!("SELECT k, NOT (f OR g) FROM {flags}"),
            values(all, |row| not(either(row))),
        ),
        (
            format!("SELECT k FROM (SELECT * FROM t WHERE {a}) WHERE {b}"),
            keys(all, both),
        ),
        (
            format!(
                "SELECT k FROM (SELECT *, 1 AS one, CAST(NULL AS BIGINT) AS no FROM t WHERE {a}) WHERE {b} AND x = one AND 1 = x"
            ),
            keys(all, |row| and([both(row), row.x.map(|x| x == 1)])),
        ),
        (
            format!(
                "SELECT k FROM (SELECT *, CAST(NULL AS BIGINT) AS no FROM t WHERE {a}) WHERE {b} AND x > no AND x > 1"
            ),
            Vec::new(),
        ),
        (
            format!(
                "SELECT k FROM (SELECT *, 2 AS two FROM t WHERE {a}) WHERE {b} AND two < x AND x >= 2"
            ),
            keys(all, |row| and([both(row), row.x.map(|x| x > 2)])),
        ),
    ]
}

#[test]
fn conditions_have_their_values_of_three_valued_logic_in_every_place() {
    let mut wrong = Vec::new();
    for seed in seeds(SEEDS) {
        let mut random = Random::from_seed(seed);
        let session = session(&store());
        let all = some_table(&session);
        for _ in 0..CONDITIONS {
            let depth = 1 + u32::try_from(random.below(3)).unwrap();
            let condition = Condition::some(&mut random, depth);
            let (one, two) = (
                Condition::some(&mut random, 1),
                Condition::some(&mut random, 1),
            );
            let mut statements = statements_with(&all, &condition);
            statements.extend(statements_with_two(&all, &one, &two));
            for (statement, mut expected) in statements {
                expected.sort();
                let found = try_rows(&session, &statement).map(|mut found| {
                    found.sort();
                    found
                });
                match found {
                    Ok(found) if found == expected => {}
                    Ok(found) => wrong.push(format!(
                        "{statement}\n  returns {found:?}\n  and not {expected:?}"
                    )),
                    Err(error) => wrong.push(format!("{statement}\n  fails: {error}")),
                }
            }
            deletes_what_it_returns(&condition, &all, &mut wrong);
        }
        wrong.iter_mut().for_each(|text| {
            if !text.starts_with("seed") {
                *text = format!("seed {seed}: {text}");
            }
        });
    }
    wrong.sort_by_key(String::len);
    let first: Vec<&String> = wrong.iter().take(4).collect();
    assert!(wrong.is_empty(), "{} wrong: {first:#?}", wrong.len());
}

/// A statement deletes the rows for which its condition is true.
fn deletes_what_it_returns(condition: &Condition, all: &[Row], wrong: &mut Vec<String>) {
    let session = session(&store());
    some_table(&session);
    let statement = format!("DELETE FROM t WHERE {}", condition.text());
    rows(&session, &statement);
    let expected = all.iter().filter(|row| condition.of(row) != Some(true));
    let mut expected: Vec<String> = expected.map(|row| row.k.to_string()).collect();
    let mut found = rows(&session, "SELECT k FROM t");
    expected.sort();
    found.sort();
    if found != expected {
        wrong.push(format!(
            "{statement}\n  leaves {found:?}\n  and not {expected:?}"
        ));
    }
}

/// What is simplified one by one is still read as ranges of the key, and not tested again.
#[test]
fn conditions_on_a_key_are_still_ranges() {
    let session = session(&store());
    some_table(&session);
    for condition in [
        "k = 1 OR k = 2 OR k = 3 OR k = 4 OR k = 9",
        "k = 0+1 OR 2 = k OR 3 = k OR k IN (4, 9)",
        "k IN (1, 2, 3, 4, 9, 10) AND k IN (1, 2, 3, 4, 9, 11)",
        "NOT (k NOT IN (1, 2, 3, 4, 9))",
        "NOT (k <> 1 AND k <> 2) OR 9 >= k AND k >= 9 OR CAST(k AS INT) IN (3, 4)",
        "(k = 1 OR k = 2 OR k = 3 OR k = 4 OR k = 9) AND (x IN (1) OR x NOT IN (1, 2) OR x IS NULL)",
    ] {
        let plan = explain(&session, &format!("SELECT k FROM t WHERE {condition}"));
        let is_read = plan.contains("01' or '") && plan.contains("04' or 1 more");
        assert!(is_read, "{condition}: {plan}");
        let filter = plan.lines().find(|line| line.contains("FilterExec"));
        assert!(
            filter.is_none_or(|line| !line.contains("k@0 ")),
            "{condition}: {plan}"
        );
    }
}

/// A condition on many columns is planned in a time that grows as its text does.
#[test]
fn long_conditions_are_planned() {
    let session = session(&store());
    let names: Vec<String> = (0..40).map(|at| format!("c{at}")).collect();
    let columns: Vec<String> = names.iter().map(|name| format!("{name} BIGINT")).collect();
    let table = format!(
        "CREATE TABLE w (k BIGINT, {}, PRIMARY KEY (k))",
        columns.join(", ")
    );
    rows(&session, &table);
    let lists = names
        .iter()
        .map(|name| format!("{name} NOT IN (1,2) OR {name} NOT IN (3,4)"));
    let lists: Vec<String> = lists.collect();
    let query = format!("SELECT count(*) FROM w WHERE {}", lists.join(" OR "));
    assert_eq!(rows(&session, &query), ["0"]);
}
