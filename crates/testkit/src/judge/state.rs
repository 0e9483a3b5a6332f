//! Everything the judge keeps, behind one lock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ostrakon_cell::source::Rejection;
use ostrakon_cell::{Entry, Error, ErrorKind, Key, MutationBatch, Properties, Result, TimeType};

use super::content::Content;
use super::plain_constraints;

/// All tables and the clock.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// By id: names change.
    pub(super) tables: BTreeMap<u64, TableState>,
    pub(super) next_id: u64,
    pub(super) now_millis: i64,
    /// Counts entries written, so that of equal keys the later one comes first.
    pub(super) sequence: u64,
}

/// One table.
#[derive(Debug, Clone)]
pub(super) struct TableState {
    pub(super) name: String,
    pub(super) online: bool,
    pub(super) time_type: TimeType,
    /// The newest timestamp the table gave out.
    pub(super) last_timestamp: i64,
    /// What is set; defaults are not in it.
    pub(super) set: Properties,
    pub(super) splits: BTreeSet<Vec<u8>>,
    /// Shared with running scans, which keep what they began with.
    pub(super) content: Arc<Content>,
}

/// A copy of everything a [`MapSource`](super::MapSource) held, to go back to later.
#[derive(Debug, Clone)]
pub struct MapSnapshot(pub(super) State);

impl State {
    pub(super) fn id_of(&self, name: &str) -> Option<u64> {
        self.tables
            .iter()
            .find(|(_, table)| table.name == name)
            .map(|(id, _)| *id)
    }

    pub(super) fn named(&mut self, name: &str) -> Result<&mut TableState> {
        self.tables
            .values_mut()
            .find(|table| table.name == name)
            .ok_or_else(|| no_such_table(name))
    }

    /// Checks a name somebody wants to give.
    pub(super) fn check_free(&self, name: &str) -> Result<()> {
        let word = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let sound = match name.split_once('.') {
            None => word(name),
            Some((namespace, table)) => word(namespace) && word(table),
        };
        if !sound || name.len() > 1024 {
            return Err(Error::invalid(
                "a table's name is letters, digits and underscores, with one dot at most",
            )
            .with("table", name));
        }
        if self.id_of(name).is_some() {
            return Err(
                Error::new(ErrorKind::AlreadyExists, "the name is taken").with("table", name)
            );
        }
        Ok(())
    }

    pub(super) fn add(&mut self, table: TableState) {
        self.tables.insert(self.next_id, table);
        self.next_id += 1;
    }

    /// Writes what constraints leave of a batch: all of it gets one timestamp where the writer gave
    /// none. Says what was refused.
    pub(super) fn write(&mut self, id: u64, batch: &MutationBatch) -> Result<Vec<Rejection>> {
        let now = self.now_millis;
        let table = self.tables.get_mut(&id).ok_or_else(deleted)?;
        let (batch, rejections) = plain_constraints::screen(&table.set, batch);
        if batch.is_empty() {
            return Ok(rejections);
        }
        let given = match table.time_type {
            TimeType::Millis => now.max(table.last_timestamp),
            TimeType::Logical => table.last_timestamp + 1,
        };
        table.last_timestamp = given;
        let content = Arc::make_mut(&mut table.content);
        for (_, update) in batch.updates() {
            let key = Key {
                row: update.row.to_vec(),
                family: update.family.to_vec(),
                qualifier: update.qualifier.to_vec(),
                visibility: update.visibility.to_vec(),
                timestamp: update.timestamp.unwrap_or(given),
                deleted: update.deleted,
            };
            self.sequence += 1;
            content.insert((key, Reverse(self.sequence)), update.value.to_vec());
        }
        Ok(rejections)
    }

    /// Adds finished entries: a bulk import.
    pub(super) fn import(&mut self, id: u64, entries: Vec<Entry>) -> Result<()> {
        let table = self.tables.get_mut(&id).ok_or_else(deleted)?;
        let content = Arc::make_mut(&mut table.content);
        // Of equal keys the first appended stays first, so it gets the highest number.
        self.sequence += entries.len() as u64;
        for (age, entry) in (0..).zip(entries) {
            content.insert((entry.key, Reverse(self.sequence - age)), entry.value);
        }
        Ok(())
    }
}

impl TableState {
    /// The properties in force.
    pub(super) fn in_force(&self) -> Properties {
        let mut all = super::properties::defaults().clone();
        all.extend(self.set.clone());
        all
    }

    pub(super) fn check_online(&self) -> Result<()> {
        if self.online {
            Ok(())
        } else {
            Err(Error::new(
                ErrorKind::Closed,
                "the table is off-line: bring it back first",
            )
            .with("table", &self.name))
        }
    }
}

pub(super) fn no_such_table(name: &str) -> Error {
    Error::not_found("no such table").with("table", name)
}

pub(super) fn deleted() -> Error {
    Error::not_found("the table was deleted")
}
