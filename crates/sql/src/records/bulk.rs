//! Fills a new table with records in the order of their keys: as table files, without the log.
//!
//! Such records replace nothing and are replaced by nothing, so none are read before they are written.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::{
    Batch, BatchLimit, BulkWriter, Capability, Result, Slot, Span, Table, VisibilityExpression,
};

use super::RecordSchema;
use super::encode::Encoder;

/// What is handed to the table at once.
const BATCH: BatchLimit = BatchLimit {
    entries: 8192,
    bytes: 1 << 20,
};

/// The most bytes of a key, and of a record beside one batch. The table may refuse longer ones; see [`Bulk::write`].
const KEY_MAX: usize = 1 << 16;
const RECORD_MAX: usize = 64 << 20;

/// Writes records in ascending order of their keys.
pub(super) struct Bulk {
    table: Arc<dyn Table>,
    /// `None` until there is something to write.
    writer: Option<Box<dyn BulkWriter>>,
    timestamp: i64,
    batch: Batch,
    /// Where the batch has the families and qualifiers of the columns, in the order of the entries of a row.
    columns: Vec<(Span, Span)>,
    row: Vec<u8>,
    /// The greatest row of earlier batches.
    greatest: Option<Vec<u8>>,
    /// A label that is valid.
    label: Vec<u8>,
}

impl Bulk {
    /// A writer to a table without entries; `None` if what it writes would differ from what a batch writer does.
    ///
    /// # Errors
    /// Those of the table.
    pub(super) fn of(table: &Arc<dyn Table>, schema: &RecordSchema) -> Result<Option<Self>> {
        let mut columns = schema.columns.iter();
        let is_short = columns.all(|column| column.family.len() + column.qualifier.len() < KEY_MAX);
        if !is_short || !table.capabilities().has(Capability::BulkImport) || !is_plain(&**table)? {
            return Ok(None);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Some(Self {
            table: table.clone(),
            writer: None,
            timestamp: now.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(0)),
            batch: Batch::new(),
            columns: Vec::new(),
            row: Vec::new(),
            greatest: None,
            label: Vec::new(),
        }))
    }

    /// Writes the first records up to `end`, or to the first one that is not after all before it or that the table may
    /// refuse; returns its place. `sorted` has the columns in the order of the entries of a row.
    ///
    /// # Errors
    /// A null in a key, and those of the table.
    pub(super) fn write(
        &mut self,
        records: &mut Encoder<'_>,
        sorted: &[usize],
        schema: &RecordSchema,
        end: usize,
    ) -> Result<usize> {
        for at in 0..end {
            if self.batch.is_empty() {
                self.columns.clear();
                for column in sorted.iter().filter_map(|place| schema.columns.get(*place)) {
                    let family = self.batch.push_bytes(&column.family)?;
                    let qualifier = self.batch.push_bytes(&column.qualifier)?;
                    self.columns.push((family, qualifier));
                }
            }
            if !self.push(records, sorted, at)? {
                return Ok(at);
            }
            if self.batch.is_full(BATCH) {
                self.hand_over()?;
            }
        }
        Ok(end)
    }

    /// Adds a record to the batch, unless it has to be written in another way.
    fn push(&mut self, records: &mut Encoder<'_>, sorted: &[usize], at: usize) -> Result<bool> {
        self.row.clear();
        records.push_row(at, &mut self.row)?;
        let before = match self.batch.slots().last() {
            Some(slot) => Some(self.batch.bytes(slot.row)),
            None => self.greatest.as_deref(),
        };
        let label = records.label(at);
        if before.is_some_and(|before| before >= self.row.as_slice())
            || self.row.len() + label.len() > KEY_MAX
        {
            return Ok(false);
        }
        if label != self.label {
            if VisibilityExpression::parse(label).is_err() {
                return Ok(false);
            }
            self.label.clear();
            self.label.extend_from_slice(label);
        }
        let first = self.batch.len();
        let mut slot = Slot {
            row: self.batch.push_bytes(&self.row)?,
            visibility: self.batch.intern_visibility(label)?,
            timestamp: self.timestamp,
            ..Slot::default()
        };
        for (place, (family, qualifier)) in sorted.iter().zip(&self.columns) {
            let arena = self.batch.arena_mut();
            let start = arena.len();
            if !records.push_value(*place, at, arena) {
                continue;
            }
            let len = arena.len() - start;
            if arena.len() > RECORD_MAX {
                self.batch.truncate(first);
                return Ok(false);
            }
            slot.family = *family;
            slot.qualifier = *qualifier;
            slot.value = Span {
                start: start as u32,
                len: len as u32,
            };
            self.batch.push_slot(slot);
        }
        if self.batch.len() == first {
            // A record without values is a row with one empty cell.
            self.batch.push_slot(slot);
        }
        Ok(true)
    }

    fn hand_over(&mut self) -> Result<()> {
        let Some(last) = self.batch.slots().last() else {
            return Ok(());
        };
        self.greatest = Some(self.batch.bytes(last.row).to_vec());
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(self.table.bulk_writer()?),
        };
        writer.append(&self.batch)?;
        self.batch.clear();
        Ok(())
    }

    /// Stores what was written. What is written later is newer.
    ///
    /// # Errors
    /// Those of the table; then nothing is stored.
    pub(super) fn finish(mut self) -> Result<()> {
        self.hand_over()?;
        match self.writer {
            Some(writer) => {
                writer.finish()?;
                self.table.advance_time()
            }
            None => Ok(()),
        }
    }
}

/// Whether nothing but the default constraint sees what is written before it is in a file.
fn is_plain(table: &dyn Table) -> Result<bool> {
    let properties = table.properties()?;
    Ok(properties.iter().all(
        |(name, value)| match name.strip_prefix("table.iterator.minc.") {
            Some(iterator) => iterator.contains('.') || value.ends_with(".VersioningIterator"),
            None => {
                !name.starts_with("table.constraint.")
                    || value.ends_with(".DefaultKeySizeConstraint")
            }
        },
    ))
}
