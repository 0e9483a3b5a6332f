//! The registry of event types, and the tables of a type.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostrakon_cell::{
    Authorizations, Capability, Column, ColumnSelection, CompactOptions, Condition,
    ConditionalMutation, ConditionalStatus, Error, ErrorKind, Interrupt, IteratorSetting, Mutation,
    Range, Reserved, Result, Scan, ScanOptions, Scanner, Source, Table, TableOptions,
};

use crate::event_type::{EventType, check_type_name};
use crate::iterators::{EventTable, Snapshot, settle};
use crate::layout::event_range;
use crate::ledger::{self, FAMILY, NOTE_FAMILY, Notes, SETTLED, STATE, State, overtaken};
use crate::similar::with_similar;

const NAMESPACE: &str = "events";
pub(crate) const REGISTRY: &str = "events.types";

/// How the names of tables of events begin.
const PREFIX: &str = "events.";
pub(crate) const DEFINITION: &[u8] = b"toml";
/// The share of events below which an index is used, if it was not measured.
pub(crate) const DEFAULT_THRESHOLD: f64 = 0.01;
const THRESHOLD: &[u8] = b"threshold";

/// Types are created, changed and dropped one after the other: each reads the registry first, and makes or deletes
/// tables. Only one process writes a store, and this lock is that of all its stores.
static CHANGES: Mutex<()> = Mutex::new(());

/// The event types of a source.
#[derive(Clone)]
pub struct EventStore {
    pub(crate) source: Arc<dyn Source>,
}

/// A type with its tables.
#[derive(Clone)]
pub(crate) struct Tables {
    pub(crate) definition: EventType,
    /// The definition as the registry has it.
    text: Vec<u8>,
    pub(crate) registry: Arc<dyn Table>,
    pub(crate) event: Arc<dyn Table>,
    pub(crate) index: Arc<dyn Table>,
    pub(crate) aggregate: Arc<dyn Table>,
}

impl EventStore {
    /// The event types of `source`, which must run the classes of
    /// [`register_event_iterators`](crate::register_event_iterators).
    #[must_use]
    pub fn new(source: Arc<dyn Source>) -> Self {
        Self { source }
    }

