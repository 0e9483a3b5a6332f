//! One table of a store.

use std::sync::Arc;

use ostrakon_cell::source::WriteOutcome;
use ostrakon_cell::{CompactOptions, IteratorScope, IteratorSetting, MutationBatch, PendingWrite};

use crate::column::Column;
use crate::mutation::Mutation;
use crate::scan::Scan;
use crate::store::Store;
use crate::write::Write;
use crate::writer::BatchWriter;
use crate::{BatchWriterConfig, Durability, Error, Result};

/// A table: entries sorted by row, column, label and time. A clone is another handle to the same
/// table, and keeps the store open.
///
/// ```
/// use ostrakon::Store;
///
/// let people = Store::in_memory()?.create_table("people")?;
/// people.put("alice", ("contact", "mail"), "a@b.c").label("hr|self").commit()?;
/// people.delete("alice", ("contact", "fax")).commit()?;
///
/// let mail = people.scan().row("alice").column(("contact", "mail")).auths(["self"]).first()?;
/// assert_eq!(mail.expect("visible").value_str()?, "a@b.c");
/// assert!(people.scan().first()?.is_none(), "not visible without authorizations");
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[derive(Clone)]
pub struct Table {
    store: Store,
    inner: Arc<dyn ostrakon_cell::Table>,
}

impl Table {
    pub(crate) fn new(store: Store, inner: Arc<dyn ostrakon_cell::Table>) -> Self {
        Self { store, inner }
    }

    /// The name that the table has now.
    #[must_use]
    pub fn name(&self) -> String {
        self.inner.name()
    }

    /// Puts a value; [`Write::commit`] writes it. More changes of the row can be added before.
    pub fn put<'c>(
        &self,
        row: impl AsRef<[u8]>,
        column: impl Into<Column<'c>>,
        value: impl AsRef<[u8]>,
    ) -> Write<'_> {
        self.update(row).put(column, value)
    }

    /// Deletes the versions of a column that carry no label, or the label given next; [`Write::commit`] writes it.
    pub fn delete<'c>(&self, row: impl AsRef<[u8]>, column: impl Into<Column<'c>>) -> Write<'_> {
        self.update(row).delete(column)
    }

    /// Begins a change of several columns of a row.
    pub fn update(&self, row: impl AsRef<[u8]>) -> Write<'_> {
        Write::new(self, Mutation::new(row))
    }

    /// Writes a mutation, and returns when the write is as durable as asked.
    ///
    /// # Errors
    /// As [`Write::commit`].
    pub fn write(&self, mutation: &Mutation) -> Result<()> {
        self.write_as(mutation, self.durability())
    }

    pub(crate) fn write_as(
        &self,
        mutation: &Mutation,
        durability: Option<Durability>,
    ) -> Result<()> {
        match self.submit(mutation, durability)? {
            Some(pending) => outcome(pending.wait()?),
            None => Ok(()),
        }
    }

    /// Hands a mutation to the log; `None` if it changes nothing.
    pub(crate) fn submit(
        &self,
        mutation: &Mutation,
        durability: Option<Durability>,
    ) -> Result<Option<Box<dyn PendingWrite>>> {
        let encoded = mutation.encode()?;
        if encoded.is_empty() {
            return Ok(None);
        }
        let mut batch = MutationBatch::new();
        batch.push(&encoded)?;
        self.inner.submit(batch, durability).map(Some)
    }

    /// A writer for many mutations, with the default settings.
    #[must_use]
    pub fn batch_writer(&self) -> BatchWriter {
        self.batch_writer_with(BatchWriterConfig::default())
    }

    /// A writer for many mutations.
    #[must_use]
    pub fn batch_writer_with(&self, config: BatchWriterConfig) -> BatchWriter {
        BatchWriter::new(self, config)
    }

    /// A scan of the whole table without authorizations, to be narrowed and started.
    pub fn scan(&self) -> Scan {
        Scan::new(self.clone())
    }

    /// Attaches an iterator at the given scopes, from now on and for everybody.
    ///
    /// # Errors
    /// An unknown class, a wrong option.
    pub fn attach_iterator(
        &self,
        setting: &IteratorSetting,
        scopes: &[IteratorScope],
    ) -> Result<()> {
        let changes: Vec<_> = setting
            .to_properties(scopes)
            .into_iter()
            .map(|(name, value)| (name, Some(value)))
            .collect();
        self.inner.modify_properties(&changes)
    }

    /// Sets a property of the table, by Accumulo's name, or removes it with `None`.
    ///
    /// # Errors
    /// An unknown name (with a suggestion), a malformed value.
    pub fn set_property(&self, name: &str, value: Option<&str>) -> Result<()> {
        let change = (name.to_owned(), value.map(str::to_owned));
        self.inner.modify_properties(&[change])
    }

    /// The value in force of a property; `None` if it is not set and has no default.
    ///
    /// # Errors
    /// [`Closed`](crate::ErrorKind::Closed), [`TableNotFound`](crate::ErrorKind::TableNotFound).
    pub fn property(&self, name: &str) -> Result<Option<String>> {
        Ok(self.inner.properties()?.remove(name))
    }

    /// Splits tablets at these rows; splits that exist are left as they are.
    ///
    /// # Errors
    /// A row too long for a split point.
    pub fn add_splits<R: AsRef<[u8]>>(&self, rows: impl IntoIterator<Item = R>) -> Result<()> {
        let rows: Vec<_> = rows.into_iter().map(|row| row.as_ref().to_vec()).collect();
        self.inner.add_splits(&rows)
    }

    /// Writes what is in memory to files. Not needed for durability: that is the log's work.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn flush(&self) -> Result<()> {
        self.inner.flush(true)
    }

    /// Merges the files of each tablet into one.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn compact(&self) -> Result<()> {
        self.inner.compact(&CompactOptions::default())
    }

    /// The table as the source contract shows it: scans in batches, tablets, merges, bulk imports.
    #[must_use]
    pub fn source(&self) -> &Arc<dyn ostrakon_cell::Table> {
        &self.inner
    }

    pub(crate) fn durability(&self) -> Option<Durability> {
        self.store.durability()
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name())
            .field("store", &self.store)
            .finish()
    }
}

/// Whether the one mutation of a batch was written.
pub(crate) fn outcome(outcome: WriteOutcome) -> Result<()> {
    if let Some(failed) = outcome.failed.first() {
        return Err(Error::new(failed.kind, failed.message.clone()));
    }
    match outcome.rejections.first() {
        None => Ok(()),
        Some(refused) => Err(Error::new(
            ostrakon_cell::ErrorKind::ConstraintViolation,
            "a constraint of the table refused the row",
        )
        .with("constraint", &refused.constraint)
        .with("code", refused.code)
        .with("reason", &refused.description)),
    }
}
