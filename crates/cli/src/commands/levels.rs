//! `namespace …` and `config …`: namespaces, and properties that tables inherit.

use ostrakon_cell::{PropertyOwner, Source};
use ostrakon_events::{check_inherited_by_events, check_namespace_not_of_events};
use serde_json::json;

use crate::args::{Level, LevelCommand, NamespaceCommand};
use crate::failure::Result;
use crate::output::{Columns, Output};

/// The shown name of the default namespace, whose real name is empty.
const DEFAULT: &str = "(default)";

/// The answer to a namespace that was created.
pub(super) fn show_created(name: &str, out: &mut Output) -> Result<()> {
    out.object(&json!({"namespace": name}), String::new)
}

/// Shows and changes namespaces.
pub(super) fn namespace(
    source: &dyn Source,
    command: NamespaceCommand,
    out: &mut Output,
) -> Result<()> {
    match command {
        NamespaceCommand::Create { name } => {
            source.create_namespace(&name)?;
            show_created(&name, out)
        }
        NamespaceCommand::Delete { name } => {
            source.delete_namespace(plain(&name))?;
            out.object(&json!({"deleted": name}), String::new)
        }
        NamespaceCommand::Rename { from, to } => {
            check_namespace_not_of_events(source, &from)?;
            source.rename_namespace(plain(&from), &to)?;
            out.object(&json!({"namespace": to, "before": from}), String::new)
        }
        NamespaceCommand::List => {
            for one in source.namespaces()? {
                let object = json!({"namespace": one.name, "id": one.id});
                out.object(&object, || match one.name.as_str() {
                    "" => DEFAULT.to_owned(),
                    name => name.to_owned(),
                })?;
            }
            Ok(())
        }
    }
}

/// Shows and changes properties that tables inherit.
pub(super) fn config(source: &dyn Source, command: LevelCommand, out: &mut Output) -> Result<()> {
    match command {
        LevelCommand::Get { level, filter } => {
            let wanted = filter.unwrap_or_default();
            let own = source.own_properties(owner(&level))?;
            let mut columns = Columns::new(&["property", "value"]);
            let shown = own.properties.into_iter();
            for (name, value) in shown.filter(|(name, _)| name.contains(&wanted)) {
                if out.is_json() {
                    out.object(&json!({"property": name, "value": value}), String::new)?;
                }
                columns.row(vec![name, value]);
            }
            if !out.is_json() {
                columns.write(out.stream())?;
            }
            Ok(())
        }
        LevelCommand::Set { level, properties } => {
            let changes: Vec<_> = properties
                .into_iter()
                .map(|one| (one.name, Some(one.value)))
                .collect();
            change(source, &level, &changes, out)
        }
        LevelCommand::Delete { level, names } => {
            let changes: Vec<_> = names.into_iter().map(|name| (name, None)).collect();
            change(source, &level, &changes, out)
        }
    }
}

fn change(
    source: &dyn Source,
    level: &Level,
    changes: &[(String, Option<String>)],
    out: &mut Output,
) -> Result<()> {
    check_inherited_by_events(source, level.namespace.as_deref(), changes)?;
    source.change_properties(owner(level), None, changes)?;
    let object = json!({"namespace": level.namespace, "changed": changes.len()});
    out.object(&object, String::new)
}

fn owner(level: &Level) -> PropertyOwner<'_> {
    match level.namespace.as_deref() {
        None => PropertyOwner::System,
        Some(name) => PropertyOwner::Namespace(plain(name)),
    }
}

/// The real name of a namespace.
fn plain(shown: &str) -> &str {
    match shown {
        DEFAULT => "",
        name => name,
    }
}
