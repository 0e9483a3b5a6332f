//! A run of the continuous test as a file, for the report.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::experiments::RigConditions;
use crate::measure::Host;

/// The version of [`RunRecord`]. Fields may be added; a change of meaning raises it.
pub const RUN_RECORD_VERSION: u32 = 1;

/// One run of a program of the continuous test.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`RUN_RECORD_VERSION`] of the writer.
    pub record_version: u32,
    /// The program: `ingest`, `walk`, `batch-walk`, `scan`, `moru`, `verify` or `agitate`.
    pub continuous: String,
    /// The table.
    pub table: String,
    /// When the run ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// The source.
    pub source: RigConditions,
    /// The machine.
    pub host: Host,
    /// The figures of the run, under the names that `--json` shows.
    pub figures: serde_json::Value,
}

impl RunRecord {
    /// A record of a run that has just ended.
    ///
    /// # Errors
    /// The figures cannot be written as JSON.
    pub fn new(
        program: &str,
        table: &str,
        source: RigConditions,
        figures: &impl Serialize,
    ) -> Result<Self> {
        let figures = serde_json::to_value(figures).map_err(|error| {
            Error::new(ErrorKind::Internal, "the figures cannot be written as JSON")
                .with_source(error)
        })?;
        Ok(Self {
            record_version: RUN_RECORD_VERSION,
            continuous: program.to_owned(),
            table: table.to_owned(),
            ended_ms: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_millis() as u64),
            source,
            host: Host::here(),
            figures,
        })
    }

    /// Writes the record to `directory`, created if missing, as `continuous-PROGRAM-<milliseconds since 1970>.json`.
    ///
    /// # Errors
    /// The directory cannot be made or the file not be written.
    pub fn write(&self, directory: &Path) -> Result<PathBuf> {
        let name = format!("continuous-{}-{}.json", self.continuous, self.ended_ms);
        let file = directory.join(name);
        let refuse = |error: std::io::Error| {
            Error::new(ErrorKind::Io, "the record cannot be written")
                .with("file", file.display())
                .with_source(error)
        };
        let json = serde_json::to_vec_pretty(self).map_err(|error| {
            Error::new(ErrorKind::Internal, "the record cannot be written as JSON")
                .with_source(error)
        })?;
        std::fs::create_dir_all(directory).map_err(refuse)?;
        std::fs::write(&file, json).map_err(refuse)?;
        Ok(file)
    }

    /// A number of the figures; 0 where there is none.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        self.figures[name].as_f64().unwrap_or_default()
    }

    /// Rows or entries that the run found missing, damaged or lost.
    #[must_use]
    pub fn faults(&self) -> f64 {
        ["undefined", "corrupt", "missing", "lost"]
            .iter()
            .map(|name| self.number(name))
            .sum()
    }
}
