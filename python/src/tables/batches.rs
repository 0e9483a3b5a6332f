//! Engine batches as Arrow record batches.
//!
//! The engine's batch is one buffer with a slot per entry. Rows, qualifiers and values alternate in it, so
//! each Arrow column is gathered by a copy of the bytes, in a loop without branches on the data. After
//! that nothing is copied: Arrow gets pointers to the columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch,
    RecordBatchReader, StringArray,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use ostrakon_cell::{Batch, Error, Result, Scan, Slot, Span};
use pyo3::PyErr;

use super::gate::Gate;
use crate::signals::Signals;

/// The columns that a scan can return, in their order.
pub(super) const FIELDS: [&str; 6] = [
    "row",
    "family",
    "qualifier",
    "visibility",
    "timestamp",
    "value",
];

/// Bytes of one column at which a batch is returned, even if it has fewer entries than requested.
const BATCH_BYTES: usize = 16 << 20;

/// How entries become record batches.
#[derive(Clone)]
pub(super) struct Shape {
    /// Which of [`FIELDS`].
    pub(super) fields: Vec<usize>,
    /// Whether bytes are text.
    pub(super) text: bool,
    /// Entries per batch.
    pub(super) batch_entries: usize,
    /// Entries in all.
    pub(super) limit: Option<u64>,
}

impl Shape {
    fn bytes_type(&self) -> DataType {
        if self.text {
            DataType::Utf8
        } else {
            DataType::Binary
        }
    }

    pub(super) fn schema(&self) -> Schema {
        let fields = self.fields.iter().map(|field| {
            let data_type = match FIELDS[*field] {
                "timestamp" => DataType::Int64,
                "visibility" => {
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(self.bytes_type()))
                }
                _ => self.bytes_type(),
            };
            Field::new(FIELDS[*field], data_type, false)
        });
        Schema::new(fields.collect::<Vec<_>>())
    }
}

/// A running scan that returns record batches.
pub(super) struct Reader {
    scan: Box<dyn Scan>,
    shape: Shape,
    schema: SchemaRef,
    batch: Batch,
    /// Bytes of each column of bytes in the batch before: the next one will take about as many.
    expected: Vec<usize>,
    /// The first entry of `batch` that was not returned yet.
    at: usize,
    left: u64,
    over: bool,
    gate: Gate,
    /// `None` for a reader that was exported as a stream: its user may read on any thread.
    signals: Option<Signals>,
}

impl Reader {
    pub(super) fn new(scan: Box<dyn Scan>, shape: Shape, gate: Gate, signals: Signals) -> Self {
        Self {
            schema: Arc::new(shape.schema()),
            left: shape.limit.unwrap_or(u64::MAX),
            scan,
            shape,
            batch: Batch::new(),
            expected: Vec::new(),
            at: 0,
            over: false,
            gate,
            signals: Some(signals),
        }
    }

    /// The reader, which then does not check for signals.
    pub(super) fn without_signals(mut self) -> Self {
        self.signals = None;
        self
    }

    /// The exception that a signal handler raised while the scan was read.
    pub(super) fn take_raised(&mut self) -> Option<PyErr> {
        self.signals.as_mut()?.take_raised()
    }

    /// Reads the scan on into `batch`, which then has entries unless this is the end.
    fn read(&mut self) -> Result<bool> {
        loop {
            let more = self.scan.next_batch(&mut self.batch)?;
            if let Some(signals) = &mut self.signals {
                signals.look()?;
            }
            if !more || !self.batch.is_empty() {
                return Ok(more);
            }
        }
    }

    /// How entries are returned.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The current batch and its first entry that was not returned yet; `None` at the end.
    pub(super) fn rest(&mut self) -> Result<Option<(&Batch, usize)>> {
        self.gate.check()?;
        while self.at >= self.batch.len() {
            if self.over || self.left == 0 || !self.read()? {
                self.over = true;
                return Ok(None);
            }
            let count = (self.batch.len() as u64).min(self.left) as usize;
            self.batch.truncate(count);
            self.left -= count as u64;
            self.at = 0;
        }
        Ok(Some((&self.batch, self.at)))
    }

