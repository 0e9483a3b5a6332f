//! Reads text as rows.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::csv::ReaderBuilder as DelimitedBuilder;
use datafusion::arrow::csv::reader::Decoder as DelimitedDecoder;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::ReaderBuilder as JsonBuilder;
use datafusion::arrow::json::reader::{
    Decoder as JsonDecoder, ValueIter, infer_json_schema_from_iterator,
};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use memchr::{memchr, memchr_iter, memrchr};
use parking_lot::Mutex;

use super::columns::Columns;
use super::fields::Fields;
use super::followed::{Followed, Records};
use super::{header, looks, merge, whole};
use crate::files::called::CsvOptions;
use crate::files::kind::Packing;
use crate::files::local::{Reads, ReadsRows, Wanted};

/// Which share of the limit of a record a batch has at most, beside its last record. Numbers take more memory than their
/// text.
const BATCH_SHARE: usize = 16;
/// The least and the most bytes of text in a batch, beside its last record.
const BATCH_BYTES: (usize, usize) = (64 << 10, 16 << 20);
/// Which share of the limit a record of JSON has at most: its values take several times the memory of their text.
const JSON_SHARE: usize = 8;

/// Bytes that a column of delimited text takes while its type is found.
const COLUMN_BYTES: usize = 1 << 10;
/// So many columns are allowed in any case.
const COLUMNS: usize = 1000;
/// Bytes of a value in the decoder's batch.
const VALUE_BYTES: usize = 16;

/// Files of text.
#[derive(Debug)]
pub(in crate::files) struct Text {
    records: Records,
    packing: Packing,
    /// The most bytes of a record.
    limit: usize,
    /// Of delimited text.
    fields: Fields,
}

impl Text {
    /// Lines of fields with a delimiter between them, below a line with their names.
    pub(in crate::files) fn delimited(delimiter: u8, packing: Packing, limit: usize) -> Self {
        Self {
            records: Records::Delimited(delimiter),
            packing,
            limit,
            fields: Fields::default(),
        }
    }

    /// The same, read as a query says.
    pub(in crate::files) fn with_options(self, options: &CsvOptions) -> Self {
        Self {
            fields: Fields::new(options),
            ..self
        }
    }

    /// Lines of JSON.
    pub(in crate::files) fn json(packing: Packing, limit: usize) -> Self {
        Self {
            records: Records::Json,
            packing,
            limit: limit / JSON_SHARE,
            fields: Fields::default(),
        }
    }

    /// What is counted while the columns are found, and how much of it there may be: see [`Content`].
    fn most(&self, records: Records) -> (u8, usize) {
        match records {
            Records::Delimited(delimiter) => (delimiter, (self.limit / COLUMN_BYTES).max(COLUMNS)),
            Records::Json => (b'\n', self.limit),
        }
    }

    fn follow(&self, file: &Path, records: Records) -> Result<Followed> {
        Followed::open(file, self.packing, records, self.limit)
    }

    /// What the records of a file are. Files `.csv` of programs in Europe have semicolons, and others have bars or tabs.
    ///
    /// # Errors
    /// The file cannot be read.
    fn records(&self, file: &Path) -> Result<Records> {
        match (self.records, self.fields.delimiter()) {
            (Records::Delimited(_), Some(delimiter)) => Ok(Records::Delimited(delimiter)),
            (Records::Delimited(b','), None) => {
                let has_names = self.fields.has_header();
                let delimiter = header::delimiter(file, self.packing, has_names)?;
                Ok(Records::Delimited(delimiter))
            }
            (records, _) => Ok(records),
        }
    }

    /// The content of a file from its start, and where a failure of it is kept.
    fn content(&self, file: &Path, records: Records) -> Result<(BufReader<Content>, Failed)> {
        let failure = Failed::default();
        let content = Content {
            followed: self.follow(file, records)?,
            chunk: Vec::new(),
            at: 0,
            failure: failure.clone(),
            first: true,
            found: 0,
            most: self.most(records),
        };
        Ok((BufReader::new(content), failure))
    }
}

/// Why a content cannot be read, which its reader would make text of.
type Failed = Arc<Mutex<Option<DataFusionError>>>;

