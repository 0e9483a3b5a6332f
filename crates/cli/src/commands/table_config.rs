//! `table config …`

use ostrakon_cell::{Activity, Error, ErrorKind, PropertyEffect, Source, Table};
use ostrakon_events::may_change_entries;
use serde_json::json;

use super::access::{find_table, refuse_events};
use crate::args::ConfigCommand;
use crate::failure::{Failure, Result};
use crate::output::{Columns, Output};

/// Shows or changes properties.
pub(super) fn run(source: &dyn Source, command: ConfigCommand, out: &mut Output) -> Result<()> {
    match command {
        ConfigCommand::Get {
            table,
            filter,
            long,
        } => {
            let properties = find_table(source, &table)?.describe_properties()?;
            let mut columns = if long {
                Columns::new(&["property", "value", "set by", "effect"])
            } else {
                Columns::new(&["property", "value"])
            };
            let wanted = filter.unwrap_or_default();
            let json = out.is_json();
            for (name, info) in properties {
                if !name.contains(&wanted) {
                    continue;
                }
                let level = info.level.as_str();
                let (effect, used) = match &info.effect {
                    PropertyEffect::Full => ("full", None),
                    PropertyEffect::None => ("none", None),
                    PropertyEffect::Instead(used) => ("instead", Some(used)),
                };
                if json {
                    let object = json!({
                        "property": name, "value": info.value, "level": level, "effect": effect,
                        "used": used,
                    });
                    out.object(&object, String::new)?;
                }
                let mut row = vec![name, info.value];
                if long {
                    row.push(level.to_owned());
                    row.push(match (effect, used) {
                        (_, Some(used)) => format!("{used} is used"),
                        ("none", _) => "without effect".to_owned(),
                        _ => String::new(),
                    });
                }
                columns.row(row);
            }
            if !json {
                columns.write(out.stream())?;
            }
            Ok(())
        }
        ConfigCommand::Set { table, properties } => {
            let changes: Vec<_> = properties
                .into_iter()
                .map(|one| (one.name, Some(one.value)))
                .collect();
            change(source, &table, &changes, out)
        }
        ConfigCommand::Delete { table, names } => {
            let changes: Vec<_> = names.into_iter().map(|name| (name, None)).collect();
            change(source, &table, &changes, out)
        }
    }
}

fn change(
    source: &dyn Source,
    name: &str,
    changes: &[(String, Option<String>)],
    out: &mut Output,
) -> Result<()> {
    let table = find_table(source, name)?;
    if changes.iter().any(|(name, _)| may_change_entries(name)) {
        refuse_events(source, name)?;
    }
    table
        .modify_properties(changes)
        .map_err(|error| explain(name, error))?;
    warn_of_effects(&*table, changes)?;
    out.object(
        &json!({"table": name, "changed": changes.len()}),
        String::new,
    )
}

/// Warns of values that have no effect, or that the store replaces with another.
fn warn_of_effects(table: &dyn Table, changes: &[(String, Option<String>)]) -> Result<()> {
    let set = || changes.iter().filter(|(_, value)| value.is_some());
    if set().next().is_none() {
        return Ok(());
    }
    let all = table.describe_properties()?;
    for (property, _) in set() {
        match all.get(property).map(|info| &info.effect) {
            Some(PropertyEffect::None) => {
                Failure::warning("the property was set, but has no effect in this store")
                    .with("property", property)
                    .warn();
            }
            Some(PropertyEffect::Instead(used)) => {
                Failure::warning("the property was set, but the store uses another value instead")
                    .with("property", property)
                    .with("used", used)
                    .warn();
            }
            _ => {}
        }
    }
    for problem in table.problems()? {
        if problem.activity == Activity::Properties {
            Failure::warning(problem.message)
                .next(problem.way_out)
                .warn();
        }
    }
    Ok(())
}

/// Adds how to list all properties, if the store does not suggest one.
fn explain(table: &str, error: Error) -> Failure {
    let unknown = error.kind() == ErrorKind::NotFound;
    let failure = Failure::from(error);
    if unknown && failure.named("property").is_some() && !failure.suggests() {
        failure.next(format!(
            "run `ostrakon table config get {table}` to see all; names of your own properties begin with table.custom."
        ))
    } else {
        failure
    }
}
