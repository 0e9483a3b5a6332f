//! The tables of event types, which other callers may read but not change or delete one by one.

use ostrakon_cell::{
    Capability, Column, Error, ErrorKind, PropertyOwner, Range, Reserved, Result, Scanner, Source,
};

use super::{DEFINITION, NAMESPACE, REGISTRY};
use crate::event_type::check_type_name;
use crate::ledger::FAMILY;

/// How the names of tables of events begin.
const PREFIX: &str = "events.";

/// How the tables of events are reserved to [`EventStore`](crate::EventStore), for readers: they scan them, and do
/// not write to them. The registry is closed: its states tell how many batches were written, hidden ones too.
#[must_use]
pub fn reserved_to_events(table: &str) -> Reserved {
    match table {
        REGISTRY => Reserved::Closed,
        table if table.starts_with(PREFIX) => Reserved::Written,
        _ => Reserved::Not,
    }
}

/// Rejects a table that must not be deleted or renamed by itself: the registry, and those of a type, which
/// would be broken. For every way to delete or rename a table by its name.
///
/// # Errors
/// `InvalidArgument` for such a table; those of the source.
pub fn check_not_of_events(source: &dyn Source, table: &str) -> Result<()> {
    let why = if table == REGISTRY {
        if !has_types(source)? {
            return Ok(());
        }
        Error::invalid("the table has the definitions of the event types: delete these first")
    } else {
        let Some(name) = type_of_table(source, table)? else {
            return Ok(());
        };
        Error::invalid("the table belongs to an event type, which is only deleted as a whole")
            .with("type", name)
    };
    Err(why.with("table", table))
}

/// Rejects a table whose entries must not be written or deleted one by one: the registry, and those of a type, whose
/// index and counts would no longer agree with the events. For every way to change the entries of a table by its name.
///
/// # Errors
/// `InvalidArgument` for such a table; those of the source.
pub fn check_entries_not_of_events(source: &dyn Source, table: &str) -> Result<()> {
    let why = if table == REGISTRY {
        if !has_types(source)? {
            return Ok(());
        }
        Error::invalid(
            "the table has the definitions of the event types, which are not changed one by one",
        )
    } else {
        let Some(name) = type_of_table(source, table)? else {
            return Ok(());
        };
        Error::invalid(
            "the table belongs to an event type, whose index and counts must agree with its events",
        )
        .with("type", name)
    };
    Err(why.with("table", table))
}

/// The label of entries without one. The registry has none, so that it can be read in a store where all other tables do.
pub(super) const DEFAULT_LABEL: &str = "table.security.scan.visibility.default";

/// Whether a property may decide which entries a table keeps or shows. Those of the tables of a type stay as they are, as
/// their entries do: for every way to change properties of a table.
#[must_use]
pub fn may_change_entries(property: &str) -> bool {
    let kept = ["table.iterator.", "table.constraint."];
    property == DEFAULT_LABEL || kept.iter().any(|beginning| property.starts_with(beginning))
}

/// Whether the tables of a type must not take this property over from a namespace, or from the whole store if it is `None`.
/// A label that the whole store gives to entries without one hides events, their index and their counts alike.
fn is_harmful(namespace: Option<&str>, property: &str) -> bool {
    let is_taken_over = namespace.is_none_or(|namespace| namespace == NAMESPACE);
    let is_alike = namespace.is_none() && property == DEFAULT_LABEL;
    is_taken_over && !is_alike && may_change_entries(property)
}

/// Gives the registry the label of entries without one that [`DEFAULT_LABEL`] tells of, unless it has it: those of earlier
/// builds do not. Before such a label of the whole store hides the types, and before the registry is written to.
pub(crate) fn keep_registry_readable(source: &dyn Source) -> Result<()> {
    if !source.capabilities().has(Capability::PropertyLevels) {
        // A reader's handle changes no properties.
        return Ok(());
    }
    let registry = match source.table(REGISTRY) {
        Err(error) if error.kind().is_not_found() => return Ok(()),
        outcome => outcome?,
    };
    let own = match registry.own_properties() {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        own => own?,
    };
    if own.properties.contains_key(DEFAULT_LABEL) {
        return Ok(());
    }
    let change = (DEFAULT_LABEL.to_owned(), Some(String::new()));
    registry.change_properties(None, &[change]).map(drop)
}

