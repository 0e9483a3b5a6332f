//! A scan whose entries become the rows of record batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use ostrakon_cell::lexicoder::parts;
use ostrakon_cell::{Batch, Error, ErrorKind, Escaped, Result, Scan};
use ostrakon_sql::{ColumnBuilder, ColumnType};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyCapsule;

use super::kind::column_type;
use crate::capsule;
use crate::errors::IntoPython;
use crate::row_batch::NativeRowBatch;
use crate::signals::Signals;
use crate::tables::arguments::Text;
use crate::tables::gate::Gate;

/// Rows of a record batch.
const BATCH_ROWS: usize = 1 << 16;

/// The schema and filters as Python passes them.
#[derive(FromPyObject)]
pub(in crate::tables) struct TypedArgument {
    /// Names and types of what the row consists of.
    #[pyo3(item)]
    keys: Vec<(String, String)>,
    /// Names, families, qualifiers and types of the columns.
    #[pyo3(item)]
    values: Vec<(String, Text, Text, String)>,
    /// For each key and value: first and last encoded value, both inclusive.
    #[pyo3(item)]
    bounds: Vec<(Option<PyBackedBytes>, Option<PyBackedBytes>)>,
    /// Which of the keys and values to return.
    #[pyo3(item)]
    returned: Vec<usize>,
    #[pyo3(item)]
    row_limit: Option<u64>,
}

/// What the row of a table consists of, and what its columns hold.
struct Layout {
    kinds: Vec<ColumnType>,
    keys: usize,
    /// Family and qualifier to the position among keys and values.
    places: HashMap<(Vec<u8>, Vec<u8>), usize>,
    bounds: Vec<(Option<PyBackedBytes>, Option<PyBackedBytes>)>,
    returned: Vec<usize>,
    schema: SchemaRef,
}

/// A row under construction.
#[derive(Default)]
struct Row {
    row: Vec<u8>,
    /// Timestamp and encoded value of each column.
    cells: Vec<Option<(i64, Vec<u8>)>>,
    /// Whether the row has any column of the schema.
    any: bool,
}

struct TypedReader {
    scan: Box<dyn Scan>,
    layout: Layout,
    batch: Batch,
    at: usize,
    row: Row,
    left: u64,
    over: bool,
    gate: Gate,
    /// `None` once the scan was handed over as a stream, which others read.
    signals: Option<Signals>,
}

impl TypedReader {
    fn next_record_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.gate.check()?;
        let kinds = &self.layout.kinds;
        let mut builders: Vec<ColumnBuilder> = (self.layout.returned.iter())
            .map(|at| ColumnBuilder::new(kinds[*at]))
            .collect();
        let mut rows = 0;
        while rows < BATCH_ROWS && self.left > 0 && self.next_row()? {
            if !self.accepted()? {
                continue;
            }
            let keys = self.keys()?;
            for (builder, at) in builders.iter_mut().zip(&self.layout.returned) {
                let value = match keys.get(*at) {
                    Some(key) => Some(key.as_ref()),
                    None => self.row.cells[*at]
                        .as_ref()
                        .map(|(_, value)| value.as_slice()),
                };
                builder
                    .push(value)
                    .map_err(|error| self.located(error, *at))?;
            }
            rows += 1;
            self.left -= 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = builders.into_iter().map(ColumnBuilder::finish).collect();
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.layout.schema.clone(), columns, &options)
            .map(Some)
            .map_err(|error| {
                Error::new(ErrorKind::Internal, "the columns do not fit the schema")
                    .with_source(error)
            })
    }

    /// An error of a value, with its place.
    fn located(&self, error: Error, at: usize) -> Error {
        Error::invalid("a value is not of the type that the schema says")
            .with("row", Escaped(&self.row.row))
            .with(
                "type",
                format!("{:?}", self.layout.kinds[at]).to_lowercase(),
            )
            .with_source(error)
    }

    /// Collects the next row of the table that has a column of the schema.
    fn next_row(&mut self) -> Result<bool> {
        self.row.any = false;
        loop {
            if self.at == self.batch.len() {
                self.at = 0;
                self.batch.clear();
                let more = !self.over && self.scan.next_batch(&mut self.batch)?;
                // A scan that finds nothing for long returns empty batches meanwhile.
                if let Some(signals) = &mut self.signals {
                    signals.look()?;
                }
                if !more {
                    self.over = true;
                    return Ok(self.row.any);
                }
                continue;
            }
            let key = self.batch.key(self.at);
            if self.row.any && key.row != self.row.row {
                return Ok(true);
            }
            if !self.row.any {
                self.row.row.clear();
                self.row.row.extend_from_slice(key.row);
                self.row.cells.clear();
                self.row.cells.resize(self.layout.kinds.len(), None);
            }
            let column = (key.family.to_vec(), key.qualifier.to_vec());
            if let Some(place) = self.layout.places.get(&column) {
                let cell = &mut self.row.cells[*place];
                // With several labels the newest counts.
                if cell.as_ref().is_none_or(|(time, _)| key.timestamp > *time) {
                    *cell = Some((key.timestamp, self.batch.value(self.at).to_vec()));
                }
                self.row.any = true;
            }
            self.at += 1;
        }
    }

    /// The encoded parts of the row's key.
    fn keys(&self) -> Result<Vec<std::borrow::Cow<'_, [u8]>>> {
        if self.layout.keys == 1 {
            return Ok(vec![std::borrow::Cow::Borrowed(&self.row.row)]);
        }
        let found = parts(&self.row.row)?;
        if found.len() != self.layout.keys {
            return Err(self.located(Error::invalid("the row has another number of parts"), 0));
        }
        Ok(found)
    }

    /// Whether the row is within all bounds; a gap is within none.
    fn accepted(&self) -> Result<bool> {
        let bounded = |(low, high): &(Option<_>, Option<_>)| low.is_some() || high.is_some();
        if !self.layout.bounds.iter().any(bounded) {
            return Ok(true);
        }
        let keys = self.keys()?;
        Ok(
            (self.layout.bounds.iter().enumerate()).all(|(at, (low, high))| {
                if low.is_none() && high.is_none() {
                    return true;
                }
                let value: Option<&[u8]> = match keys.get(at) {
                    Some(key) => Some(key),
                    None => self.row.cells[at]
                        .as_ref()
                        .map(|(_, value)| value.as_slice()),
                };
                value.is_some_and(|value| {
                    low.as_ref().is_none_or(|low| low.as_ref() <= value)
                        && high.as_ref().is_none_or(|high| value <= high.as_ref())
                })
            }),
        )
    }
}

