//! Entries as records.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use ostrakon_cell::{
    Batch, BatchLimit, Error, ErrorKind, Escaped, Result, Scan, Slot, compare_bytes, same_bytes,
};

use super::column::ColumnBuilder;
use super::{ColumnType, RecordSchema, key};
use crate::scan::{ByteSet, Reading};

/// A column of the table.
#[derive(Debug)]
struct Column {
    family: Vec<u8>,
    qualifier: Vec<u8>,
    place: usize,
}

impl Column {
    fn is(&self, family: &[u8], qualifier: &[u8]) -> bool {
        same_bytes(&self.qualifier, qualifier) && same_bytes(&self.family, family)
    }

    fn cmp(&self, family: &[u8], qualifier: &[u8]) -> Ordering {
        compare_bytes(&self.family, family).then_with(|| compare_bytes(&self.qualifier, qualifier))
    }
}

/// What is read of each record.
#[derive(Debug)]
pub(super) struct Layout {
    /// Types by place in the relation.
    kinds: Vec<ColumnType>,
    keys: usize,
    /// Columns and their places, sorted as the entries of a row are.
    columns: Vec<Column>,
    /// The place of the label.
    label: Option<usize>,
    wanted: Vec<Option<ByteSet>>,
    /// Places with a condition.
    tested: Vec<usize>,
    /// By place: whether the value is returned or tested.
    needed: Vec<bool>,
    /// The places that are returned.
    pub(super) returned: Vec<usize>,
    pub(super) schema: SchemaRef,
}

impl Layout {
    pub(super) fn new(
        schema: &RecordSchema,
        wanted: Vec<Option<ByteSet>>,
        returned: Vec<usize>,
        projected: SchemaRef,
    ) -> Self {
        let keys = schema.keys.len();
        let kinds: Vec<ColumnType> = super::filter::columns(schema)
            .into_iter()
            .map(|(_, kind)| kind)
            .collect();
        let mut needed: Vec<bool> = wanted.iter().map(Option::is_some).collect();
        for at in &returned {
            if let Some(needed) = needed.get_mut(*at) {
                *needed = true;
            }
        }
        let columns = schema.columns.iter().enumerate();
        let columns = columns.map(|(at, column)| Column {
            family: column.family.clone(),
            qualifier: column.qualifier.clone(),
            place: keys + at,
        });
        let mut columns: Vec<Column> = columns.collect();
        columns.sort_unstable_by(|a, b| a.cmp(&b.family, &b.qualifier));
        let tested = wanted.iter().enumerate();
        let tested = tested.filter_map(|(place, wanted)| wanted.is_some().then_some(place));
        let tested = tested.collect();
        Self {
            label: schema.label.as_ref().map(|_| kinds.len() - 1),
            kinds,
            keys,
            columns,
            wanted,
            tested,
            needed,
            returned,
            schema: projected,
        }
    }

    /// The place of the column of an entry. `next` is the first column that may come, since the entries of a row are sorted.
    fn place(&self, next: &mut usize, family: &[u8], qualifier: &[u8]) -> Option<usize> {
        // Most records have a value for each column.
        if let Some(column) = self.columns.get(*next + 1)
            && column.is(family, qualifier)
        {
            *next += 1;
            return Some(column.place);
        }
        loop {
            let column = self.columns.get(*next)?;
            match column.cmp(family, qualifier) {
                Ordering::Less => *next += 1,
                Ordering::Equal => return Some(column.place),
                Ordering::Greater => return None,
            }
        }
    }

    pub(super) fn is_needed(&self, place: usize) -> bool {
        self.needed.get(place).copied().unwrap_or_default()
    }

    pub(super) fn wanted(&self, place: usize) -> Option<&ByteSet> {
        self.wanted.get(place)?.as_ref()
    }

    /// Whether a record is returned only if it has a certain column. Then other columns need not be read.
    pub(super) fn needs_a_column(&self) -> bool {
        let label_is_needed = self.label.is_some_and(|label| self.is_needed(label));
        let columns = self.keys..self.kinds.len();
        !label_is_needed
            && columns
                .into_iter()
                .any(|place| self.wanted(place).is_some())
    }
}

/// A cell of the record under construction.
#[derive(Default)]
struct Cell {
    time: Option<i64>,
    value: Vec<u8>,
}

impl Cell {
    /// Takes a value if it is newer. Of equal times the first one counts, so that the answer does not depend on
    /// where the entries come from.
    fn take(&mut self, time: i64, value: &[u8]) {
        if self.time.is_none_or(|before| time > before) {
            self.time = Some(time);
            self.value.clear();
            self.value.extend_from_slice(value);
        }
    }
}

/// A scan whose entries become records.
pub(super) struct RecordsReader {
    scan: Box<dyn Scan>,
    layout: Arc<Layout>,
    batch: Batch,
    at: usize,
    over: bool,
    /// The most records of a batch, and bytes beside its last record. None of its values is larger
    /// than 256 MiB.
    limit: BatchLimit,
    /// Records that are still wanted.
    left: usize,
    row: Vec<u8>,
    /// By place; those of keys are unused.
    cells: Vec<Cell>,
    /// See [`Layout::place`].
    next: usize,
}

