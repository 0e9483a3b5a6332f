//! What to do once a part of the registry was lost: after `repair-log`, or after its table file was dropped.
//!
//! The state of a type is then an older one, or missing, while its tables may have kept later batches. Their numbers
//! must not be given out again: entries of both batches would count. So a batch begins only if the state knows the
//! newest batch of the tables. Nothing of the other batches counts until [`recover`](EventStore::recover) takes them in.

use std::collections::BTreeMap;

use ostrakon_cell::{Column, Error, ErrorKind, Mutation, Result, Scanner, Source};

use crate::event_type::EventType;
use crate::ledger::{self, FAMILY, STATE, State, write_if};
use crate::store::{
    DEFINITION, EventStore, REGISTRY, Tables, find_definition, table_names, taken, turn, type_part,
};

/// Batches are counted from 1. A greater timestamp was not given by an event store, and would leave few numbers.
const LAST_BATCH: i64 = i64::MAX / 2;

/// An event type that a loss concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcernedType {
    /// Its name.
    pub name: String,
    /// Whether the registry has its definition. If not, [`EventStore::adopt`] keeps its events.
    pub is_registered: bool,
}

impl EventStore {
    /// Takes in the batches of a type that its state does not know, because a part of the registry was lost. They
    /// count from then on, also those that were never committed; the result is the first and the last of them. `None`
    /// if the state knows all batches. [`repair`](Self::repair) does this first, and corrects index and counts.
    ///
    /// # Errors
    /// No such type; another writer of the type has started; a timestamp that is not the number of a batch.
    pub fn recover(&self, name: &str) -> Result<Option<(i64, i64)>> {
        let tables = self.tables_to_write(name)?;
        let (state, unknown) = tables.state_and_unknown()?;
        if let Some((_, last)) = unknown {
            tables.replace(&state, &with_taken_in(name, &state, last, tables.since()?)?)?;
        }
        Ok(unknown)
    }

    /// Registers a type whose tables are there and whose definition was lost. All its batches count from then on, also
    /// those that were never committed: index and counts may need a [`repair`](Self::repair), with authorizations for
    /// all labels. Fields keep the ids that the definition gives them.
    ///
    /// # Errors
    /// The type is invalid, registered, or has no tables; its shards are others than those of the tables;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) for a source that is restricted to a reader.
    pub fn adopt(&self, definition: &EventType) -> Result<EventType> {
        let mut definition = definition.clone();
        definition.check()?;
        definition.check_time_name()?;
        definition.check_label_field()?;
        // Entries of the index and the counts have the ids.
        let given = definition.clone();
        definition.assign_ids(Some(&given));
        let name = definition.name.as_str();
        self.check_unrestricted(
            name,
            "all events of the type are adopted, those that the reader cannot see too",
        )?;
        let _turn = turn();
        let registry = self.make_registry()?;
        if find_definition(&registry, name)?.is_some() {
            return Err(taken(name));
        }
        if self.existing_table(name)?.is_none() {
            return Err(
                Error::not_found("the event type has no tables to adopt").with("type", name)
            );
        }
        self.check_shards(&definition)?;
        self.make_tables(&definition, &mut Vec::new())?;
        let [event, index, aggregate] = self.open_tables(name, ErrorKind::NotFound)?;
        let mut newest = 0;
        for table in [event, index, aggregate] {
            newest = newest.max(table.newest_timestamp()?.unwrap_or(0));
        }
        let (state, before) = match ledger::read(&registry, name) {
            Ok(state) => {
                let text = state.to_text().into_bytes();
                (state, Some(text))
            }
            Err(error) if error.kind().is_not_found() => (State::new(), None),
            Err(error) => return Err(error),
        };
        let (settled, since) = ledger::settled_up_to(&registry, name)?;
        let last = newest.max(settled).max(state.begun);
        let after = with_taken_in(name, &state, last, since)?;
        let mut mutation = Mutation::new(name);
        mutation.put(FAMILY, DEFINITION, definition.to_toml()?)?;
        mutation.put(FAMILY, STATE, after.to_text())?;
        match write_if(&registry, mutation, &[(DEFINITION, None), (STATE, before)])? {
            true => Ok(definition),
            false => Err(taken(name)),
        }
    }

