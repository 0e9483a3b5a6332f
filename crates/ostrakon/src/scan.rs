//! A scan, before it is started.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{BatchLimit, ColumnSelection, ScanOptions};

use crate::column::Column;
use crate::entries::{Entries, Step};
use crate::entry::Entry;
use crate::table::Table;
use crate::{Authorizations, EntryRef, Error, IteratorSetting, Range, Result};

/// What to read of a table, and as whom; made by [`Table::scan`]. A `for` loop starts it, or
/// [`start`](Self::start); entries come in key order.
///
/// ```
/// # let log = ostrakon::Store::in_memory()?.create_table("log")?;
/// # for day in ["2026-01-30", "2026-01-31", "2026-02-01"] {
/// #     log.put(day, ("event", "login"), "alice").put(("event", "logout"), "bob").commit()?;
/// # }
/// // Rows, columns, a limit.
/// let logins = log.scan().rows("2026-01-31"..).column(("event", "login")).limit(10);
/// assert_eq!(logins.into_iter().count(), 2);
///
/// // Everything of January in which a closure takes part.
/// let of_bob = log.scan().row_prefix("2026-01").filter(|entry| entry.value == b"bob");
/// for entry in of_bob {
///     assert_eq!(entry?.qualifier(), b"logout");
/// }
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[must_use = "a scan reads nothing until it is iterated"]
#[derive(Clone)]
pub struct Scan {
    table: Table,
    ranges: Vec<Range>,
    columns: Vec<ostrakon_cell::Column>,
    options: ScanOptions,
    limit: Option<u64>,
    steps: Vec<Step>,
    /// The first thing that is malformed.
    error: Option<Error>,
}

impl Scan {
    pub(crate) fn new(table: Table) -> Self {
        Self {
            table,
            ranges: Vec::new(),
            columns: Vec::new(),
            options: ScanOptions::default(),
            limit: None,
            steps: Vec::new(),
            error: None,
        }
    }

    /// Reads one row. Rows and ranges add up; without any, the whole table is read.
    pub fn row(self, row: impl AsRef<[u8]>) -> Self {
        self.range(Range::row(row.as_ref()))
    }

    /// Reads rows from one to another: `"a".."c"`, `"a"..="c"`, `"a"..`.
    pub fn rows<R: AsRef<[u8]>>(self, rows: impl std::ops::RangeBounds<R>) -> Self {
        self.range(Range::rows(rows))
    }

    /// Reads the rows that begin with `prefix`.
    pub fn row_prefix(self, prefix: impl AsRef<[u8]>) -> Self {
        self.range(Range::row_prefix(prefix.as_ref()))
    }

    /// Reads a range of keys.
    pub fn range(mut self, range: Range) -> Self {
        self.ranges.push(range);
        self
    }

