//! Writes a sorted file from beginning to end.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;
use ostrakon_cell::{Batch, Key};

use super::block::BlockBuilder;
use super::filter::FilterBuilder;
use super::format::{
    Description, Group, PartPlace, Partition, begin_frame, end_frame, put_footer, put_header,
};
use super::index::{BlockPlace, IndexBuilder};
use super::options::WriterOptions;
use crate::clock::Random;
use crate::codec::{BlockCodec, Compression, Compressor, RAW_BYTES_MAX};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::{StreamingFile, Vfs, this_process};

/// Bytes written to the file at a time.
const WRITE_BYTES: usize = 256 << 10;

/// The summary of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// Unique per file; 0 for a file of version 1, which has none.
    pub identity: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Number of entries, delete markers included.
    pub entries: u64,
    /// Number of delete markers.
    pub deletes: u64,
    /// First row; empty if there is no entry.
    pub first_row: Vec<u8>,
    /// Last row; empty if there is no entry.
    pub last_row: Vec<u8>,
    /// Oldest timestamp; `i64::MAX` if there is no entry.
    pub oldest: i64,
    /// Newest timestamp; `i64::MIN` if there is no entry.
    pub newest: i64,
}

/// One locality group that is being written.
#[derive(Debug)]
struct GroupWriter {
    builder: BlockBuilder,
    index: IndexBuilder,
    /// The last key of the previous block, once there is one.
    last_key: Option<Key>,
}

/// Writes one sorted file. Dropped before [`finish`](Self::finish), it removes the file.
#[derive(Debug)]
pub struct SortedFileWriter {
    vfs: Arc<dyn Vfs>,
    path: PathBuf,
    /// `None` once it is being finished.
    file: Option<Box<dyn StreamingFile>>,
    identity: u64,
    /// Whether finishing began and did not complete.
    unfinished: bool,
    /// The process that writes the file.
    process: u32,
    options: WriterOptions,
    /// Size at which a block is closed, in bytes.
    full_block: usize,
    /// The last one is the default group.
    groups: Vec<GroupWriter>,
    group_of: HashMap<Vec<u8>, usize>,
    filter: Option<FilterBuilder>,
    compressor: Compressor,
    raw: Vec<u8>,
    /// Bytes not yet passed to the system, which has `written`.
    out: Vec<u8>,
    written: u64,
    last_row: Vec<u8>,
    entries: u64,
    description: Description,
}

impl SortedFileWriter {
    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// Those of the disk; `InvalidArgument` for an impossible compression level.
    pub fn create(
        vfs: &Arc<dyn Vfs>,
        path: &Path,
        mut options: WriterOptions,
    ) -> StoreResult<Self> {
        options.block_bytes = options.block_bytes.clamp(1 << 10, 16 << 20);
        options.index_partition_bytes = options.index_partition_bytes.clamp(1 << 6, 16 << 20);
        // A block's last entry and its headers are added, and allocators have size classes: a
        // little more than 32 KiB takes 40.
        let full_block = options.block_bytes - options.block_bytes / 32;
        let compressor = Compressor::new(options.compression)?;
        let mut group_of = HashMap::new();
        for (at, group) in options.locality_groups.iter().enumerate() {
            for family in &group.families {
                group_of.entry(family.clone()).or_insert(at);
            }
        }
        let groups = (0..=options.locality_groups.len())
            .map(|_| GroupWriter {
                builder: BlockBuilder::new(),
                index: IndexBuilder::new(options.index_partition_bytes),
                last_key: None,
            })
            .collect();
        let filter = options
            .filter
            .map(|filter| FilterBuilder::new(filter.functor, filter.error_rate));
        let origin = options.origin;
        let mut out = Vec::with_capacity(WRITE_BYTES + 2 * options.block_bytes);
        put_header(&mut out);
        Ok(Self {
            file: Some(vfs.create_streaming(path)?),
            identity: options.identity.map_or_else(fresh_identity, u64::from),
            unfinished: false,
            process: this_process(),
            vfs: vfs.clone(),
            path: path.to_owned(),
            options,
            full_block,
            groups,
            group_of,
            filter,
            compressor,
            raw: Vec::new(),
            out,
            written: 0,
            last_row: Vec::new(),
            entries: 0,
            description: Description {
                origin,
                oldest: i64::MAX,
                newest: i64::MIN,
                ..Description::default()
            },
        })
    }

