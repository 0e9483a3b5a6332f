//! Entries as a Parquet file: the columns row, family, qualifier, visibility, timestamp and value.

use std::io::{self, Write};
use std::sync::Arc;

use ostrakon_cell::EntryRef;
use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::NOT_TEXT;
use super::form::COLUMNS;
use crate::failure::{Failure, Result};
use crate::output::escape;

/// A group of rows is written when it has as many entries or bytes.
const GROUP_ENTRIES: usize = 128 << 10;
const GROUP_BYTES: usize = 32 << 20;
/// Position of the timestamp among the columns.
const TIMESTAMP: usize = 4;

/// Writes groups of rows.
pub(crate) struct ParquetForm<'a> {
    writer: SerializedFileWriter<&'a mut (dyn Write + Send)>,
    /// Whether the columns are declared as bytes instead of text.
    binary: bool,
    /// The columns of bytes of the group, without the timestamp.
    columns: [Vec<ByteArray>; 5],
    timestamps: Vec<i64>,
    bytes: usize,
}

impl<'a> ParquetForm<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send), binary: bool) -> Result<Self> {
        let column = |(at, name): (usize, &&str)| {
            let kind = match at {
                TIMESTAMP => Type::primitive_type_builder(name, PhysicalType::INT64),
                _ => Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                    .with_logical_type((!binary).then_some(LogicalType::String)),
            };
            let kind = kind.with_repetition(Repetition::REQUIRED).build()?;
            Ok(Arc::new(kind))
        };
        let columns: Result<Vec<_>, ParquetError> =
            COLUMNS.iter().enumerate().map(column).collect();
        let schema = columns.and_then(|columns| {
            Type::group_type_builder("entries")
                .with_fields(columns)
                .build()
        });
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let writer = schema
            .and_then(|schema| {
                SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
            })
            .map_err(of_stream)?;
        Ok(Self {
            writer,
            binary,
            columns: Default::default(),
            timestamps: Vec::new(),
            bytes: 0,
        })
    }

    pub(super) fn entry(&mut self, entry: EntryRef<'_>) -> Result<()> {
        let key = entry.key;
        let parts = [
            key.row,
            key.family,
            key.qualifier,
            key.visibility,
            entry.value,
        ];
        if !self.binary {
            let names = COLUMNS.iter().filter(|name| **name != "timestamp");
            for (part, name) in parts.iter().zip(names) {
                if std::str::from_utf8(part).is_err() {
                    return Err(Failure::outcome(format!("a {name} {NOT_TEXT}"))
                        .with("row", escape(key.row))
                        .next("use --binary, which declares the columns as bytes"));
                }
            }
        }
        for (column, part) in self.columns.iter_mut().zip(parts) {
            column.push(ByteArray::from(part.to_vec()));
            self.bytes += part.len();
        }
        self.timestamps.push(key.timestamp);
        if self.timestamps.len() >= GROUP_ENTRIES || self.bytes >= GROUP_BYTES {
            self.write_group().map_err(of_stream)?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.timestamps.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        let mut columns = self.columns.iter_mut();
        for at in 0..COLUMNS.len() {
            let Some(mut column) = group.next_column()? else {
                break;
            };
            if at == TIMESTAMP {
                let typed = column.typed::<Int64Type>();
                typed.write_batch(&self.timestamps, None, None)?;
            } else if let Some(values) = columns.next() {
                let typed = column.typed::<ByteArrayType>();
                typed.write_batch(values, None, None)?;
                values.clear();
            }
            column.close()?;
        }
        group.close()?;
        self.timestamps.clear();
        self.bytes = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.write_group().map_err(of_stream)?;
        self.writer.close().map_err(of_stream)?;
        Ok(())
    }
}

/// The error of the stream below, if it is one.
fn of_stream(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        error => io::Error::other(error),
    }
}
