//! Rows as aligned columns, CSV, JSON lines, Parquet or Arrow.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_cast::display::FormatOptions;
use arrow_schema::SchemaRef;

use super::arrow::ArrowRows;
use super::parquet::ParquetRows;
use super::value::{Shown, names};
use crate::args::SqlFormat;
use crate::failure::Result;
use crate::output::{TableRows, escape_part, of_csv, visible, write_json_line};

/// Writes rows.
pub(super) enum Form<'a> {
    Table(TableRows<'a>),
    /// The lines of an explanation.
    Plan(&'a mut (dyn Write + Send)),
    Csv(csv::Writer<&'a mut (dyn Write + Send)>),
    Json(&'a mut (dyn Write + Send), Vec<String>),
    Parquet(ParquetRows<'a>),
    Arrow(ArrowRows<'a>),
}

impl<'a> Form<'a> {
    pub(super) fn new(
        format: SqlFormat,
        schema: &SchemaRef,
        explains: bool,
        out: &'a mut (dyn Write + Send),
    ) -> Result<Self> {
        let names = names(schema);
        Ok(match format {
            SqlFormat::Table if explains => Self::Plan(out),
            SqlFormat::Table => {
                let fields = schema.fields().iter().zip(&names);
                let head = fields.map(|(field, name)| {
                    let name = escape_part(name.as_bytes(), "").into_owned();
                    match field.data_type().is_numeric() {
                        true => format!(">{name}"),
                        false => name,
                    }
                });
                Self::Table(TableRows::new(head.collect(), out))
            }
            SqlFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                if !names.is_empty() {
                    writer.write_record(&names).map_err(of_csv)?;
                }
                Self::Csv(writer)
            }
            SqlFormat::Json => Self::Json(out, names),
            SqlFormat::Parquet => Self::Parquet(ParquetRows::new(schema, &names, out)?),
            SqlFormat::Arrow | SqlFormat::Arrows => {
                let is_stream = format == SqlFormat::Arrows;
                Self::Arrow(ArrowRows::new(schema, &names, is_stream, out)?)
            }
        })
    }

    /// Writes a batch.
    pub(super) fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(rows) => return rows.rows(batch),
            Self::Arrow(rows) => return rows.rows(batch),
            _ => {}
        }
        let options = FormatOptions::default().with_display_error(false);
        let shown = Shown::new(batch, &options)?;
        for row in 0..batch.num_rows() {
            match self {
                Self::Table(table) => {
                    let cells = (0..batch.num_columns()).map(|at| match shown.text(at, row) {
                        // Bytes have their escapes; other characters that a terminal obeys get them here.
                        Some(text) => visible(&text).into_owned(),
                        None => "NULL".to_owned(),
                    });
                    table.row(cells.collect())?;
                }
                Self::Plan(out) => {
                    let text = shown.text(1, row).unwrap_or_default();
                    for line in text.trim_end().lines() {
                        writeln!(out, "{}", visible(line))?;
                    }
                }
                Self::Csv(writer) => {
                    let cells = (0..batch.num_columns())
                        .map(|at| shown.file_text(at, row).unwrap_or_default());
                    writer.write_record(cells).map_err(of_csv)?;
                }
                Self::Json(out, names) => write_json_line(*out, &shown.object(names, row))?,
                Self::Parquet(_) | Self::Arrow(_) => {}
            }
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Table(table) => Ok(table.finish()?),
            Self::Csv(mut writer) => Ok(writer.flush()?),
            Self::Plan(_) | Self::Json(..) => Ok(()),
            Self::Parquet(rows) => rows.finish(),
            Self::Arrow(rows) => rows.finish(),
        }
    }
}
