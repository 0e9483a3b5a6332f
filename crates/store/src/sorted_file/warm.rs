//! Loads what several point reads will touch into the CPU caches.
//!
//! A point read has several cache misses in a row: for the block's front, for the group of entries
//! of its row, for the value. Those of several point reads can overlap. This only reads, step by
//! step for all of some rows, what each of them will need: leaving it out changes no result.

use std::sync::Arc;

use super::block::Block;
use super::bound::Bound;
use super::index::GroupIndex;
use super::reader::SortedFile;
use crate::error::StoreResult;

/// Warms point reads in one file, if it has one locality group: with several, the group is not
/// known here.
pub struct Warmer {
    index: Option<Arc<GroupIndex>>,
    /// Held until the next rows, so that they are not evicted.
    blocks: Vec<Option<Arc<Block>>>,
}

impl Warmer {
    /// Reads the file's index, which point reads need.
    ///
    /// # Errors
    /// `Corruption`, those of the disk.
    pub fn new(file: &Arc<SortedFile>) -> StoreResult<Self> {
        let description = file.description()?;
        let mut groups = (0..description.groups.len())
            .filter(|&at| description.groups.get(at).is_some_and(|g| g.entries > 0));
        let index = match (groups.next(), groups.next()) {
            (Some(only), None) => Some(file.index(&description, only)?),
            _ => None,
        };
        Ok(Self {
            index,
            blocks: Vec::new(),
        })
    }

    /// Touches what point reads of `rows` will touch, as far as it is in the block cache.
    pub fn warm<'a>(&mut self, rows: impl Iterator<Item = &'a [u8]> + Clone) {
        let Some(index) = &self.index else {
            return;
        };
        self.blocks.clear();
        self.blocks.extend(rows.clone().map(|row| {
            let bound = Bound::before_row(row);
            let partition = match index.cached() {
                None => index.one()?.clone(),
                Some(partitions) => partitions.get(index.find_partition(bound)?)?,
            };
            partition.cached().get(partition.find(bound)?)
        }));
        let known = || {
            let all = self.blocks.iter().zip(rows.clone());
            all.filter_map(|(block, row)| Some((block.as_ref()?, row)))
        };
        for (block, row) in known() {
            block.prefetch_row(row);
        }
        for (block, row) in known() {
            if let Some((from, to)) = block.find_row(row)
                && from < to
            {
                block.prefetch_entry(from);
            }
        }
    }
}
