//! Entries as records.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use ostrakon_cell::{
    Batch, BatchLimit, Error, ErrorKind, Escaped, Result, Scan, Slot, Span, same_bytes,
};

use super::column::ColumnBuilder;
use super::layout::Layout;
use super::{ColumnType, key};
use crate::scan::Reading;

/// The newest value of a column in the record under construction.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The number of the record; in others the cell is empty.
    record: u64,
    time: i64,
    /// Where its value is.
    value: Bytes,
}

/// Bytes of a record: in the batch that is read, or in what was carried over from earlier ones.
#[derive(Clone, Copy)]
enum Bytes {
    InBatch(Span),
    Label(u32),
    Carried { start: usize, len: usize },
}

impl Cell {
    /// Takes a value if it is newer. Of equal times the first one counts, so that the answer does not depend on
    /// where the entries come from.
    fn take(&mut self, record: u64, time: i64, value: Bytes) {
        if self.record != record || time > self.time {
            *self = Self {
                record,
                time,
                value,
            };
        }
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::InBatch(Span::default())
    }
}

/// The column of an entry. Records mostly have the same columns, and in a batch these mostly share their bytes.
struct Step {
    family: Span,
    qualifier: Span,
    /// The place of the column if its value is needed.
    needed: Option<usize>,
}

impl Step {
    fn is(&self, slot: &Slot) -> bool {
        self.qualifier == slot.qualifier && self.family == slot.family
    }
}

/// Steps that are remembered.
const STEPS_MAX: usize = 1 << 10;

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
    /// The number of the present record, from one.
    record: u64,
    row: Bytes,
    /// By place; those of keys are unused.
    cells: Vec<Cell>,
    /// What the present record has in batches before this one.
    carried: Vec<u8>,
    /// By the number of an entry in its record; spans are those of this batch.
    steps: Vec<Step>,
    /// The steps whose values are needed: their numbers and places. Valid if `is_listed`.
    needed: Vec<(usize, usize)>,
    is_listed: bool,
}

impl RecordsReader {
    pub(super) fn new(
        scan: Box<dyn Scan>,
        layout: Arc<Layout>,
        limit: BatchLimit,
        left: usize,
    ) -> Self {
        Self {
            scan,
            cells: vec![Cell::default(); layout.kinds.len()],
            layout,
            batch: Batch::new(),
            at: 0,
            over: false,
            limit,
            left,
            record: 0,
            row: Bytes::default(),
            carried: Vec::new(),
            steps: Vec::new(),
            needed: Vec::new(),
            is_listed: false,
        }
    }

    /// Whether the next entries are a whole record with the columns of the one before. Takes its values if they are.
    fn take_alike(&mut self) -> bool {
        if !self.is_listed {
            self.is_listed = true;
            self.needed.clear();
            let steps = self.steps.iter().enumerate();
            self.needed
                .extend(steps.filter_map(|(number, step)| Some((number, step.needed?))));
        }
        let slots = self.batch.slots().get(self.at..).unwrap_or_default();
        let Some((record, [behind, ..])) = slots.split_at_checked(self.steps.len()) else {
            return false;
        };
        let Some(first) = record.first() else {
            return false;
        };
        let is_step = |(slot, step): (&Slot, &Step)| slot.row == first.row && step.is(slot);
        if behind.row == first.row
            || !record.iter().zip(&self.steps).all(is_step)
            || same_bytes(self.batch.bytes(behind.row), self.batch.bytes(first.row))
        {
            return false;
        }
        self.row = Bytes::InBatch(first.row);
        for (number, place) in &self.needed {
            if let (Some(slot), Some(cell)) = (record.get(*number), self.cells.get_mut(*place)) {
                cell.take(self.record, slot.timestamp, Bytes::InBatch(slot.value));
            }
        }
        self.at += self.steps.len();
        true
    }

