//! The way to write much.

use ostrakon_cell::ColumnUpdate;

use crate::column::Column;
use crate::mutation::Mutation;
use crate::table::Table;
use crate::{BatchWriterConfig, Error, Result};

/// Collects mutations in batches and hands them to the table without waiting for each; made by
/// [`Table::batch_writer`]. One sync serves thousands of entries.
///
/// A batch that fails breaks the writer: every later call returns the error of that batch.
///
/// Dropping a writer writes what it still holds and waits for it. If that fails it can only be logged, as an error
/// through `tracing`: call [`close`](Self::close) to be told. A writer belongs to one thread; make one for each.
///
/// ```
/// # let edges = ostrakon::Store::in_memory()?.create_table("edges")?;
/// let mut writer = edges.batch_writer();
/// for n in 0..1000_u32 {
///     writer.put(format!("{n:08}"), ("next", ""), (n + 1).to_be_bytes())?;
/// }
/// writer.close()?;
/// assert_eq!(edges.scan().into_iter().count(), 1000);
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[derive(Debug)]
pub struct BatchWriter {
    inner: ostrakon_cell::BatchWriter,
    /// Keeps the store open.
    table: Table,
    closed: bool,
}

impl BatchWriter {
    pub(crate) fn new(table: &Table, mut config: BatchWriterConfig) -> Self {
        config.durability = config.durability.or(table.durability());
        Self {
            inner: ostrakon_cell::BatchWriter::new(table.source().clone(), config),
            table: table.clone(),
            closed: false,
        }
    }

    /// Puts a value without a label.
    ///
    /// # Errors
    /// An oversized key or value (nothing is added); the failure of an earlier batch (nothing is added); or
    /// [`ConstraintViolation`](crate::ErrorKind::ConstraintViolation) for mutations of earlier batches, reported once:
    /// this one is added, and the writer goes on.
    #[inline]
    pub fn put<'c>(
        &mut self,
        row: impl AsRef<[u8]>,
        column: impl Into<Column<'c>>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.put_labeled(row, column, "", value)
    }

    /// Puts a value with a label.
    ///
    /// # Errors
    /// As [`put`](Self::put), and a label that is not a valid expression (nothing is added).
    #[inline]
    pub fn put_labeled<'c>(
        &mut self,
        row: impl AsRef<[u8]>,
        column: impl Into<Column<'c>>,
        label: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        let column = column.into();
        let update = ColumnUpdate {
            family: column.family,
            qualifier: column.qualifier,
            visibility: label.as_ref(),
            timestamp: None,
            value: Some(value.as_ref()),
        };
        self.inner.put(row.as_ref(), update)
    }

    /// Adds a mutation.
    ///
    /// # Errors
    /// As [`put_labeled`](Self::put_labeled).
    pub fn write(&mut self, mutation: &Mutation) -> Result<()> {
        self.inner.add(&mutation.encode()?)
    }

    /// Submits what is collected and waits until everything is as durable as asked.
    ///
    /// # Errors
    /// The first failure of any batch since the last flush, or what constraints refused since.
    pub fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }

    /// Takes the failure that broke the writer, if one did. The writer goes on with what it has collected since the
    /// batch that failed; what was in that batch is not written again.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.inner.take_failure()
    }

    /// [`flush`](Self::flush), and gives the writer up.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<()> {
        self.closed = true;
        self.inner.flush()
    }
}

impl Drop for BatchWriter {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        if let Err(error) = self.inner.flush() {
            let table = self.table.name();
            tracing::error!(%table, %error, "a batch writer was dropped and could not write what it held");
        }
    }
}
