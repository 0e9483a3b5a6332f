//! A file that grows at its end, on the file system of the operating system.

#![expect(
    clippy::disallowed_types,
    reason = "this module implements the file system for all others"
)]

use std::fs::File;
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::contract::{FileSyncer, WritableFile};
use super::fault::{Operation, io_error, poisoned};
use super::system;
use super::window::{ALIGN, Window, go_buffered, refuses_direct};
use crate::error::{Error, StoreResult};

/// The part of an appended file that is shared with its syncers.
#[derive(Debug)]
struct SharedFile {
    file: File,
    path: PathBuf,
    failed: AtomicBool,
}

impl SharedFile {
    fn check(&self, operation: Operation) -> StoreResult<()> {
        if self.failed.load(Ordering::Acquire) {
            return Err(poisoned(operation, &self.path));
        }
        Ok(())
    }

    fn fail(&self, operation: Operation, cause: io::Error) -> Error {
        self.failed.store(true, Ordering::Release);
        io_error(operation, &self.path, cause)
    }
}

impl FileSyncer for SharedFile {
    fn sync_data(&self) -> StoreResult<()> {
        self.check(Operation::Sync)?;
        self.file
            .sync_data()
            .map_err(|e| self.fail(Operation::Sync, e))
    }
}

/// A file that grows at its end.
///
/// Large pieces that are synced right after bypass the page cache, up to the last whole page; the
/// rest goes through it, and is written again with the next large piece. So the file's length
/// always equals the bytes written. Measured on a log of a hundred million entries: copying into
/// fresh pages of the cache took a sixth of all processor time.
#[derive(Debug)]
pub(super) struct AppendedFile {
    shared: Arc<SharedFile>,
    position: u64,
    /// The bytes after the last whole page.
    tail: Vec<u8>,
    /// The buffer for direct I/O.
    window: Option<Window>,
    /// Whether this file system rejected direct I/O.
    refused: bool,
}

/// Smaller pieces go through the page cache: two writes to the disk cost more than the copy.
const THROUGH_BYTES: usize = 128 << 10;

/// Bytes of the window, which are written at once.
const THROUGH_WINDOW_BYTES: usize = 1 << 20;

/// The kernel takes at most this many slices at a time (`IOV_MAX` on Linux).
const SLICES_PER_CALL_MAX: usize = 1024;

impl AppendedFile {
    /// Appends to `file`, which is empty and open for writing.
    pub(super) fn new(file: File, path: &Path) -> Self {
        Self {
            shared: Arc::new(SharedFile {
                file,
                path: path.to_owned(),
                failed: AtomicBool::new(false),
            }),
            position: 0,
            tail: Vec::new(),
            window: None,
            refused: false,
        }
    }

    /// Counts bytes that were appended.
    fn written(&mut self, bytes: &[u8]) {
        self.position += bytes.len() as u64;
        let behind = (self.position % ALIGN as u64) as usize;
        if let Some(start) = bytes.len().checked_sub(behind) {
            self.tail.clear();
            self.tail
                .extend_from_slice(bytes.get(start..).unwrap_or_default());
        } else {
            self.tail.extend_from_slice(bytes);
        }
    }

    /// Writes with direct I/O turned on, and off afterwards.
    fn write_past_the_cache(&mut self, slices: &[IoSlice<'_>]) -> io::Result<()> {
        let mut window = match self.window.take() {
            Some(window) => window,
            None => Window::new(THROUGH_WINDOW_BYTES),
        };
        window.clear();
        let mut at = self.position - self.tail.len() as u64;
        window.append(&self.tail);
        for slice in slices {
            let mut rest: &[u8] = slice;
            while !rest.is_empty() {
                rest = window.append(rest);
                if window.is_full() {
                    self.write_pages(window.bytes(), at)?;
                    at += window.bytes().len() as u64;
                    window.clear();
                }
            }
        }
        let (pages, behind) = window
            .bytes()
            .split_at(window.bytes().len() / ALIGN * ALIGN);
        self.write_pages(pages, at)?;
        at += pages.len() as u64;
        let file = &self.shared.file;
        go_buffered(file)?;
        file.write_all_at(behind, at)?;
        self.position = at + behind.len() as u64;
        (&mut &*file).seek(SeekFrom::Start(self.position))?;
        self.tail.clear();
        self.tail.extend_from_slice(behind);
        self.window = Some(window);
        Ok(())
    }

    fn write_pages(&mut self, pages: &[u8], at: u64) -> io::Result<()> {
        let file = &self.shared.file;
        match file.write_all_at(pages, at) {
            Err(error) if refuses_direct(&error) => {
                self.refused = true;
                go_buffered(file)?;
                file.write_all_at(pages, at)
            }
            outcome => outcome,
        }
    }
}

impl WritableFile for AppendedFile {
    fn write_all(&mut self, bytes: &[u8]) -> StoreResult<()> {
        self.shared.check(Operation::Write)?;
        (&self.shared.file)
            .write_all(bytes)
            .map_err(|e| self.shared.fail(Operation::Write, e))?;
        self.written(bytes);
        Ok(())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        self.shared.check(Operation::Write)?;
        for group in slices.chunks(SLICES_PER_CALL_MAX) {
            let mut count = 0;
            // The kernel may write less than requested; continue where it stopped.
            let mut owned: Vec<IoSlice<'_>> =
                group.iter().map(|slice| IoSlice::new(slice)).collect();
            let mut rest = owned.as_mut_slice();
            IoSlice::advance_slices(&mut rest, 0);
            while !rest.is_empty() {
                match (&self.shared.file).write_vectored(rest) {
                    Ok(0) => {
                        return Err(self
                            .shared
                            .fail(Operation::Write, io::ErrorKind::WriteZero.into()));
                    }
                    Ok(written) => {
                        count += written;
                        IoSlice::advance_slices(&mut rest, written);
                    }
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(self.shared.fail(Operation::Write, e)),
                }
            }
            debug_assert_eq!(count, group.iter().map(|slice| slice.len()).sum::<usize>());
            group.iter().for_each(|slice| self.written(slice));
        }
        Ok(())
    }

