//! What can be done to a source, as data.

use ostrakon_cell::Durability;

use crate::disk::Crash;

/// The family of the columns that tell which time a table gave to a batch: the first update of each
/// batch without a timestamp of its own, in a column of its own.
pub(super) const PROBE: &str = "probe of q1";

/// What a table is like from its creation on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Versions shown and kept; `None` for all.
    pub versions: Option<u32>,
    /// Whether the versions of a column are added up, at scans and in every compaction. Then
    /// `versions` is `None`.
    pub summed: bool,
    /// Whether timestamps count batches.
    pub logical: bool,
    /// Whether the table begins with splits.
    pub split: bool,
}

/// One column update.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// The row; changes of one row that follow each other are one mutation, unless `apart`.
    pub row: String,
    /// Family.
    pub family: &'static str,
    /// Qualifier.
    pub qualifier: String,
    /// Label.
    pub label: &'static str,
    /// `None` lets the table set it.
    pub timestamp: Option<i64>,
    /// `None` deletes. Values are decimal numbers, so that any table can add them up.
    pub value: Option<String>,
    /// Begins a mutation of its own.
    pub apart: bool,
}

impl std::fmt::Debug for Change {
    /// Short, since failures list many: only the length of a long value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            row,
            family,
            qualifier,
            label,
            ..
        } = self;
        if self.apart {
            f.write_str("| ")?;
        }
        write!(f, "{row:?} {family}:{qualifier} [{label}]")?;
        if let Some(timestamp) = self.timestamp {
            write!(f, " at {timestamp}")?;
        }
        match &self.value {
            None => f.write_str(" delete"),
            Some(value) => {
                write!(f, " = {}", value.trim_start_matches('0'))?;
                if value.len() > 20 {
                    write!(f, " ({} bytes)", value.len())?;
                }
                Ok(())
            }
        }
    }
}

/// What a condition asks of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// What it holds when the operation is played: the condition holds.
    Current,
    /// Nothing.
    Absent,
    /// This value.
    Value(String),
}

/// One mutation with a condition on one of its row's columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// The row.
    pub row: String,
    /// Family of the column of the condition.
    pub family: &'static str,
    /// Its qualifier.
    pub qualifier: String,
    /// Its label.
    pub label: &'static str,
    /// What the column must hold.
    pub expected: Expected,
    /// The timestamp that its entry must have.
    pub timestamp: Option<i64>,
    /// Versions that an iterator of the condition leaves.
    pub versions: Option<u32>,
    /// What is written, all in `row`.
    pub changes: Vec<Change>,
}

/// What goes wrong with the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// So many syncs succeed and the next does not.
    SyncFails(u64),
    /// So many changing operations succeed and no later one.
    Stops(u64),
    /// So many bytes of room are left.
    Full(u64),
}

/// One step. Tables go by number; a step on a table that is not there must fail alike everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the fields are arguments of the contract's calls of that name"
)]
pub enum Operation {
    Create {
        table: u8,
        style: Style,
    },
    Delete {
        table: u8,
    },
    Rename {
        from: u8,
        to: u8,
    },
    Clone {
        from: u8,
        to: u8,
    },
    Online {
        table: u8,
        online: bool,
    },
    Write {
        table: u8,
        changes: Vec<Change>,
        durability: Option<Durability>,
    },
    /// Mutations with conditions, handed over together.
    Conditional {
        table: u8,
        list: Vec<Guarded>,
    },
    /// An import through a bulk writer.
    Bulk {
        table: u8,
        changes: Vec<Change>,
    },
    /// An import of a directory with these files.
    Import {
        table: u8,
        files: Vec<Vec<Change>>,
    },
    DeleteRows {
        table: u8,
        start: Option<String>,
        end: Option<String>,
    },
    Flush {
        table: u8,
        wait: bool,
    },
    Compact {
        table: u8,
        start: Option<String>,
        end: Option<String>,
        flush: bool,
        wait: bool,
    },
    /// One step of the background work of every table, with a random choice of files.
    Maintain,
    Split {
        table: u8,
        rows: Vec<String>,
    },
    Merge {
        table: u8,
        start: Option<String>,
        end: Option<String>,
    },
    Property {
        table: u8,
        changes: Vec<(String, Option<String>)>,
    },
    /// Compares some scans of every table; the number chooses which.
    Look {
        choice: u64,
    },
    /// Closes and opens.
    Reopen,
    /// The power fails and comes back.
    Crash(Crash),
    /// The disk has trouble from now on, until the next crash or reopening.
    Trouble(Trouble),
}

/// An operation and when it is played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Counts the operations of a run, also when others are left out.
    pub number: usize,
    /// What the clock shows, in milliseconds since 1970.
    pub millis: i64,
    /// What is done.
    pub operation: Operation,
}

impl Operation {
    /// The name of table number `table`.
    #[must_use]
    pub fn name_of(table: u8) -> String {
        format!("model{table}")
    }
}
