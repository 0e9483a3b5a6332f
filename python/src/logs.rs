//! Files of records on disk: opened, unpacked, and their format.

use std::fs::File;
use std::io::BufRead;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Error, ErrorKind, Result};
use ostrakon_events::{LogFormat, detect, unpack};

/// A file that can be read.
pub(crate) struct OpenLog {
    /// Unpacked.
    pub(crate) input: Box<dyn BufRead + Send>,
    /// The format, if the name or the first line tells.
    pub(crate) format: Option<LogFormat>,
    pub(crate) is_parquet: bool,
}

/// Opens a file. Compression is told by the first bytes.
pub(crate) fn open(path: &Path) -> Result<OpenLog> {
    let unreadable = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        about(Error::new(kind, "the log file cannot be read"), path).with_source(error)
    };
    let file = File::open(path).map_err(unreadable)?;
    let mut input = unpack(Box::new(file)).map_err(|error| about(error, path))?;
    let start = input.fill_buf().map_err(unreadable)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_parquet = start.starts_with(b"PAR1");
    let format = detect(&name, start).filter(|_| !is_parquet);
    Ok(OpenLog {
        input,
        format,
        is_parquet,
    })
}

/// The error, with the file that it is about.
pub(crate) fn about(error: Error, path: &Path) -> Error {
    error.with("file", path.display())
}

/// The present moment in microseconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}
