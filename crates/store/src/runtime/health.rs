//! Whether the store may be written, and if not, which failure caused that.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::{check_process, this_process};

/// Whether the store may be written, and the reason if not.
pub(crate) struct Health {
    /// The process that opened the store, and its directory.
    process: u32,
    dir: PathBuf,
    /// The failure after which nothing may be written until the store is reopened.
    failed: Mutex<Option<Error>>,
}

impl Health {
    /// A store in `dir` that this process opened, and may write.
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            process: this_process(),
            dir: dir.to_owned(),
            failed: Mutex::default(),
        }
    }

    /// Returns an error in a forked child of the process that opened the store. Takes no lock: a
    /// thread that does not exist in the child may hold it.
    pub(crate) fn check_process(&self) -> StoreResult<()> {
        check_process(self.process, &self.dir)
    }

    /// Returns an error unless the store may be written.
    pub(crate) fn check_writable(&self) -> StoreResult<()> {
        self.check_process()?;
        self.failed
            .lock()
            .as_ref()
            .map_or(Ok(()), |error| Err(error.duplicate()))
    }

    /// Returns an error once the store is closed.
    pub(crate) fn check_open(&self) -> StoreResult<()> {
        self.check_process()?;
        match &*self.failed.lock() {
            Some(error) if error.kind() == ErrorKind::Closed => Err(error.duplicate()),
            _ => Ok(()),
        }
    }

    /// Makes the store read-only until it is reopened, because the log or the catalog could not be
    /// written or synced, or the log thread ended, so that their content is unknown.
    pub(crate) fn fail(&self, cause: Error) {
        let what = match cause.kind() {
            ErrorKind::Internal => "an error in the program stopped the writing of the store",
            ErrorKind::OutOfSpace => "the disk was full while the store was written",
            _ => "the disk failed while the store was written",
        };
        let mut failed = self.failed.lock();
        if failed.is_none() {
            *failed = Some(
                Error::new(
                    ErrorKind::ReadOnly,
                    format!("{what}; the store is read-only until it is closed and opened again"),
                )
                .with("cause", cause.kind().as_str())
                .with_source(cause),
            );
        }
    }

    /// Rejects all writes because the store was opened for reading only.
    pub(crate) fn open_read_only(&self) {
        *self.failed.lock() = Some(Error::new(
            ErrorKind::ReadOnly,
            "the store was opened read-only: open it for writing to change it",
        ));
    }

    /// Rejects all writes because the store is closing.
    pub(crate) fn close(&self) {
        *self.failed.lock() = Some(Error::new(ErrorKind::Closed, "the store is closed"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A panic of the log thread used to be reported as a disk failure.
    #[test]
    fn a_read_only_store_names_the_cause() {
        for (kind, expected) in [
            (ErrorKind::Internal, "an error in the program"),
            (ErrorKind::OutOfSpace, "the disk was full"),
            (ErrorKind::Io, "the disk failed"),
        ] {
            let health = Health::new(Path::new("/"));
            health.fail(Error::new(kind, "the first cause"));
            health.fail(Error::new(ErrorKind::Unsupported, "a later one"));
            let error = health.check_writable().expect_err("it failed");
            assert_eq!(error.kind(), ErrorKind::ReadOnly);
            assert!(error.message().starts_with(expected), "{error}");
            let cause = std::error::Error::source(&error).expect("a cause");
            assert!(cause.to_string().contains("the first cause"), "{cause}");
        }
    }
}
