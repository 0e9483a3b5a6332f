//! What can be done to a source, as data.

use ostrakon_cell::Durability;

use crate::disk::Crash;

/// What a table is like from its creation on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Versions shown and kept; `None` for all.
    pub versions: Option<u32>,
    /// Whether timestamps count batches. They are not compared then: a crash may skip some.
    pub logical: bool,
    /// Whether the table begins with splits.
    pub split: bool,
}

/// One column update.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// The row; changes of one row that follow each other are one mutation.
    pub row: String,
    /// Family.
    pub family: &'static str,
    /// Qualifier.
    pub qualifier: String,
    /// Label.
    pub label: &'static str,
    /// `None` lets the table set it.
    pub timestamp: Option<i64>,
    /// `None` deletes.
    pub value: Option<String>,
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
        write!(f, "{row:?} {family}:{qualifier} [{label}]")?;
        if let Some(timestamp) = self.timestamp {
            write!(f, " at {timestamp}")?;
        }
        match &self.value {
            None => f.write_str(" delete"),
            Some(value) if value.len() > 12 => write!(f, " = {} bytes", value.len()),
            Some(value) => write!(f, " = {value}"),
        }
    }
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
    /// Puts the second value if the column holds the first.
    CompareAndSet {
        table: u8,
        row: String,
        expected: Option<String>,
        value: String,
    },
    Bulk {
        table: u8,
        changes: Vec<Change>,
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
        wait: bool,
    },
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
        name: &'static str,
        value: Option<&'static str>,
    },
    /// Compares some scans of every table; the number chooses which.
    Look {
        choice: u64,
    },
    /// Closes and opens.
    Reopen,
    /// The lights go out and on again.
    Crash(Crash),
    /// The disk has trouble from now on, until the next crash or reopening.
    Trouble(Trouble),
}

impl Operation {
    /// The name of table number `table`.
    #[must_use]
    pub fn name_of(table: u8) -> String {
        format!("model{table}")
    }
}
