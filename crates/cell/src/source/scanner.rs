//! A convenient scan for interactive use, tests and small results.

use std::sync::Arc;
use std::time::Duration;

use super::{ScanOptions, Table};
use crate::{
    Authorizations, Batch, Column, ColumnSelection, Entry, EntryRef, Interrupt, IteratorSetting,
    Range, Result,
};

/// Collects what to scan, then runs it.
///
/// ```no_run
/// # fn run(table: std::sync::Arc<dyn ostrakon_cell::Table>) -> ostrakon_cell::Result<()> {
/// use ostrakon_cell::{Range, Scanner};
/// let entries = Scanner::new(table).range(Range::row("alice")).entries()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Scanner {
    table: Arc<dyn Table>,
    ranges: Vec<Range>,
    columns: Vec<Column>,
    options: ScanOptions,
}

impl Scanner {
    /// A scan of the whole table without authorizations.
    pub fn new(table: Arc<dyn Table>) -> Self {
        Self {
            table,
            ranges: Vec::new(),
            columns: Vec::new(),
            options: ScanOptions::default(),
        }
    }

    /// Adds a range; without any, the whole table is scanned.
    pub fn range(mut self, range: Range) -> Self {
        self.ranges.push(range);
        self
    }

    /// Adds a column; without any, all are fetched.
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// Sets the authorizations of the scan.
    pub fn authorizations(mut self, authorizations: Authorizations) -> Self {
        self.options.authorizations = authorizations;
        self
    }

    /// Adds an iterator.
    pub fn iterator(mut self, setting: IteratorSetting) -> Self {
        self.options.iterators.push(setting);
        self
    }

    /// Reads ranges in any order and in parallel.
    pub fn unordered(mut self) -> Self {
        self.options.ordered = false;
        self
    }

    /// Ends the scan when `interrupt` is set.
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.options.interrupt = Some(interrupt);
        self
    }

    /// The longest that the scan may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Calls `visit` on every entry until it returns `false`.
    ///
    /// # Errors
    /// Those of the scan and of `visit`.
    pub fn for_each(mut self, mut visit: impl FnMut(EntryRef<'_>) -> Result<bool>) -> Result<()> {
        if self.ranges.is_empty() {
            self.ranges.push(Range::all());
        }
        self.options.columns = ColumnSelection::new(self.columns);
        let mut scan = self.table.scan(&self.ranges, &self.options)?;
        let mut batch = Batch::new();
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                if !visit(entry)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// All entries; for results that fit in memory.
    ///
    /// # Errors
    /// Those of the scan.
    pub fn entries(self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        self.for_each(|entry| {
            entries.push(entry.to_entry());
            Ok(true)
        })?;
        Ok(entries)
    }
}

impl std::fmt::Debug for Scanner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scanner")
            .field("table", &self.table.name())
            .field("ranges", &self.ranges)
            .field("columns", &self.columns)
            .field("options", &self.options)
            .finish()
    }
}
