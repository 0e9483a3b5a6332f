//! Long files written and read past the page cache.
//!
//! Table files are written once, read once by a compaction, and meanwhile cached in blocks by the
//! store itself: copies in the page cache only cost time. Measured on a virtual disk with ext4:
//! buffered writes and a sync at the end give 0.39 GB/s and keep a core busy, direct ones 1.0 GB/s
//! and next to no work. Where a file system refuses direct access the same code writes and reads
//! through the page cache.
//!
//! Direct access wants offsets, lengths and memory in multiples of [`ALIGN`]. Data goes through
//! aligned windows. Helper threads, which belong to the process and not to a store, wait for the disk:
//! two windows of a file are written while a third is filled, one is read while another is emptied.

#![expect(
    clippy::disallowed_types,
    reason = "this room is the disk that everyone else is sent to"
)]

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_channel::{Sender, unbounded};
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::contract::{SequentialFile, StreamingFile};
use super::fault::{Operation, io_error, poisoned, short_file};
use super::system;
use crate::error::{Error, StoreResult};
use crate::threads;

/// No device wants more than a page.
const ALIGN: usize = 4096;

/// Bytes of a window that is written. A file holds three.
const WRITE_BYTES: usize = 512 << 10;

/// Bytes of a window that is read.
const READ_BYTES: usize = 256 << 10;

/// Windows of one file being written at once.
const UNDER_WAY: usize = 2;

/// Windows of one file read ahead. Merging a window takes longer than reading one, so one is enough,
/// and a compaction reads up to 32 files: each window more would be megabytes beside the budget.
const READ_AHEAD: usize = 1;

/// Idle windows kept for the next file that is written, so that their memory is not asked for anew.
const IDLE_WINDOWS: usize = 8;

/// Threads that wait for the disk in place of others.
const HELPERS: usize = 4;

/// Turns direct access off again. Some file systems grant it and then refuse each access.
fn go_buffered(file: &File) -> io::Result<()> {
    Ok(system::set_direct(file, false)?)
}

