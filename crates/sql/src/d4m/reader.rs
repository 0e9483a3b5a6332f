//! Entries of D4M's tables as record batches.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, Float64Builder, Int64Builder, RecordBatch, RecordBatchOptions,
    StringBuilder,
};
use datafusion::arrow::datatypes::SchemaRef;
use ostrakon_cell::{Batch, EntryRef, Error, ErrorKind, Escaped, Result, Scan};

use super::exploded::split;
use super::provider::{Form, Part, Wanted};
use crate::scan::{ByteSet, Reading};

/// A column under construction.
enum Builder {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Number(Float64Builder),
    Integer(Int64Builder),
}

impl Builder {
    fn new(part: Part, rows: usize) -> Self {
        match part {
            Part::Number => Self::Number(Float64Builder::with_capacity(rows)),
            Part::Raw => Self::Bytes(BinaryBuilder::with_capacity(rows, rows * 8)),
            Part::Timestamp | Part::Degree => Self::Integer(Int64Builder::with_capacity(rows)),
            _ => Self::Text(StringBuilder::with_capacity(rows, rows * 16)),
        }
    }

    fn push(&mut self, value: Shown<'_>) -> Option<()> {
        match (self, value) {
            (Self::Text(out), Shown::Text(text)) => {
                out.append_option(match text {
                    Some(text) => Some(std::str::from_utf8(text).ok()?),
                    None => None,
                });
            }
            (Self::Bytes(out), Shown::Text(bytes)) => out.append_option(bytes),
            (Self::Number(out), Shown::Number(number)) => out.append_option(number),
            (Self::Integer(out), Shown::Integer(number)) => out.append_option(number),
            // Parts have the values of their kinds.
            _ => return None,
        }
        Some(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut out) => Arc::new(out.finish()),
            Self::Bytes(mut out) => Arc::new(out.finish()),
            Self::Number(mut out) => Arc::new(out.finish()),
            Self::Integer(mut out) => Arc::new(out.finish()),
        }
    }
}

/// A value of a column.
enum Shown<'a> {
    Text(Option<&'a [u8]>),
    Number(Option<f64>),
    Integer(Option<i64>),
}

/// A degree that is being summed: those of one place under several labels are one.
pub(super) struct Sum {
    row: Vec<u8>,
    family: Vec<u8>,
    kind: Vec<u8>,
    /// `None` if a part of it is not a whole number.
    degree: Option<i64>,
}

/// A scan whose entries become rows.
pub(super) struct D4mReader {
    pub(super) scan: Box<dyn Scan>,
    pub(super) form: Form,
    pub(super) is_transpose: bool,
    pub(super) table: String,
    pub(super) separator: Arc<[u8]>,
    pub(super) wanted: Arc<Wanted>,
    pub(super) parts: Vec<Part>,
    pub(super) schema: SchemaRef,
    pub(super) batch: Batch,
    pub(super) sum: Option<Sum>,
    /// Rows that are still wanted.
    pub(super) left: usize,
}

/// A number as D4M's tables have them, in decimal text.
fn number(text: &[u8]) -> Option<f64> {
    // Names such as `inf` are texts.
    let is_number = text.iter().any(u8::is_ascii_digit)
        && text
            .iter()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let text = std::str::from_utf8(text).ok()?;
    let number: f64 = text.parse().ok().filter(|_| is_number)?;
    number.is_finite().then_some(number)
}

