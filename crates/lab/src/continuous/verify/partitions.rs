//! Sorts links into partitions by row, in memory up to a limit, then on disk.
//!
//! A *mark* is one number: a row, and whether it says "is there" or "is pointed to". Marks come in
//! any order and any number; a partition holds those of one range of rows. Each thread collects a few marks
//! per partition and passes them on together. Full chunks of a partition are kept in memory or
//! written to one file, which has no name and disappears with the process.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::{Error, ErrorKind, Result};
use parking_lot::Mutex;

/// Marks a thread collects for a partition before it hands them over.
const STAGED: usize = 32;
/// Bytes of a mark.
const MARK_BYTES: u64 = 8;
/// The least memory verify works with.
pub(super) const MEMORY_MIN: u64 = 4 << 20;

/// The mark of a row that is there.
#[inline]
pub(super) fn defined(row: u64) -> u64 {
    row << 1
}

/// The mark of a row that is pointed to.
#[inline]
pub(super) fn referenced(row: u64) -> u64 {
    row << 1 | 1
}

/// Where chunks go, and how much may stay in memory.
pub(super) struct Spill {
    file: File,
    end: AtomicU64,
    kept_bytes: AtomicU64,
    kept_max: u64,
}

impl Spill {
    /// A file without a name in `directory`; `kept_max` bytes stay out of it.
    pub(super) fn new(directory: &Path, kept_max: u64) -> Result<Self> {
        let file = tempfile::tempfile_in(directory).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                "no file can be made in the scratch directory: name another one",
            )
            .with("directory", directory.display())
            .with_source(error)
        })?;
        Ok(Self {
            file,
            end: AtomicU64::new(0),
            kept_bytes: AtomicU64::new(0),
            kept_max,
        })
    }

    /// Bytes written to the file.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether this number of additional bytes may stay in memory; if so, they are counted.
    fn keep(&self, bytes: u64) -> bool {
        self.kept_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| {
                Some(kept + bytes).filter(|kept| *kept <= self.kept_max)
            })
            .is_ok()
    }

    fn write(&self, marks: &[u64]) -> Result<Chunk> {
        let mut bytes = vec![0; size_of_val(marks)];
        for (bytes, mark) in bytes.chunks_exact_mut(8).zip(marks) {
            bytes.copy_from_slice(&mark.to_le_bytes());
        }
        let at = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(&bytes, at).map_err(|error| {
            let kind = if error.kind() == std::io::ErrorKind::StorageFull {
                ErrorKind::OutOfSpace
            } else {
                ErrorKind::Io
            };
            Error::new(
                kind,
                "the scratch file cannot be written: give verify more memory or another scratch \
                 directory",
            )
            .with_source(error)
        })?;
        Ok(Chunk {
            at,
            marks: marks.len(),
        })
    }

    fn read(&self, chunk: &Chunk, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.resize(chunk.marks * MARK_BYTES as usize, 0);
        self.file.read_exact_at(bytes, chunk.at).map_err(|error| {
            Error::new(ErrorKind::Io, "the scratch file cannot be read").with_source(error)
        })
    }
}

/// A run of marks in the file.
struct Chunk {
    at: u64,
    marks: usize,
}

/// The marks of one stretch of rows.
#[derive(Default)]
pub(super) struct Partition {
    /// The chunk being filled.
    open: Vec<u64>,
    kept: Vec<Vec<u64>>,
    spilled: Vec<Chunk>,
    /// Number of marks.
    pub(super) len: u64,
}

impl Partition {
    /// Hands out all marks in pieces, in any order, and empties the partition.
    pub(super) fn drain(
        &mut self,
        spill: &Spill,
        mut take: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        take(&self.open)?;
        self.open = Vec::new();
        for chunk in self.kept.drain(..) {
            take(&chunk)?;
            spill
                .kept_bytes
                .fetch_sub(chunk.len() as u64 * MARK_BYTES, Ordering::Relaxed);
        }
        let (mut bytes, mut marks) = (Vec::new(), Vec::new());
        for chunk in self.spilled.drain(..) {
            spill.read(&chunk, &mut bytes)?;
            marks.clear();
            marks.extend(bytes.chunks_exact(8).map(|bytes| {
                let mut mark = [0; 8];
                mark.copy_from_slice(bytes);
                u64::from_le_bytes(mark)
            }));
            take(&marks)?;
        }
        self.len = 0;
        Ok(())
    }
}

/// Partitions that together cover the marks from `low` on, `width` each.
pub(super) struct Partitions<'a> {
    spill: &'a Spill,
    low: u64,
    /// Each partition covers 2^shift marks.
    shift: u32,
    chunk_marks: usize,
    parts: Vec<Mutex<Partition>>,
}

impl<'a> Partitions<'a> {
    /// At most `count` partitions (a power of two) over the `width` marks from `low` on, with
    /// `open_bytes` for the chunks being filled.
    pub(super) fn new(
        spill: &'a Spill,
        (low, width): (u64, u64),
        count: usize,
        open_bytes: u64,
    ) -> Self {
        let bits = u64::BITS - width.saturating_sub(1).leading_zeros();
        // Both marks of a row stay together.
        let shift = bits.saturating_sub(count.max(2).ilog2()).max(1);
        let count = (width.saturating_sub(1) >> shift) as usize + 1;
        let chunk_marks = (open_bytes / MARK_BYTES) as usize / count;
        Self {
            spill,
            low,
            shift,
            chunk_marks: chunk_marks.clamp(STAGED, 8192),
            parts: (0..count).map(|_| Mutex::default()).collect(),
        }
    }

