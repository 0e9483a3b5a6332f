//! Everything the reference model keeps, behind one lock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ostrakon_cell::source::WriteOutcome;
use ostrakon_cell::{
    Authorizations, Entry, Error, ErrorKind, Key, MutationBatch, Properties, Result, TimeType,
    VersionedProperties,
};

use super::content::{Content, Stored};
use super::coverage::{Coverage, Origin};
use super::plain_constraints;
use super::time::TableTime;

/// All tables and the clock.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// By id: names change.
    pub(super) tables: BTreeMap<u64, TableState>,
    pub(super) next_id: u64,
    /// What is set for all tables.
    pub(super) system: VersionedProperties,
    /// By name: properties and id. The two that are always there are in it from the start.
    pub(super) namespaces: BTreeMap<String, Namespace>,
    pub(super) now_millis: i64,
    /// Counts entries written, so that of equal keys the later one comes first.
    pub(super) sequence: u64,
    /// The times that a source under test gave to the next batches, in place of our own.
    pub(super) given: VecDeque<i64>,
    /// What came up in writes and imports.
    pub(super) coverage: Coverage,
}

/// One namespace.
#[derive(Debug, Clone, Default)]
pub(super) struct Namespace {
    pub(super) id: String,
    pub(super) own: VersionedProperties,
}

/// One table.
#[derive(Debug, Clone)]
pub(super) struct TableState {
    pub(super) name: String,
    pub(super) online: bool,
    /// What gives out timestamps.
    pub(super) time: TableTime,
    /// What is set for this table.
    pub(super) own: VersionedProperties,
    /// What is set for it at any level; defaults are not in it.
    pub(super) set: Properties,
    pub(super) splits: BTreeSet<Vec<u8>>,
    /// How often the splits changed.
    pub(super) layout: u64,
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

    /// What is set for tables of a namespace by its name, or for all, under what a table has of its own.
    pub(super) fn inherited(&self, table: &str) -> Properties {
        let mut set = self.system.properties.clone();
        set.retain(|name, _| name.starts_with("table."));
        if let Some(namespace) = self.namespaces.get(namespace_of(table)) {
            set.extend(namespace.own.properties.clone());
        }
        set
    }

    /// Checks a name somebody wants to give to a table.
    pub(super) fn check_free(&self, name: &str) -> Result<()> {
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
        if namespace_of(name) == "accumulo" {
            return Err(Error::invalid("the namespace is kept for the system"));
        }
        if !self.namespaces.contains_key(namespace_of(name)) {
            return Err(no_such_namespace(namespace_of(name)));
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
    /// none, and the next one where it puts what was deleted at that timestamp before. Says what was
    /// refused.
    pub(super) fn write(
        &mut self,
        id: u64,
        batch: &MutationBatch,
        held: Option<&Authorizations>,
    ) -> Result<WriteOutcome> {
        let now = self.now_millis;
        let table = self.tables.get_mut(&id).ok_or_else(deleted)?;
        let screened = plain_constraints::screen(&table.set, batch, held);
        let batch = screened.kept;
        let outcome = WriteOutcome {
            rejections: screened.rejections,
            refused: screened.refused,
            failed: Vec::new(),
        };
        if batch.is_empty() {
            return Ok(outcome);
        }
        let is_set_here = batch
            .updates()
            .any(|(_, update)| update.timestamp.is_none());
        let times = if is_set_here {
            let observed = self.given.pop_front();
            let begin = observed.unwrap_or_else(|| table.time.lowest(now));
            let times = table.time.stamp(begin, &batch);
            table.time.keep();
            note_late(
                &mut self.coverage,
                table.time.time_type,
                begin,
                &batch,
                &times,
            );
            times
        } else {
            vec![0; batch.len()]
        };
        let content = Arc::make_mut(&mut table.content);
        for ((_, update), given) in batch.updates().zip(times) {
            let key = Key {
                visibility: update.visibility.to_vec(),
                timestamp: update.timestamp.unwrap_or(given),
                deleted: update.deleted,
                ..Key::new(update.row, update.family, update.qualifier)
            };
            let stored = Stored {
                value: update.value.to_vec(),
                by_table: update.timestamp.is_none(),
                ..Stored::default()
            };
            self.sequence += 1;
            self.coverage.note(content, &key, Origin::Written);
            content.insert((key, Reverse(self.sequence)), stored);
        }
        Ok(outcome)
    }

    /// Adds finished entries: a bulk import.
    pub(super) fn import(&mut self, id: u64, entries: Vec<Entry>) -> Result<()> {
        let newest = entries.iter().map(|entry| entry.key.timestamp).max();
        let table = self.tables.get_mut(&id).ok_or_else(deleted)?;
        table.time.import(newest.unwrap_or(i64::MIN));
        self.replace(id, entries)
    }

    /// Adds entries that are newer than all others.
    pub(super) fn replace(&mut self, id: u64, entries: Vec<Entry>) -> Result<()> {
        let table = self.tables.get_mut(&id).ok_or_else(deleted)?;
        let content = Arc::make_mut(&mut table.content);
        // Of equal keys the first appended stays first, so it gets the highest number.
        self.sequence += entries.len() as u64;
        for (age, entry) in (0..).zip(entries) {
            let stored = Stored {
                value: entry.value,
                ..Stored::default()
            };
            self.coverage.note(content, &entry.key, Origin::Imported);
            content.insert((entry.key, Reverse(self.sequence - age)), stored);
        }
        Ok(())
    }
}

/// Counts the puts of a batch that got the tick after that of the batch.
fn note_late(
    coverage: &mut Coverage,
    time_type: TimeType,
    begin: i64,
    batch: &MutationBatch,
    times: &[i64],
) {
    let of_table = match time_type {
        TimeType::Millis => "",
        TimeType::Logical => ", time counted",
    };
    let mut deleted = BTreeSet::new();
    for ((_, update), time) in batch.updates().zip(times) {
        let column = (
            update.row,
            update.family,
            update.qualifier,
            update.visibility,
        );
        if update.timestamp.is_none() && update.deleted {
            deleted.insert(column);
        } else if *time > begin && deleted.contains(&column) {
            coverage.add(format!("puts behind a delete in one batch{of_table}"));
        } else if *time > begin {
            coverage.add(format!("puts in the tick of a delete before{of_table}"));
        }
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
                ErrorKind::Offline,
                "the table is offline: bring it back first",
            )
            .with("table", &self.name))
        }
    }
}

/// Whether a table or a namespace may be called that.
pub(super) fn word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The namespace's part of a table's name.
pub(super) fn namespace_of(table: &str) -> &str {
    table.split_once('.').map_or("", |(namespace, _)| namespace)
}

pub(super) fn no_such_namespace(name: &str) -> Error {
    Error::new(ErrorKind::NamespaceNotFound, "no such namespace").with("namespace", name)
}

pub(super) fn no_such_table(name: &str) -> Error {
    Error::no_table("no such table").with("table", name)
}

pub(super) fn deleted() -> Error {
    Error::no_table("the table was deleted")
}
