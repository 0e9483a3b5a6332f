//! The registry of event types, and the tables of a type.

mod changes;
mod reserved;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::{Column, Error, ErrorKind, Mutation, Range, Result, Scanner, Source, Table};

pub(crate) use changes::{HIDDEN_ARE_LOST, taken, turn};
pub use reserved::{
    check_entries_not_of_events, check_inherited_by_events, check_namespace_not_of_events,
    check_not_of_events, has_batch_numbers, may_change_entries, reserved_to_events,
};
pub(crate) use reserved::{keep_registry_readable, type_part};
pub(crate) use tables::{Reading, Tables};

use crate::event_type::{EventType, check_type_name};
use crate::layout::event_range;
use crate::ledger::{self, FAMILY, write_if};
use crate::similar::with_similar;

const NAMESPACE: &str = "events";
pub(crate) const REGISTRY: &str = "events.types";

pub(crate) const DEFINITION: &[u8] = b"toml";
/// The share of events below which an index is used, if it was not measured.
pub(crate) const DEFAULT_THRESHOLD: f64 = 0.01;
const THRESHOLD: &[u8] = b"threshold";

/// The event types of a source.
#[derive(Clone)]
pub struct EventStore {
    pub(crate) source: Arc<dyn Source>,
}

impl EventStore {
    /// The event types of `source`, which must run the classes of
    /// [`register_event_iterators`](crate::register_event_iterators).
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source }
    }

    /// All types, by name.
    ///
    /// # Errors
    /// Those of the source.
    pub fn types(&self) -> Result<Vec<EventType>> {
        let registry = match self.source.table(REGISTRY) {
            Err(error) if error.kind().is_not_found() => return Ok(Vec::new()),
            outcome => outcome?,
        };
        let column = Column::new(FAMILY, DEFINITION);
        let entries = Scanner::new(registry).column(column).entries()?;
        entries
            .iter()
            .map(|entry| read_toml(&entry.value))
            .collect()
    }

    /// The type of that name.
    ///
    /// # Errors
    /// No such type.
    pub fn get(&self, name: &str) -> Result<EventType> {
        let registry = self.registry(name)?;
        Ok(self.read_definition(&registry, name)?.0)
    }

    /// The names of the event, index and aggregate table of a type, for programs that measure them or read their
    /// entries.
    #[must_use]
    pub fn table_names(name: &str) -> [String; 3] {
        table_names(name)
    }

    /// The rows of the event table from time `from` to before `to`, one range for each shard. Who reads their entries
    /// also sees those of deleted events, and of batches that were never committed.
    ///
    /// # Errors
    /// No such type.
    pub fn time_ranges(&self, name: &str, from: i64, to: i64) -> Result<Vec<Range>> {
        let shards = 0..self.get(name)?.shard_count();
        Ok(shards.map(|shard| event_range(shard, from, to)).collect())
    }

    /// The notes that were committed with events of a type: see [`Ingest::note`](crate::Ingest::note).
    ///
    /// # Errors
    /// No such type.
    pub fn notes(&self, name: &str) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let registry = self.registry(name)?;
        self.read_definition(&registry, name)?;
        ledger::notes(&registry, name)
    }

    /// The share of events below which the index is used.
    ///
    /// # Errors
    /// No such type.
    pub fn threshold(&self, name: &str) -> Result<f64> {
        let registry = self.registry(name)?;
        let entries = Scanner::new(registry)
            .range(Range::row_column(name, FAMILY, THRESHOLD))
            .entries()?;
        let text = entries
            .first()
            .map(|entry| String::from_utf8_lossy(&entry.value).into_owned());
        Ok(text
            .and_then(|text| text.parse().ok())
            .unwrap_or(DEFAULT_THRESHOLD))
    }

    /// Sets the share of events below which the index is used.
    ///
    /// # Errors
    /// No such type; not a number between 0 and 1.
    pub fn set_threshold(&self, name: &str, threshold: f64) -> Result<()> {
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Error::invalid("the threshold is a number between 0 and 1")
                .with("given", threshold));
        }
        let registry = self.registry_to_write(name)?;
        self.read_definition(&registry, name)?;
        let mut mutation = Mutation::new(name);
        mutation.put(FAMILY, THRESHOLD, threshold.to_string())?;
        write_if(&registry, mutation, &[]).map(drop)
    }

    /// A type with its tables, to write to them.
    pub(crate) fn tables_to_write(&self, name: &str) -> Result<Tables> {
        self.registry_to_write(name)?;
        self.tables(name)
    }

    /// A type with its tables.
    pub(crate) fn tables(&self, name: &str) -> Result<Tables> {
        let registry = self.registry(name)?;
        let (definition, text) = self.read_definition(&registry, name)?;
        let [event, index, aggregate] = self.open_tables(name, ErrorKind::NotFound)?;
        Ok(Tables {
            definition,
            text,
            registry,
            event,
            index,
            aggregate,
        })
    }

    /// The event, index and aggregate table of a registered type; an error of kind `missing` if it lacks one.
    pub(crate) fn open_tables(
        &self,
        name: &str,
        missing: ErrorKind,
    ) -> Result<[Arc<dyn Table>; 3]> {
        let open = |table: &String| {
            self.source.table(table).map_err(|error| {
                match error.kind() == ErrorKind::TableNotFound {
                    true => partly_there(missing, name, table),
                    false => error,
                }
            })
        };
        let [event, index, aggregate] = &table_names(name);
        Ok([open(event)?, open(index)?, open(aggregate)?])
    }

    /// The error of a type that does not exist, which names a similar one.
    pub(crate) fn unknown(&self, name: &str) -> Error {
        let types = self.types().unwrap_or_default();
        with_similar(
            no_type(name),
            name,
            types.iter().map(|one| one.name.as_str()),
        )
    }

    /// The registry, to write to it.
    fn registry_to_write(&self, name: &str) -> Result<Arc<dyn Table>> {
        keep_registry_readable(&*self.source)?;
        self.registry(name)
    }

    fn registry(&self, name: &str) -> Result<Arc<dyn Table>> {
        check_type_name(name)?;
        self.source
            .table(REGISTRY)
            .map_err(|error| match error.kind().is_not_found() {
                true => self.not_registered(name),
                false => error,
            })
    }

    pub(crate) fn read_definition(
        &self,
        registry: &Arc<dyn Table>,
        name: &str,
    ) -> Result<(EventType, Vec<u8>)> {
        find_definition(registry, name)?.ok_or_else(|| self.not_registered(name))
    }
}