    /// Reads a column. Columns and families add up; without any, all columns are read.
    pub fn column<'c>(mut self, column: impl Into<Column<'c>>) -> Self {
        let column = column.into();
        let column = ostrakon_cell::Column::new(column.family, column.qualifier);
        self.columns.push(column);
        self
    }

    /// Reads these columns; see [`column`](Self::column).
    pub fn columns<'c, C: Into<Column<'c>>>(self, columns: impl IntoIterator<Item = C>) -> Self {
        columns.into_iter().fold(self, Self::column)
    }

    /// Reads all columns of a family; see [`column`](Self::column).
    pub fn family(mut self, family: impl AsRef<[u8]>) -> Self {
        let family = ostrakon_cell::Column::family(family.as_ref());
        self.columns.push(family);
        self
    }

    /// The authorizations of the reader. Entries whose labels they do not satisfy are not there. Default: none, which
    /// shows the entries without a label.
    pub fn auths<N: AsRef<[u8]>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        match authorizations(names) {
            Ok(held) => self.options.authorizations = held,
            Err(error) => self.fail(error),
        }
        self
    }

    /// The authorizations of the reader, already made.
    pub fn authorizations(mut self, held: Authorizations) -> Self {
        self.options.authorizations = held;
        self
    }

    /// Ends after this many entries.
    pub fn limit(mut self, entries: u64) -> Self {
        self.limit = Some(entries);
        self
    }

    /// Runs an iterator inside the store, above the table's own, in the order of priorities. It sees entries that this
    /// reader may see, and no others.
    pub fn iterator(mut self, setting: IteratorSetting) -> Self {
        self.options.iterators.push(setting);
        self
    }

    /// Keeps the entries for which `keep` returns `true`. Closures run on batches, after all iterators and in the order
    /// in which they were given, on the thread that reads; entries that are dropped cost no [`Entry`].
    pub fn filter(mut self, keep: impl Fn(EntryRef<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.steps.push(Step::Filter(Arc::new(keep)));
        self
    }

    /// Replaces the value of each entry by what `change` returns; see [`filter`](Self::filter).
    pub fn map_values(
        mut self,
        change: impl Fn(EntryRef<'_>) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        self.steps.push(Step::MapValues(Arc::new(change)));
        self
    }

    /// Reads ranges in parallel, with as many threads as the store has free. Entries come in any order.
    pub fn unordered(mut self) -> Self {
        self.options.ordered = false;
        self
    }

    /// The longest that the scan may take; then it ends with [`TimedOut`](crate::ErrorKind::TimedOut).
    pub fn timeout(mut self, longest: Duration) -> Self {
        self.options.timeout = Some(longest);
        self
    }

    /// Changes settings that have no method here.
    pub fn options(mut self, change: impl FnOnce(&mut ScanOptions)) -> Self {
        change(&mut self.options);
        self
    }

    #[cfg(feature = "async")]
    pub(crate) fn interrupt(&mut self) -> &mut Option<ostrakon_cell::Interrupt> {
        &mut self.options.interrupt
    }

    /// Starts the scan.
    ///
    /// # Errors
    /// Malformed authorizations, unknown iterators, wrong options, a table that is closed, off-line or deleted.
    pub fn start(mut self) -> Result<Entries> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.ranges.is_empty() {
            self.ranges.push(Range::all());
        }
        if !self.columns.is_empty() {
            self.options.columns = ColumnSelection::new(self.columns);
        }
        if let Some(limit) = self.limit
            && !self.steps.iter().any(Step::drops)
        {
            let batch = self.options.batch;
            let entries = usize::try_from(limit).unwrap_or(usize::MAX);
            self.options.batch = BatchLimit {
                entries: batch.entries.min(entries).max(1),
                ..batch
            };
        }
        let scan = self.table.source().scan(&self.ranges, &self.options)?;
        Ok(Entries::new(self.table, scan, self.steps, self.limit))
    }

    /// The first entry, if there is one.
    ///
    /// # Errors
    /// Those of [`start`](Self::start) and of reading.
    pub fn first(self) -> Result<Option<Entry>> {
        self.limit(1).into_iter().next().transpose()
    }

    /// All entries; for results that fit in memory.
    ///
    /// # Errors
    /// Those of [`start`](Self::start) and of reading.
    pub fn collect(self) -> Result<Vec<Entry>> {
        self.start()?.collect()
    }

    /// Number of entries.
    ///
    /// # Errors
    /// Those of [`start`](Self::start) and of reading.
    pub fn count(self) -> Result<u64> {
        let mut entries = self.start()?;
        let mut batch = ostrakon_cell::Batch::new();
        let mut count = 0;
        while entries.next_batch(&mut batch)? {
            count += batch.len() as u64;
        }
        Ok(count)
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }
}

/// A scan that cannot be started gives its error as the first item.
impl IntoIterator for Scan {
    type Item = Result<Entry>;
    type IntoIter = Entries;

    fn into_iter(self) -> Entries {
        let table = self.table.clone();
        self.start()
            .unwrap_or_else(|error| Entries::failed(table, error))
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan")
            .field("table", &self.table.name())
            .field("ranges", &self.ranges)
            .field("columns", &self.columns)
            .field("authorizations", &self.options.authorizations)
            .field("iterators", &self.options.iterators)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// A set of names; an empty name is refused.
pub(crate) fn authorizations<N: AsRef<[u8]>>(
    names: impl IntoIterator<Item = N>,
) -> Result<Authorizations> {
    Ok(Authorizations::new(names)?)
}
