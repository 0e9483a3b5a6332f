//! A file of rejected lines, with the columns that the program writes.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use ostrakon_cell::{Error, ErrorKind, Escaped, Result};
use ostrakon_events::{REJECTS_HEADER, RejectedLine, takes_rejects};

use crate::logs::about;

/// Bytes of a rejected line that are kept.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Writes rejected lines, if there is a file for them.
pub(super) struct Rejects(Option<(PathBuf, BufWriter<File>)>);

impl Rejects {
    /// Replaces the file at `path`, which must have nothing but rejected lines, and not be one of the `files` that are
    /// read.
    pub(super) fn open(path: Option<PathBuf>, files: &[PathBuf]) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self(None));
        };
        let is_same = |file: &PathBuf| match (file.canonicalize(), path.canonicalize()) {
            (Ok(file), Ok(path)) => file == path,
            _ => false,
        };
        if files.iter().any(is_same) {
            let error = Error::invalid("`rejects` is one of the files to read: pass another path");
            return Err(about(error, &path));
        }
        if !takes_rejects(&path).map_err(|error| failed(error, &path))? {
            let error = Error::invalid(
                "`rejects` has content that is not rejected lines: pass another path, or remove the file",
            );
            return Err(about(error, &path));
        }
        let file = File::create(&path).map_err(|error| failed(error, &path))?;
        let mut file = BufWriter::new(file);
        file.write_all(REJECTS_HEADER.as_bytes())
            .map_err(|error| failed(error, &path))?;
        Ok(Self(Some((path, file))))
    }

    /// Adds a line of a file.
    pub(super) fn add(&mut self, of: &Path, line: &RejectedLine) -> Result<()> {
        let Some((path, file)) = &mut self.0 else {
            return Ok(());
        };
        let name = of.to_string_lossy();
        let text = line.text.get(..MAX_TEXT_BYTES).unwrap_or(&line.text);
        writeln!(
            file,
            "{}\t{}\t{}\t{}",
            Escaped(name.as_bytes()),
            line.line,
            Escaped(line.reason.as_bytes()),
            Escaped(text)
        )
        .map_err(|error| failed(error, path))
    }

    /// Writes what is still in memory.
    pub(super) fn flush(&mut self) -> Result<()> {
        match &mut self.0 {
            Some((path, file)) => file.flush().map_err(|error| failed(error, path)),
            None => Ok(()),
        }
    }
}

fn failed(error: std::io::Error, path: &Path) -> Error {
    let failure = Error::new(ErrorKind::Io, "cannot write the file of rejected lines");
    about(failure.with_source(error), path)
}
