//! Names of tables in SQL and in the source.

use datafusion::common::TableReference;
use ostrakon_cell::{Error, Result, Source};

use super::provider::{CELLS, D4M, EVENTS, MAIN, PUBLIC};

/// A table as a statement names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableName {
    /// The name in the source.
    pub(crate) full: String,
}

impl TableName {
    /// The table that a statement changes.
    ///
    /// # Errors
    /// The relation of entries, or another catalog.
    pub(crate) fn changed(name: &TableReference) -> Result<Self> {
        let refused = |why: &'static str| Err(Error::invalid(why).with("table", name.to_string()));
        let is_of_events = || {
            let full = full_name(name.schema().unwrap_or(PUBLIC), name.table());
            full.split_once('.')
                .is_some_and(|(namespace, _)| namespace == EVENTS)
        };
        match (name.catalog(), name.schema()) {
            (Some(CELLS), _) | (None, Some(CELLS)) => {
                refused("the relation of entries is only read: name the table itself")
            }
            (Some(D4M), _) | (None, Some(D4M)) => refused(
                "the relations of D4M's schema are only read: write its tables with `ostrakon.d4m` in Python",
            ),
            (Some(MAIN) | None, _) if is_of_events() => refused(
                "the tables of events belong to the event store: use `ostrakon events`, or `events` and `create_events` in \
                 Python",
            ),
            (Some(MAIN) | None, schema) => Ok(Self {
                full: full_name(schema.unwrap_or(PUBLIC), name.table()),
            }),
            _ => {
                refused("there is no such catalog: name the table as `table` or `namespace.table`")
            }
        }
    }
}

/// The name in the source of a table in a schema.
pub(super) fn full_name(schema: &str, table: &str) -> String {
    match schema {
        PUBLIC => table.to_owned(),
        namespace => format!("{namespace}.{table}"),
    }
}

/// The error for a table that a statement names and that is not there.
pub(crate) fn missing(source: &dyn Source, name: &TableReference) -> Error {
    let full = full_name(name.schema().unwrap_or(PUBLIC), name.table());
    let tables = source.tables().unwrap_or_default();
    let named = |name: &str| tables.iter().find(|table| table.name == name);
    // A type of events is the most likely one. The table of all types is reserved to the event store.
    let of_events = named(&format!("{EVENTS}.{}", full.to_lowercase()));
    let of_events = of_events.filter(|_| full != "types");
    let similar = match of_events {
        Some(table) => Some(table.name.as_str()),
        None => nearest(&full, tables.iter().map(|table| table.name.as_str())),
    };
    let error = Error::no_table("there is no such table").with("table", &full);
    match similar {
        Some(similar) => error.with("similar", similar),
        None => error,
    }
}

/// The name that is most like `wanted`, if one is like it.
fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&wanted, &name.to_lowercase());
    let near = names
        .map(|name| (distance(name), name))
        .min_by_key(|(distance, _)| *distance)?;
    (near.0 <= 1 + wanted.chars().count() / 3).then_some(near.1)
}