    /// Rejects a definition with which events would be looked for in other shards. The split points tell how many there
    /// are, also to a caller that cannot read the events.
    fn check_shards(&self, definition: &EventType) -> Result<()> {
        let [event, ..] = table_names(&definition.name);
        let event = match self.source.table(&event) {
            Err(error) if error.kind().is_not_found() => return Ok(()),
            event => event?,
        };
        let ends = event.tablets()?.into_iter().filter_map(|tablet| tablet.end);
        let shards = ends.filter_map(|end| <[u8; 2]>::try_from(end).ok());
        let last = shards.map(u16::from_be_bytes).max().unwrap_or(0);
        let (there, defined) = (u32::from(last) + 1, u32::from(definition.shard_count()));
        if there == defined {
            return Ok(());
        }
        Err(Error::invalid(
            "the tables of the event type have another number of shards than the definition",
        )
        .with("type", &definition.name)
        .with("shards of the tables", there)
        .with("shards of the definition", defined))
    }

    /// A table of this type, whether it is registered or not.
    pub(crate) fn existing_table(&self, name: &str) -> Result<Option<String>> {
        for table in table_names(name) {
            match self.source.table(&table) {
                Ok(_) => return Ok(Some(table)),
                Err(error) if error.kind().is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The error of a type that is not registered: it tells whether there are tables of it.
    pub(crate) fn not_registered(&self, name: &str) -> Error {
        match self.existing_table(name) {
            Ok(Some(table)) => Error::not_found(
                "no such event type, but there are tables of it: its definition was lost, or its creation or deletion \
                 was interrupted",
            )
            .with("type", name)
            .with("table", table),
            Ok(None) => self.unknown(name),
            Err(error) => error,
        }
    }
}

/// The event types that the loss of entries in these tables concerns, by name.
///
/// # Errors
/// Those of the source.
pub fn types_concerned(source: &dyn Source, tables: &[String]) -> Result<Vec<ConcernedType>> {
    let mut all = BTreeMap::new();
    for table in source.tables()? {
        if let Some(name) = type_part(&table.name) {
            all.insert(name.to_owned(), false);
        }
    }
    match source.table(REGISTRY) {
        Err(error) if error.kind().is_not_found() => {}
        registry => {
            let column = Column::new(FAMILY, DEFINITION);
            for entry in Scanner::new(registry?).column(column).entries()? {
                all.insert(String::from_utf8_lossy(&entry.key.row).into_owned(), true);
            }
        }
    }
    let of_all = tables.iter().any(|table| table == REGISTRY);
    let is_named = |name: &str| {
        let own = table_names(name);
        own.iter().any(|table| tables.contains(table))
    };
    let concerned = all.into_iter().filter(|(name, _)| of_all || is_named(name));
    Ok(concerned
        .map(|(name, is_registered)| ConcernedType {
            name,
            is_registered,
        })
        .collect())
}

impl Tables {
    /// The state, if it knows every batch of the tables.
    ///
    /// # Errors
    /// It does not: a part of the registry was lost.
    pub(crate) fn complete_state(&self) -> Result<State> {
        match self.state_and_unknown()? {
            (state, None) => Ok(state),
            (_, Some((first, last))) => Err(Error::new(
                ErrorKind::Corruption,
                "the event type has batches that its state does not know, because a part of the table `events.types` \
                 was lost. Nothing of them counts, and nothing is written, until `ostrakon events repair`, in Python \
                 `Events.repair`, takes them in",
            )
            .with("type", &self.definition.name)
            .with("unknown batches", format!("{first} to {last}"))),
        }
    }

    /// The state, and the first and the last batch that it does not know and that the tables may have.
    pub(crate) fn state_and_unknown(&self) -> Result<(State, Option<(i64, i64)>)> {
        // In this order: a batch begins before its entries are written, and is committed before it is settled, so that
        // a state that is read later knows it.
        let mut newest = 0;
        for table in [&self.event, &self.index, &self.aggregate] {
            newest = newest.max(table.newest_timestamp()?.unwrap_or(0));
        }
        let (settled, since) = ledger::settled_up_to(&self.registry, &self.definition.name)?;
        let state = self.state()?;
        let known = &state.snapshot;
        if newest <= state.begun && settled <= known.committed && since <= known.since {
            return Ok((state, None));
        }
        let last = newest.max(settled).max(state.begun);
        let unknown = ((known.committed + 1).min(last), last);
        Ok((state, Some(unknown)))
    }

    /// The time before which the tables may have no events.
    fn since(&self) -> Result<i64> {
        Ok(ledger::settled_up_to(&self.registry, &self.definition.name)?.1)
    }
}

/// The state in which all batches up to `last` count that were not aborted as far as it knows.
fn with_taken_in(name: &str, state: &State, last: i64, since: i64) -> Result<State> {
    if last > LAST_BATCH {
        return Err(Error::invalid(
            "a table of the event type has a timestamp that is not the number of a batch",
        )
        .with("type", name)
        .with("timestamp", last));
    }
    let mut after = state.clone();
    after.begun = last;
    after.snapshot.committed = last;
    after.snapshot.since = after.snapshot.since.max(since);
    Ok(after)
}
