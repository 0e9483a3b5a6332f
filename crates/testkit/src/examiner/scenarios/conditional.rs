//! K: conditional mutations.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Condition, ConditionalMutation, ConditionalStatus, Mutation, Range, Table,
};

use crate::examiner::bench::{
    Bench, Check, auths, ensure, entry, expect_equal, expect_values, labelled, marker, read, write,
};

fn condition(column: &str, value: Option<&str>) -> Condition {
    let (family, qualifier) = column.split_once(':').unwrap_or((column, ""));
    Condition {
        family: family.into(),
        qualifier: qualifier.into(),
        value: value.map(|value| value.as_bytes().to_vec()),
        ..Condition::default()
    }
}

fn mutation(row: &str, value: &str) -> Check<Mutation> {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "q", value)?;
    Ok(mutation)
}

pub(in crate::examiner) fn conditions_hold_or_nothing_happens(bench: &Bench<'_>) -> Check {
    use ConditionalStatus::{Accepted, InvisibleVisibility, Rejected};
    let table = bench.table()?;
    write(
        &table,
        &[
            entry("r", "f:q", 5, "old"),
            entry("r", "g:q", 7, "other"),
            labelled(entry("r", "l:q", 1, "secret"), "a"),
            entry("gone", "f:q", 1, "x"),
        ],
    )?;
    table.flush(true)?;
    write(&table, &[marker("gone", "f:q", 2)])?;
    let at = |timestamp: i64, condition: Condition| Condition {
        timestamp: Some(timestamp),
        ..condition
    };
    let with_label = |label: &str, condition: Condition| Condition {
        visibility: label.as_bytes().to_vec(),
        ..condition
    };
    let cases = [
        ("r", vec![condition("f:q", None)], Rejected),
        ("r", vec![condition("f:q", Some("new"))], Rejected),
        ("r", vec![condition("absent:q", Some("old"))], Rejected),
        (
            "r",
            vec![
                condition("f:q", Some("old")),
                condition("g:q", Some("wrong")),
            ],
            Rejected,
        ),
        ("r", vec![at(4, condition("f:q", Some("old")))], Rejected),
        ("r", vec![condition("l:q", Some("secret"))], Rejected),
        (
            "r",
            vec![with_label("b", condition("l:q", None))],
            InvisibleVisibility,
        ),
        ("gone", vec![condition("f:q", Some("x"))], Rejected),
        (
            "r",
            vec![
                condition("f:q", Some("old")),
                at(7, condition("g:q", Some("other"))),
                condition("absent:q", None),
                with_label("a", condition("l:q", Some("secret"))),
            ],
            Accepted,
        ),
        // Each sees what those before it did.
        ("r", vec![condition("f:q", Some("old"))], Rejected),
        ("r", vec![condition("f:q", Some("8"))], Accepted),
        ("gone", vec![condition("f:q", None)], Accepted),
        ("fresh", vec![condition("f:q", None)], Accepted),
        ("fresh", vec![], Accepted),
    ];
    let mut mutations = Vec::new();
    for (number, (row, conditions, _)) in cases.iter().enumerate() {
        mutations.push(ConditionalMutation {
            mutation: mutation(row, &number.to_string())?,
            conditions: conditions.clone(),
        });
    }
    let answers = table.write_conditionally(mutations, &auths("a"), None)?;
    let expected: Vec<ConditionalStatus> = cases.iter().map(|case| case.2).collect();
    expect_equal(answers, expected, "the answers in order")?;
    let found = read(
        &table,
        &[
            Range::rows("fresh"..="gone"),
            Range::row_column("r", "f", "q"),
        ],
    )?;
    expect_values(&found, &["13", "11", "10"], "what was applied")
}

fn add_one(table: &Arc<dyn Table>, writer: u64) -> Check<u64> {
    let mut won = 0;
    for _ in 0..60 {
        let found = read(table, &[Range::row_column("counter", "f", "q")])?;
        let value = found
            .first()
            .map(|entry| String::from_utf8_lossy(&entry.value));
        let count: u64 = value
            .as_deref()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let mut next = mutation("counter", &(count + 1).to_string())?;
        next.put("by", format!("{:08}", count + 1), writer.to_string())?;
        let answers = table.write_conditionally(
            vec![ConditionalMutation {
                mutation: next,
                conditions: vec![condition("f:q", value.as_deref())],
            }],
            &Authorizations::empty(),
            None,
        )?;
        won += u64::from(answers == [ConditionalStatus::Accepted]);
    }
    Ok(won)
}

pub(in crate::examiner) fn exactly_one_wins_a_race(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let won = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|writer| {
                let table = &table;
                scope.spawn(move || add_one(table, writer))
            })
            .collect();
        threads
            .into_iter()
            .try_fold(0, |sum, thread| match thread.join() {
                Ok(won) => Ok(sum + won?),
                Err(_) => ensure(false, || "a thread panicked".to_owned()).map(|()| sum),
            })
    })?;
    let steps = read(&table, &[Range::row_family("counter", "by")])?;
    expect_equal(steps.len() as u64, won, "steps recorded, against races won")?;
    let total = read(&table, &[Range::row_column("counter", "f", "q")])?;
    expect_values(
        &total,
        &[&won.to_string()],
        "the counter, against races won",
    )
}