    /// The path given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Entries appended so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Approximate length of the file if it were finished now, without indexes and filters.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        let pending: usize = self
            .groups
            .iter()
            .map(|group| group.builder.raw_estimate())
            .sum();
        self.written + self.out.len() as u64 + pending as u64
    }

    /// Appends the entries `range` of a batch, which must not be less than those appended earlier.
    /// Equal keys may repeat.
    ///
    /// # Errors
    /// `Internal` when an entry is out of order or the range is not of this batch; those of the
    /// disk. After an error the writer must be dropped.
    pub fn append(&mut self, batch: &Batch, range: Range<usize>) -> StoreResult<()> {
        if range.is_empty() {
            return Ok(());
        }
        let Some(slots) = batch.slots().get(range.clone()) else {
            return Err(Error::new(
                ErrorKind::Internal,
                "a range of entries is not of its batch",
            ));
        };
        if self.entries == 0 {
            self.description.first_row = batch.row(range.start).to_vec();
        }
        let default_group = self.groups.len() - 1;
        let mut last_row = std::mem::take(&mut self.last_row);
        let mut before = None;
        for (at, slot) in range.clone().zip(slots) {
            let key = batch.key(at);
            let value = batch.bytes(slot.value);
            let same_row = before == Some(slot.row);
            let mut same_row_in_group = same_row;
            let mut group_at = default_group;
            if default_group > 0 {
                let row = before.map_or(last_row.as_slice(), |span| batch.bytes(span));
                if row > key.row && self.entries > 0 {
                    return Err(self.out_of_order());
                }
                same_row_in_group = false;
                group_at = self
                    .group_of
                    .get(key.family)
                    .copied()
                    .unwrap_or(default_group);
            }
            before = Some(slot.row);
            if let Some(filter) = &mut self.filter {
                // Partitions are cut between rows if possible; for a row in two of them both are
                // queried.
                if filter.is_full() && (!same_row || filter.is_overfull()) {
                    self.write_partition()?;
                }
                if let Some(filter) = &mut self.filter {
                    filter.push(key, same_row);
                }
            }
            let Some(group) = self.groups.get_mut(group_at) else {
                continue;
            };
            // A large value gets its own block, so that its neighbours can be read without it.
            if value.len() >= self.options.block_bytes && !group.builder.is_empty() {
                self.write_block(group_at)?;
            }
            let Some(group) = self.groups.get_mut(group_at) else {
                continue;
            };
            if group.builder.is_empty() {
                let last = group.last_key.as_ref().map(Key::as_ref);
                if last.is_some_and(|last| last > key) {
                    return Err(self.out_of_order());
                }
                group.index.begin(last, key);
                same_row_in_group = false;
            }
            if group.builder.push(key, value, same_row_in_group).is_err() {
                return Err(self.out_of_order());
            }
            self.entries += 1;
            if group.builder.raw_estimate() >= self.full_block || group.builder.is_full() {
                self.write_block(group_at)?;
            }
        }
        last_row.clear();
        last_row.extend_from_slice(batch.row(range.end - 1));
        self.last_row = last_row;
        Ok(())
    }

    /// Completes the file and makes it durable, its name included.
    ///
    /// # Errors
    /// Those of the disk; then the file is removed.
    pub fn finish(mut self) -> StoreResult<FileSummary> {
        for group in 0..self.groups.len() {
            if self
                .groups
                .get(group)
                .is_some_and(|group| !group.builder.is_empty())
            {
                self.write_block(group)?;
            }
        }
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !filter.is_empty())
        {
            self.write_partition()?;
        }
        self.description.functor = self.filter.as_ref().map(FilterBuilder::functor);
        for at in 0..self.groups.len() {
            self.write_index_rest(at)?;
            let Some(GroupWriter { index, .. }) = self.groups.get(at) else {
                continue;
            };
            let partitioned = index.is_partitioned();
            let bytes = match partitioned {
                true => index.root(),
                false => index.partition(),
            };
            let (blocks, entries) = (index.blocks(), index.entries());
            let named = self.options.locality_groups.get(at);
            let (name, families) = named.map_or_else(Default::default, |group| {
                (group.name.as_bytes().to_vec(), group.families.clone())
            });
            let index = self.write_part(&bytes)?;
            self.description.groups.push(Group {
                name,
                families,
                index,
                partitioned,
                blocks,
                entries,
            });
        }
        self.description.entries = self.entries;
        self.description.last_row = std::mem::take(&mut self.last_row);
        let description = self.description.encode();
        let place = self.write_part(&description)?;
        put_footer(place, self.identity, &mut self.out);
        self.flush()?;
        let Some(file) = self.file.take() else {
            return Err(Error::new(
                ErrorKind::Internal,
                "a finished writer was finished",
            ));
        };
        self.unfinished = true;
        file.finish()?;
        if let Some(directory) = self.path.parent() {
            self.vfs.sync_names(directory, &[&self.path])?;
        }
        self.unfinished = false;
        let description = std::mem::take(&mut self.description);
        Ok(description.summary(self.written, self.identity))
    }

    #[cold]
    fn out_of_order(&self) -> Error {
        // Not the key: a reader of the log may lack the authorizations for it.
        Error::new(
            ErrorKind::Internal,
            "entries to be written are out of order",
        )
        .with("file", self.path.display())
        .with("entry", self.entries)
    }

    fn offset(&self) -> u64 {
        self.written + self.out.len() as u64
    }

    /// Writes the block that a group has collected.
    fn write_block(&mut self, at: usize) -> StoreResult<()> {
        let offset = self.offset();
        let Some(group) = self.groups.get_mut(at) else {
            return Ok(());
        };
        group
            .builder
            .last_key(group.last_key.get_or_insert_with(Key::default));
        let start = begin_frame(&mut self.out);
        let (codec, raw_len, counts);
        if self.options.compression == Compression::None {
            let payload = self.out.len();
            counts = group.builder.finish(&mut self.out);
            (codec, raw_len) = (BlockCodec::None, self.out.len() - payload);
        } else {
            self.raw.clear();
            counts = group.builder.finish(&mut self.raw);
            raw_len = self.raw.len();
            codec = if raw_len > RAW_BYTES_MAX {
                self.out.extend_from_slice(&self.raw);
                BlockCodec::None
            } else {
                self.compressor.compress(&self.raw, &mut self.out)?
            };
            if raw_len > WRITE_BYTES {
                // One huge value must not hold its memory until the end of the file.
                self.raw = Vec::new();
            }
        }
        end_frame(&mut self.out, start, codec, raw_len, offset, self.identity);
        let place = BlockPlace {
            offset,
            bytes: (self.out.len() - start) as u32,
        };
        group.index.end(place, counts.entries);
        self.description.deletes += counts.deletes;
        self.description.oldest = self.description.oldest.min(counts.oldest);
        self.description.newest = self.description.newest.max(counts.newest);
        let is_full = group.index.is_full();
        if self.out.len() >= WRITE_BYTES {
            self.flush()?;
        }
        if is_full {
            self.write_index_partition(at)?;
        }
        Ok(())
    }

    /// Writes the rest of a partitioned index. An index that was never split is not written here.
    fn write_index_rest(&mut self, group: usize) -> StoreResult<()> {
        let index = self.groups.get(group).map(|group| &group.index);
        if index.is_some_and(|index| index.is_partitioned() && index.has_rest()) {
            self.write_index_partition(group)?;
        }
        Ok(())
    }

    fn write_index_partition(&mut self, group: usize) -> StoreResult<()> {
        let Some(bytes) = self.groups.get(group).map(|group| group.index.partition()) else {
            return Ok(());
        };
        let place = self.write_part(&bytes)?;
        if let Some(group) = self.groups.get_mut(group) {
            group.index.end_partition(BlockPlace {
                offset: place.offset,
                bytes: place.bytes as u32,
            });
        }
        Ok(())
    }

    fn write_partition(&mut self) -> StoreResult<()> {
        let Some(filter) = &mut self.filter else {
            return Ok(());
        };
        let (bytes, first_row) = filter.finish();
        let place = self.write_part(&bytes)?;
        self.description
            .partitions
            .push(Partition { first_row, place });
        Ok(())
    }

    /// Writes a part that is not compressed.
    fn write_part(&mut self, payload: &[u8]) -> StoreResult<PartPlace> {
        let offset = self.offset();
        let start = begin_frame(&mut self.out);
        self.out.extend_from_slice(payload);
        end_frame(
            &mut self.out,
            start,
            BlockCodec::None,
            payload.len(),
            offset,
            self.identity,
        );
        let bytes = (self.out.len() - start) as u64;
        self.flush()?;
        Ok(PartPlace { offset, bytes })
    }

    fn flush(&mut self) -> StoreResult<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(&self.out)?;
        self.written += self.out.len() as u64;
        self.out.clear();
        if self.out.capacity() > 4 * WRITE_BYTES + 2 * self.options.block_bytes {
            self.out = Vec::with_capacity(WRITE_BYTES + 2 * self.options.block_bytes);
        }
        Ok(())
    }
}