    /// Collects the next record.
    fn next_record(&mut self) -> Result<bool> {
        self.record += 1;
        self.carried.clear();
        if self.layout.label.is_none() && self.take_alike() {
            return Ok(true);
        }
        // The entries of the record so far, and see `Layout::place`.
        let (mut entries, mut next) = (0, 0);
        loop {
            // Where the batch has the row: entries of a row mostly share its bytes.
            let mut shared = None;
            while let Some(slot) = self.batch.slots().get(self.at).copied() {
                if shared != Some(slot.row) {
                    if entries == 0 {
                        self.row = Bytes::InBatch(slot.row);
                    } else if !same_bytes(self.batch.bytes(slot.row), self.bytes(self.row)) {
                        return Ok(true);
                    }
                    shared = Some(slot.row);
                }
                let needed = match self.steps.get(entries) {
                    Some(step) if step.is(&slot) => step.needed,
                    _ => self.learn(entries, &mut next),
                };
                if let Some(cell) = needed.and_then(|place| self.cells.get_mut(place)) {
                    cell.take(self.record, slot.timestamp, Bytes::InBatch(slot.value));
                }
                if let Some(cell) = self
                    .layout
                    .label
                    .and_then(|place| self.cells.get_mut(place))
                {
                    cell.take(self.record, slot.timestamp, Bytes::Label(slot.visibility));
                }
                entries += 1;
                self.at += 1;
            }
            if self.over {
                return Ok(entries > 0);
            }
            if entries > 0 {
                self.carry();
            }
            self.batch.clear();
            self.steps.clear();
            self.is_listed = false;
            self.at = 0;
            self.over = !self.scan.next_batch(&mut self.batch)?;
        }
    }

    /// The place of the column of the present entry, which has this number in its record, if its value is needed.
    fn learn(&mut self, number: usize, next: &mut usize) -> Option<usize> {
        let slot = self.batch.slots().get(self.at)?;
        let (family, qualifier) = (
            self.batch.bytes(slot.family),
            self.batch.bytes(slot.qualifier),
        );
        let place = self.layout.place(next, family, qualifier);
        let step = Step {
            family: slot.family,
            qualifier: slot.qualifier,
            needed: place.filter(|place| self.layout.is_needed(*place)),
        };
        self.is_listed = false;
        let needed = step.needed;
        if let Some(known) = self.steps.get_mut(number) {
            *known = step;
        } else if number == self.steps.len() && number < STEPS_MAX {
            self.steps.push(step);
        }
        needed
    }

    /// Copies what the present record has in this batch, before the next one is read.
    fn carry(&mut self) {
        let mut held = std::mem::take(&mut self.carried);
        let mut carry = |bytes: &mut Bytes| {
            let found = match *bytes {
                Bytes::InBatch(span) => self.batch.bytes(span),
                Bytes::Label(id) => self.batch.visibility(id),
                Bytes::Carried { .. } => return,
            };
            let (start, len) = (held.len(), found.len());
            held.extend_from_slice(found);
            *bytes = Bytes::Carried { start, len };
        };
        carry(&mut self.row);
        for cell in &mut self.cells {
            if cell.record == self.record {
                carry(&mut cell.value);
            }
        }
        self.carried = held;
    }

    fn bytes(&self, bytes: Bytes) -> &[u8] {
        match bytes {
            Bytes::InBatch(span) => self.batch.bytes(span),
            Bytes::Label(id) => self.batch.visibility(id),
            Bytes::Carried { start, len } => {
                self.carried.get(start..start + len).unwrap_or_default()
            }
        }
    }

    /// The value of the present record in a column.
    fn cell(&self, place: usize) -> Option<&[u8]> {
        let cell = self.cells.get(place)?;
        (cell.record == self.record).then(|| self.bytes(cell.value))
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
            let row = self.bytes(self.row);
            let keys = match any_key {
                // A row that is the only key needs no splitting.
                true if layout.keys > 1 => {
                    key::split(row, layout.keys).map_err(|error| self.located(error, 0))?
                }
                _ => Vec::new(),
            };
            let value = |place: usize| match place < layout.keys {
                true if layout.keys == 1 => Some(row),
                true => keys.get(place).map(Cow::as_ref),
                // The row itself comes after the columns of the relation.
                false if place == layout.kinds.len() => Some(row),
                false => self.cell(place),
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
            .with("row", Escaped(self.bytes(self.row)))
            .with("type", kind)
            .with_source(error)
    }
}

impl Reading for RecordsReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.next_records()
    }
}