impl RecordsReader {
    pub(super) fn new(
        scan: Box<dyn Scan>,
        layout: Arc<Layout>,
        limit: BatchLimit,
        left: usize,
    ) -> Self {
        let mut cells = Vec::new();
        cells.resize_with(layout.kinds.len(), Cell::default);
        Self {
            scan,
            layout,
            batch: Batch::new(),
            at: 0,
            over: false,
            limit,
            left,
            row: Vec::new(),
            cells,
            next: 0,
        }
    }

    /// Collects the next record.
    fn next_record(&mut self) -> Result<bool> {
        let mut any = false;
        // Where the batch has the row.
        let mut shared = None;
        loop {
            if self.at == self.batch.len() {
                self.at = 0;
                shared = None;
                self.batch.clear();
                if self.over || !self.scan.next_batch(&mut self.batch)? {
                    self.over = true;
                    return Ok(any);
                }
                continue;
            }
            let slot = &self.batch.slots()[self.at];
            // Entries of a row mostly share its bytes.
            if any && Some(slot.row) != shared {
                if !same_bytes(self.batch.bytes(slot.row), &self.row) {
                    return Ok(true);
                }
                shared = Some(slot.row);
            }
            if !any {
                any = true;
                shared = Some(slot.row);
                self.next = 0;
                self.row.clear();
                self.row.extend_from_slice(self.batch.bytes(slot.row));
                for cell in &mut self.cells {
                    cell.time = None;
                }
            }
            take(
                &self.layout,
                &mut self.cells,
                &mut self.next,
                &self.batch,
                slot,
            );
            self.at += 1;
        }
    }

    /// The next batch of records.
    fn next_records(&mut self) -> Result<Option<RecordBatch>> {
        let layout = self.layout.clone();
        let builders = layout
            .returned
            .iter()
            .map(|at| match layout.kinds.get(*at) {
                Some(kind) => ColumnBuilder::new(*kind),
                None => ColumnBuilder::new(ColumnType::Bytes),
            });
        let mut builders: Vec<ColumnBuilder> = builders.collect();
        let any_key = (0..layout.keys).any(|place| layout.is_needed(place));
        let (mut rows, mut bytes) = (0, 0);
        while rows < self.limit.entries
            && bytes < self.limit.bytes
            && self.left > 0
            && self.next_record()?
        {
            let keys = match any_key {
                // A row that is the only key needs no splitting.
                true if layout.keys > 1 => {
                    key::split(&self.row, layout.keys).map_err(|error| self.located(error, 0))?
                }
                _ => Vec::new(),
            };
            let value = |place: usize| match place < layout.keys {
                true if layout.keys == 1 => Some(self.row.as_slice()),
                true => keys.get(place).map(Cow::as_ref),
                // The row itself comes after the columns of the relation.
                false if place == layout.kinds.len() => Some(self.row.as_slice()),
                false => {
                    let cell = self.cells.get(place)?;
                    cell.time.is_some().then_some(cell.value.as_slice())
                }
            };
            let accepted = layout.tested.iter().all(|place| {
                layout
                    .wanted(*place)
                    .is_none_or(|wanted| value(*place).is_some_and(|value| wanted.contains(value)))
            });
            if !accepted {
                continue;
            }
            for (builder, place) in builders.iter_mut().zip(&layout.returned) {
                let value = value(*place);
                bytes += value.map_or(0, <[u8]>::len);
                builder
                    .push(value)
                    .map_err(|error| self.located(error, *place))?;
            }
            rows += 1;
            self.left -= 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = builders.into_iter().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(layout.schema.clone(), columns, &options);
        batch.map(Some).map_err(|error| {
            Error::new(ErrorKind::Internal, "the columns do not fit the schema").with_source(error)
        })
    }

    /// An error of a value, with its place.
    fn located(&self, error: Error, place: usize) -> Error {
        let kind = self
            .layout
            .kinds
            .get(place)
            .map_or("", |kind| kind.as_str());
        Error::invalid("a value is not of the type that the schema says: correct it, or read the entries with `cells`")
            .with("row", Escaped(&self.row))
            .with("type", kind)
            .with_source(error)
    }
}

/// Takes an entry of the record.
fn take(layout: &Layout, cells: &mut [Cell], next: &mut usize, batch: &Batch, slot: &Slot) {
    let (family, qualifier) = (batch.bytes(slot.family), batch.bytes(slot.qualifier));
    if let Some(place) = layout.place(next, family, qualifier)
        && layout.is_needed(place)
        && let Some(cell) = cells.get_mut(place)
    {
        cell.take(slot.timestamp, batch.bytes(slot.value));
    }
    if let Some(cell) = layout.label.and_then(|place| cells.get_mut(place)) {
        cell.take(slot.timestamp, batch.visibility(slot.visibility));
    }
}

impl Reading for RecordsReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.next_records()
    }
}
