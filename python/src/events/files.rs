//! Log files, with other names of fields and more fields if that is asked for.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_events::{EventType, LogFormat, LogText, LookupTable, infer_log};
use pyo3::prelude::*;

use crate::logs::{self, about, now};

/// How log files are read, as Python passes it.
#[derive(FromPyObject)]
pub(super) struct FilesArgument {
    #[pyo3(item)]
    format: Option<String>,
    /// Names in the file, and those that they get.
    #[pyo3(item)]
    map: Vec<(String, String)>,
    /// Fields, and files with what is known about their values.
    #[pyo3(item)]
    enrich: Vec<(String, PathBuf)>,
}

/// How log files are read.
#[derive(Default)]
pub(super) struct Files {
    format: Option<LogFormat>,
    renamed: Vec<(String, String)>,
    tables: Vec<Arc<LookupTable>>,
}

impl FilesArgument {
    /// Reads the lookup tables.
    pub(super) fn open(self) -> Result<Files> {
        let format = self.format.as_deref().map(format_named).transpose()?;
        let tables = self.enrich.iter().map(|(field, path)| {
            let (log, input) = Files::default().open(path)?;
            LookupTable::read(field, &mut *log.open(input))
                .map(Arc::new)
                .map_err(|error| about(error, path))
        });
        Ok(Files {
            format,
            tables: tables.collect::<Result<_>>()?,
            renamed: self.map,
        })
    }
}

impl Files {
    /// Opens a file.
    pub(super) fn open(&self, path: &Path) -> Result<(LogText, Box<dyn BufRead + Send>)> {
        let (format, input) = open(path, self.format)?;
        let log = LogText {
            format,
            reference: now(),
            renamed: self.renamed.clone(),
            tables: self.tables.clone(),
            rest: None,
            grows: false,
        };
        Ok((log, input))
    }

    /// The type of the events that a file begins with.
    pub(super) fn infer(&self, name: &str, path: &Path, time: Option<&str>) -> Result<EventType> {
        let (log, input) = self.open(path)?;
        infer_log(name, &mut *log.open(input), time).map_err(|error| about(error, path))
    }
}

fn format_named(name: &str) -> Result<LogFormat> {
    let found = LogFormat::ALL
        .into_iter()
        .find(|format| format.as_str() == name);
    found.ok_or_else(|| {
        Error::invalid(
            "there is no such format: use zeek, json, web, squid, syslog, dpkg, csv or tsv",
        )
        .with("argument", "format")
        .with("given", name)
    })
}

fn open(path: &Path, format: Option<LogFormat>) -> Result<(LogFormat, Box<dyn BufRead + Send>)> {
    let log = logs::open(path)?;
    match format.or(log.format).filter(|_| !log.is_parquet) {
        Some(format) => Ok((format, log.input)),
        None if log.is_parquet => Err(about(parquet(), path)),
        None => Err(about(
            Error::invalid(
                "the format is not clear from the name or the first line of the log file: pass `format`, one of zeek, \
                 json, web, squid, syslog, dpkg, csv and tsv",
            ),
            path,
        )),
    }
}

fn parquet() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the package does not read log files in Parquet: run the program `ostrakon events create` or `ostrakon events \
         ingest`, which does",
    )
}
