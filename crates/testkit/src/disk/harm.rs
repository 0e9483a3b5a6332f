//! What may happen to the bytes of a file from outside.

use std::path::{Path, PathBuf};

use ostrakon_store::clock::Random;
use ostrakon_store::error::StoreResult;

use super::FaultyVfs;

/// The longest piece that is harmed at once.
const PIECE_BYTES: u64 = 4096;

/// How a file comes to hold other bytes than were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// One bit is another one.
    Flipped,
    /// A piece holds zeros, as a sector that was never written.
    Zeroed,
    /// The end is missing.
    Cut,
    /// Something follows the end.
    Longer,
    /// A piece stands there twice, and what follows is moved on.
    Doubled,
    /// A piece is missing, and what follows has moved up.
    Missing,
    /// A piece lies on top of another one of the same length.
    Overwritten,
    /// Two pieces of the same length changed places.
    Exchanged,
    /// Two files of one kind changed places.
    Swapped,
    /// The file has the bytes of another one of its kind.
    Replaced,
    /// The file is gone.
    Gone,
}

impl Harm {
    /// Every one.
    pub const ALL: [Self; 11] = [
        Self::Flipped,
        Self::Zeroed,
        Self::Cut,
        Self::Longer,
        Self::Doubled,
        Self::Missing,
        Self::Overwritten,
        Self::Exchanged,
        Self::Swapped,
        Self::Replaced,
        Self::Gone,
    ];

    /// Harms one of `files`, which are of one kind. Gives the files that hold other bytes than before: none where the
    /// dice would have changed nothing.
    ///
    /// # Errors
    /// There is no such file.
    pub fn strike(
        self,
        disk: &FaultyVfs,
        files: &[PathBuf],
        random: &mut Random,
    ) -> StoreResult<Vec<PathBuf>> {
        let Some(file) = pick(files, random) else {
            return Ok(Vec::new());
        };
        let bytes = disk.content(file)?;
        match self {
            Self::Gone => {
                disk.take_away(file)?;
                return Ok(vec![file.clone()]);
            }
            Self::Swapped | Self::Replaced => {
                let Some(other) = pick(files, random) else {
                    return Ok(Vec::new());
                };
                let others = disk.content(other)?;
                if others == bytes {
                    return Ok(Vec::new());
                }
                disk.overwrite(file, &others)?;
                if self == Self::Replaced {
                    return Ok(vec![file.clone()]);
                }
                disk.overwrite(other, &bytes)?;
                return Ok(vec![file.clone(), other.clone()]);
            }
            _ => {}
        }
        let harmed = self.bytes(&bytes, random);
        if harmed == bytes {
            return Ok(Vec::new());
        }
        disk.overwrite(file, &harmed)?;
        Ok(vec![file.clone()])
    }

    /// The harm to the bytes of one file.
    fn bytes(self, bytes: &[u8], random: &mut Random) -> Vec<u8> {
        let mut harmed = bytes.to_vec();
        let size = bytes.len() as u64;
        if size < 2 {
            return Vec::new();
        }
        let len = (1 + random.below((size / 2).min(PIECE_BYTES))) as usize;
        let mut place = || random.below(size - len as u64 + 1) as usize;
        let (from, to) = (place(), place());
        let piece = from..from + len;
        match self {
            Self::Flipped => harmed[from] ^= 1 << random.below(8),
            Self::Zeroed => harmed[piece].fill(0),
            Self::Cut => harmed.truncate(from),
            Self::Longer => harmed.extend_from_slice(&bytes[piece]),
            Self::Doubled => {
                harmed.splice(piece.end..piece.end, bytes[piece.clone()].iter().copied());
            }
            Self::Missing => drop(harmed.drain(piece)),
            Self::Overwritten => harmed.copy_within(piece, to),
            Self::Exchanged if from.abs_diff(to) >= len => {
                harmed[piece.clone()].copy_from_slice(&bytes[to..to + len]);
                harmed[to..to + len].copy_from_slice(&bytes[piece]);
            }
            Self::Exchanged | Self::Swapped | Self::Replaced | Self::Gone => {}
        }
        harmed
    }
}

fn pick<'a>(files: &'a [PathBuf], random: &mut Random) -> Option<&'a PathBuf> {
    files.get(random.below(files.len().max(1) as u64) as usize)
}

/// A disk with the files of another one below `directory`, all of them durable.
///
/// # Errors
/// Those of the disks, which have no faults.
pub fn copy_of(disk: &FaultyVfs, directory: &Path) -> StoreResult<FaultyVfs> {
    let copy = FaultyVfs::new(1);
    let vfs = copy.shared();
    for file in disk.files_below(directory) {
        if let Some(parent) = file.parent() {
            vfs.create_dir_durably(parent)?;
        }
        drop(vfs.create(&file)?);
        copy.overwrite(&file, &disk.content(&file)?)?;
        if let Some(parent) = file.parent() {
            vfs.sync_dir(parent)?;
        }
    }
    Ok(copy)
}

/// How many rounds of a fault test are played: `few`, or as many times that as `OSTRAKON_FAULTS` says.
#[must_use]
pub fn rounds_wanted(few: u64) -> u64 {
    let wanted = std::env::var("OSTRAKON_FAULTS").ok();
    few * wanted
        .and_then(|text| text.parse::<u64>().ok())
        .unwrap_or(1)
}
