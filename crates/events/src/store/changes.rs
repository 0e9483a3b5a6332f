//! Creates, changes and drops event types.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostrakon_cell::{Capability, Error, ErrorKind, Mutation, Result, Table, TableOptions};

use super::reserved::{DEFAULT_LABEL, check_inherits_nothing, keep_registry_readable};
use super::{DEFINITION, EventStore, NAMESPACE, REGISTRY, THRESHOLD, find_definition, table_names};
use crate::event_type::EventType;
use crate::ledger::{self, FAMILY, NOTE_FAMILY, SETTLED, STATE, State, write_if};

/// Why a reader deletes neither a type nor old events.
pub(crate) const HIDDEN_ARE_LOST: &str = "events that the reader cannot see would be deleted too";

/// Types are created, changed and dropped one after the other: each reads the registry first, and makes or deletes
/// tables. Only one process writes a store, and this lock is that of all its stores.
static CHANGES: Mutex<()> = Mutex::new(());

impl EventStore {
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
        check_inherits_nothing(&*self.source)?;
        let registry = self.make_registry()?;
        if find_definition(&registry, &definition.name)?.is_some() {
            self.open_tables(&definition.name, ErrorKind::AlreadyExists)?;
            return Err(taken(&definition.name));
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
        let is_absent = match find_definition(registry, name) {
            Ok(Some(_)) => return error,
            found => found.is_ok(),
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
        let registry = self.registry_to_write(&definition.name)?;
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
        let registry = self.registry_to_write(name)?;
        let text = find_definition(&registry, name)?.map(|(_, text)| text);
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

    pub(crate) fn make_registry(&self) -> Result<Arc<dyn Table>> {
        existing_is_fine(self.source.create_namespace(NAMESPACE))?;
        // Whether a table belongs to a type must be known whatever the whole store hides.
        let mut options = TableOptions::default();
        let properties = &mut options.properties;
        properties.insert(DEFAULT_LABEL.to_owned(), String::new());
        existing_is_fine(self.source.create_table(REGISTRY, &options))?;
        keep_registry_readable(&*self.source)?;
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

/// Waits until no other thread creates, changes or drops a type.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn taken(name: &str) -> Error {
    Error::new(ErrorKind::AlreadyExists, "the event type exists already").with("type", name)
}

fn left_over(name: &str, table: &str) -> Error {
    Error::new(
        ErrorKind::AlreadyExists,
        "there is a table of this event type but no such type, because its definition was lost, or its creation or \
         deletion was interrupted",
    )
    .with("type", name)
    .with("table", table)
    .with(
        "hint",
        "adopt the tables, which keeps the events, drop the type, which deletes the tables, or choose another name",
    )
}

fn existing_is_fine(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}
