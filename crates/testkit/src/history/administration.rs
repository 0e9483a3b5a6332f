//! Tables under names: made, deleted, renamed, cloned, taken off-line, listed, written and scanned.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_cell::ErrorKind;

use super::checker::Model;
use super::record::Event;

/// What is asked. Tables are named by a letter, and reached by the id that a handle has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminCall {
    /// Makes a table.
    Create(char),
    /// Deletes the table of a name.
    Delete(char),
    /// Renames one table.
    Rename(char, char),
    /// Clones the first into the second, with at least these of its rows, which were acknowledged before; with all of
    /// them if it is off-line.
    Clone(char, char, BTreeSet<u32>),
    /// Brings the table of a name on-line or takes it off-line.
    SetOnline(char, bool),
    /// Takes a handle.
    Open(char),
    /// Lists all tables.
    List,
    /// Writes a row through a handle.
    Put(String, u32),
    /// Reads all rows through a handle.
    Scan(String),
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminAnswer {
    /// It was done.
    Done,
    /// The id of the handle.
    Id(String),
    /// Name, id and whether it is on-line.
    Tables(Vec<(char, String, bool)>),
    /// The rows, in order.
    Rows(Vec<u32>),
    /// An error of that kind.
    Refused(ErrorKind),
}

/// The model of a source with tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tables;

/// What it holds. A table's id is known only once some answer shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TablesState {
    named: BTreeMap<char, OneTable>,
    deleted: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct OneTable {
    id: Option<String>,
    online: bool,
    rows: BTreeSet<u32>,
    /// Rows that a clone may have or lack, until a scan tells.
    possibly: BTreeSet<u32>,
}

impl TablesState {
    /// Gives the table of a name the id that an answer shows.
    fn is_called(&mut self, name: char, id: &str) -> bool {
        let known = self.deleted.contains(id)
            || self
                .named
                .iter()
                .any(|(other, table)| *other != name && table.id.as_deref() == Some(id));
        match self.named.get_mut(&name) {
            Some(table) if !known => *table.id.get_or_insert_with(|| id.to_owned()) == *id,
            _ => false,
        }
    }

    fn with_id(&mut self, id: &str) -> Option<&mut OneTable> {
        let mut tables = self.named.values_mut();
        tables.find(|table| table.id.as_deref() == Some(id))
    }

    /// Why a call on a handle is refused, if it is.
    fn refusal(&mut self, id: &str) -> Option<ErrorKind> {
        match self.with_id(id) {
            None => Some(ErrorKind::TableNotFound),
            Some(table) if !table.online => Some(ErrorKind::Offline),
            Some(_) => None,
        }
    }

    fn apply(&mut self, call: &AdminCall, answer: &AdminAnswer) -> bool {
        use AdminAnswer::{Done, Id, Refused, Rows, Tables as Listed};
        let is = |answer: &AdminAnswer, refusal: Option<ErrorKind>| match refusal {
            Some(kind) => *answer == Refused(kind),
            None => !matches!(answer, Refused(_)),
        };
        let absent = |state: &Self, name: &char| {
            (!state.named.contains_key(name)).then_some(ErrorKind::TableNotFound)
        };
        let taken = |state: &Self, name: &char| {
            state
                .named
                .contains_key(name)
                .then_some(ErrorKind::AlreadyExists)
        };
        match call {
            AdminCall::Create(name) => {
                let refusal = taken(self, name);
                if refusal.is_none() {
                    let new = OneTable {
                        id: None,
                        online: true,
                        rows: BTreeSet::new(),
                        possibly: BTreeSet::new(),
                    };
                    self.named.insert(*name, new);
                }
                is(answer, refusal)
            }
            AdminCall::Delete(name) => match self.named.remove(name) {
                Some(table) => {
                    self.deleted.extend(table.id);
                    *answer == Done
                }
                None => is(answer, Some(ErrorKind::TableNotFound)),
            },
            AdminCall::Rename(from, to) => {
                let refusal = absent(self, from).or_else(|| taken(self, to));
                if refusal.is_none()
                    && let Some(table) = self.named.remove(from)
                {
                    self.named.insert(*to, table);
                }
                is(answer, refusal)
            }
            AdminCall::Clone(from, to, surely) => {
                let refusal = absent(self, from).or_else(|| taken(self, to));
                if refusal.is_none()
                    && let Some(table) = self.named.get(from)
                {
                    // Nothing is written to a table that is off-line: its clone has all of it.
                    let surely = if table.online { surely } else { &table.rows };
                    let clone = OneTable {
                        id: None,
                        online: true,
                        rows: table.rows.intersection(surely).copied().collect(),
                        possibly: &(&table.rows - surely) | &table.possibly,
                    };
                    self.named.insert(*to, clone);
                }
                is(answer, refusal)
            }
            AdminCall::SetOnline(name, online) => match self.named.get_mut(name) {
                Some(table) => {
                    table.online = *online;
                    *answer == Done
                }
                None => is(answer, Some(ErrorKind::TableNotFound)),
            },
            AdminCall::Open(name) => match answer {
                Id(id) => self.is_called(*name, id),
                _ => is(answer, absent(self, name)) && absent(self, name).is_some(),
            },
            AdminCall::List => {
                let Listed(tables) = answer else { return false };
                tables.len() == self.named.len()
                    && tables.iter().all(|(name, id, online)| {
                        self.is_called(*name, id) && self.named[name].online == *online
                    })
            }
            AdminCall::Put(id, row) => {
                let refusal = self.refusal(id);
                if refusal.is_none()
                    && let Some(table) = self.with_id(id)
                {
                    table.rows.insert(*row);
                }
                is(answer, refusal)
            }
            AdminCall::Scan(id) => match (self.refusal(id), answer) {
                (None, Rows(rows)) => self.with_id(id).is_some_and(|table| {
                    let found: BTreeSet<u32> = rows.iter().copied().collect();
                    let is_right = found.len() == rows.len()
                        && table.rows.is_subset(&found)
                        && (&found - &table.rows).is_subset(&table.possibly);
                    table.rows = found;
                    table.possibly.clear();
                    is_right
                }),
                (refusal, _) => refusal.is_some() && is(answer, refusal),
            },
        }
    }
}

/// Tells each clone which rows it must have: those acknowledged before it began. A clone names a moment
/// of its origin's data, and another at which it appears under its name; a write that is acknowledged
/// between the two may be missing.
pub(super) fn surely_cloned(events: &mut [Event<AdminCall, AdminAnswer>]) {
    let written: Vec<(u64, u32)> = events
        .iter()
        .filter_map(|event| match event.call {
            AdminCall::Put(_, row) => Some((event.ended, row)),
            _ => None,
        })
        .collect();
    for event in events {
        let begun = event.begun;
        if let AdminCall::Clone(_, _, surely) = &mut event.call {
            let before = written.iter().filter(|(ended, _)| *ended < begun);
            *surely = before.map(|(_, row)| *row).collect();
        }
    }
}

impl Model for Tables {
    type State = TablesState;
    type Call = AdminCall;
    type Answer = AdminAnswer;

    fn start(&self) -> TablesState {
        TablesState::default()
    }

    fn step(
        &self,
        state: &TablesState,
        call: &AdminCall,
        answer: &AdminAnswer,
    ) -> Option<TablesState> {
        let mut after = state.clone();
        after.apply(call, answer).then_some(after)
    }
}
