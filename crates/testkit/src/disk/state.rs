//! Everything a failing disk remembers, behind one lock.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use ostrakon_store::clock::Random;
use ostrakon_store::error::{Error, ErrorKind, StoreResult};
use ostrakon_store::vfs::{Operation, io_error};

use super::content::Content;
use super::faults::{Counters, Crash, Faults};
use super::names::{Names, Node, is_root};

// The numbers are those of Linux, where the tests run.
pub(super) const EIO: i32 = 5;
pub(super) const EMFILE: i32 = 24;
pub(super) const ENOSPC: i32 = 28;
pub(super) const EROFS: i32 = 30;

#[derive(Debug)]
pub(super) struct State {
    pub(super) names: Names,
    pub(super) files: HashMap<u64, File>,
    next_file: u64,
    /// Rises with each crash; handles of an earlier one are dead.
    pub(super) generation: u64,
    pub(super) open_files: u64,
    pub(super) counters: Counters,
    pub(super) faults: Faults,
    /// The counters when the faults were set.
    since: Counters,
    random: Random,
    /// How many share the lock kept in a file, which need not be there.
    shared: HashMap<PathBuf, u64>,
}

/// A file that some name or handle leads to.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) content: Content,
    pub(super) handles: u64,
    pub(super) locked: bool,
}

/// Whether an operation goes through, or how far it gets.
pub(super) enum Verdict {
    Whole,
    /// Only so many bytes, then this error number.
    Part(usize, i32),
}