fn refuses_direct(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

/// Aligned memory.
struct Window {
    memory: Vec<u8>,
    start: usize,
    capacity: usize,
    /// Bytes in use.
    len: usize,
}

impl Window {
    /// A window of `capacity` bytes, a multiple of [`ALIGN`].
    fn new(capacity: usize) -> Self {
        let memory = vec![0; capacity + ALIGN];
        let start = memory.as_ptr().addr().wrapping_neg() % ALIGN;
        Self {
            memory,
            start,
            capacity,
            len: 0,
        }
    }

    fn room(&mut self) -> &mut [u8] {
        let (from, to) = (self.start + self.len, self.start + self.capacity);
        self.memory.get_mut(from..to).unwrap_or_default()
    }

    /// The bytes in use and zeros up to the next multiple of [`ALIGN`].
    fn padded(&mut self) -> &[u8] {
        let end = self.len.next_multiple_of(ALIGN);
        let (from, to) = (self.start + self.len, self.start + end);
        if let Some(padding) = self.memory.get_mut(from..to) {
            padding.fill(0);
        }
        self.memory
            .get(self.start..self.start + end)
            .unwrap_or_default()
    }

    fn bytes(&self) -> &[u8] {
        self.memory
            .get(self.start..self.start + self.len)
            .unwrap_or_default()
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// What all files of the process share. The helpers wait for jobs as long as the process lives.
struct Shared {
    jobs: Option<Sender<Job>>,
    /// For writing.
    idle: Mutex<Vec<Window>>,
}

fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| {
        let (sender, receiver) = unbounded::<Job>();
        let started = (0..HELPERS)
            .filter(|number| {
                let receiver = receiver.clone();
                let work = move || receiver.iter().for_each(|job| job());
                threads::spawn(&format!("disk-{number}"), work).is_ok()
            })
            .count();
        Shared {
            jobs: (started > 0).then_some(sender),
            idle: Mutex::new(Vec::new()),
        }
    })
}

impl Shared {
    /// Has `job` done by a helper; without helpers, at once.
    fn hand_over(&self, job: Job) {
        let left = match &self.jobs {
            Some(jobs) => jobs.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some(job) = left {
            job();
        }
    }

    fn take(&self) -> Window {
        let idle = self.idle.lock().pop();
        idle.unwrap_or_else(|| Window::new(WRITE_BYTES))
    }

    fn put(&self, mut window: Window) {
        window.len = 0;
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_WINDOWS {
            idle.push(window);
        }
    }
}

/// A file that is written from beginning to end.
pub(super) struct DirectWriter {
    file: Arc<Written>,
    /// What was not yet handed over; its place in the file is `offset`, a multiple of [`ALIGN`].
    window: Option<Window>,
    offset: u64,
}

struct Written {
    file: File,
    path: PathBuf,
    failed: AtomicBool,
    state: Mutex<WrittenState>,
    landed: Condvar,
}

#[derive(Default)]
struct WrittenState {
    under_way: usize,
    error: Option<io::Error>,
}

impl DirectWriter {
    /// Writes `file`, which is empty and open for writing at any offset.
    pub(super) fn new(file: File, path: &Path) -> Self {
        // Where it is refused, the page cache does.
        let _ = system::set_direct(&file, true);
        Self::without_asking(file, path)
    }

    fn without_asking(file: File, path: &Path) -> Self {
        Self {
            file: Arc::new(Written {
                file,
                path: path.to_owned(),
                failed: AtomicBool::new(false),
                state: Mutex::default(),
                landed: Condvar::new(),
            }),
            window: None,
            offset: 0,
        }
    }

    fn send(&mut self) -> StoreResult<()> {
        let Some(mut window) = self.window.take() else {
            return Ok(());
        };
        self.file.wait_until(UNDER_WAY - 1)?;
        let (file, offset) = (Arc::clone(&self.file), self.offset);
        self.offset += window.len as u64;
        self.file.state.lock().under_way += 1;
        shared().hand_over(Box::new(move || {
            let outcome = file.write(window.padded(), offset);
            shared().put(window);
            file.land(outcome);
        }));
        Ok(())
    }
}

impl Written {
    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match self.file.write_all_at(bytes, offset) {
            Err(error) if refuses_direct(&error) => {
                go_buffered(&self.file)?;
                self.file.write_all_at(bytes, offset)
            }
            outcome => outcome,
        }
    }

    fn land(&self, outcome: io::Result<()>) {
        let mut state = self.state.lock();
        state.under_way -= 1;
        if let Err(error) = outcome {
            state.error.get_or_insert(error);
        }
        self.landed.notify_all();
    }

    /// Waits until at most `most` windows are under way; fails if one failed.
    fn wait_until(&self, most: usize) -> StoreResult<()> {
        if self.failed.load(Ordering::Acquire) {
            return Err(poisoned(Operation::Write, &self.path));
        }
        let mut state = self.state.lock();
        while state.under_way > most {
            self.landed.wait(&mut state);
        }
        match state.error.take() {
            Some(error) => Err(self.fail(Operation::Write, error)),
            None => Ok(()),
        }
    }

    fn fail(&self, operation: Operation, cause: io::Error) -> Error {
        self.failed.store(true, Ordering::Release);
        io_error(operation, &self.path, cause)
    }
}

impl StreamingFile for DirectWriter {
    fn write_all(&mut self, mut bytes: &[u8]) -> StoreResult<()> {
        while !bytes.is_empty() {
            let window = self.window.get_or_insert_with(|| shared().take());
            let room = window.room();
            let taken = room.len().min(bytes.len());
            let (now, later) = bytes.split_at(taken);
            if let Some(room) = room.get_mut(..taken) {
                room.copy_from_slice(now);
            }
            window.len += taken;
            bytes = later;
            if window.len == window.capacity {
                self.send()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> StoreResult<()> {
        let len = self.offset + self.window.as_ref().map_or(0, |window| window.len as u64);
        self.send()?;
        let file = &self.file;
        file.wait_until(0)?;
        // The last window was filled up with zeros.
        file.file
            .set_len(len)
            .map_err(|error| file.fail(Operation::Resize, error))?;
        file.file
            .sync_data()
            .map_err(|error| file.fail(Operation::Sync, error))
    }
}

impl Drop for DirectWriter {
    fn drop(&mut self) {
        if let Some(window) = self.window.take() {
            shared().put(window);
        }
    }
}

impl std::fmt::Debug for DirectWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DirectWriter of {}", self.file.path.display())
    }
}

/// A file that is read in ascending order, a few windows ahead.
pub(super) struct DirectReader {
    file: Arc<Read>,
    /// The windows at and behind the position, in order, without gaps.
    windows: VecDeque<Arc<Slot>>,
    /// Where the next window to be read begins; a multiple of [`ALIGN`].
    next: u64,
    /// Memory of windows that were read to their end.
    spare: Vec<Window>,
}

struct Read {
    file: File,
    path: PathBuf,
    /// Bytes of the file when it was opened.
    len: u64,
}

struct Slot {
    offset: u64,
    outcome: Mutex<Option<io::Result<Window>>>,
    landed: Condvar,
}

impl DirectReader {
    /// Reads `file` from about `from` on.
    pub(super) fn new(file: File, path: &Path, from: u64) -> StoreResult<Self> {
        let len = file
            .metadata()
            .map_err(|error| io_error(Operation::Inspect, path, error))?
            .len();
        // Where it is refused, the page cache does.
        let _ = system::set_direct(&file, true);
        Ok(Self {
            file: Arc::new(Read {
                file,
                path: path.to_owned(),
                len,
            }),
            windows: VecDeque::new(),
            next: from - from % ALIGN as u64,
            spare: Vec::new(),
        })
    }

    fn read_ahead(&mut self) {
        while self.windows.len() <= READ_AHEAD && self.next < self.file.len {
            let slot = Arc::new(Slot {
                offset: self.next,
                outcome: Mutex::new(None),
                landed: Condvar::new(),
            });
            self.windows.push_back(Arc::clone(&slot));
            self.next += READ_BYTES as u64;
            let spare = self.spare.pop();
            let file = Arc::clone(&self.file);
            shared().hand_over(Box::new(move || {
                // Nobody waits for a slot that was given up.
                if Arc::strong_count(&slot) > 1 {
                    let window = spare.unwrap_or_else(|| Window::new(READ_BYTES));
                    let outcome = file.read(slot.offset, window);
                    *slot.outcome.lock() = Some(outcome);
                    slot.landed.notify_all();
                }
            }));
        }
    }
}

impl Read {
    fn read(&self, offset: u64, mut window: Window) -> io::Result<Window> {
        window.len = 0;
        let mut switched = false;
        while window.len < window.capacity {
            let at = offset + window.len as u64;
            match self.file.read_at(window.room(), at) {
                Ok(count) => {
                    window.len += count;
                    if count == 0 || offset + window.len as u64 >= self.len {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if refuses_direct(&error) && !switched => {
                    go_buffered(&self.file)?;
                    switched = true;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(window)
    }
}

impl SequentialFile for DirectReader {
    fn fetch(&mut self, offset: u64, mut bytes: &mut [u8]) -> StoreResult<()> {
        let asked = bytes.len();
        let mut at = offset;
        while !bytes.is_empty() {
            while self
                .windows
                .front()
                .is_some_and(|slot| slot.offset + READ_BYTES as u64 <= at)
            {
                let used = self.windows.pop_front().and_then(Arc::into_inner);
                if let Some(Ok(window)) = used.and_then(|slot| slot.outcome.into_inner()) {
                    self.spare.push(window);
                }
            }
            if self.windows.front().is_none_or(|slot| slot.offset > at) {
                self.windows.clear();
                self.next = at - at % ALIGN as u64;
            }
            self.read_ahead();
            let short = || short_file(&self.file.path, offset, asked, self.file.len);
            let Some(slot) = self.windows.front().cloned() else {
                return Err(short());
            };
            let mut outcome = slot.outcome.lock();
            while outcome.is_none() {
                slot.landed.wait(&mut outcome);
            }
            let Some(Ok(window)) = &*outcome else {
                let error = match outcome.take() {
                    Some(Err(error)) => error,
                    _ => io::ErrorKind::Other.into(),
                };
                self.windows.clear();
                self.next = at - at % ALIGN as u64;
                return Err(
                    io_error(Operation::Read, &self.file.path, error).with("offset", slot.offset)
                );
            };
            let inside = (at - slot.offset) as usize;
            let ready = window.bytes().get(inside..).unwrap_or_default();
            let count = ready.len().min(bytes.len());
            if count == 0 {
                return Err(short());
            }
            let (now, later) = bytes.split_at_mut(count);
            now.copy_from_slice(ready.get(..count).unwrap_or_default());
            bytes = later;
            at += count as u64;
        }
        Ok(())
    }
}

impl std::fmt::Debug for DirectReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DirectReader of {}", self.file.path.display())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    #![allow(clippy::disallowed_methods, reason = "the disk is under test")]

    use std::fs::{self, OpenOptions};

    use super::*;
    use crate::error::ErrorKind;

    fn content(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
    }

    fn create(path: &Path) -> File {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .unwrap()
    }

    #[test]
    fn any_length_is_written_in_pieces_of_any_size_and_read_back() {
        let directory = tempfile::tempdir().unwrap();
        for (direct, len) in [
            0,
            1,
            ALIGN - 1,
            ALIGN,
            READ_BYTES + 1,
            WRITE_BYTES,
            5 * WRITE_BYTES + 777,
        ]
        .into_iter()
        .flat_map(|len| [(true, len), (false, len)])
        {
            let path = directory.path().join(format!("{direct}-{len}"));
            let bytes = content(len);
            let file = create(&path);
            let mut writer = Box::new(if direct {
                DirectWriter::new(file, &path)
            } else {
                DirectWriter::without_asking(file, &path)
            });
            for piece in bytes.chunks(300_001) {
                writer.write_all(piece).unwrap();
            }
            writer.finish().unwrap();
            assert!(fs::read(&path).unwrap() == bytes, "{len}");

            let from = (len / 3) as u64;
            let mut reader = DirectReader::new(File::open(&path).unwrap(), &path, from).unwrap();
            let mut at = len / 3;
            let mut piece = vec![0; 70_001];
            while at < len {
                let count = piece.len().min(len - at);
                reader.fetch(at as u64, &mut piece[..count]).unwrap();
                assert!(piece[..count] == bytes[at..at + count], "{at} of {len}");
                at += count + 10_000;
            }
            // Backwards is slow and right.
            if len > 10 {
                reader.fetch(5, &mut piece[..3]).unwrap();
                assert_eq!(piece[..3], bytes[5..8]);
            }
            let error = reader.fetch(len as u64, &mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        }
    }

    #[test]
    fn a_full_disk_is_told_and_nothing_follows() {
        let full = Path::new("/dev/full");
        let Ok(file) = OpenOptions::new().write(true).open(full) else {
            return;
        };
        let mut writer = Box::new(DirectWriter::new(file, full));
        let error = (0..8)
            .find_map(|_| writer.write_all(&vec![1; WRITE_BYTES]).err())
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::OutOfSpace, "{error}");
        writer.write_all(&[1]).unwrap();
        let error = writer.finish().unwrap_err();
        assert!(error.to_string().contains("earlier write"), "{error}");
    }
}
