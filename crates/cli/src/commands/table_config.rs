//! `table config …`

use ostrakon_cell::{Error, ErrorKind, Source};
use serde_json::json;

use super::access::find_table;
use crate::args::ConfigCommand;
use crate::failure::{Failure, Result, nearest};
use crate::output::{Columns, Output};

/// Shows or changes properties.
pub(super) fn run(source: &dyn Source, command: ConfigCommand, out: &mut Output) -> Result<()> {
    match command {
        ConfigCommand::Get { table, filter } => {
            let properties = find_table(source, &table)?.properties()?;
            let mut columns = Columns::new(&["property", "value"]);
            let wanted = filter.unwrap_or_default();
            let json = out.is_json();
            for (name, value) in properties {
                if !name.contains(&wanted) {
                    continue;
                }
                if json {
                    out.object(&json!({"property": name, "value": value}), String::new)?;
                }
                columns.row(vec![name, value]);
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
            let known = find_table(source, &table)?.properties()?;
            for name in &names {
                if !known.contains_key(name) {
                    let failure = Failure::from(Error::not_found("the table has no such property"))
                        .with("property", name);
                    return Err(match nearest(name, known.keys().map(String::as_str)) {
                        Some(near) => failure.next(format!("did you mean `{near}`?")),
                        None => failure.next(all_of(&table)),
                    });
                }
            }
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
    table
        .modify_properties(changes)
        .map_err(|error| explain(name, error))?;
    out.object(
        &json!({"table": name, "changed": changes.len()}),
        String::new,
    )
}

/// The store names the nearest property; where all of them are shown is ours to say.
fn explain(table: &str, error: Error) -> Failure {
    let unknown = error.kind() == ErrorKind::NotFound;
    let failure = Failure::from(error);
    if unknown && failure.named("property").is_some() && failure.named("class").is_none() {
        failure.next(all_of(table))
    } else {
        failure
    }
}

fn all_of(table: &str) -> String {
    format!("`ostrakon table config get {table}` shows all")
}
