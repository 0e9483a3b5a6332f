//! The tables of one event type.

use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, BatchLimit, ColumnSelection, CompactOptions, Error, ErrorKind, Interrupt,
    IteratorSetting, Range, Result, Scan, ScanOptions, Scanner, Table,
};

use super::{DEFINITION, no_type};
use crate::event_type::EventType;
use crate::iterators::{EventTable, Snapshot, settle};
use crate::ledger::{self, FAMILY, Notes, State, overtaken};

/// A type with its tables.
#[derive(Clone)]
pub(crate) struct Tables {
    pub(crate) definition: EventType,
    /// The definition as the registry has it.
    pub(super) text: Vec<u8>,
    pub(crate) registry: Arc<dyn Table>,
    pub(crate) event: Arc<dyn Table>,
    pub(crate) index: Arc<dyn Table>,
    pub(crate) aggregate: Arc<dyn Table>,
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
            batch: reading.batch,
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

/// How a table is read.
pub(crate) struct Reading<'a> {
    pub(crate) authorizations: &'a Authorizations,
    pub(crate) iterator: IteratorSetting,
    pub(crate) columns: ColumnSelection,
    pub(crate) ordered: bool,
    pub(crate) batch: BatchLimit,
    pub(crate) interrupt: Option<&'a Interrupt>,
}