impl Reads for Text {
    fn kind(&self) -> &'static str {
        match self.records {
            Records::Delimited(b'\t') => "tsv",
            Records::Delimited(_) => "csv",
            Records::Json => "json",
        }
    }

    fn growth(&self) -> usize {
        match self.packing {
            Packing::None => 1,
            Packing::Gzip | Packing::Zstd => 4,
        }
    }

    fn columns(&self, file: &Path, records: usize) -> Result<(Schema, usize)> {
        if let Some(declared) = self.fields.declared() {
            return Ok((declared, records));
        }
        let kind = self.records(file)?;
        let (content, failure) = self.content(file, kind)?;
        let found = match kind {
            Records::Delimited(delimiter) => {
                let records = if self.fields.finds_types() {
                    records
                } else {
                    0
                };
                let found = self
                    .fields
                    .format(delimiter)
                    .infer_schema(content, Some(records));
                found.and_then(|(found, read)| Ok((self.fields.named(&found)?, read)))
            }
            Records::Json => {
                let mut read = 0;
                let values = ValueIter::new(content, Some(records));
                let values = values.map(|value| {
                    read += 1;
                    value.map(whole::with_large_as_text)
                });
                infer_json_schema_from_iterator(values).map(|schema| (schema, read))
            }
        };
        if let Some(failure) = failure.lock().take() {
            return Err(failure);
        }
        let (schema, read) = found?;
        let schema = match kind {
            Records::Delimited(delimiter) => {
                let (content, _) = self.content(file, kind)?;
                let form = (delimiter, self.fields.has_header(), self.fields.null());
                looks::as_text(content, form, schema, read)?
            }
            Records::Json => schema,
        };
        Ok((schema, read))
    }

    fn settled(&self, schemas: Vec<Schema>) -> Result<Schema> {
        if let Some(named) = self.fields.of_empty().filter(|_| schemas.is_empty()) {
            return Ok(named);
        }
        merge::merged(schemas)
    }

    fn open(&self, file: &Path, wanted: Wanted) -> Result<Box<dyn ReadsRows>> {
        let records = self.records(file)?;
        let wanted_bytes = wanted.bytes;
        let decoder = match records {
            Records::Delimited(delimiter) => {
                // The decoder makes room for all values of a batch before it has any.
                let values = self.limit / VALUE_BYTES;
                let (own, _) = self.columns(file, 0)?;
                let rows = values / own.fields().len().max(1);
                let rows = rows.clamp(1, wanted.rows.max(1));
                let columns = Columns::new(&own, &wanted)?;
                let builder = DelimitedBuilder::new(columns.of_file.clone())
                    .with_format(self.fields.format(delimiter))
                    .with_batch_size(rows)
                    .with_projection(columns.read.clone());
                Decoder::Delimited(Box::new(builder.build_decoder()), columns)
            }
            Records::Json => {
                let schema = Arc::new(wanted.schema.project(&wanted.columns)?);
                // Text may be written as a number in some records.
                let builder = JsonBuilder::new(Arc::new(whole::as_written(&schema)))
                    .with_coerce_primitive(true)
                    .with_batch_size(wanted.rows);
                Decoder::Json(Box::new(builder.build_decoder()?), schema)
            }
        };
        let (least, most) = BATCH_BYTES;
        Ok(Box::new(TextReader {
            followed: self.follow(file, records)?,
            decoder,
            batch_bytes: (self.limit / BATCH_SHARE).clamp(least, most),
            chunk: Vec::new(),
            at: 0,
            length: 0,
            ended: 0,
            taken: 0,
            is_done: false,
            records: usize::from(self.fields.has_header()),
            bytes: wanted_bytes,
        }))
    }
}

/// The content of a file, whose records are followed while it is read.
struct Content {
    followed: Followed,
    chunk: Vec<u8>,
    at: usize,
    failure: Failed,
    /// Whether no record has ended.
    first: bool,
    /// Delimiters of the first line, or bytes of the last line of JSON.
    found: usize,
    /// The delimiter, or the end of a line of JSON, and the most that may be found: the columns of the first line, each of
    /// which takes memory, and the bytes of a line of JSON, which is held as a whole.
    most: (u8, usize),
}

