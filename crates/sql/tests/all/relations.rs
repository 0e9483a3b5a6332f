//! Random queries of two relations with columns of the same names, compared with what their rows give: joins whose WHERE
//! has OR, and IN and EXISTS of queries that name columns of the outer one. And groups of floating-point numbers.

use std::collections::BTreeMap;

use ostrakon_sql::SqlSession;
use ostrakon_store::clock::Random;

use super::conditions::truth::{COMPARISONS, Truth, and, not, number, or};
use super::kit::{rows, seeds, session, store, try_rows};

/// Seeds of the run that every test makes.
const SEEDS: u64 = 3;
const QUERIES: usize = 40;

/// The columns `i`, which is the key, `k` and `n`.
type Row = [Option<i64>; 3];
/// Of the left and of the right relation; a join may lack one.
type Pair<'a> = [Option<&'a Row>; 2];

#[derive(Clone, Copy)]
enum Value {
    Column(usize, usize),
    Number(i64),
}

impl Value {
    fn some(random: &mut Random) -> Self {
        match random.below(4) {
            0 => Self::Number(some_number(random)),
            _ => Self::Column(number(random, 2), number(random, 3)),
        }
    }

    fn of(self, pair: Pair<'_>) -> Option<i64> {
        match self {
            Self::Column(side, column) => pair[side]?[column],
            Self::Number(number) => Some(number),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Column(side, column) => {
                format!("{}.{}", ["a", "b"][side], ["i", "k", "n"][column])
            }
            Self::Number(number) => number.to_string(),
        }
    }
}

enum Condition {
    Compared(Value, usize, Value),
    IsNull(Value),
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
}

impl Condition {
    fn some(random: &mut Random, depth: u32) -> Self {
        let parts = |random: &mut Random| {
            let count = 2 + number(random, 2);
            (0..count).map(|_| Self::some(random, depth - 1)).collect()
        };
        match random.below(if depth == 0 { 5 } else { 12 }) {
            0..4 => Self::Compared(Value::some(random), number(random, 6), Value::some(random)),
            4 => Self::IsNull(Value::some(random)),
            5..8 => Self::All(parts(random)),
            8..11 => Self::Any(parts(random)),
            _ => Self::Not(Box::new(Self::some(random, depth - 1))),
        }
    }

    fn of(&self, pair: Pair<'_>) -> Truth {
        match self {
            Self::Compared(left, operator, right) => {
                Some(COMPARISONS[*operator].1(left.of(pair)?, right.of(pair)?))
            }
            Self::IsNull(value) => Some(value.of(pair).is_none()),
            Self::All(parts) => and(parts.iter().map(|part| part.of(pair))),
            Self::Any(parts) => or(parts.iter().map(|part| part.of(pair))),
            Self::Not(inner) => not(inner.of(pair)),
        }
    }

    fn text(&self) -> String {
        let joined = |parts: &[Self], word: &str| {
            let parts: Vec<String> = parts.iter().map(Self::text).collect();
            format!("({})", parts.join(word))
        };
        match self {
            Self::Compared(left, operator, right) => {
                format!(
                    "{} {} {}",
                    left.text(),
                    COMPARISONS[*operator].0,
                    right.text()
                )
            }
            Self::IsNull(value) => format!("{} IS NULL", value.text()),
            Self::All(parts) => joined(parts, " AND "),
            Self::Any(parts) => joined(parts, " OR "),
            Self::Not(inner) => format!("NOT ({})", inner.text()),
        }
    }
}

