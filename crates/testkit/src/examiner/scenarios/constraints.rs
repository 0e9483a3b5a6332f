//! Q: constraints.

use std::sync::Arc;

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, Capability, Condition, ConditionalMutation, ConditionalStatus,
    ErrorKind, Mutation, MutationBatch, Table, TableOptions,
};

use crate::examiner::bench::{
    Bench, Check, auths, ensure, expect_equal, expect_refused, expect_values, read_all,
};

const NO_DELETE: &str = "org.apache.accumulo.core.data.constraints.NoDeleteConstraint";

fn constrain(table: &Arc<dyn Table>, class: Option<&str>) -> ostrakon_cell::Result<()> {
    let name = "table.constraint.7".to_owned();
    table.modify_properties(&[(name, class.map(str::to_owned))])
}

fn mutation(row: &str, delete: bool) -> Check<Mutation> {
    let mut mutation = Mutation::new(row);
    mutation.put("f", "kept", row)?;
    if delete {
        mutation.delete("f", "gone")?;
    }
    Ok(mutation)
}

pub(in crate::examiner) fn constraints_refuse_whole_mutations(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    constrain(&table, Some(NO_DELETE))?;
    let mut batch = MutationBatch::new();
    for (row, delete) in [("a", false), ("b", true), ("c", false), ("d", true)] {
        batch.push(&mutation(row, delete)?)?;
    }
    let outcome = table.submit(batch, None)?.wait()?;
    expect_values(
        &read_all(&table)?,
        &["a", "c"],
        "what a constraint let pass",
    )?;
    let told: Vec<_> = outcome
        .rejections
        .iter()
        .map(|one| (one.constraint.as_str(), one.code, one.mutations))
        .collect();
    expect_equal(told, vec![(NO_DELETE, 1, 2)], "what was told of refusals")?;
    if table.capabilities().has(Capability::ConditionalWrite) {
        let one = |row: &str, delete| -> Check<ConditionalMutation> {
            let condition = Condition {
                family: b"f".to_vec(),
                qualifier: b"other".to_vec(),
                ..Condition::default()
            };
            Ok(ConditionalMutation {
                mutation: mutation(row, delete)?,
                conditions: vec![condition],
            })
        };
        let both = vec![one("e", true)?, one("f", false)?];
        expect_equal(
            table.write_conditionally(both, &auths(""), None)?,
            vec![ConditionalStatus::Violated, ConditionalStatus::Accepted],
            "conditional mutations under a constraint",
        )?;
        expect_values(
            &read_all(&table)?,
            &["a", "c", "f"],
            "what conditions let pass",
        )?;
    }
    constrain(&table, None)?;
    let mut batch = MutationBatch::new();
    batch.push(&mutation("g", true)?)?;
    let outcome = table.submit(batch, None)?.wait()?;
    ensure(outcome.rejections.is_empty(), || {
        "a constraint that was removed still refuses".to_owned()
    })
}

pub(in crate::examiner) fn batch_writers_sum_up_refusals(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    constrain(&table, Some(NO_DELETE))?;
    let config = BatchWriterConfig {
        batch_bytes: 1,
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(table.clone(), config);
    let mut refused = Vec::new();
    for (row, delete) in [
        ("a", true),
        ("b", false),
        ("c", true),
        ("d", false),
        ("e", true),
    ] {
        // A refusal is told at one of the next calls.
        refused.extend(writer.add(&mutation(row, delete)?).err());
    }
    refused.extend(writer.flush().err());
    ensure(
        !refused.is_empty()
            && refused
                .iter()
                .all(|error| error.kind() == ErrorKind::ConstraintViolation),
        || format!("refusals were told as {refused:?}"),
    )?;
    let counts: Vec<_> = writer
        .rejections()
        .iter()
        .map(|one| (one.code, one.mutations))
        .collect();
    expect_equal(counts, vec![(1, 3)], "the sum of all refusals")?;
    writer.flush()?;
    writer.close()?;
    expect_values(
        &read_all(&table)?,
        &["b", "d"],
        "what a constraint let pass",
    )
}

pub(in crate::examiner) fn unknown_constraints_are_refused_at_once(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let before = table.properties()?;
    expect_equal(
        before.get("table.constraint.1").map(String::as_str),
        Some("org.apache.accumulo.core.data.constraints.DefaultKeySizeConstraint"),
        "the constraint of a new table",
    )?;
    expect_refused(
        constrain(&table, Some("org.example.NoSuchConstraint")),
        &[ErrorKind::ClassNotFound, ErrorKind::InvalidArgument],
        "an unknown constraint class",
    )?;
    expect_equal(
        table.properties()?,
        before,
        "the properties after a refusal",
    )
}

pub(in crate::examiner) fn refused_mutations_are_told(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        properties: [(
            "table.constraint.2".to_owned(),
            "NoDeleteConstraint".to_owned(),
        )]
        .into(),
        ..TableOptions::default()
    })?;
    let mut batch = MutationBatch::new();
    for row in 0..6 {
        let mut mutation = Mutation::new(row.to_string());
        if [1, 4].contains(&row) {
            mutation.delete("f", "q")?;
        } else {
            mutation.put("f", "q", row.to_string())?;
        }
        batch.push(&mutation)?;
    }
    let outcome = table.submit(batch, None)?.wait()?;
    expect_equal(
        outcome.refused,
        vec![1, 4],
        "the places of refused mutations",
    )?;
    expect_equal(outcome.failed.len(), 0, "tablets that failed")?;
    expect_values(&read_all(&table)?, &["0", "2", "3", "5"], "the others")
}