impl Iterator for TypedReader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_record_batch().transpose()?;
        if next.is_err() {
            (self.over, self.left) = (true, 0);
        }
        Some(next.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for TypedReader {
    fn schema(&self) -> SchemaRef {
        self.layout.schema.clone()
    }
}

/// A running typed scan, used by `ostrakon.TypedScan`.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeTypedScan {
    reader: Mutex<Option<TypedReader>>,
    schema: SchemaRef,
}

impl NativeTypedScan {
    pub(in crate::tables) fn new(
        scan: Box<dyn Scan>,
        argument: TypedArgument,
        gate: Gate,
        signals: Signals,
    ) -> Result<Self> {
        let mut fields = Vec::new();
        let mut kinds = Vec::new();
        let keys = argument.keys.len();
        for (name, kind) in argument.keys {
            let kind = column_type(&kind)?;
            fields.push(Field::new(name, kind.data_type(), false));
            kinds.push(kind);
        }
        let mut places = HashMap::new();
        for (name, family, qualifier, kind) in argument.values {
            let kind = column_type(&kind)?;
            let column = (family.into_bytes(), qualifier.into_bytes());
            places.insert(column, kinds.len());
            fields.push(Field::new(name, kind.data_type(), true));
            kinds.push(kind);
        }
        let fit = argument.bounds.len() == kinds.len()
            && argument.returned.iter().all(|at| *at < kinds.len());
        if !fit {
            return Err(Error::invalid("the bounds do not fit the schema"));
        }
        let returned = argument.returned.iter().map(|at| fields[*at].clone());
        let schema = Arc::new(Schema::new(returned.collect::<Vec<_>>()));
        let layout = Layout {
            kinds,
            keys,
            places,
            bounds: argument.bounds,
            returned: argument.returned,
            schema: schema.clone(),
        };
        let reader = TypedReader {
            scan,
            layout,
            batch: Batch::new(),
            at: 0,
            row: Row::default(),
            left: argument.row_limit.unwrap_or(u64::MAX),
            over: false,
            gate,
            signals: Some(signals),
        };
        Ok(Self {
            reader: Mutex::new(Some(reader)),
            schema,
        })
    }
}

impl NativeTypedScan {
    /// Reads on, without the interpreter's lock; raises what a handler of a signal raises meanwhile.
    fn read(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let (outcome, raised) = py.detach(|| match self.reader.lock().as_mut() {
            Some(reader) => {
                let outcome = reader.next_record_batch();
                (
                    outcome,
                    reader.signals.as_mut().and_then(Signals::take_raised),
                )
            }
            None => (Err(handed_over()), None),
        });
        match raised {
            Some(raised) => Err(raised),
            None => outcome.into_python(),
        }
    }
}

#[pymethods]
impl NativeTypedScan {
    /// Counts the rows.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let mut rows = 0;
        while let Some(batch) = self.read(py)? {
            rows += batch.num_rows() as u64;
        }
        Ok(rows)
    }

    /// The next rows, or `None` at the end.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<NativeRowBatch>> {
        Ok(self.read(py)?.map(NativeRowBatch::new))
    }

    /// Hands the scan over as a stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = self.reader.lock().take().ok_or_else(handed_over);
        let mut reader = reader.into_python()?;
        reader.signals = None;
        capsule::export_stream(py, Box::new(reader))
    }

    /// The columns and their types.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &self.schema)
    }
}

fn handed_over() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the scan was handed over as a stream: begin another one",
    )
}
