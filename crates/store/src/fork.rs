//! What a forked process must not do.
//!
//! A fork copies one thread. The locks of this crate keep the threads that wait for them in queues of the whole process
//! (`parking_lot`). A child inherits the queues with threads that do not exist in it, and a new thread of the child may
//! get the memory of one of those: then a lock of any store aborts the child or waits for ever. An open store always has
//! waiting threads. So a child that was forked while one was open opens none, and writes no sorted files.

use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::this_process;

/// The process that counts in `STORES`. No lock: a thread that does not exist in a child may hold it.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Open stores of that process.
static STORES: AtomicUsize = AtomicUsize::new(0);

/// Counts as an open store until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStore {
    process: u32,
}

impl OpenStore {
    /// Counts the store in `path`.
    pub(crate) fn new(path: &Path) -> StoreResult<Self> {
        check(path)?;
        let process = this_process();
        PROCESS.store(process, Ordering::SeqCst);
        STORES.fetch_add(1, Ordering::SeqCst);
        Ok(Self { process })
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        // What a child inherited is not its own.
        if self.process == this_process() {
            STORES.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Returns an error if this process was forked while a store was open; `path` is what it wants to open.
pub(crate) fn check(path: &Path) -> StoreResult<()> {
    let parent = PROCESS.load(Ordering::SeqCst);
    refuse(parent, STORES.load(Ordering::SeqCst), this_process(), path)
}

fn refuse(parent: u32, stores: usize, process: u32, path: &Path) -> StoreResult<()> {
    if stores == 0 || parent == process {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        "this process was forked while its parent had a store open, whose threads it lacks: fork before a store is opened \
         or after it was closed, or start a new program (in Python, the start method spawn)",
    )
    .with("file", path.display())
    .with("parent", parent))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn a_child_of_a_process_with_an_open_store_is_refused() {
        let path = Path::new("db");
        refuse(0, 0, 7, path).unwrap();
        refuse(7, 3, 7, path).unwrap();
        refuse(7, 0, 8, path).unwrap();
        let error = refuse(7, 1, 8, path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("db"), "{error}");
    }

    #[test]
    fn an_open_store_counts_until_it_is_dropped() {
        // Other tests of this process open stores meanwhile.
        let open = OpenStore::new(Path::new("db")).unwrap();
        assert!(STORES.load(Ordering::SeqCst) > 0);
        assert_eq!(PROCESS.load(Ordering::SeqCst), this_process());
        drop(open);
    }
}
