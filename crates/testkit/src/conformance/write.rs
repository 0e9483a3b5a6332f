//! Plain and conditional mutations.

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, Condition, ConditionalMutation,
    ConditionalStatus, ErrorKind, Mutation, Source,
};

use super::player::{Failure, Outcome, ok};
use super::scan::authorizations;
use super::script::{Operation, Words};
use super::table::{named, setting};

pub(super) fn write(source: &dyn Source, operation: &Operation) -> Outcome {
    let mut mutations: Vec<Mutation> = Vec::new();
    for detail in &operation.details {
        if detail.verb == "row" {
            mutations.push(Mutation::new(detail.bytes(0)?));
        } else {
            update(detail, mutations.last_mut())?;
        }
    }
    let config = BatchWriterConfig {
        max_latency: None,
        ..BatchWriterConfig::default()
    };
    let mut writer = BatchWriter::new(named(source, operation)?, config);
    for mutation in &mutations {
        writer.add(mutation)?;
    }
    match writer.flush() {
        Ok(()) => return Ok(ok()),
        Err(error) if error.kind() == ErrorKind::ConstraintViolation => {}
        Err(error) => return Err(error.into()),
    }
    let mut lines: Vec<String> = writer
        .rejections()
        .iter()
        .map(|one| {
            let class = one.constraint.rsplit('.').next().unwrap_or_default();
            format!("{class} {} {}", one.code, one.mutations)
        })
        .collect();
    lines.sort();
    lines.insert(0, "violations".to_owned());
    Ok(lines)
}

pub(super) fn conditional(source: &dyn Source, operation: &Operation) -> Outcome {
    let mut mutations: Vec<ConditionalMutation> = Vec::new();
    for detail in &operation.details {
        if detail.verb == "row" {
            mutations.push(ConditionalMutation {
                mutation: Mutation::new(detail.bytes(0)?),
                conditions: Vec::new(),
            });
            continue;
        }
        let Some(last) = mutations.last_mut() else {
            return Err(detail.unknown("a list without a row").into());
        };
        match detail.verb.as_str() {
            "if" => last.conditions.push(condition(detail)?),
            "iterator" => match last.conditions.last_mut() {
                Some(condition) => condition.iterators.push(setting(detail)?),
                None => return Err(detail.unknown("a mutation without conditions").into()),
            },
            _ => update(detail, Some(&mut last.mutation))?,
        }
    }
    let reader = authorizations(&operation.head)?;
    let statuses = named(source, operation)?.write_conditionally(mutations, &reader, None)?;
    let mut lines = vec!["statuses".to_owned()];
    lines.extend(statuses.iter().map(|status| {
        match status {
            ConditionalStatus::Accepted => "accepted",
            ConditionalStatus::Rejected => "rejected",
            ConditionalStatus::Violated => "violated",
            ConditionalStatus::Unknown => "unknown",
            ConditionalStatus::InvisibleVisibility => "invisible",
            ConditionalStatus::MalformedVisibility => "malformed",
        }
        .to_owned()
    }));
    Ok(lines)
}

fn condition(words: &Words) -> Result<Condition, String> {
    Ok(Condition {
        family: words.bytes(0)?,
        qualifier: words.bytes(1)?,
        visibility: words.option_bytes("label")?.unwrap_or_default(),
        timestamp: words.option_number("time")?,
        value: words.option_bytes("value")?,
        iterators: Vec::new(),
    })
}

/// Updates belong to the row above them.
fn update(words: &Words, mutation: Option<&mut Mutation>) -> Result<(), Failure> {
    let mutation = mutation.ok_or_else(|| words.unknown("a write without a row"))?;
    let value = match words.verb.as_str() {
        "put" => Some(words.bytes(2)?),
        "delete" => None,
        _ => return Err(words.unknown("a mutation").into()),
    };
    mutation.update(ColumnUpdate {
        family: &words.bytes(0)?,
        qualifier: &words.bytes(1)?,
        visibility: &words.option_bytes("label")?.unwrap_or_default(),
        timestamp: words.option_number("time")?,
        value: value.as_deref(),
    })?;
    Ok(())
}
