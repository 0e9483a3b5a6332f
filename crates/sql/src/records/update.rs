//! Changes columns of records.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch, StringArray};
use ostrakon_cell::{ColumnUpdate, Error, ErrorKind, Result, VisibilityExpression};

use super::RecordWriter;
use super::kind::Values;
use super::present::Cell;
use super::turn::Pending;
use super::write::{CHUNK, deletion};

/// The columns of a batch of changes.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    /// The places of the columns of the schema that have new values.
    pub(crate) columns: Arc<[usize]>,
    /// Whether the records have new labels, too. Then all columns have values.
    pub(crate) has_labels: bool,
}

impl Changed {
    /// Whether the new labels of a batch are labels. It is asked before anything of the batch is written.
    ///
    /// # Errors
    /// A label that is NULL or malformed.
    pub(crate) fn check_labels(&self, batch: &RecordBatch) -> Result<()> {
        let labels = match self.has_labels {
            true => batch
                .columns()
                .last()
                .and_then(|last| last.as_string_opt::<i32>()),
            false => None,
        };
        let mut known: Option<&str> = None;
        for label in labels.into_iter().flatten() {
            let Some(label) = label else {
                return Err(null_label());
            };
            if known != Some(label) {
                VisibilityExpression::parse(label.as_bytes())?;
                known = Some(label);
            }
        }
        Ok(())
    }
}

fn null_label() -> Error {
    Error::invalid("the new label of a record is NULL: write '' for no label")
}

/// The new values of a batch of records.
struct NewValues<'a> {
    /// By the places of columns in the schema.
    columns: Vec<(usize, Values<'a>)>,
    labels: Option<&'a StringArray>,
}

impl<'a> NewValues<'a> {
    /// The label of all cells of a record, if it has a new one.
    fn label(&self, at: usize) -> Option<&'a [u8]> {
        self.labels.map(|labels| labels.value(at).as_bytes())
    }
}

/// The visible cells of a record.
struct Before<'a> {
    row: &'a [u8],
    cells: &'a [Cell],
    /// By the places of columns in the schema.
    of_columns: HashMap<usize, Vec<&'a Cell>>,
    markers: Vec<&'a Cell>,
}

impl RecordWriter {
    /// Changes the records of a batch, which has their rows as they are stored, the new values of columns, and perhaps
    /// the new labels; returns how many records there still were. A record that was deleted since it was read stays
    /// deleted.
    ///
    /// A value gets the label of the one that it replaces. In a column that was NULL it gets one that requires all labels
    /// of the record, as far as the session sees it, and that of the session.
    ///
    /// # Errors
    /// A label that is NULL or malformed, or those of the table. Earlier records may be changed.
    pub(crate) fn update(&mut self, batch: &RecordBatch, changed: &Changed) -> Result<u64> {
        let (rows, new) = self.new_values(batch, changed)?;
        let mut updated = 0;
        let (turns, pending) = (self.turns.clone(), self.pending.clone());
        let schema = self.schema.clone();
        let columns = schema.columns.iter().enumerate();
        let places: HashMap<(&[u8], &[u8]), usize> = columns
            .map(|(place, column)| ((&*column.family, &*column.qualifier), place))
            .collect();
        for (chunk, rows) in rows.chunks(CHUNK).enumerate() {
            let mut turn = turns.begin(&pending, self.present.interrupt())?;
            let pending = &mut *turn.pending;
            let mut present = self.present.find(&mut pending.writer, rows)?;
            for (at, row) in rows.iter().enumerate() {
                let at = chunk * CHUNK + at;
                if let Some(cells) = present.remove(row) {
                    if let Some(label) = new.label(at) {
                        self.after_unseen(pending, row, label)?;
                    }
                    let before = Before::new(row, &cells, &places);
                    self.change(pending, &before, &new, at)?;
                    updated += 1;
                }
            }
        }
        Ok(updated)
    }

