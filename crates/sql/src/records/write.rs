//! Writes and deletes records.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::util::display::FormatOptions;
use ostrakon_cell::{
    Authorizations, BatchWriter, BatchWriterConfig, ColumnUpdate, Error, ErrorKind, Interrupt,
    Mutation, Result, Table,
};
use parking_lot::Mutex;

use super::RecordSchema;
use super::bulk::Bulk;
use super::encode::Encoder;
use super::present::{Cell, Present};
use super::turn::{Pending, Reserved, Shared, Turns};

/// Records whose present cells are read at once.
pub(super) const CHUNK: usize = 1024;

/// Records that are remembered because their writer does not see them.
const UNSEEN_MAX: usize = 1 << 16;

/// Writes records, each as one mutation. A record replaces the one with its key, as far as the writer may see it.
/// Other writers of this process wait while it reads and replaces the cells of a chunk of records.
pub(crate) struct RecordWriter {
    pub(super) table: Arc<dyn Table>,
    pub(super) schema: Arc<RecordSchema>,
    /// The label of records without one.
    pub(super) label: Vec<u8>,
    pub(super) turns: Arc<Turns>,
    pub(super) pending: Arc<Mutex<Pending>>,
    pub(super) present: Present,
    /// By row: the label of the records that were written since the table's time moved and that the writer does not see.
    unseen: HashMap<Vec<u8>, Vec<u8>>,
    /// The places of the columns in the order of the entries of a row: the table sorts what it gets, which is fast if
    /// it is sorted.
    sorted: Vec<usize>,
    /// Until a record does not come in the order of the keys.
    bulk: Option<Bulk>,
    /// Whether a statement that fails leaves no table.
    is_new: bool,
    pub(super) mutation: Mutation,
    pub(super) value: Vec<u8>,
}

/// A value that does not fit is an error, not a null.
const STRICT: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: FormatOptions::new(),
};

impl RecordWriter {
    pub(crate) fn new(
        table: Arc<dyn Table>,
        schema: Arc<RecordSchema>,
        authorizations: Arc<Authorizations>,
        label: Vec<u8>,
    ) -> Self {
        let mut sorted: Vec<usize> = (0..schema.columns.len()).collect();
        sorted.sort_by_key(|place| {
            let column = schema.columns.get(*place);
            column.map(|column| (&column.family, &column.qualifier))
        });
        Self {
            sorted,
            bulk: None,
            is_new: false,
            turns: Turns::of(&*table),
            pending: Pending::new(
                table.clone(),
                BatchWriter::new(table.clone(), BatchWriterConfig::default()),
            ),
            present: Present::new(table.clone(), authorizations),
            table,
            schema,
            label,
            unseen: HashMap::new(),
            mutation: Mutation::new(Vec::new()),
            value: Vec::new(),
        }
    }

    /// The writer of a table that no other statement sees and that has no entries. It stores records in the order of
    /// their keys without the log, as far as the table can.
    ///
    /// # Errors
    /// Those of the table.
    pub(crate) fn of_new_table(mut self) -> Result<Self> {
        self.bulk = Bulk::of(&self.table, &self.schema)?;
        self.is_new = true;
        Ok(self)
    }

    /// Whether what was written stays if the statement fails later.
    pub(crate) fn keeps(&self) -> bool {
        !self.is_new
    }

