//! Operations on namespaces and their properties.

use ostrakon_cell::{ErrorKind, PropertyOwner, Result, Source};

use super::player::{Failure, Outcome, ok};
use super::script::Operation;
use super::table::shown;

/// Names of namespaces and of tables are taken in different ways.
fn done(result: Result<()>) -> Outcome {
    match result {
        Ok(()) => Ok(ok()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(Failure::Refused("NamespaceExists", error))
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) fn create(source: &dyn Source, operation: &Operation) -> Outcome {
    done(source.create_namespace(operation.head.word(0)?))
}

pub(super) fn drop(source: &dyn Source, operation: &Operation) -> Outcome {
    done(source.delete_namespace(operation.head.word(0)?))
}

pub(super) fn rename(source: &dyn Source, operation: &Operation) -> Outcome {
    done(source.rename_namespace(operation.head.word(0)?, operation.head.word(1)?))
}

/// Without those that are always there, which the scripts on a cluster share.
pub(super) fn list(source: &dyn Source) -> Outcome {
    let mut names: Vec<String> = source
        .namespaces()?
        .into_iter()
        .map(|info| info.name)
        .filter(|name| !name.is_empty() && name != "accumulo")
        .collect();
    names.sort();
    names.insert(0, "namespaces".to_owned());
    Ok(names)
}

pub(super) fn set(source: &dyn Source, operation: &Operation) -> Outcome {
    let value = operation.head.text(2)?;
    change(source, operation, Some(value))
}

pub(super) fn unset(source: &dyn Source, operation: &Operation) -> Outcome {
    change(source, operation, None)
}

fn change(source: &dyn Source, operation: &Operation, value: Option<String>) -> Outcome {
    let owner = PropertyOwner::Namespace(operation.head.word(0)?);
    source.change_properties(owner, None, &[(operation.head.text(1)?, value)])?;
    Ok(ok())
}

pub(super) fn properties(source: &dyn Source, operation: &Operation) -> Outcome {
    let owner = PropertyOwner::Namespace(operation.head.word(0)?);
    let own = source.own_properties(owner)?.properties;
    Ok(shown(own, &operation.head.text(1)?))
}
