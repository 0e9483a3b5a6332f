//! How the store was last closed: the file `closed`. Page: `docs/format/closed.md`.
//!
//! ```text
//! closed  := magic:8 version:u32 store:u64 segment:u64 bytes:u64 last:u64 last_bytes:u64 commits:u64
//!            sum:u32 checksum:u32                    CRC-32C of the 64 bytes before
//! ```
//!
//! All integers are little-endian. `store` is the id that the log's segments carry. `segment` is
//! the newest segment of the log and `bytes` its length; `last` is the newest one that holds a
//! record, 0 for none, and `last_bytes` its length; `commits` counts the commits of the catalog;
//! `sum` is the checksum of the newest segment's last record, 0 if it has none. All of it was on
//! the disk when the file was written.
//!
//! The file is overwritten in place when a store is closed, and not touched while the store is
//! open. So it does not describe later changes, and its content stays true: if log and catalog
//! match it, the store was closed cleanly and not changed since. A file that is missing or damaged
//! is treated as absent. Opening fails if the file is of another store, or counts more commits than
//! the catalog has.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use crate::codec::{ByteReader, checksum};
use crate::error::StoreResult;
use crate::vfs::Vfs;

/// The file's name in the store's directory.
const FILE_NAME: &str = "closed";
const MAGIC: [u8; 8] = *b"OSTKCLO\n";
const VERSION: u32 = 1;
/// Length of the file.
const BYTES: usize = 68;

/// The state of a store when it was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Closed {
    /// The store id in its log.
    pub(super) store: u64,
    /// The newest segment of the log; 0 if it is unknown.
    pub(super) segment: u64,
    /// Its length.
    pub(super) bytes: u64,
    /// The newest segment with a record; 0 without one.
    pub(super) last: u64,
    /// Its length.
    pub(super) last_bytes: u64,
    /// Commits of the catalog.
    pub(super) commits: u64,
    /// Checksum of the last record of the newest segment; 0 without one.
    pub(super) sum: u32,
}

impl Closed {
    /// Reads the file in `dir`; all fields are 0 if it is absent or damaged.
    pub(super) fn read(vfs: &dyn Vfs, dir: &Path) -> Self {
        let bytes = vfs.read_to_vec(&path(dir), BYTES as u64);
        let known = bytes.ok().and_then(|bytes| Self::decode(&bytes));
        known.unwrap_or_default()
    }

    /// Writes the file, with one sync. What it describes must be on the disk.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn write(&self, vfs: &dyn Vfs, dir: &Path) -> StoreResult<()> {
        let path = path(dir);
        let is_new = !vfs.exists(&path)?;
        let file = vfs.open_in_place(&path)?;
        file.write_at(0, &self.encode())?;
        file.set_len(BYTES as u64)?;
        file.sync_data()?;
        match is_new {
            true => vfs.sync_names(dir, &[&path]),
            false => Ok(()),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        for number in [
            self.store,
            self.segment,
            self.bytes,
            self.last,
            self.last_bytes,
            self.commits,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.sum.to_le_bytes());
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, sum) = bytes.split_last_chunk::<4>()?;
        let mut fields = ByteReader::new(body);
        let is_ours = checksum(body) == u32::from_le_bytes(*sum)
            && fields.take_array() == Some(&MAGIC)
            && fields.u32() == Some(VERSION);
        let mut read = || {
            Some(Self {
                store: fields.u64()?,
                segment: fields.u64()?,
                bytes: fields.u64()?,
                last: fields.u64()?,
                last_bytes: fields.u64()?,
                commits: fields.u64()?,
                sum: fields.u32()?,
            })
        };
        let closed = if is_ours { read() } else { None };
        closed.filter(|_| fields.is_empty())
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join(FILE_NAME)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use proptest::prelude::*;

    use super::*;
    use crate::vfs::MemoryVfs;

    const CLOSED: Closed = Closed {
        store: 1,
        segment: 0x0203,
        bytes: 4,
        last: 5,
        last_bytes: 6,
        commits: 7,
        sum: 0x0809_0a0b,
    };

    #[test]
    fn the_encoding_is_frozen() {
        let mut expected = b"OSTKCLO\n\x01\0\0\0".to_vec();
        for number in [1_u64, 0x0203, 4, 5, 6, 7] {
            expected.extend_from_slice(&number.to_le_bytes());
        }
        expected.extend_from_slice(b"\x0b\x0a\x09\x08");
        let bytes = CLOSED.encode();
        assert_eq!(bytes.len(), BYTES);
        assert_eq!(bytes.split_last_chunk::<4>().unwrap().0, expected);
        assert_eq!(Closed::decode(&bytes), Some(CLOSED));
    }

    #[test]
    fn a_damaged_file_counts_as_absent() {
        let vfs = MemoryVfs::shared();
        let dir = Path::new("/");
        assert_eq!(Closed::read(&*vfs, dir), Closed::default());
        CLOSED.write(&*vfs, dir).unwrap();
        assert_eq!(Closed::read(&*vfs, dir), CLOSED);
        let whole = CLOSED.encode();
        for at in 0..BYTES {
            let mut changed = whole.clone();
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 0x10;
            }
            assert_eq!(Closed::decode(&changed), None, "byte {at}");
            assert_eq!(Closed::decode(&whole[..at]), None);
        }
        vfs.replace(&path(dir), &[whole.as_slice(), b"x"].concat())
            .unwrap();
        assert_eq!(Closed::read(&*vfs, dir), Closed::default());
        let newer = Closed {
            commits: 8,
            ..CLOSED
        };
        newer.write(&*vfs, dir).unwrap();
        assert_eq!(Closed::read(&*vfs, dir), newer);
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_rejected(bytes: Vec<u8>) {
            let _ = Closed::decode(&bytes);
        }
    }
}
