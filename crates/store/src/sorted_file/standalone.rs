//! Sorted files written without an open store: by the processes of a parallel program, for a store
//! that imports them.

use std::path::Path;

use ostrakon_cell::{Batch, BulkWriter};

use super::labels::KnownLabels;
use super::options::WriterOptions;
use super::writer::{FileSummary, SortedFileWriter};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::fork;
use crate::vfs::RealVfs;

/// File extension of sorted files; [`import_directory`](ostrakon_cell::Table::import_directory)
/// takes only these.
pub const ENDING: &str = ".sorted";

/// Writes one sorted file anywhere on the machine's disk. It needs no store, so that each process
/// of a parallel program can sort its own part; a table takes the files over with
/// [`import_directory`](ostrakon_cell::Table::import_directory).
///
/// The file is durable when [`finish`](Self::finish) returns. If dropped before, the writer removes
/// it; a process that is killed leaves a truncated file, which an import rejects by name.
///
/// ```
/// use ostrakon_cell::{Batch, ImportDirectoryOptions, Key, Source, TableOptions};
/// use ostrakon_store::sorted_file::{BulkFileWriter, WriterOptions};
/// use ostrakon_store::{Store, StoreOptions};
///
/// let folder = tempfile::tempdir().unwrap();
/// let mut batch = Batch::new();
/// batch.push(Key::new("alice", "edge", "bob").as_ref(), b"cited")?;
/// let part = folder.path().join("part-0.sorted");
/// let mut writer = BulkFileWriter::create(&part, WriterOptions::default())?;
/// writer.append(&batch)?;
/// assert_eq!(writer.finish()?.entries, 1);
///
/// let store = Store::open(folder.path().join("store"), StoreOptions::default())?;
/// store.create_table("graph", &TableOptions::default())?;
/// # std::fs::create_dir(folder.path().join("parts")).unwrap();
/// # std::fs::rename(&part, folder.path().join("parts/part-0.sorted")).unwrap();
/// let parts = folder.path().join("parts");
/// let report = store.table("graph")?.import_directory(&parts, &ImportDirectoryOptions::default())?;
/// assert_eq!((report.files, report.entries), (1, 1));
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Debug)]
pub struct BulkFileWriter {
    inner: SortedFileWriter,
    labels: KnownLabels,
}

impl BulkFileWriter {
    /// Creates the file, which must not exist and whose name must end with `.sorted`.
    ///
    /// # Errors
    /// `InvalidArgument` for another name; `AlreadyExists`; `Unsupported` in a process that was forked while a store was
    /// open; those of the disk.
    pub fn create(path: &Path, options: WriterOptions) -> StoreResult<Self> {
        let name = path.file_name().map(std::ffi::OsStr::as_encoded_bytes);
        if name.is_none_or(|name| !name.ends_with(ENDING.as_bytes()) || name.starts_with(b".")) {
            return Err(Error::invalid(
                "the name of a sorted file ends with .sorted and does not begin with a dot",
            )
            .with("file", path.display()));
        }
        fork::check(path)?;
        Ok(Self {
            inner: SortedFileWriter::create(&RealVfs::shared(), path, options)?,
            labels: KnownLabels::default(),
        })
    }

    /// Appends entries, which must be sorted and not less than those appended before.
    ///
    /// # Errors
    /// `InvalidArgument` for unsorted entries, naming the row, and for a malformed label; those of the
    /// disk. After an error the writer must be dropped.
    pub fn append(&mut self, batch: &Batch) -> StoreResult<()> {
        self.labels.check_entries(batch).map_err(|error| {
            Error::invalid("a visibility is not a valid expression, and would hide its entry from every reader")
                .with("file", self.inner.path().display())
                .with_source(error)
        })?;
        let appended = self.inner.append(batch, 0..batch.len());
        appended.map_err(|error| match error.kind() {
            // In the store unsorted entries are an internal error; here they are the caller's.
            ErrorKind::Internal => error.context().iter().fold(
                Error::invalid("a sorted file takes sorted entries; sort them first"),
                |mended, (name, value)| mended.with(name, value),
            ),
            _ => error,
        })
    }

    /// Entries appended so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.inner.entries()
    }

    /// Approximate length of the file so far, in bytes.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.inner.bytes_written()
    }

    /// Completes the file and makes it durable, its name included.
    ///
    /// # Errors
    /// Those of the disk; then the file is removed.
    pub fn finish(self) -> StoreResult<FileSummary> {
        self.inner.finish()
    }
}

impl BulkWriter for BulkFileWriter {
    fn append(&mut self, batch: &Batch) -> StoreResult<()> {
        Self::append(self, batch)
    }

    /// Makes the file durable. Its entries are visible once a table has imported it.
    fn finish(self: Box<Self>) -> StoreResult<u64> {
        Ok((*self).finish()?.entries)
    }
}