/// The definition of a type, if it is registered. The error of one that is not names a similar one, which takes time.
pub(crate) fn find_definition(
    registry: &Arc<dyn Table>,
    name: &str,
) -> Result<Option<(EventType, Vec<u8>)>> {
    let scanner = Scanner::new(registry.clone()).range(Range::row_column(name, FAMILY, DEFINITION));
    match scanner.entries()?.pop() {
        Some(entry) => Ok(Some((read_toml(&entry.value)?, entry.value))),
        None => Ok(None),
    }
}

/// The names of the event, index and aggregate table.
pub(crate) fn table_names(name: &str) -> [String; 3] {
    ["", "_index", "_aggregate"].map(|ending| format!("{NAMESPACE}.{name}{ending}"))
}

pub(crate) fn no_type(name: &str) -> Error {
    Error::not_found("no such event type").with("type", name)
}

/// The error of a type that is registered and lacks a table. The type is registered after its tables are created, and
/// deleted after them.
fn partly_there(kind: ErrorKind, name: &str, table: &str) -> Error {
    Error::new(
        kind,
        "the event type is only partly there, because its deletion was interrupted",
    )
    .with("type", name)
    .with("missing table", table)
    .with(
        "hint",
        format!("`ostrakon events drop {name}`, in Python `Events.drop`, completes the deletion"),
    )
}

fn read_toml(value: &[u8]) -> Result<EventType> {
    EventType::from_toml(&String::from_utf8_lossy(value))
}