impl Content {
    /// Counts what was read. A chunk in which a record has ended has the end of the first line.
    fn count(&mut self, has_ended: bool) -> Result<()> {
        let (wanted, most) = self.most;
        let is_json = wanted == b'\n';
        let end = memchr(b'\n', &self.chunk);
        if is_json {
            self.found += end.unwrap_or(self.chunk.len());
        } else if self.first {
            let end = end.filter(|_| has_ended).unwrap_or(self.chunk.len());
            let line = self.chunk.get(..end).unwrap_or_default();
            self.found += memchr_iter(wanted, line).count();
            self.first = !has_ended;
        }
        if self.found > most {
            return Err(match is_json {
                true => self.followed.too_large(),
                false => self.followed.too_many_columns(),
            });
        }
        if is_json && let Some(last) = memrchr(b'\n', &self.chunk) {
            self.found = self.chunk.len() - last;
        }
        Ok(())
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.chunk.len() {
            let read = self
                .followed
                .read(&mut self.chunk)
                .and_then(|(length, ended)| {
                    self.chunk.truncate(length);
                    self.at = 0;
                    self.count(ended > 0)
                });
            read.map_err(|failure| {
                *self.failure.lock() = Some(failure);
                io::Error::other("the file cannot be read")
            })?;
        }
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.at += length;
        Ok(length)
    }
}

enum Decoder {
    Delimited(Box<DelimitedDecoder>, Columns),
    Json(Box<JsonDecoder>, SchemaRef),
}

impl Decoder {
    fn decode(&mut self, text: &[u8]) -> Result<usize, ArrowError> {
        match self {
            Self::Delimited(decoder, _) => decoder.decode(text),
            Self::Json(decoder, _) => decoder.decode(text),
        }
    }

    /// The rows so far, of which the first is the record `first` of the file.
    fn flush(&mut self, first: usize) -> Result<Option<RecordBatch>, ArrowError> {
        match self {
            Self::Delimited(decoder, columns) => {
                let rows = decoder.flush()?;
                rows.map(|rows| columns.arranged(&rows, first)).transpose()
            }
            Self::Json(decoder, schema) => {
                let rows = decoder.flush()?;
                rows.map(|rows| whole::converted(&rows, schema)).transpose()
            }
        }
    }
}

struct TextReader {
    followed: Followed,
    decoder: Decoder,
    /// Text after which a batch is complete, at the end of a record.
    batch_bytes: usize,
    chunk: Vec<u8>,
    /// What the decoder has taken of the chunk, and its length.
    at: usize,
    length: usize,
    /// Where the last record ends that ends in the chunk.
    ended: usize,
    /// Bytes of the batch.
    taken: usize,
    is_done: bool,
    /// Records before the batch, with the one that has the names.
    records: usize,
    /// The bytes of the file when the query was planned.
    bytes: u64,
}

impl ReadsRows for TextReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.at < self.length {
                if let Some(batch) = self.decode()? {
                    return Ok(Some(batch));
                }
            } else if self.is_done {
                return Ok(None);
            } else {
                (self.length, self.ended) = self.followed.read(&mut self.chunk)?;
                self.at = 0;
                if self.length == 0 {
                    self.is_done = true;
                    self.followed.check_end(self.bytes)?;
                    // Nothing more is what ends the last record.
                    let end = self.decoder.decode(&[]);
                    self.explained(end)?;
                    return self.flush();
                }
            }
        }
    }
}

impl TextReader {
    /// Takes some of the chunk. Returns a batch if it is complete.
    fn decode(&mut self) -> Result<Option<RecordBatch>> {
        let end = match self.at < self.ended {
            true => self.ended,
            false => self.length,
        };
        let text = self.chunk.get(self.at..end).unwrap_or_default();
        let taken = self.decoder.decode(text);
        let taken = self.explained(taken)?;
        self.at += taken;
        self.taken += taken;
        if taken > 0 && (self.at != self.ended || self.taken < self.batch_bytes) {
            return Ok(None);
        }
        match self.flush()? {
            // The reader has rows if it takes no more.
            None if taken == 0 => Err(DataFusionError::Internal(
                "the reader of text takes no more".to_owned(),
            )),
            batch => Ok(batch),
        }
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.taken = 0;
        let batch = self.decoder.flush(self.records);
        let batch = self.explained(batch)?;
        self.records += batch.as_ref().map_or(0, RecordBatch::num_rows);
        Ok(batch)
    }

    fn explained<T>(&mut self, outcome: Result<T, ArrowError>) -> Result<T> {
        outcome.map_err(|error| self.followed.explain(error))
    }
}

#[cfg(test)]
mod tests;
