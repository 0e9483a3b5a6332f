//! Opens log files, and gives their fields other names and more fields.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use ostrakon_events::{
    LogFormat, LogText, LookupTable, RecordSource, detect, enrich, rename_fields,
};

use crate::args::EventsSource;
use crate::failure::{Failure, Result};
use crate::import::{Consumed, Input, about_packing, open_input, shown_name};

/// An open log file.
pub(super) struct Log {
    pub(super) content: Content,
    /// Bytes read of the file as it lies on the disk.
    pub(super) read: Consumed,
}

/// What a log file has.
pub(super) enum Content {
    /// Lines.
    Text(LogText, Box<dyn BufRead + Send>),
    /// Rows of Parquet.
    Rows(Box<dyn RecordSource>),
}

impl Log {
    /// The records one by one.
    pub(super) fn into_source(self) -> Box<dyn RecordSource> {
        match self.content {
            Content::Text(log, input) => log.open(input),
            Content::Rows(rows) => rows,
        }
    }
}

/// The name of a file in messages.
pub(super) fn shown(path: &Path) -> String {
    shown_name(path)
}

/// The present moment in microseconds.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

/// How log files are read: their format, names of fields, lookup tables.
pub(super) struct Reading {
    format: Option<LogFormat>,
    renamed: Vec<(String, String)>,
    tables: Vec<Arc<LookupTable>>,
}

impl Reading {
    /// Reads the lookup tables.
    pub(super) fn new(args: &EventsSource) -> Result<Self> {
        let tables = args.enrich.iter().map(|(field, file)| lookup(field, file));
        Ok(Self {
            format: args.format.map(Into::into),
            renamed: args.map.clone(),
            tables: tables.collect::<Result<_>>()?,
        })
    }

    /// Opens a file, or stdin.
    pub(super) fn open(&self, path: &Path) -> Result<Log> {
        let read = Consumed::default();
        let content = match open_input(path, &read)? {
            Input::Parquet => {
                let rows = rename_fields(open_parquet(path, &read)?, &self.renamed);
                Content::Rows(enrich(rows, &self.tables))
            }
            Input::Text(mut input) => {
                let start = input.fill_buf().map_err(|error| {
                    Failure::io("cannot read the log file", &error).with("file", shown(path))
                })?;
                let format = match start.is_empty() {
                    // A log without lines is read alike in all formats that need no header.
                    true => self.format.unwrap_or(LogFormat::Json),
                    false => self.format(path, start)?,
                };
                Content::Text(self.text(format), input)
            }
        };
        Ok(Log { content, read })
    }

    /// The format of a file that begins with `start`, if that is clear.
    pub(super) fn format(&self, path: &Path, start: &[u8]) -> Result<LogFormat> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let format = self.format.or_else(|| detect(&name, start));
        format.ok_or_else(|| {
            let failure = Failure::usage(
                "the format is not clear from the name or the first line of the log file",
            )
            .with("file", shown(path))
            .next(match start.trim_ascii_start().starts_with(b"[") {
                true => {
                    "use --format zeek, json, web, squid, syslog, dpkg, csv or tsv; of JSON, one object per line is read, \
                     which `jq -c '.[]' FILE > NEW` makes of a list"
                }
                false => "use --format zeek, json, web, squid, syslog, dpkg, csv or tsv",
            });
            about_packing(path, failure)
        })
    }

    /// How the text of a file is read.
    pub(super) fn text(&self, format: LogFormat) -> LogText {
        LogText {
            format,
            reference: now(),
            renamed: self.renamed.clone(),
            tables: self.tables.clone(),
            rest: None,
            grows: false,
        }
    }
}

fn lookup(field: &str, file: &Path) -> Result<Arc<LookupTable>> {
    let plain = Reading {
        format: None,
        renamed: Vec::new(),
        tables: Vec::new(),
    };
    let mut source = plain.open(file)?.into_source();
    let table = LookupTable::read(field, &mut *source)
        .map_err(|error| Failure::from(error).with("file", shown(file)))?;
    Ok(Arc::new(table))
}

#[cfg(feature = "parquet")]
fn open_parquet(path: &Path, read: &Consumed) -> Result<Box<dyn RecordSource>> {
    let rows = super::parquet::ParquetRows::open(path, read.clone())?;
    Ok(Box::new(rows))
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(path: &Path, _read: &Consumed) -> Result<Box<dyn RecordSource>> {
    Err(Failure::usage("this program was built without Parquet")
        .with("file", shown(path))
        .next("build it with `cargo build -p ostrakon-cli --features parquet`"))
}
