//! Aligned memory for direct I/O, which bypasses the page cache.

#![expect(
    clippy::disallowed_types,
    reason = "this module implements the file system for all others"
)]

use std::fs::File;
use std::io;

use rustix::io::Errno;

use super::system;

/// No device needs an alignment above one page.
pub(super) const ALIGN: usize = 4096;

/// Turns direct I/O off. Some file systems allow it and then reject each access.
pub(super) fn go_buffered(file: &File) -> io::Result<()> {
    Ok(system::set_direct(file, false)?)
}

pub(super) fn refuses_direct(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::INVAL.raw_os_error())
}

/// Aligned memory.
pub(super) struct Window {
    memory: Vec<u8>,
    start: usize,
    pub(super) capacity: usize,
    /// Bytes in use.
    pub(super) len: usize,
}

impl Window {
    /// A window of `capacity` bytes, a multiple of [`ALIGN`].
    pub(super) fn new(capacity: usize) -> Self {
        let memory = vec![0; capacity + ALIGN];
        let start = memory.as_ptr().addr().wrapping_neg() % ALIGN;
        Self {
            memory,
            start,
            capacity,
            len: 0,
        }
    }

    pub(super) fn room(&mut self) -> &mut [u8] {
        let (from, to) = (self.start + self.len, self.start + self.capacity);
        self.memory.get_mut(from..to).unwrap_or_default()
    }

    /// The bytes in use and zeros up to the next multiple of [`ALIGN`].
    pub(super) fn padded(&mut self) -> &[u8] {
        let end = self.len.next_multiple_of(ALIGN);
        let (from, to) = (self.start + self.len, self.start + end);
        if let Some(padding) = self.memory.get_mut(from..to) {
            padding.fill(0);
        }
        self.memory
            .get(self.start..self.start + end)
            .unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.memory
            .get(self.start..self.start + self.len)
            .unwrap_or_default()
    }

    /// Copies as much of `bytes` as fits, and returns the rest.
    pub(super) fn append<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let room = self.room();
        let taken = room.len().min(bytes.len());
        let (now, later) = bytes.split_at(taken);
        if let Some(room) = room.get_mut(..taken) {
            room.copy_from_slice(now);
        }
        self.len += taken;
        later
    }

    pub(super) fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} bytes", self.len, self.capacity)
    }
}