    /// Creates a type and its tables. The result has the ids of its fields. Empty tables that an interrupted creation
    /// has left are used.
    ///
    /// # Errors
    /// The type is invalid, or its name is taken; there are tables with entries, which [`adopt`](Self::adopt) keeps and
    /// [`drop_type`](Self::drop_type) deletes.
    pub fn create(&self, definition: &EventType) -> Result<EventType> {
        let mut definition = definition.clone();
        definition.check()?;
        definition.check_time_name()?;
        definition.check_label_field()?;
        definition.check_epoch_times(&[])?;
        definition.assign_ids(None);
        let _turn = turn();
        let registry = self.make_registry()?;
        match self.read_definition(&registry, &definition.name) {
            Ok(_) => {
                self.open_tables(&definition.name, ErrorKind::AlreadyExists)?;
                return Err(taken(&definition.name));
            }
            Err(error) if error.kind().is_not_found() => {}
            Err(error) => return Err(error),
        }
        // Old events would appear in the new type.
        for table in table_names(&definition.name) {
            match self.source.table(&table) {
                Ok(left) if left.newest_timestamp()?.is_none() => {}
                Ok(_) => return Err(left_over(&definition.name, &table)),
                Err(error) if error.kind().is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let mut made = Vec::new();
        match self.create_with(&registry, &definition, &mut made) {
            Ok(true) => Ok(definition),
            // The tables are those of another caller, which was faster.
            Ok(false) => Err(taken(&definition.name)),
            Err(error) => Err(self.undo_creation(&registry, &definition.name, made, error)),
        }
    }

    /// Creates the tables, which are appended to `made`, and registers the type. `false` if it is registered already.
    fn create_with(
        &self,
        registry: &Arc<dyn Table>,
        definition: &EventType,
        made: &mut Vec<String>,
    ) -> Result<bool> {
        // Tables first: a type in the registry always has its tables.
        self.make_tables(definition, made)?;
        let mut mutation = Mutation::new(definition.name.as_str());
        mutation.put(FAMILY, DEFINITION, definition.to_toml()?)?;
        mutation.put(FAMILY, STATE, State::new().to_text())?;
        write_if(registry, mutation, &[(DEFINITION, None)])
    }

    /// Deletes the tables of a creation that failed. Returns its error, which says what is left.
    fn undo_creation(
        &self,
        registry: &Arc<dyn Table>,
        name: &str,
        made: Vec<String>,
        error: Error,
    ) -> Error {
        // A write that failed may have been written all the same.
        let is_absent = match self.read_definition(registry, name) {
            Ok(_) => return error,
            Err(found) => found.kind().is_not_found(),
        };
        let is_left = |table: &String| {
            let deleted = match is_absent {
                true => self.source.delete_table(table),
                false => return true,
            };
            deleted.is_err_and(|error| error.kind() != ErrorKind::TableNotFound)
        };
        let left: Vec<String> = made.into_iter().filter(is_left).collect();
        match left.is_empty() {
            true => error,
            false => error.with(
                "left behind",
                format!(
                    "{}, which `ostrakon events drop {name}` deletes",
                    left.join(", ")
                ),
            ),
        }
    }

    /// Replaces the definition of a type.
    ///
    /// # Errors
    /// No such type, an invalid definition, or a change that stored events do not allow;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) for a source that is restricted to a reader: the definition
    /// decides which events are public, and how long all of them are kept.
    pub fn change(&self, definition: &EventType) -> Result<EventType> {
        self.check_unrestricted(
            &definition.name,
            "the type would change for events that the reader cannot see, too",
        )?;
        let _turn = turn();
        let registry = self.registry(&definition.name)?;
        let (before, text) = self.read_definition(&registry, &definition.name)?;
        let state = ledger::read(&registry, &definition.name)?;
        let mut definition = definition.clone();
        definition.check()?;
        definition.assign_ids(Some(&before));
        definition.check_change(&before, state.begun > 0)?;
        self.open_tables(&definition.name, ErrorKind::NotFound)?;
        self.make_tables(&definition, &mut Vec::new())?;
        let mut mutation = Mutation::new(definition.name.as_str());
        mutation.put(FAMILY, DEFINITION, definition.to_toml()?)?;
        // A writer that has begun a batch with the old definition cannot commit it.
        let after = state.with_open_batch_aborted();
        mutation.put(FAMILY, STATE, after.to_text())?;
        let unchanged = [
            (DEFINITION, Some(text)),
            (STATE, Some(state.to_text().into_bytes())),
        ];
        if write_if(&registry, mutation, &unchanged)? {
            return Ok(definition);
        }
        Err(Error::new(
            ErrorKind::ConcurrentModification,
            "the event type was changed, or written to, by another program meanwhile: read it again and repeat",
        )
        .with("type", &definition.name))
    }

    /// Deletes a type with all its events; also tables that are left of an interrupted creation or deletion.
    ///
    /// # Errors
    /// No such type; [`PermissionDenied`](ErrorKind::PermissionDenied) for a source that is restricted to a reader: most of
    /// what would be lost is not the reader's.
    pub fn drop_type(&self, name: &str) -> Result<()> {
        self.check_unrestricted(name, HIDDEN_ARE_LOST)?;
        let _turn = turn();
        let registry = self.registry(name)?;
        let text = match self.read_definition(&registry, name) {
            Ok((_, text)) => Some(text),
            Err(error) if error.kind().is_not_found() => None,
            Err(error) => return Err(error),
        };
        let mut found = text.is_some();
        // Tables first: if this is interrupted, the type is still listed, and can be dropped again.
        for table in table_names(name) {
            match self.source.delete_table(&table) {
                Ok(()) => found = true,
                Err(error) if error.kind() == ErrorKind::TableNotFound => {}
                Err(error) => return Err(error),
            }
        }
        if !found {
            return Err(self.unknown(name));
        }
        let mut mutation = Mutation::new(name);
        for qualifier in [DEFINITION, STATE, SETTLED, THRESHOLD] {
            mutation.delete(FAMILY, qualifier)?;
        }
        for note in ledger::notes(&registry, name)?.keys() {
            mutation.delete(NOTE_FAMILY, note)?;
        }
        match write_if(&registry, mutation, &[(DEFINITION, text)])? {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::ConcurrentModification,
                "the event type was changed by another program while its tables were deleted: drop it again",
            )
            .with("type", name)),
        }
    }