fn some_number(random: &mut Random) -> i64 {
    i64::try_from(random.below(4)).unwrap()
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

fn some_relation(session: &SqlSession, name: &str, random: &mut Random) -> Vec<Row> {
    let create = format!("CREATE TABLE {name} (i BIGINT, k BIGINT, n BIGINT, PRIMARY KEY (i))");
    rows(session, &create);
    let mut value = || (random.below(4) > 0).then(|| some_number(random));
    let all: Vec<Row> = (0..6).map(|i| [Some(i), value(), value()]).collect();
    for row in &all {
        let values = row.map(shown).join(", ");
        rows(session, &format!("INSERT INTO {name} VALUES ({values})"));
    }
    all
}

/// A statement and the rows that it returns, in any order.
type Expected = (String, Vec<String>);

/// A join, and the keys of its pairs for which a condition holds.
fn some_join(random: &mut Random, a: &[Row], b: &[Row]) -> Expected {
    let (left, right) = (number(random, 3), number(random, 3));
    let depth = u32::try_from(random.below(2)).unwrap();
    let more = Condition::some(random, depth);
    let has_more = random.below(3) == 0;
    let on = |pair: Pair<'_>| {
        let equal = Value::Column(0, left)
            .of(pair)
            .zip(Value::Column(1, right).of(pair));
        let equal = equal.map(|(left, right)| left == right);
        equal == Some(true) && (!has_more || more.of(pair) == Some(true))
    };
    let kind = number(random, 4);
    let (keeps_left, keeps_right) = (kind == 1 || kind == 3, kind >= 2);
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for left in a {
        let all = b.iter().map(|right| [Some(left), Some(right)]);
        let found: Vec<Pair<'_>> = all.filter(|pair| on(*pair)).collect();
        if found.is_empty() && keeps_left {
            pairs.push([Some(left), None]);
        }
        pairs.extend(found);
    }
    let alone = b
        .iter()
        .filter(|right| !a.iter().any(|left| on([Some(left), Some(right)])));
    if keeps_right {
        pairs.extend(alone.map(|right| [None, Some(right)]));
    }
    let condition = Condition::some(random, 2);
    let word = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"][kind];
    let (x, y) = (
        Value::Column(0, left).text(),
        Value::Column(1, right).text(),
    );
    let and = match has_more {
        true => format!(" AND {}", more.text()),
        false => String::new(),
    };
    let statement = format!(
        "SELECT a.i, b.i FROM a {word} b ON {x} = {y}{and} WHERE {}",
        condition.text()
    );
    let kept = pairs
        .into_iter()
        .filter(|pair| condition.of(*pair) == Some(true));
    let keys = kept.map(|[a, b]| {
        let keys = [a, b].map(|row| shown(row.and_then(|row| row[0])));
        keys.join("|")
    });
    (statement, keys.collect())
}

/// IN or EXISTS of a query, as a condition, within one, and as a value.
fn some_subqueries(random: &mut Random, a: &[Row], b: &[Row]) -> Vec<Expected> {
    let value = match random.below(5) {
        0 => Value::Number(some_number(random)),
        _ => Value::Column(0, number(random, 3)),
    };
    let column = Value::Column(1, number(random, 3));
    let condition = match random.below(4) {
        0 => Condition::Compared(Value::Number(0), 0, Value::Number(0)),
        1 => Condition::Compared(value, 0, column),
        _ => Condition::some(random, 1),
    };
    let negated = random.below(3) > 0;
    let exists = random.below(3) == 0;
    let found = |left: &Row| {
        let all = b.iter().map(|right| [Some(left), Some(right)]);
        let mut all = all.filter(|pair| condition.of(*pair) == Some(true));
        let found = match exists {
            true => Some(all.next().is_some()),
            false => or(all.map(|pair| Some(value.of(pair)? == column.of(pair)?))),
        };
        if negated { not(found) } else { found }
    };
    let word = if negated { "NOT " } else { "" };
    let from = format!("FROM b WHERE {}", condition.text());
    let text = match exists {
        true => format!("{word}EXISTS (SELECT 1 {from})"),
        false => format!(
            "{} {word}IN (SELECT {} {from})",
            value.text(),
            column.text()
        ),
    };
    let other = Condition::Compared(Value::Column(0, 1), number(random, 6), Value::Column(0, 2));
    let of_other = |left: &Row| other.of([Some(left), None]);
    let keys = |truth: &dyn Fn(&Row) -> Truth| -> Vec<String> {
        let kept = a.iter().filter(|row| truth(row) == Some(true));
        kept.map(|row| shown(row[0])).collect()
    };
    let other = other.text();
    vec![
        (format!("SELECT i FROM a WHERE {text}"), keys(&found)),
        (
            format!("SELECT i FROM a WHERE {text} AND {other}"),
            keys(&|row| and([found(row), of_other(row)])),
        ),
        (
            format!("SELECT i FROM a WHERE {text} OR {other}"),
            keys(&|row| or([found(row), of_other(row)])),
        ),
        (
            format!("SELECT i FROM a WHERE NOT ({text} AND {other})"),
            keys(&|row| not(and([found(row), of_other(row)]))),
        ),
        (
            format!("SELECT i, {text} AS v FROM a"),
            a.iter()
                .map(|row| format!("{}|{}", shown(row[0]), shown(found(row))))
                .collect(),
        ),
    ]
}