fn whole(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn has(set: &Option<ByteSet>, bytes: &[u8]) -> bool {
    set.as_ref().is_none_or(|set| set.contains(bytes))
}

/// The rows of a batch under construction.
struct Rows {
    builders: Vec<Builder>,
    count: usize,
    /// Bytes of the keys of degrees.
    bytes: usize,
}

impl D4mReader {
    fn rows(&self) -> Rows {
        let rows = self.batch.len().min(self.left);
        let builders = self.parts.iter().map(|part| Builder::new(*part, rows));
        Rows {
            builders: builders.collect(),
            count: 0,
            bytes: 0,
        }
    }

    /// Whether a column `field|value` is wanted.
    fn wants_column(&self, column: &[u8]) -> bool {
        let (field, value) = split(column, &self.separator);
        let wants_field = match field {
            Some(field) => has(&self.wanted.field, field),
            None => self.wanted.field.is_none(),
        };
        wants_field && has(&self.wanted.value, value)
    }

    /// Adds the row of an edge, if it is wanted.
    fn push_edge(&self, entry: EntryRef<'_>, rows: &mut Rows) -> Result<()> {
        let key = entry.key;
        let (record, column) = match self.is_transpose {
            true => (key.qualifier, key.row),
            false => (key.row, key.qualifier),
        };
        if !has(&self.wanted.record, record) || !self.wants_column(column) {
            return Ok(());
        }
        let (field, value) = split(column, &self.separator);
        for (part, builder) in self.parts.iter().zip(&mut rows.builders) {
            let shown = match part {
                Part::Record => Shown::Text(Some(record)),
                Part::Field => Shown::Text(field),
                Part::Value => Shown::Text(Some(value)),
                Part::Number => Shown::Number(number(entry.value)),
                Part::Raw => Shown::Text(Some(entry.value)),
                Part::Timestamp => Shown::Integer(Some(key.timestamp)),
                Part::Visibility | Part::Kind | Part::Degree => Shown::Text(Some(key.visibility)),
            };
            builder
                .push(shown)
                .ok_or_else(|| self.not_text(key.row, key.qualifier))?;
        }
        rows.count += 1;
        Ok(())
    }

    /// Adds to the degree of a place, or begins with that of the next one.
    fn add_degree(&mut self, entry: EntryRef<'_>, rows: &mut Rows) -> Result<()> {
        let key = entry.key;
        let degree = whole(entry.value);
        if let Some(sum) = &mut self.sum
            && sum.row == key.row
            && sum.family == key.family
            && sum.kind == key.qualifier
        {
            sum.degree = match sum.degree.zip(degree) {
                Some((before, degree)) => Some(before.checked_add(degree).ok_or_else(|| {
                    Error::invalid("a sum of degrees is too large for a BIGINT")
                        .with("table", &self.table)
                        .with("row", Escaped(key.row))
                })?),
                None => None,
            };
            return Ok(());
        }
        self.push_degree(rows)?;
        if self.wants_column(key.row) && has(&self.wanted.kind, key.qualifier) {
            self.sum = Some(Sum {
                row: key.row.to_vec(),
                family: key.family.to_vec(),
                kind: key.qualifier.to_vec(),
                degree,
            });
        }
        Ok(())
    }

    fn push_degree(&mut self, rows: &mut Rows) -> Result<()> {
        let Some(sum) = self.sum.take() else {
            return Ok(());
        };
        if rows.count >= self.left {
            return Ok(());
        }
        let (field, value) = split(&sum.row, &self.separator);
        for (part, builder) in self.parts.iter().zip(&mut rows.builders) {
            let shown = match part {
                Part::Field => Shown::Text(field),
                Part::Degree => Shown::Integer(sum.degree),
                Part::Kind => Shown::Text(Some(&sum.kind)),
                _ => Shown::Text(Some(value)),
            };
            builder
                .push(shown)
                .ok_or_else(|| self.not_text(&sum.row, &sum.kind))?;
        }
        rows.bytes += sum.row.len() + sum.kind.len();
        rows.count += 1;
        Ok(())
    }

    fn not_text(&self, row: &[u8], column: &[u8]) -> Error {
        Error::invalid("a key of the table is not UTF-8 text: read the table as `cells.TABLE`")
            .with("table", &self.table)
            .with("row", Escaped(row))
            .with("column", Escaped(column))
    }

    fn finished(&mut self, rows: Rows) -> Result<Option<RecordBatch>> {
        if rows.count == 0 {
            return Ok(None);
        }
        self.left -= rows.count;
        let columns = rows.builders.into_iter().map(Builder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.count));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options);
        batch.map(Some).map_err(|error| {
            Error::new(ErrorKind::Internal, "the columns do not fit the schema").with_source(error)
        })
    }
}

/// Rows of degrees after which a batch is complete, and bytes of their keys. The last sum ends with the scan; it would be a
/// batch of its own.
const DEGREES: usize = 4096;
const DEGREES_BYTES: usize = 1 << 20;

impl Reading for D4mReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let mut rows = self.rows();
        while self.left > 0 {
            let mut batch = std::mem::replace(&mut self.batch, Batch::new());
            if !self.scan.next_batch(&mut batch)? {
                // The scan is not read again.
                self.push_degree(&mut rows)?;
                let last = self.finished(rows)?;
                self.left = 0;
                return Ok(last);
            }
            for entry in batch.iter() {
                if rows.count >= self.left {
                    break;
                }
                match self.form {
                    Form::Edges => self.push_edge(entry, &mut rows)?,
                    Form::Degrees => self.add_degree(entry, &mut rows)?,
                }
            }
            self.batch = batch;
            let least = match self.form {
                Form::Edges => 1,
                Form::Degrees => DEGREES.min(self.left),
            };
            if rows.count >= least || rows.bytes >= DEGREES_BYTES {
                return self.finished(rows);
            }
        }
        Ok(None)
    }
}