    /// Rejects a source that is restricted to a reader; `why` begins the message.
    pub(crate) fn check_unrestricted(&self, name: &str, why: &str) -> Result<()> {
        if self.source.capabilities().has(Capability::Namespaces) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("{why}: use a handle that is not restricted to a reader"),
        )
        .with("type", name))
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
        let registry = self.registry(name)?;
        self.read_definition(&registry, name)?;
        let mut mutation = Mutation::new(name);
        mutation.put(FAMILY, THRESHOLD, threshold.to_string())?;
        write_if(&registry, mutation, &[]).map(drop)
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
        let scanner =
            Scanner::new(registry.clone()).range(Range::row_column(name, FAMILY, DEFINITION));
        let entry = scanner.entries()?.pop();
        let entry = entry.ok_or_else(|| self.not_registered(name))?;
        Ok((read_toml(&entry.value)?, entry.value))
    }

    pub(crate) fn make_registry(&self) -> Result<Arc<dyn Table>> {
        existing_is_fine(self.source.create_namespace(NAMESPACE))?;
        existing_is_fine(self.source.create_table(REGISTRY, &TableOptions::default()))?;
        self.source.table(REGISTRY)
    }

    /// Makes the tables that do not exist, which are appended to `made`, and splits the event table by shard.
    pub(crate) fn make_tables(&self, definition: &EventType, made: &mut Vec<String>) -> Result<()> {
        let [event, index, aggregate] = table_names(&definition.name);
        let splits: Vec<Vec<u8>> = (1..definition.shard_count())
            .map(|shard| shard.to_be_bytes().to_vec())
            .collect();
        // Versions are batches: iterators choose among them, not the table.
        let plain = TableOptions {
            without_default_iterators: true,
            ..TableOptions::default()
        };
        let mut options = plain.clone();
        options
            .properties
            .insert("table.bloom.enabled".into(), "true".into());
        for (table, options) in [(&event, &options), (&index, &plain), (&aggregate, &plain)] {
            match self.source.create_table(table, options) {
                Ok(()) => made.push(table.clone()),
                outcome => existing_is_fine(outcome)?,
            }
        }
        if splits.is_empty() {
            return Ok(());
        }
        self.source.table(&event)?.add_splits(&splits)
    }
}

/// How the tables of events are reserved to [`EventStore`], for readers: they scan them, and do not write to
/// them. The registry is closed: its states tell how many batches were written, hidden ones too.
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

