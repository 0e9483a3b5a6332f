//! Collects rejected lines, of imports and of events.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use ostrakon_events::{REJECTS_HEADER, takes_rejects};

use crate::failure::{Failure, Result};
use crate::files::store_around;
use crate::output::{escape, visible};

/// Number of rejected lines shown in the summary.
const SHOWN: usize = 5;
/// Bytes of a rejected line kept in the file.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Counts rejected lines, and writes them to a file.
#[derive(Debug)]
pub(crate) struct Rejects {
    file: Option<(PathBuf, BufWriter<File>)>,
    count: u64,
    first: Vec<String>,
}

impl Rejects {
    /// Writes to `path`, replacing a file of rejected lines; without a path, only counts.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        Self::with(
            path,
            OpenOptions::new().write(true).create(true).truncate(true),
        )
    }

    /// The same, but keeps the lines of an existing file of rejected lines.
    pub(crate) fn append(path: Option<&Path>) -> Result<Self> {
        Self::with(path, OpenOptions::new().append(true).create(true))
    }

    fn with(path: Option<&Path>, options: &OpenOptions) -> Result<Self> {
        let file = match path {
            None => None,
            Some(path) => {
                let refuse = |error| {
                    Failure::io("cannot write the rejects file", &error)
                        .with("file", path.display().to_string())
                };
                if let Some(store) = store_around(path) {
                    return Err(
                        Failure::outcome("the file of --rejects would be part of a store")
                            .with("file", path.display().to_string())
                            .with("store", store.display().to_string())
                            .next("choose a file outside of the store"),
                    );
                }
                if !takes_rejects(path).map_err(refuse)? {
                    return Err(Failure::outcome(
                        "the file of --rejects has content that is not rejected lines",
                    )
                    .with("file", path.display().to_string())
                    .next("choose another name for the rejected lines, or remove the file"));
                }
                let file = options.open(path).map_err(refuse)?;
                let length = file.metadata().map_err(refuse)?.len();
                let is_new = length < REJECTS_HEADER.len() as u64;
                // A run was killed while it wrote the header.
                if is_new && length > 0 {
                    file.set_len(0).map_err(refuse)?;
                }
                let mut file = BufWriter::new(file);
                if is_new {
                    file.write_all(REJECTS_HEADER.as_bytes()).map_err(refuse)?;
                }
                Some((path.to_owned(), file))
            }
        };
        Ok(Self {
            file,
            count: 0,
            first: Vec::new(),
        })
    }

    /// Adds one rejected line.
    pub(crate) fn add(&mut self, name: &str, line: u64, reason: &str, text: &[u8]) -> Result<()> {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first
                .push(visible(&format!("{name}:{line}: {reason}")).into_owned());
        }
        if let Some((path, file)) = &mut self.file {
            let text = text.get(..MAX_TEXT_BYTES).unwrap_or(text);
            let (name, reason) = (escape(name.as_bytes()), escape(reason.as_bytes()));
            writeln!(file, "{name}\t{line}\t{reason}\t{}", escape(text)).map_err(|error| {
                Failure::io("cannot write the rejects file", &error)
                    .with("file", path.display().to_string())
            })?;
        }
        Ok(())
    }

    /// Number of rejected lines.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The first few, as `file:line: reason`.
    pub(crate) fn first(&self) -> &[String] {
        &self.first
    }

    /// The file of rejected lines.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, _)| path.as_path())
    }

    /// Writes what is still in the buffer.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if let Some((path, file)) = &mut self.file {
            file.flush().map_err(|error| {
                Failure::io("cannot write the rejects file", &error)
                    .with("file", path.display().to_string())
            })?;
        }
        Ok(())
    }
}