    /// Marks the entries of the current batch before `at` as returned.
    pub(super) fn advance_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The next record batch, or `None` at the end.
    pub(super) fn next_record_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.over || self.left == 0 {
            return Ok(None);
        }
        // A scan in memory could continue after the store is closed. It ends, as a scan of files does.
        self.gate.check()?;
        let mut gather = Gather::new(&self.shape, &self.expected);
        while gather.entries < self.shape.batch_entries && gather.bytes() < BATCH_BYTES {
            if !self.read()? {
                self.over = true;
                break;
            }
            let count = (self.batch.len() as u64).min(self.left) as usize;
            self.batch.truncate(count);
            self.left -= count as u64;
            gather.append(&self.batch);
            if self.left == 0 {
                break;
            }
        }
        if gather.entries == 0 {
            return Ok(None);
        }
        self.expected = gather.lanes.iter().map(|lane| lane.data.len()).collect();
        gather.finish(&self.schema, self.shape.text).map(Some)
    }

    /// Counts what is left without making columns.
    pub(super) fn count(&mut self) -> Result<u64> {
        let mut entries = 0;
        self.gate.check()?;
        while self.left > 0 && self.read()? {
            let count = (self.batch.len() as u64).min(self.left);
            self.left -= count;
            entries += count;
        }
        Ok(entries)
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_record_batch().transpose()?;
        if next.is_err() {
            self.over = true;
        }
        Some(next.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Bytes copied at once where a part has no more.
const SHORT: u32 = 16;

/// A column of bytes under construction.
struct Lane {
    of: fn(&Slot) -> Span,
    ends: Vec<i32>,
    data: Vec<u8>,
}

impl Lane {
    fn append(&mut self, batch: &Batch) {
        self.ends.reserve(batch.len());
        let arena_bytes = batch.byte_len();
        for slot in batch.slots() {
            let span = (self.of)(slot);
            let (start, len) = (span.start, span.len as usize);
            // Most parts are short. A copy of constant size is two moves between registers; one of unknown
            // size is a call, which costs more than the rest of this loop.
            if len <= SHORT as usize && start as usize + SHORT as usize <= arena_bytes {
                let end = self.data.len() + len;
                let wide = batch.bytes(Span { start, len: SHORT });
                if let Some(wide) = wide.first_chunk::<{ SHORT as usize }>() {
                    self.data.extend_from_slice(wide);
                }
                self.data.truncate(end);
            } else {
                self.data.extend_from_slice(batch.bytes(span));
            }
            self.ends.push(self.data.len() as i32);
        }
    }
}

/// Labels seen so far and the label of each entry.
#[derive(Default)]
struct Labels {
    ids: HashMap<Vec<u8>, i32>,
    names: Vec<Vec<u8>>,
    keys: Vec<i32>,
    /// For each label id of the current batch the position in `seen`; -1 before an entry has the label.
    map: Vec<i32>,
}

impl Labels {
    /// Adds the labels of the batch's entries; a label without an entry is never returned.
    fn append(&mut self, batch: &Batch) {
        self.map.clear();
        self.map.resize(batch.visibility_count(), -1);
        self.keys.reserve(batch.len());
        for slot in batch.slots() {
            let known = match self.map[slot.visibility as usize] {
                -1 => {
                    let known = self.intern(batch.visibility(slot.visibility));
                    self.map[slot.visibility as usize] = known;
                    known
                }
                known => known,
            };
            self.keys.push(known);
        }
    }

    fn intern(&mut self, label: &[u8]) -> i32 {
        if let Some(known) = self.ids.get(label) {
            return *known;
        }
        let next = self.names.len() as i32;
        self.ids.insert(label.to_vec(), next);
        self.names.push(label.to_vec());
        next
    }
}

enum Column {
    Bytes(usize),
    Labels,
    Stamps,
}

/// Collects engine batches into columns.
struct Gather {
    columns: Vec<Column>,
    lanes: Vec<Lane>,
    labels: Labels,
    stamps: Vec<i64>,
    entries: usize,
}

impl Gather {
    fn new(shape: &Shape, expected: &[usize]) -> Self {
        // Engine batches do not end where ours do.
        let entries = if expected.is_empty() {
            0
        } else {
            shape.batch_entries.min(1 << 16) + 4096
        };
        let mut lanes = Vec::new();
        let columns = shape.fields.iter().map(|field| {
            let of: fn(&Slot) -> Span = match FIELDS[*field] {
                "visibility" => return Column::Labels,
                "timestamp" => return Column::Stamps,
                "row" => |slot| slot.row,
                "family" => |slot| slot.family,
                "qualifier" => |slot| slot.qualifier,
                _ => |slot| slot.value,
            };
            let mut ends = Vec::with_capacity(entries + 1);
            ends.push(0);
            let bytes = expected
                .get(lanes.len())
                .map_or(0, |bytes| bytes + bytes / 8);
            lanes.push(Lane {
                of,
                ends,
                data: Vec::with_capacity(bytes),
            });
            Column::Bytes(lanes.len() - 1)
        });
        let columns = columns.collect();
        let has = |name| shape.fields.iter().any(|field| FIELDS[*field] == name);
        Self {
            columns,
            lanes,
            labels: Labels::default(),
            stamps: Vec::with_capacity(if has("timestamp") { entries } else { 0 }),
            entries: 0,
        }
    }

    fn bytes(&self) -> usize {
        let bytes = self.lanes.iter().map(|lane| lane.data.len());
        bytes.max().unwrap_or(0)
    }

    fn append(&mut self, batch: &Batch) {
        for lane in &mut self.lanes {
            lane.append(batch);
        }
        for column in &self.columns {
            match column {
                Column::Bytes(_) => {}
                Column::Labels => self.labels.append(batch),
                Column::Stamps => {
                    let stamps = batch.slots().iter().map(|slot| slot.timestamp);
                    self.stamps.extend(stamps);
                }
            }
        }
        self.entries += batch.len();
    }

    fn finish(mut self, schema: &SchemaRef, text: bool) -> Result<RecordBatch> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (at, column) in self.columns.iter().enumerate() {
            let name = schema.field(at).name();
            arrays.push(match column {
                Column::Bytes(lane) => {
                    let lane = &mut self.lanes[*lane];
                    let (ends, data) = (
                        std::mem::take(&mut lane.ends),
                        std::mem::take(&mut lane.data),
                    );
                    bytes_array(name, ends, data, text)?
                }
                Column::Stamps => Arc::new(Int64Array::from(std::mem::take(&mut self.stamps))),
                Column::Labels => {
                    let mut ends = vec![0];
                    let mut data = Vec::new();
                    for label in &self.labels.names {
                        data.extend_from_slice(label);
                        ends.push(data.len() as i32);
                    }
                    let keys =
                        PrimitiveArray::<Int32Type>::from(std::mem::take(&mut self.labels.keys));
                    let values = bytes_array(name, ends, data, text)?;
                    Arc::new(DictionaryArray::try_new(keys, values).map_err(internal)?)
                }
            });
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(self.entries));
        RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(internal)
    }
}

fn bytes_array(name: &str, ends: Vec<i32>, data: Vec<u8>, text: bool) -> Result<ArrayRef> {
    let (offsets, data) = (OffsetBuffer::new(ends.into()), Buffer::from_vec(data));
    if !text {
        return Ok(Arc::new(
            BinaryArray::try_new(offsets, data, None).map_err(internal)?,
        ));
    }
    let array = StringArray::try_new(offsets, data, None).map_err(|_| {
        Error::invalid(format!(
            "`{name}` holds bytes that are not valid UTF-8: scan with text=False to get bytes"
        ))
        .with("argument", "text")
        .with("column", name)
    })?;
    Ok(Arc::new(array))
}

fn internal(error: ArrowError) -> Error {
    Error::new(
        ostrakon_cell::ErrorKind::Internal,
        "columns of a scan do not fit together",
    )
    .with_source(error)
}