    fn write_through(&mut self, slices: &[IoSlice<'_>]) -> StoreResult<()> {
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        if bytes < THROUGH_BYTES || self.refused {
            return self.write_vectored(slices);
        }
        self.shared.check(Operation::Write)?;
        if system::set_direct(&self.shared.file, true).is_err() {
            self.refused = true;
            return self.write_vectored(slices);
        }
        self.write_past_the_cache(slices)
            .map_err(|e| self.shared.fail(Operation::Write, e))
    }

    fn sync_data(&mut self) -> StoreResult<()> {
        self.shared.sync_data()
    }

    fn syncer(&self) -> Arc<dyn FileSyncer> {
        self.shared.clone()
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn allocate(&mut self, bytes: u64) -> StoreResult<()> {
        if bytes == 0 {
            return Ok(());
        }
        match system::reserve(&self.shared.file, bytes) {
            Err(e @ (Errno::NOSPC | Errno::DQUOT)) => {
                Err(io_error(Operation::Resize, &self.shared.path, e.into()))
            }
            // Only a hint: a file system that cannot reserve space is not an error.
            _ => Ok(()),
        }
    }

    fn start_writeback(&mut self, offset: u64, bytes: u64) {
        system::start_writeback(&self.shared.file, offset, bytes);
    }

    fn path(&self) -> &Path {
        &self.shared.path
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    #![allow(clippy::disallowed_methods, reason = "the disk is under test")]

    use std::fs::{self, OpenOptions};

    use super::*;
    use crate::error::ErrorKind;

    fn create(path: &Path) -> AppendedFile {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(path).unwrap();
        AppendedFile::new(file, path)
    }

    #[test]
    fn pieces_of_any_size_are_appended_on_every_path() {
        const LARGE: usize = THROUGH_WINDOW_BYTES;
        let directory = tempfile::tempdir().unwrap();
        for refused in [false, true] {
            let path = directory.path().join(format!("file-{refused}"));
            let mut file = create(&path);
            file.refused = refused;
            let mut expected = Vec::new();
            let sizes = [
                1,
                THROUGH_BYTES,
                5,
                4090,
                LARGE,
                ALIGN,
                LARGE + 1,
                0,
                3 * LARGE - 77,
                77,
                THROUGH_BYTES,
                ALIGN - 1,
                2 * LARGE,
                300_000,
                300_000,
                12,
            ];
            for (number, size) in sizes.into_iter().enumerate() {
                let piece: Vec<u8> = (0..size).map(|at| (at ^ at >> 8 ^ number) as u8).collect();
                let (one, other) = piece.split_at(size / 3);
                match number % 5 {
                    0 => file.write_all(&piece).unwrap(),
                    1 => {
                        let slices = [IoSlice::new(one), IoSlice::new(other)];
                        file.write_vectored(&slices).unwrap();
                    }
                    _ => {
                        let slices = [IoSlice::new(one), IoSlice::new(other)];
                        file.write_through(&slices).unwrap();
                    }
                }
                expected.extend_from_slice(&piece);
                assert_eq!(file.position(), expected.len() as u64);
                // Another process sees exactly the written bytes, though nothing was synced.
                assert!(fs::read(&path).unwrap() == expected, "{number}, {refused}");
            }
            file.sync_data().unwrap();
            // Otherwise nothing bypassed the cache, and the path was not tested.
            assert!(file.refused || file.window.is_some());
        }
    }

    #[test]
    fn a_failed_file_rejects_further_writes() {
        // Writing to this device always fails with a full disk.
        let full = Path::new("/dev/full");
        let Ok(file) = OpenOptions::new().write(true).open(full) else {
            return;
        };
        let mut file = AppendedFile::new(file, full);
        let error = file.write_all(b"x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfSpace, "{error}");
        let error = file.write_vectored(&[IoSlice::new(b"x")]).unwrap_err();
        assert!(error.to_string().contains("earlier write"), "{error}");
        assert!(
            file.sync_data()
                .unwrap_err()
                .to_string()
                .contains("earlier write")
        );
        assert!(file.syncer().sync_data().is_err());
        assert_eq!(file.position(), 0);
    }
}
