//! Reads a whole file and compares its metadata with its content.

use std::cmp::Ordering;
use std::sync::Arc;

use ostrakon_cell::{Batch, Key, KeyRef};

use super::block::DecodeScratch;
use super::bound::Bound;
use super::filter::{Bloom, FilterFunctor, KeyHash};
use super::format::{Description, FOOTER_BYTES, HEADER_BYTES, PartPlace, check_header};
use super::index::GroupIndex;
use super::labels::count_malformed;
use super::reader::SortedFile;
use crate::codec::Decompressor;
use crate::error::StoreResult;

/// Totals over the entries of all groups.
struct Totals {
    entries: u64,
    deletes: u64,
    oldest: i64,
    newest: i64,
    first_row: Option<Vec<u8>>,
    last_row: Option<Vec<u8>>,
    malformed_labels: u64,
}

impl SortedFile {
    /// Reads every byte of the file and checks it: checksums, that the parts fill the file without
    /// gap, order of the entries, the index's separators, counts, the filter. Bypasses the cache,
    /// except for the file's metadata. `progress` is called after each block with the number of
    /// bytes read.
    ///
    /// Returns the number of entries whose label is malformed. They are no damage: an older version may
    /// have imported them.
    ///
    /// # Errors
    /// The first problem: `Corruption` with file and offset, `NewerFormat`, those of the disk.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> StoreResult<u64> {
        // Cached file, footer and description may be older than the damage.
        self.forget_handle();
        let footer = self.footer()?;
        let description_place = footer.description;
        let description = self.read_description(&footer)?;
        let mut header = [0; HEADER_BYTES];
        self.handle()?.read_at(0, &mut header)?;
        check_header(&header, footer.version).map_err(|error| self.format_error(0, error))?;
        let mut blooms = Vec::new();
        let mut parts = vec![description_place];
        for partition in &description.partitions {
            blooms.push(self.read_bloom(partition)?);
            parts.push(partition.place);
        }
        let mut totals = Totals {
            entries: 0,
            deletes: 0,
            oldest: i64::MAX,
            newest: i64::MIN,
            first_row: None,
            last_row: None,
            malformed_labels: 0,
        };
        for group in 0..description.groups.len() {
            self.verify_group(
                &description,
                group,
                &blooms,
                &mut parts,
                &mut totals,
                progress,
            )?;
        }
        let rows_agree = totals.first_row.unwrap_or_default() == description.first_row
            && totals.last_row.unwrap_or_default() == description.last_row;
        if (totals.entries, totals.deletes) != (description.entries, description.deletes)
            || (totals.oldest, totals.newest) != (description.oldest, description.newest)
            || !rows_agree
        {
            return Err(self.corrupt(
                description_place.offset,
                "the description does not agree with the entries",
            ));
        }
        self.verify_places(parts)?;
        Ok(totals.malformed_labels)
    }

    fn verify_group(
        &self,
        description: &Description,
        group: usize,
        blooms: &[Bloom],
        parts: &mut Vec<PartPlace>,
        totals: &mut Totals,
        progress: &mut dyn FnMut(u64),
    ) -> StoreResult<()> {
        let index = self.read_index(description, group)?;
        let handle = self.handle_of_its_own()?;
        let len = handle.len()?;
        let mut decompressor = Decompressor::new();
        let mut scratch = DecodeScratch::default();
        let (mut stored, mut buffer) = (Vec::new(), Vec::new());
        let mut batch = Batch::new();
        let mut last: Option<Key> = None;
        let (mut entries, mut entries_before) = (0, 0);
        let mut partition = match index.one() {
            Some(one) => one.clone(),
            None => Arc::new(self.read_partition(&index, 0)?),
        };
        for (partition_at, block_at) in blocks_of(&index) {
            if block_at == 0 {
                if let Some(place) = index.place_of(partition_at) {
                    partition = Arc::new(self.read_partition(&index, partition_at)?);
                    parts.push(place.into());
                }
                let before = index.entries_of(partition_at).map(|of| of.start);
                if before != Some(entries) {
                    return Err(self.bad_index(description, group));
                }
                entries_before = entries;
            }
            let place = partition
                .place(block_at)
                .ok_or_else(|| self.bad_index(description, group))?;
            if partition.entries_before(block_at) != Some(entries - entries_before)
                || place
                    .offset
                    .checked_add(u64::from(place.bytes))
                    .is_none_or(|end| end > len)
            {
                return Err(self.bad_index(description, group));
            }
            parts.push(place.into());
            stored.resize(place.bytes as usize, 0);
            handle.read_at(place.offset, &mut stored)?;
            let block = self.decode_block(place, &stored, buffer, &mut decompressor)?;
            let wrong = |what| self.corrupt(place.offset, what);
            batch.clear();
            block
                .decode(0, block.entries(), &mut batch, &mut scratch)
                .map_err(|_| wrong("a block is malformed"))?;
            totals.malformed_labels += count_malformed(&batch);
            for (at, entry) in batch.iter().enumerate() {
                let key = entry.key;
                let in_order = match at.checked_sub(1) {
                    Some(before) => batch.key(before) <= key,
                    None => last.as_ref().is_none_or(|last| last.as_ref() <= key),
                };
                if !in_order {
                    return Err(wrong("entries are out of order"));
                }
                if !belongs(description, group, key.family) {
                    return Err(wrong("a family is in the wrong locality group"));
                }
                if !is_in_filter(description, blooms, key) {
                    return Err(wrong("an entry is missing from the filter"));
                }
                totals.deletes += u64::from(key.deleted);
                totals.oldest = totals.oldest.min(key.timestamp);
                totals.newest = totals.newest.max(key.timestamp);
            }
            // The separator must lie between the last key before the block and its first key.
            let (Some(first), Some(newest_last)) = (batch.iter().next(), batch.iter().next_back())
            else {
                return Err(wrong("a block is empty"));
            };
            let separates = |compare: &dyn Fn(Bound<'_>) -> Option<Ordering>| {
                let before_first = compare(Bound::new(first.key, true)) == Some(Ordering::Less);
                let behind_last = last.as_ref().is_none_or(|last| {
                    compare(Bound::new(last.as_ref(), false)) != Some(Ordering::Less)
                });
                before_first && behind_last
            };
            let of_root = index.cached().is_none()
                || block_at > 0
                || separates(&|bound| index.compare_partition(partition_at, bound));
            if !of_root || !separates(&|bound| partition.compare(block_at, bound)) {
                return Err(self.bad_index(description, group));
            }
            if totals
                .first_row
                .as_deref()
                .is_none_or(|row| first.key.row < row)
            {
                totals.first_row = Some(first.key.row.to_vec());
            }
            if totals
                .last_row
                .as_deref()
                .is_none_or(|row| newest_last.key.row > row)
            {
                totals.last_row = Some(newest_last.key.row.to_vec());
            }
            last.get_or_insert_with(Key::default).set(newest_last.key);
            entries += batch.len() as u64;
            buffer = block.into_bytes();
            progress(u64::from(place.bytes));
        }
        if entries != index.entries() {
            return Err(self.bad_index(description, group));
        }
        totals.entries += entries;
        if let Some(described) = description.groups.get(group) {
            parts.push(described.index);
        }
        Ok(())
    }

    /// Every byte between header and footer belongs to exactly one part.
    pub(super) fn verify_places(&self, mut parts: Vec<PartPlace>) -> StoreResult<()> {
        parts.sort_by_key(|part| part.offset);
        let mut end = HEADER_BYTES as u64;
        for part in parts {
            if part.offset != end {
                return Err(self.corrupt(end, "a part of the file belongs to nothing"));
            }
            end += part.bytes;
        }
        if self.handle()?.len()? != end + FOOTER_BYTES as u64 {
            return Err(self.corrupt(end, "a part of the file belongs to nothing"));
        }
        Ok(())
    }
}

/// The blocks of an index: the number of the partition, and that of the block in it.
pub(super) fn blocks_of(index: &GroupIndex) -> impl Iterator<Item = (usize, usize)> {
    (0..index.partitions()).flat_map(|partition| {
        let blocks = index.blocks_of(partition).map_or(0, |blocks| blocks.len());
        (0..blocks).map(move |block| (partition, block))
    })
}

fn belongs(description: &Description, group: usize, family: &[u8]) -> bool {
    let named = description
        .groups
        .iter()
        .position(|group| group.families.iter().any(|known| known == family));
    named.unwrap_or(description.groups.len() - 1) == group
}

fn is_in_filter(description: &Description, blooms: &[Bloom], key: KeyRef<'_>) -> bool {
    let Some(functor) = description.functor else {
        return true;
    };
    let mut hash = KeyHash::row(key.row);
    if functor != FilterFunctor::Row {
        hash = hash.with(key.family);
    }
    if functor == FilterFunctor::RowFamilyQualifier {
        hash = hash.with(key.qualifier);
    }
    description
        .candidates(key.row)
        .any(|at| blooms.get(at).is_some_and(|bloom| bloom.may_contain(hash)))
}