    /// Writes the rows of a batch whose columns are those of the relation; returns their number.
    ///
    /// # Errors
    /// A null in a key, a label that is malformed, or those of the table. Earlier rows may be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<u64> {
        let columns = self.columns(batch)?;
        let (table, schema, label) = (self.table.clone(), self.schema.clone(), self.label.clone());
        let mut records = Encoder::new(&*table, &schema, &columns, &label)?;
        records.check_labels()?;
        let end = batch.num_rows();
        let mut at = self.write_in_bulk(&mut records, end)?;
        while at < end {
            let chunk = (at..end.min(at + CHUNK)).map(|at| {
                let mut row = Vec::new();
                records.push_row(at, &mut row).map(|()| row)
            });
            let chunk: Vec<Vec<u8>> = chunk.collect::<Result<_>>()?;
            let (turns, pending) = (self.turns.clone(), self.pending.clone());
            let mut turn = turns.begin(&pending, self.present.interrupt())?;
            let pending = &mut *turn.pending;
            let mut present = self.present.find(&mut pending.writer, &chunk)?;
            let mut alike = self.present.alike(&self.schema.keys, &chunk)?;
            let repeats = repeats(&chunk);
            for (offset, row) in chunk.iter().enumerate() {
                let mut cells = present.remove(row).unwrap_or_default();
                let is_visible = self.after_unseen(pending, row, records.label(at + offset))?;
                self.replace(pending, row, &records, at + offset, &cells)?;
                for (stored, cells) in alike.remove(row).unwrap_or_default() {
                    self.remove(pending, &stored, &cells)?;
                }
                if repeats {
                    // A later record of the chunk replaces this one, which cannot be read yet.
                    self.replaced(&records, at + offset, &mut cells, is_visible);
                    present.insert(row.clone(), cells);
                }
            }
            at += chunk.len();
        }
        Ok(batch.num_rows() as u64)
    }

    /// Writes the first records in bulk, as far as that is possible; returns how many.
    fn write_in_bulk(&mut self, records: &mut Encoder<'_>, end: usize) -> Result<usize> {
        let Some(mut bulk) = self.bulk.take() else {
            return Ok(0);
        };
        let at = bulk.write(records, &self.sorted, &self.schema, end)?;
        match at == end {
            true => self.bulk = Some(bulk),
            false => bulk.finish()?,
        }
        Ok(at)
    }

    /// Makes sure that a record is newer than those with its key that were written before and that the writer does not
    /// see, so that they stay. Returns whether it sees this one.
    pub(super) fn after_unseen(
        &mut self,
        pending: &mut Pending,
        row: &[u8],
        label: &[u8],
    ) -> Result<bool> {
        let is_visible = self.present.is_visible(label)?;
        if is_visible && self.unseen.is_empty() {
            return Ok(true);
        }
        // With one label their cells are the same, and of equal cells the one that was written last counts.
        let is_newer = self.unseen.get(row).is_none_or(|before| before == label);
        if !is_newer || self.unseen.len() == UNSEEN_MAX {
            // Of one time, none of them would be the newest.
            self.present.interrupt().check()?;
            pending.writer.flush()?;
            self.table.advance_time()?;
            self.unseen.clear();
        }
        if !is_visible {
            pending.has_unseen = true;
            self.unseen.insert(row.to_vec(), label.to_vec());
        }
        Ok(is_visible)
    }

    /// Removes a record that is stored under another encoding of its key than SQL's, as far as it is in columns of
    /// the schema.
    fn remove(&mut self, pending: &mut Pending, stored: &[u8], cells: &[Cell]) -> Result<()> {
        self.mutation.reset(stored);
        for cell in cells {
            if self.place(cell).is_some() || cell.is_marker() {
                self.mutation.update(deletion(cell))?;
            }
        }
        match self.mutation.is_empty() {
            true => Ok(()),
            false => pending.writer.add(&self.mutation),
        }
    }

    /// Deletes the records of a batch whose only column are their rows as they are stored; returns how many there were.
    ///
    /// # Errors
    /// Those of the table. Earlier rows may be deleted.
    pub(crate) fn delete(&mut self, batch: &RecordBatch) -> Result<u64> {
        let rows = batch.columns().first();
        let rows = rows.and_then(|rows| rows.as_binary_opt::<i32>());
        let rows = rows.ok_or_else(|| Error::new(ErrorKind::Internal, "the rows are not bytes"))?;
        let rows: Vec<Vec<u8>> = rows.iter().flatten().map(<[u8]>::to_vec).collect();
        let mut deleted = 0;
        for chunk in rows.chunks(CHUNK) {
            let mut turn = self.turns.begin(&self.pending, self.present.interrupt())?;
            let writer = &mut turn.pending.writer;
            for (row, cells) in self.present.find(writer, chunk)? {
                self.mutation.reset(&row);
                for cell in &cells {
                    self.mutation.update(deletion(cell))?;
                }
                writer.add(&self.mutation)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Reserves the table: no other statement changes it until the result is dropped. [`read_others`](Self::read_others)
    /// is next.
    pub(crate) fn reserve(&self) -> impl Future<Output = Reserved> + Send + use<> {
        self.turns.reserve()
    }

    /// Waits until no statement has reserved the table. None does until the result is dropped.
    pub(crate) fn share(&self) -> impl Future<Output = Shared> + Send + use<> {
        self.turns.share()
    }

    /// Waits until everything that other statements have written can be read.
    ///
    /// # Errors
    /// The writing was ended.
    pub(crate) fn read_others(&self) -> Result<()> {
        let turn = self.turns.begin(&self.pending, self.present.interrupt());
        turn.map(drop)
    }

    /// Ends the writing, also in the middle of a search for present cells. Earlier rows may be written.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        self.present.interrupt()
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    /// Those of the table.
    pub(crate) fn finish(mut self) -> Result<()> {
        if let Some(bulk) = self.bulk.take() {
            bulk.finish()?;
        }
        self.pending.lock().flush()
    }

    /// The columns of a batch in the order in which they are stored, and in the types of the relation.
    fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let kinds = super::filter::columns(&self.schema);
        let mut columns: Vec<(usize, &ArrayRef)> = (batch.columns().iter().enumerate())
            .map(|(at, column)| (self.schema.place(at), column))
            .collect();
        columns.sort_by_key(|(place, _)| *place);
        let columns = columns.into_iter().zip(&kinds);
        let columns = columns.map(|((_, column), (name, kind))| {
            match *column.data_type() == kind.data_type() {
                true => Ok(column.clone()),
                false => cast_with_options(column, &kind.data_type(), &STRICT).map_err(|error| {
                    Error::invalid("the values do not fit the column")
                        .with("column", name)
                        .with("data", "a value")
                        .with_source(error)
                }),
            }
        });
        columns.collect()
    }

    /// Writes one record in place of the cells that it had.
    fn replace(
        &mut self,
        pending: &mut Pending,
        row: &[u8],
        records: &Encoder<'_>,
        at: usize,
        before: &[Cell],
    ) -> Result<()> {
        let label = records.label(at);
        self.mutation.reset(row);
        for place in &self.sorted {
            self.value.clear();
            if let Some(column) = self.schema.columns.get(*place)
                && records.push_value(*place, at, &mut self.value)
            {
                self.mutation.update(ColumnUpdate {
                    family: &column.family,
                    qualifier: &column.qualifier,
                    visibility: label,
                    timestamp: None,
                    value: Some(&self.value),
                })?;
            }
        }
        let is_marked = self.mutation.is_empty();
        if is_marked {
            // A record without values is a row with one empty cell. No column is kept in that one, and
            // no two in one: the schema was checked.
            self.mutation.update(ColumnUpdate {
                visibility: label,
                value: Some(&[]),
                ..ColumnUpdate::default()
            })?;
        }
        for cell in before {
            // Cells of columns that the schema does not have are left alone.
            let is_written = match self.place(cell) {
                Some(place) => records.has_value(place, at),
                None if cell.is_marker() => is_marked,
                None => continue,
            };
            if !is_written || cell.visibility != label {
                self.mutation.update(deletion(cell))?;
            }
        }
        pending.writer.add(&self.mutation)
    }

    /// What the writer sees of a record that was just written, in place of what it saw before.
    fn replaced(&self, records: &Encoder<'_>, at: usize, cells: &mut Vec<Cell>, is_visible: bool) {
        cells.retain(|cell| !cell.is_marker() && self.place(cell).is_none());
        if !is_visible {
            return;
        }
        let label = records.label(at);
        let others = cells.len();
        for (place, column) in self.schema.columns.iter().enumerate() {
            if records.has_value(place, at) {
                cells.push(Cell::unread(&column.family, &column.qualifier, label));
            }
        }
        if cells.len() == others {
            cells.push(Cell::unread(&[], &[], label));
        }
    }

    /// The column of a cell.
    pub(super) fn place(&self, cell: &Cell) -> Option<usize> {
        let mut columns = self.schema.columns.iter();
        columns.position(|column| column.is_of(cell))
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        // What was submitted would be stored after another statement has read the present cells.
        let _ = self.pending.lock().flush();
        if !self.unseen.is_empty() {
            // The records of the next statement are newer. A table that refuses takes none.
            let _ = self.table.advance_time();
        }
    }
}

/// Whether a row occurs twice.
fn repeats(rows: &[Vec<u8>]) -> bool {
    let ascending = rows.is_sorted_by(|a, b| a < b);
    !ascending && rows.iter().collect::<HashSet<_>>().len() < rows.len()
}

pub(super) fn deletion(cell: &Cell) -> ColumnUpdate<'_> {
    ColumnUpdate {
        family: &cell.family,
        qualifier: &cell.qualifier,
        visibility: &cell.visibility,
        ..ColumnUpdate::default()
    }
}