/// A random number that is unique per file.
fn fresh_identity() -> u64 {
    Random::from_system().next_u64().max(1)
}

impl Drop for SortedFileWriter {
    fn drop(&mut self) {
        // A forked child inherits the writer, and the file is its parent's.
        if (self.file.take().is_some() || self.unfinished)
            && self.process == this_process()
            && let Err(error) = self.vfs.remove(&self.path)
            // The next opening for writing removes it.
            && error.kind() != ErrorKind::Closed
        {
            tracing::warn!(%error, "cannot remove an unfinished file; it may be deleted by hand");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use crate::vfs::MemoryVfs;

    #[test]
    fn a_forked_child_leaves_an_unfinished_file_to_its_parent() {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        let path = Path::new("/one");
        let mut writer = SortedFileWriter::create(&vfs, path, WriterOptions::default()).unwrap();
        let parent = writer.process.wrapping_add(1);
        let own = std::mem::replace(&mut writer.process, parent);
        drop(writer);
        assert!(vfs.exists(path).unwrap());
        vfs.remove(path).unwrap();
        let writer = SortedFileWriter::create(&vfs, path, WriterOptions::default()).unwrap();
        assert_eq!(writer.process, own);
        drop(writer);
        assert!(!vfs.exists(path).unwrap());
    }
}