    fn new_values<'a>(
        &self,
        batch: &'a RecordBatch,
        changed: &Changed,
    ) -> Result<(Vec<Vec<u8>>, NewValues<'a>)> {
        let other = || {
            Error::new(
                ErrorKind::Internal,
                "the columns are not those of an update",
            )
        };
        let mut arrays = batch.columns().iter();
        let rows = arrays.next().and_then(|rows| rows.as_binary_opt::<i32>());
        let rows = rows.ok_or_else(other)?.iter().flatten();
        let mut columns = Vec::with_capacity(changed.columns.len());
        for place in changed.columns.iter() {
            let (Some(column), Some(array)) = (self.schema.columns.get(*place), arrays.next())
            else {
                return Err(other());
            };
            columns.push((*place, column.kind.values(array)?));
        }
        let labels = match changed.has_labels {
            true => {
                let labels = arrays.next().and_then(|labels| labels.as_string_opt());
                let labels: &StringArray = labels.ok_or_else(other)?;
                if labels.null_count() > 0 {
                    return Err(null_label());
                }
                Some(labels)
            }
            false => None,
        };
        Ok((
            rows.map(<[u8]>::to_vec).collect(),
            NewValues { columns, labels },
        ))
    }

    /// Writes the new values of one record.
    fn change(
        &mut self,
        pending: &mut Pending,
        before: &Before<'_>,
        new: &NewValues<'_>,
        at: usize,
    ) -> Result<()> {
        let given = new.label(at);
        // Of all labels of the record; only if it is needed.
        let mut required: Option<Vec<u8>> = None;
        self.mutation.reset(before.row);
        let mut written = 0;
        for (place, values) in &new.columns {
            let schema = Arc::clone(&self.schema);
            let Some(column) = schema.columns.get(*place) else {
                continue;
            };
            let replaced = before.of_columns.get(place).map_or(&[][..], Vec::as_slice);
            self.value.clear();
            let is_written = values.encode(at, &mut self.value);
            let label = match (given, newest(replaced.iter().copied())) {
                (Some(given), _) => given,
                (None, Some(cell)) => &cell.visibility,
                (None, None) if is_written && required.is_none() => {
                    let label = self.present.required(before.cells, &self.label)?;
                    // The session may not see what it writes under its label.
                    self.after_unseen(pending, before.row, &label)?;
                    required.insert(label)
                }
                (None, None) => required.as_deref().unwrap_or_default(),
            };
            if is_written {
                written += 1;
                self.mutation.update(ColumnUpdate {
                    family: &column.family,
                    qualifier: &column.qualifier,
                    visibility: label,
                    timestamp: None,
                    value: Some(&self.value),
                })?;
            }
            for cell in replaced {
                if !is_written || cell.visibility != label {
                    self.mutation.update(deletion(cell))?;
                }
            }
        }
        self.mark(before, new, given, written == 0)?;
        match self.mutation.is_empty() {
            true => Ok(()),
            false => pending.writer.add(&self.mutation),
        }
    }

    /// As a record that is inserted, one without values is a row with one empty cell. It tells no more than that the record
    /// is there.
    fn mark(
        &mut self,
        before: &Before<'_>,
        new: &NewValues<'_>,
        given: Option<&[u8]>,
        has_no_new: bool,
    ) -> Result<()> {
        let changed = new.columns.iter();
        let changed = changed.filter_map(|(place, _)| before.of_columns.get(place));
        let removed = before.markers.len() + changed.map(Vec::len).sum::<usize>();
        let is_marked = has_no_new && removed == before.cells.len();
        let label = given.or_else(|| newest(before.cells).map(|cell| &*cell.visibility));
        let label = label.unwrap_or_default();
        if is_marked {
            self.mutation.update(ColumnUpdate {
                visibility: label,
                value: Some(&[]),
                ..ColumnUpdate::default()
            })?;
        }
        for cell in &before.markers {
            if !is_marked || cell.visibility != label {
                self.mutation.update(deletion(cell))?;
            }
        }
        Ok(())
    }
}

impl<'a> Before<'a> {
    fn new(row: &'a [u8], cells: &'a [Cell], places: &HashMap<(&[u8], &[u8]), usize>) -> Self {
        let mut before = Self {
            row,
            cells,
            of_columns: HashMap::new(),
            markers: Vec::new(),
        };
        for cell in cells {
            match places.get(&(&*cell.family, &*cell.qualifier)) {
                Some(place) => before.of_columns.entry(*place).or_default().push(cell),
                None if cell.is_marker() => before.markers.push(cell),
                None => {}
            }
        }
        before
    }
}

/// The newest of some cells, as a reader of the record determines it: of equal times the first one.
fn newest<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Option<&'a Cell> {
    let mut cells = cells.into_iter();
    let first = cells.next()?;
    Some(cells.fold(first, |newest, cell| {
        match cell.timestamp > newest.timestamp {
            true => cell,
            false => newest,
        }
    }))
}