impl State {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            names: Names::default(),
            files: HashMap::new(),
            next_file: 1,
            generation: 0,
            open_files: 0,
            counters: Counters::default(),
            faults: Faults::default(),
            since: Counters::default(),
            random: Random::from_seed(seed),
            shared: HashMap::new(),
        }
    }

    pub(super) fn is_shared(&self, lock: &Path) -> bool {
        self.shared.contains_key(lock)
    }

    pub(super) fn share(&mut self, lock: &Path) {
        *self.shared.entry(lock.to_owned()).or_default() += 1;
    }

    pub(super) fn unshare(&mut self, lock: &Path) {
        if let Some(holders) = self.shared.get_mut(lock) {
            *holders -= 1;
            if *holders == 0 {
                self.shared.remove(lock);
            }
        }
    }

    pub(super) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.since = self.counters;
    }

    pub(super) fn crash(&mut self, crash: Crash) {
        self.generation += 1;
        self.open_files = 0;
        self.shared.clear();
        self.faults = Faults::default();
        self.names.crash(crash, &mut self.random);
        // In the order of ids, so that a seed gives the same crash again.
        let mut ids: Vec<u64> = self.files.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            if let Some(file) = self.files.get_mut(&id) {
                file.content.crash(crash, &mut self.random);
                file.handles = 0;
                file.locked = false;
            }
        }
        self.forget_unnamed();
    }

    /// Drops files that neither a name nor a handle leads to.
    pub(super) fn forget_unnamed(&mut self) {
        let named: BTreeSet<u64> = self.names.files().collect();
        self.files
            .retain(|id, file| file.handles > 0 || named.contains(id));
    }

    /// Counts a changing operation, and says whether it is to fail.
    pub(super) fn change(&mut self, operation: Operation, path: &Path) -> StoreResult<()> {
        match self.judge_change() {
            None => Ok(()),
            Some(errno) => Err(refused(operation, path, errno)),
        }
    }

    fn judge_change(&mut self) -> Option<i32> {
        let done = self.counters.operations - self.since.operations;
        self.counters.operations += 1;
        if self.faults.read_only {
            return Some(EROFS);
        }
        let after = self.faults.fail_after_operations;
        let fails =
            after.is_some_and(|limit| done >= limit) || self.faults.fail_operation == Some(done);
        (fails || self.is_dead()).then_some(EIO)
    }

    /// Whether the process was killed before the last operation.
    pub(super) fn is_dead(&self) -> bool {
        let done = self.counters.operations - self.since.operations;
        self.faults
            .die_after_operations
            .is_some_and(|limit| done > limit)
    }

    /// Counts a write of `len` bytes that makes the file `growth` bytes longer.
    pub(super) fn write(&mut self, len: usize, growth: u64) -> Verdict {
        let verdict = match self.judge_change() {
            Some(EROFS) => Verdict::Part(0, EROFS),
            Some(errno) if self.is_dead() => Verdict::Part(0, errno),
            Some(errno) => Verdict::Part(self.random.below(len as u64) as usize, errno),
            None => {
                let missing = growth.saturating_sub(self.free_bytes());
                match missing {
                    0 => Verdict::Whole,
                    _ => Verdict::Part(len.saturating_sub(missing as usize), ENOSPC),
                }
            }
        };
        self.counters.bytes_written += match verdict {
            Verdict::Whole => len as u64,
            Verdict::Part(part, _) => part as u64,
        };
        verdict
    }

    pub(super) fn free_bytes(&self) -> u64 {
        let Some(capacity) = self.faults.capacity_bytes else {
            return u64::MAX;
        };
        // A removed file takes room until its last handle is closed.
        let named: BTreeSet<u64> = self.names.live_files().collect();
        let held = self
            .files
            .iter()
            .filter(|(id, file)| file.handles > 0 || named.contains(id));
        let used: u64 = held.map(|(_, file)| file.content.live().len() as u64).sum();
        capacity.saturating_sub(used)
    }

    /// Counts a sync, and says whether it is to fail.
    pub(super) fn sync(&mut self, path: &Path) -> StoreResult<()> {
        let done = self.counters.syncs - self.since.syncs;
        self.counters.syncs += 1;
        self.change(Operation::Sync, path)?;
        if self.faults.fail_sync_after == Some(done) {
            return Err(refused(Operation::Sync, path, EIO));
        }
        Ok(())
    }

    /// Counts a read, and says whether it is to fail.
    pub(super) fn read(&mut self, path: &Path) -> StoreResult<()> {
        let done = self.counters.reads - self.since.reads;
        self.counters.reads += 1;
        let after = self.faults.fail_after_reads;
        if after.is_some_and(|limit| done >= limit) || self.faults.fail_read == Some(done) {
            return Err(refused(Operation::Read, path, EIO));
        }
        Ok(())
    }

    /// Counts one more open file; the handle gives it back.
    pub(super) fn open(&mut self, operation: Operation, path: &Path, id: u64) -> StoreResult<()> {
        if self
            .faults
            .open_files_max
            .is_some_and(|max| self.open_files >= max)
        {
            return Err(refused(operation, path, EMFILE));
        }
        self.open_files += 1;
        if let Some(file) = self.files.get_mut(&id) {
            file.handles += 1;
        }
        Ok(())
    }

    pub(super) fn close(&mut self, id: u64) {
        self.open_files = self.open_files.saturating_sub(1);
        if let Some(file) = self.files.get_mut(&id) {
            file.handles = file.handles.saturating_sub(1);
        }
    }

    pub(super) fn new_file(&mut self, path: &Path) -> u64 {
        let id = self.next_file;
        self.next_file += 1;
        self.files.insert(id, File::default());
        self.names.put(path, Node::File(id));
        id
    }

    pub(super) fn file_id(&self, operation: Operation, path: &Path) -> StoreResult<u64> {
        match self.names.get(path) {
            Some(Node::File(id)) => Ok(id),
            Some(Node::Directory) => Err(named(operation, path, io::ErrorKind::IsADirectory)),
            None => Err(named(operation, path, io::ErrorKind::NotFound)),
        }
    }

    pub(super) fn check_parent(&self, operation: Operation, path: &Path) -> StoreResult<()> {
        match path.parent() {
            None => Ok(()),
            Some(dir) if is_root(dir) => Ok(()),
            Some(dir) => match self.names.get(dir) {
                Some(Node::Directory) => Ok(()),
                Some(Node::File(_)) => Err(named(operation, path, io::ErrorKind::NotADirectory)),
                None => Err(named(operation, path, io::ErrorKind::NotFound)),
            },
        }
    }

    /// The file behind a handle; an error if the disk crashed since it was opened.
    pub(super) fn of_handle(
        &mut self,
        path: &Path,
        id: u64,
        generation: u64,
    ) -> StoreResult<&mut File> {
        match self.files.get_mut(&id) {
            Some(file) if generation == self.generation => Ok(file),
            _ => Err(
                Error::new(ErrorKind::Io, "the disk crashed after this file was opened")
                    .with("file", path.display()),
            ),
        }
    }
}

pub(super) fn refused(operation: Operation, path: &Path, errno: i32) -> Error {
    io_error(operation, path, io::Error::from_raw_os_error(errno))
}

pub(super) fn named(operation: Operation, path: &Path, kind: io::ErrorKind) -> Error {
    io_error(operation, path, kind.into())
}