#[test]
fn joins_and_subqueries_return_what_their_rows_give() {
    let mut wrong = Vec::new();
    for seed in seeds(SEEDS) {
        let mut random = Random::from_seed(seed);
        let session = session(&store());
        let a = some_relation(&session, "a", &mut random);
        let b = some_relation(&session, "b", &mut random);
        for _ in 0..QUERIES {
            let mut statements = some_subqueries(&mut random, &a, &b);
            statements.push(some_join(&mut random, &a, &b));
            statements.push(some_join(&mut random, &a, &b));
            for (statement, mut expected) in statements {
                expected.sort();
                let found = try_rows(&session, &statement).map(|mut found| {
                    found.sort();
                    found
                });
                match found {
                    Ok(found) if found == expected => {}
                    other => wrong.push(format!(
                        "seed {seed}: {statement}\n  returns {other:?}\n  and not {expected:?}"
                    )),
                }
            }
        }
    }
    wrong.sort_by_key(String::len);
    let first: Vec<&String> = wrong.iter().take(6).collect();
    assert!(wrong.is_empty(), "{} wrong: {first:#?}", wrong.len());
}

/// Numbers as they are written, and the one that stands for all that are equal to it.
const NUMBERS: [(&str, &str); 7] = [
    ("0.0e0", "0.0"),
    ("-0.0e0", "0.0"),
    ("CAST('NaN' AS DOUBLE)", "NaN"),
    ("-CAST('NaN' AS DOUBLE)", "NaN"),
    ("1.5", "1.5"),
    ("CAST('-Infinity' AS DOUBLE)", "-inf"),
    ("CAST(NULL AS DOUBLE)", "NULL"),
];
const ORDER: [&str; 5] = ["-inf", "0.0", "1.5", "NaN", "NULL"];