    /// Number of partitions.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The first mark of a partition, and how many different marks it covers.
    pub(super) fn stretch(&self, at: usize) -> (u64, u64) {
        (self.low + ((at as u64) << self.shift), 1 << self.shift)
    }

    /// Takes a partition out.
    pub(super) fn take(&self, at: usize) -> Partition {
        self.parts
            .get(at)
            .map(|part| std::mem::take(&mut *part.lock()))
            .unwrap_or_default()
    }

    fn add(&self, at: usize, marks: &[u64]) -> Result<()> {
        let Some(part) = self.parts.get(at) else {
            return Err(Error::new(
                ErrorKind::Internal,
                "a mark lies beyond the last partition",
            ));
        };
        let mut part = part.lock();
        part.len += marks.len() as u64;
        let mut rest = marks;
        while !rest.is_empty() {
            if part.open.capacity() == 0 {
                part.open.reserve_exact(self.chunk_marks);
            }
            let room = self.chunk_marks - part.open.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            part.open.extend_from_slice(now);
            rest = later;
            if part.open.len() == self.chunk_marks {
                self.put_away(&mut part)?;
            }
        }
        Ok(())
    }

    fn put_away(&self, part: &mut Partition) -> Result<()> {
        if self.spill.keep(part.open.len() as u64 * MARK_BYTES) {
            let chunk = std::mem::take(&mut part.open);
            part.kept.push(chunk);
        } else {
            let chunk = self.spill.write(&part.open)?;
            part.spilled.push(chunk);
            part.open.clear();
        }
        Ok(())
    }
}

/// Collects marks for one thread.
pub(super) struct Stage<'a> {
    partitions: &'a Partitions<'a>,
    marks: Vec<[u64; STAGED]>,
    filled: Vec<u8>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(partitions: &'a Partitions<'a>) -> Self {
        Self {
            partitions,
            marks: vec![[0; STAGED]; partitions.len()],
            filled: vec![0; partitions.len()],
        }
    }

    /// Adds a mark, which must lie in the partitions' stretch.
    #[inline]
    pub(super) fn push(&mut self, mark: u64) -> Result<()> {
        let at = ((mark - self.partitions.low) >> self.partitions.shift) as usize;
        let filled = usize::from(self.filled[at]);
        self.marks[at][filled] = mark;
        if filled + 1 < STAGED {
            self.filled[at] = filled as u8 + 1;
            return Ok(());
        }
        self.filled[at] = 0;
        self.partitions.add(at, &self.marks[at])
    }

    /// Hands over what is left.
    pub(super) fn finish(self) -> Result<()> {
        for (at, (marks, filled)) in self.marks.iter().zip(&self.filled).enumerate() {
            self.partitions.add(at, &marks[..usize::from(*filled)])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever goes in comes out once, from the partition that covers it, whether it was
        /// kept or spilled.
        #[test]
        fn marks_come_out_where_they_belong(
            low in (0..1_u64 << 62).prop_map(|row| row << 1),
            width in 2..1_u64 << 40,
            count in prop::sample::select(vec![2_usize, 4, 64]),
            kept_max in prop::sample::select(vec![0_u64, 2_000, 1 << 20]),
            seeds in prop::collection::vec(any::<u64>(), 0..3000),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let spill = Spill::new(folder.path(), kept_max).unwrap();
            let partitions = Partitions::new(&spill, (low, width), count, 4096);
            prop_assert!(partitions.len() <= count);
            let mut marks: Vec<u64> = seeds.iter().map(|seed| low + seed % width).collect();
            let mut stage = Stage::new(&partitions);
            for mark in &marks {
                stage.push(*mark).unwrap();
            }
            stage.finish().unwrap();
            let mut got = Vec::new();
            for at in 0..partitions.len() {
                let (low, width) = partitions.stretch(at);
                let mut part = partitions.take(at);
                let before = got.len() as u64;
                let len = part.len;
                part.drain(&spill, |marks| {
                    assert!(marks.iter().all(|mark| *mark >= low && mark - low < width));
                    got.extend_from_slice(marks);
                    Ok(())
                }).unwrap();
                prop_assert_eq!(got.len() as u64, before + len);
            }
            got.sort_unstable();
            marks.sort_unstable();
            prop_assert_eq!(got, marks);
            prop_assert_eq!(spill.kept_bytes.load(Ordering::Relaxed), 0);
            if kept_max == 0 && count == 2 && seeds.len() > 2048 {
                prop_assert!(spill.spilled_bytes() > 0);
            }
        }
    }

    #[test]
    fn a_scratch_directory_that_is_not_there_is_named() {
        let error = Spill::new(Path::new("nowhere/at/all"), 0)
            .map(|_| ())
            .unwrap_err();
        assert!(error.to_string().contains("nowhere/at/all"), "{error}");
    }
}
