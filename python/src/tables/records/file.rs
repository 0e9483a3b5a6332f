//! Files of records, read in batches of columns.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::LargeBinaryArray;
use arrow_buffer::{Buffer, OffsetBuffer};
use numpy::PyArray1;
use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_events::{Lines, LogFormat, Record, RecordSource, Step, open_log};
use parking_lot::Mutex;
use pyo3::prelude::*;

use super::gathered::{Batch, Gathered};
use super::json_lines::JsonLines;
use crate::arrays::Close;
use crate::errors::IntoPython;
use crate::logs::{about, now, open};
use crate::signals::run;
use crate::tables::coded::NativeColumn;

/// A batch ends when its values have so many bytes.
const BATCH_BYTES: usize = 256 << 20;
/// Records between two looks at whether to stop.
const STEP: u32 = 4096;

/// A file of records, used by `ostrakon.d4m.Records.ingest`.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeRecordFile {
    path: PathBuf,
    reader: Arc<Mutex<Reader>>,
}

enum Reader {
    Json(JsonLines),
    Other(Box<dyn RecordSource>),
}

/// Why a file cannot be read: a line, or the file.
pub(super) enum Wrong {
    Line(u64, String),
    File(Error),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

pub(super) fn wrong(line: u64, reason: impl Into<String>) -> Wrong {
    Wrong::Line(line, reason.into())
}

type Field<'py> = (
    String,
    Bound<'py, PyArray1<u8>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u32>>,
);
type Read<'py> = (u32, Vec<Field<'py>>, Option<NativeColumn>);

#[pymethods]
impl NativeRecordFile {
    /// Opens a file; its format is told by its name and its first bytes.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let reader = py.detach(|| reader(&path)).into_python()?;
        Ok(Self {
            path,
            reader: Arc::new(Mutex::new(reader)),
        })
    }

    /// At most so many of the next records: their number, the fields (name, bytes of the values, where they begin, the
    /// record of each), and the lines as they came if they are JSON. No records: the end.
    fn next<'py>(&self, py: Python<'py>, most: u32) -> PyResult<Read<'py>> {
        let (reader, stop) = (self.reader.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let read = run(
            py,
            move || stop.store(true, Ordering::Relaxed),
            move || reader.lock().batch(most, &stopped),
        )?;
        let batch = read.map_err(|wrong| self.error(wrong)).into_python()?;
        let lines = batch.lines.map(texts).transpose().into_python()?;
        let fields = batch.fields.into_iter().map(|field| {
            (
                field.name,
                field.bytes.into_closed(py),
                field.offsets.into_closed(py),
                field.records.into_closed(py),
            )
        });
        Ok((batch.count, fields.collect(), lines))
    }
}

impl NativeRecordFile {
    fn error(&self, wrong: Wrong) -> Error {
        match wrong {
            Wrong::Line(line, reason) => {
                let name = self.path.file_name().unwrap_or_default().to_string_lossy();
                Error::invalid(format!(
                    "records: line {line} of {name}: {reason}; nothing was written"
                ))
                .with("argument", "records")
            }
            Wrong::File(error) => about(error, &self.path),
        }
    }
}

fn texts((bytes, offsets): (Vec<u8>, Vec<i64>)) -> Result<NativeColumn> {
    let offsets = OffsetBuffer::new(offsets.into());
    let array = LargeBinaryArray::try_new(offsets, Buffer::from_vec(bytes), None);
    let wrong = |error| Error::invalid("the lines do not fit in a column").with_source(error);
    Ok(NativeColumn::new_plain(Arc::new(array.map_err(wrong)?)))
}

fn reader(path: &Path) -> Result<Reader> {
    let log = open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase();
    let stem = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let is_json = [".json", ".jsonl", ".ndjson"]
        .iter()
        .any(|ending| stem.ends_with(ending));
    // An empty file, and one that is not what its name says, are of the format of the name.
    let format = if is_json {
        Some(LogFormat::Json)
    } else {
        log.format
    };
    match format {
        Some(LogFormat::Json) => Ok(Reader::Json(JsonLines::new(Lines::new(log.input)))),
        Some(format) => Ok(Reader::Other(open_log(format, log.input, now()))),
        None => Err(Error::invalid(format!(
            "records: the format of {name:?} is not clear from its name or its first line: it may be CSV, TSV, JSON lines, \
             Parquet, or a log of Zeek, of a web server, Squid, syslog or dpkg; all but Parquet also compressed by gzip or \
             zstd"
        ))
        .with("argument", "records")),
    }
}

impl Reader {
    fn batch(&mut self, most: u32, stopped: &AtomicBool) -> std::result::Result<Batch, Wrong> {
        let mut batch = Batch::default();
        match self {
            Self::Json(lines) => {
                batch.lines = Some((Vec::new(), vec![0]));
                let mut known = HashMap::new();
                while goes_on(&batch, most, stopped)? && lines.next(&mut batch, &mut known)? {}
            }
            Self::Other(source) => read(source.as_mut(), &mut batch, most, stopped)?,
        }
        Ok(batch)
    }
}

/// Whether there is room for another record.
fn goes_on(batch: &Batch, most: u32, stopped: &AtomicBool) -> Result<bool> {
    if batch.count.is_multiple_of(STEP) && stopped.load(Ordering::Relaxed) {
        return Err(Error::new(
            ErrorKind::Cancelled,
            "the import was interrupted by a signal; nothing was imported",
        ));
    }
    Ok(batch.count < most && batch.bytes < BATCH_BYTES)
}

fn read(
    source: &mut dyn RecordSource,
    batch: &mut Batch,
    most: u32,
    stopped: &AtomicBool,
) -> std::result::Result<(), Wrong> {
    let mut record = Record::default();
    while goes_on(batch, most, stopped)? {
        match source.next(&mut record)? {
            Step::End => break,
            Step::Rejected(reason) => return Err(wrong(source.line(), reason)),
            Step::Record => {}
        }
        for (name, value) in record.fields() {
            let text = std::str::from_utf8(value)
                .map_err(|error| wrong(source.line(), format!("not UTF-8: {error}")))?;
            while batch.fields.len() <= name as usize {
                let name = source.names().get(batch.fields.len());
                batch
                    .fields
                    .push(Gathered::new(name.map_or("", String::as_str)));
            }
            if let Some(field) = batch.fields.get_mut(name as usize) {
                field.push(batch.count, text);
                batch.bytes += text.len();
            }
        }
        batch.count += 1;
    }
    // Fields that no record of the batch has exist too.
    for name in source.names().iter().skip(batch.fields.len()) {
        batch.fields.push(Gathered::new(name));
    }
    Ok(())
}