#[test]
fn groups_of_numbers_have_one_zero_and_one_nan() {
    for seed in seeds(SEEDS * 4) {
        let mut random = Random::from_seed(seed);
        let session = session(&store());
        let count = 1 + random.below(40);
        let all: Vec<usize> = (0..count).map(|_| number(&mut random, 7)).collect();
        let values: Vec<String> = all
            .iter()
            .enumerate()
            .map(|(at, number)| format!("({}, {at})", NUMBERS[*number].0))
            .collect();
        let from = format!("(VALUES {}) v (f, k)", values.join(", "));
        let place = |number: usize| {
            let name = NUMBERS[number].1;
            ORDER.iter().position(|other| *other == name).unwrap()
        };
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, number) in all.iter().enumerate() {
            groups.entry(place(*number)).or_default().push(at);
        }
        let limit = usize::try_from(random.below(6)).unwrap();
        let names = |groups: &BTreeMap<usize, Vec<usize>>| -> Vec<String> {
            let names = groups.keys().take(limit);
            names.map(|place| ORDER[*place].to_owned()).collect()
        };
        let counted: Vec<String> = groups
            .iter()
            .take(limit)
            .map(|(place, rows)| {
                format!("{}|{}|{}", ORDER[*place], rows.len(), rows[rows.len() - 1])
            })
            .collect();
        let mut sorted: Vec<(usize, usize)> = all.iter().map(|n| place(*n)).zip(0..).collect();
        sorted.sort_unstable();
        let in_order: Vec<String> = sorted
            .iter()
            .take(limit)
            .map(|(_, at)| at.to_string())
            .collect();
        let ranked: Vec<String> = sorted
            .iter()
            .enumerate()
            .map(|(rank, (place, at))| {
                let first = sorted.iter().position(|(other, _)| other == place).unwrap();
                (*at, format!("{at}|{}|{}", first + 1, rank - first + 1))
            })
            .collect::<BTreeMap<_, _>>()
            .into_values()
            .collect();
        let different = groups.len() - usize::from(groups.contains_key(&4));
        for (statement, expected) in [
            (
                format!("SELECT DISTINCT f FROM {from} ORDER BY f LIMIT {limit}"),
                names(&groups),
            ),
            (
                format!("SELECT f FROM {from} GROUP BY f ORDER BY f LIMIT {limit}"),
                names(&groups),
            ),
            (
                format!("SELECT f FROM {from} UNION SELECT f FROM {from} ORDER BY f LIMIT {limit}"),
                names(&groups),
            ),
            (
                format!(
                    "SELECT f, count(*), max(k) FROM {from} GROUP BY f ORDER BY f LIMIT {limit}"
                ),
                counted,
            ),
            (
                format!("SELECT k FROM {from} ORDER BY f, k LIMIT {limit}"),
                in_order,
            ),
            (
                format!(
                    "SELECT k, rank() OVER (ORDER BY f), row_number() OVER (PARTITION BY f ORDER BY k) \
                     FROM {from} ORDER BY k"
                ),
                ranked,
            ),
            (
                format!("SELECT count(DISTINCT f) FROM {from}"),
                vec![different.to_string()],
            ),
            (
                format!(
                    "SELECT count(*) FROM (SELECT f FROM {from} EXCEPT ALL SELECT f FROM {from}) x"
                ),
                vec!["0".to_owned()],
            ),
        ] {
            // The same zero is shown for both.
            let found: Vec<String> = rows(&session, &statement)
                .into_iter()
                .map(|row| row.replace("-0.0", "0.0"))
                .collect();
            assert_eq!(found, expected, "seed {seed}: {statement}");
        }
    }
}

#[test]
fn null_safe_conditions_are_keys_and_leave_other_joins_theirs() {
    let source = store();
    let session = session(&source);
    for name in ["a", "b", "c", "p", "q"] {
        let create = format!("CREATE TABLE {name} (k BIGINT, v BIGINT, PRIMARY KEY (k))");
        rows(&session, &create);
    }
    let null_safe = "SELECT count(*) FROM p JOIN q ON p.v IS NOT DISTINCT FROM q.v";
    let plan = super::kit::explain(&session, null_safe);
    assert!(
        plan.contains("HashJoinExec") && plan.contains("NullsEqual: true"),
        "{plan}"
    );
    // A comma between a and c would be all pairs of their rows.
    let others = "SELECT count(*) FROM (SELECT a.k AS ak, b.k AS bk, c.k AS ck FROM a, c, b) s WHERE ak = bk AND bk = ck";
    for query in [
        others.to_owned(),
        format!("SELECT ({others}) AS n, ({null_safe}) AS m"),
        format!("SELECT n, m FROM ({others}) x (n), ({null_safe}) y (m)"),
    ] {
        let plan = super::kit::explain(&session, &query);
        let keyed =
            plan.matches("HashJoinExec").count() + plan.matches("SortMergeJoinExec").count();
        assert!(
            keyed >= 2 && !plan.contains("NestedLoopJoinExec"),
            "{query}\n{plan}"
        );
        let crosses = plan.matches("CrossJoinExec").count();
        // Of the two subqueries with one row each.
        assert!(crosses <= usize::from(query != others), "{query}\n{plan}");
    }
}