/// Rejects changes of properties of a namespace, or of the whole store, that the tables of event types would take over, if
/// there are types. Removing such properties is allowed. For every way to change them.
///
/// If the whole store gets a label for entries without one, the registry of an earlier build first gets its own, so that
/// the types stay visible.
///
/// # Errors
/// `InvalidArgument` for such a change; those of the source.
pub fn check_inherited_by_events(
    source: &dyn Source,
    namespace: Option<&str>,
    changes: &[(String, Option<String>)],
) -> Result<()> {
    let labels =
        |(property, value): &(String, Option<String>)| property == DEFAULT_LABEL && value.is_some();
    if namespace.is_none() && changes.iter().any(labels) {
        keep_registry_readable(source)?;
    }
    let harmful = changes
        .iter()
        .find(|(property, value)| value.is_some() && is_harmful(namespace, property));
    match harmful {
        Some((property, _)) if has_types(source)? => Err(inherited(namespace, property).with(
            "hint",
            "set it for the tables or namespaces that need it, other than those of events",
        )),
        _ => Ok(()),
    }
}

/// Rejects properties that the tables of a new type would take over.
pub(super) fn check_inherits_nothing(source: &dyn Source) -> Result<()> {
    if !source.capabilities().has(Capability::PropertyLevels) {
        // A reader's handle does not see them.
        return Ok(());
    }
    for namespace in [None, Some(NAMESPACE)] {
        let owner = namespace.map_or(PropertyOwner::System, PropertyOwner::Namespace);
        let own = match source.own_properties(owner) {
            // The first type makes the namespace.
            Err(error) if error.kind().is_not_found() => continue,
            own => own?,
        };
        let mut names = own.properties.keys();
        if let Some(property) = names.find(|property| is_harmful(namespace, property)) {
            return Err(inherited(namespace, property).with("hint", "remove it first"));
        }
    }
    Ok(())
}

fn inherited(namespace: Option<&str>, property: &str) -> Error {
    let error = Error::invalid(
        "the tables of event types would take this property over, and their index and counts would no longer agree with \
         the events",
    )
    .with("property", property);
    match namespace {
        Some(namespace) => error.with("namespace", namespace),
        None => error.with("level", "the whole store"),
    }
}

/// The same as [`check_not_of_events`] for the namespace with the tables of all types.
///
/// # Errors
/// As [`check_not_of_events`].
pub fn check_namespace_not_of_events(source: &dyn Source, namespace: &str) -> Result<()> {
    if namespace != NAMESPACE || !has_types(source)? {
        return Ok(());
    }
    Err(
        Error::invalid("the namespace belongs to the event types, so it cannot be renamed")
            .with("namespace", namespace),
    )
}

/// Whether the timestamps of a table are the numbers of batches, which every reader of the registry may know: for
/// [`ReaderSource::showing_times`](ostrakon_cell::ReaderSource::showing_times).
#[must_use]
pub fn has_batch_numbers(table: &str) -> bool {
    table.starts_with(PREFIX)
}

/// The type that a table would belong to by its name.
pub(crate) fn type_part(table: &str) -> Option<&str> {
    let name = table.strip_prefix(PREFIX).filter(|_| table != REGISTRY)?;
    let name = ["_index", "_aggregate"]
        .into_iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    check_type_name(name).is_ok().then_some(name)
}

/// Whether any event type is registered.
fn has_types(source: &dyn Source) -> Result<bool> {
    let registry = match source.table(REGISTRY) {
        Err(error) if error.kind().is_not_found() => return Ok(false),
        outcome => outcome?,
    };
    let column = Column::new(FAMILY, DEFINITION);
    let entries = Scanner::new(registry).column(column).entries()?;
    Ok(!entries.is_empty())
}

/// The type that a table belongs to, if the registry has it.
///
/// # Errors
/// Those of the source.
fn type_of_table(source: &dyn Source, table: &str) -> Result<Option<String>> {
    let Some(name) = type_part(table) else {
        return Ok(None);
    };
    let registry = match source.table(REGISTRY) {
        Err(error) if error.kind().is_not_found() => return Ok(None),
        outcome => outcome?,
    };
    let cell = Range::row_column(name, FAMILY, DEFINITION);
    let found = Scanner::new(registry).range(cell).entries()?;
    Ok((!found.is_empty()).then(|| name.to_owned()))
}