/// The same as [`check_not_of_events`] for the namespace with the tables of all types.
///
/// # Errors
/// As [`check_not_of_events`].
pub fn check_namespace_not_of_events(source: &dyn Source, namespace: &str) -> Result<()> {
    if namespace != NAMESPACE || !has_types(source)? {
        return Ok(());
    }
    Err(Error::invalid(
        "the namespace has the tables of the event types, which are found by its name",
    )
    .with("namespace", namespace))
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

impl Tables {
    pub(crate) fn state(&self) -> Result<State> {
        ledger::read(&self.registry, &self.definition.name)
    }

    /// Begins a batch, whose number is `begun` of the state that is returned.
    ///
    /// # Errors
    /// Another writer has started; the definition has changed since it was read; a part of the registry was lost.
    pub(crate) fn begin(&self) -> Result<State> {
        let state = self.complete_state()?;
        let begun = state.with_batch_begun();
        self.replace(&state, &begun)?;
        // A later change of the definition aborts the batch.
        let name = self.definition.name.as_str();
        let entries = Scanner::new(self.registry.clone())
            .range(Range::row_column(name, FAMILY, DEFINITION))
            .entries()?;
        match entries.first() {
            Some(entry) if entry.value == self.text => Ok(begun),
            Some(_) => Err(Error::new(
                ErrorKind::ConcurrentModification,
                "the event type has changed meanwhile: start again, so that the new definition is used",
            )
            .with("type", name)),
            None => Err(no_type(name)),
        }
    }

    /// Replaces the state, if no other writer has.
    pub(crate) fn replace(&self, before: &State, after: &State) -> Result<()> {
        self.replace_and_note(before, after, &Notes::new())
    }

    /// [`replace`](Self::replace), and writes notes in the same step.
    pub(crate) fn replace_and_note(
        &self,
        before: &State,
        after: &State,
        notes: &Notes,
    ) -> Result<()> {
        let name = &self.definition.name;
        match ledger::replace(&self.registry, name, (before, after), notes)? {
            true => Ok(()),
            false => Err(overtaken(name)),
        }
    }

    pub(crate) fn table(&self, which: EventTable) -> &Arc<dyn Table> {
        match which {
            EventTable::Event => &self.event,
            EventTable::Index => &self.index,
            EventTable::Aggregate => &self.aggregate,
        }
    }

    /// Scans one of the tables through an iterator of this crate.
    pub(crate) fn scan(
        &self,
        which: EventTable,
        ranges: &[Range],
        reading: Reading<'_>,
    ) -> Result<Box<dyn Scan>> {
        let options = ScanOptions {
            authorizations: reading.authorizations.clone(),
            iterators: vec![reading.iterator],
            columns: reading.columns,
            ordered: reading.ordered,
            interrupt: reading.interrupt.cloned(),
            ..ScanOptions::default()
        };
        self.table(which).scan(ranges, &options)
    }

    /// Rewrites the tables without what no reader sees.
    pub(crate) fn settle(&self, snapshot: &Snapshot) -> Result<()> {
        // Before the first table changes: readers with an older snapshot learn that they have to start again.
        ledger::announce_settling(&self.registry, &self.definition.name, snapshot)?;
        for which in [EventTable::Event, EventTable::Index, EventTable::Aggregate] {
            self.table(which).compact(&CompactOptions {
                iterators: vec![settle(snapshot, which)],
                ..CompactOptions::default()
            })?;
        }
        Ok(())
    }
}

/// Why a reader deletes neither a type nor old events.
pub(crate) const HIDDEN_ARE_LOST: &str = "events that the reader cannot see would be deleted too";

/// How a table is read.
pub(crate) struct Reading<'a> {
    pub(crate) authorizations: &'a Authorizations,
    pub(crate) iterator: IteratorSetting,
    pub(crate) columns: ColumnSelection,
    pub(crate) ordered: bool,
    pub(crate) interrupt: Option<&'a Interrupt>,
}

/// Waits until no other thread creates, changes or drops a type.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names of the event, index and aggregate table.
pub(crate) fn table_names(name: &str) -> [String; 3] {
    ["", "_index", "_aggregate"].map(|ending| format!("{NAMESPACE}.{name}{ending}"))
}

pub(crate) fn no_type(name: &str) -> Error {
    Error::not_found("no such event type").with("type", name)
}

pub(crate) fn taken(name: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, "the event type exists already").with("type", name)
}

/// The error of a type that is registered and lacks a table. The type is registered after its tables are created, and
/// deleted after them.
fn partly_there(kind: ErrorKind, name: &str, table: &str) -> Error {
    Error::new(
        kind,
        "the event type is only partly there, because its deletion was interrupted: `ostrakon events drop`, in Python \
         `Events.drop`, completes the deletion",
    )
    .with("type", name)
    .with("missing table", table)
}

fn left_over(name: &str, table: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        "there is a table of this event type but no such type, because its definition was lost, or its creation or \
         deletion was interrupted: adopt the tables, which keeps the events, drop the type, which deletes the tables, \
         or choose another name",
    )
    .with("type", name)
    .with("table", table)
}

fn read_toml(value: &[u8]) -> Result<EventType> {
    EventType::from_toml(&String::from_utf8_lossy(value))
}

fn existing_is_fine(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

/// Writes if each of these columns has this value, or does not exist.
pub(crate) fn write_if(
    registry: &Arc<dyn Table>,
    mutation: Mutation,
    columns: &[(&[u8], Option<Vec<u8>>)],
) -> Result<bool> {
    let conditions = columns.iter().map(|(qualifier, value)| Condition {
        family: FAMILY.to_vec(),
        qualifier: qualifier.to_vec(),
        value: value.clone(),
        ..Condition::default()
    });
    let conditional = ConditionalMutation {
        mutation,
        conditions: conditions.collect(),
    };
    let statuses =
        registry.write_conditionally(vec![conditional], &Authorizations::default(), None)?;
    match statuses.first() {
        Some(ConditionalStatus::Accepted) => Ok(true),
        Some(ConditionalStatus::Rejected) => Ok(false),
        other => Err(Error::new(
            ErrorKind::Unavailable,
            "the registry of event types could not be changed",
        )
        .with("status", format!("{other:?}"))),
    }
}
