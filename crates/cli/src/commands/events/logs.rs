//! Opens log files.

use std::fs::File;
use std::io::{self, BufRead as _, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_events::{LogFormat, RecordSource, detect, open_log, unpack};

use super::json::JsonLines;
use crate::failure::{Failure, Result};

/// An open log file.
pub(super) struct Log {
    pub(super) source: Box<dyn RecordSource>,
    /// Bytes read of the file as it lies on the disk.
    pub(super) read: Arc<AtomicU64>,
}

struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(to)?;
        self.1.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The name of a file in messages.
pub(super) fn shown(path: &Path) -> String {
    if path == Path::new("-") {
        "stdin".into()
    } else {
        path.display().to_string()
    }
}

/// The present moment in microseconds.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

/// Opens a file, or stdin.
pub(super) fn open(path: &Path, format: Option<LogFormat>) -> Result<Log> {
    let read = Arc::new(AtomicU64::new(0));
    let input: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(Counted(io::stdin(), read.clone()))
    } else {
        let file = File::open(path).map_err(|error| {
            Failure::io("cannot open the log file", &error).with("file", shown(path))
        })?;
        Box::new(Counted(file, read.clone()))
    };
    let mut input =
        unpack(input).map_err(|error| Failure::from(error).with("file", shown(path)))?;
    let start = input.fill_buf().map_err(|error| {
        Failure::io("cannot read the log file", &error).with("file", shown(path))
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let format = format.or_else(|| detect(&name, start)).ok_or_else(|| {
        Failure::usage("the format is not clear from the name or the first line of the log file")
            .with("file", shown(path))
            .next("use --format zeek, json, web, squid, syslog, dpkg, csv or tsv")
    })?;
    let source = match format {
        LogFormat::Json => Box::new(JsonLines::new(input)),
        format => open_log(format, input, now())?,
    };
    Ok(Log { source, read })
}
