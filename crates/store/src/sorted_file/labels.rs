//! Checks the labels of entries on their way into a file that a table will read, and of the files that
//! come from elsewhere. A malformed label hides its entry from every reader for good.

use std::collections::HashSet;

use ostrakon_cell::visibility::{VisibilityError, validate};
use ostrakon_cell::{Batch, Escaped};
use parking_lot::Mutex;

use super::block::{Block, DecodeScratch};
use super::index::BlockPlace;
use super::reader::SortedFile;
use crate::codec::Decompressor;
use crate::error::{Error, StoreResult};

/// Number of cached labels and their maximum length: a megabyte at most.
const REMEMBERED: usize = 4096;
const LONGEST: usize = 256;

/// Labels known to be valid expressions.
#[derive(Debug, Default)]
pub(crate) struct KnownLabels(Mutex<HashSet<Box<[u8]>>>);

impl KnownLabels {
    /// Checks labels, each distinct one once; a label equal to the previous one costs one
    /// comparison.
    pub(crate) fn check<'a>(
        &self,
        labels: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), VisibilityError> {
        let mut last: &[u8] = b"";
        let mut seen: HashSet<&[u8]> = HashSet::new();
        for label in labels {
            if label == last {
                continue;
            }
            last = label;
            if !label.is_empty() && seen.insert(label) {
                self.check_one(label)?;
            }
        }
        Ok(())
    }

    /// Checks the labels of a batch of entries.
    pub(crate) fn check_entries(&self, batch: &Batch) -> Result<(), VisibilityError> {
        let labels = batch.slots().iter().map(|slot| slot.visibility);
        let mut last = None;
        let changes = labels.filter(|id| last.replace(*id) != Some(*id));
        self.check(changes.map(|id| batch.visibility(id)))
    }

    fn check_one(&self, label: &[u8]) -> Result<(), VisibilityError> {
        if self.0.lock().contains(label) {
            return Ok(());
        }
        validate(label)?;
        if label.len() <= LONGEST {
            let mut known = self.0.lock();
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(label.into());
        }
        Ok(())
    }
}

impl SortedFile {
    /// Reads these blocks, compares their checksums, and checks the labels in their dictionaries. No entry
    /// is decoded.
    ///
    /// # Errors
    /// `InvalidArgument` for the first malformed label, with the row of its first entry and without the
    /// label; `Corruption`; those of the disk.
    pub(super) fn check_labels(&self, places: &[BlockPlace]) -> StoreResult<()> {
        let known = KnownLabels::default();
        let handle = self.handle_of_its_own()?;
        let mut decompressor = Decompressor::new();
        let (mut stored, mut buffer) = (Vec::new(), Vec::new());
        for place in places {
            stored.resize(place.bytes as usize, 0);
            handle.read_at(place.offset, &mut stored)?;
            let block = self.decode_block(*place, &stored, buffer, &mut decompressor)?;
            if let Err(error) = known.check(block.labels()) {
                let row = self.row_of_malformed(&block, *place)?;
                return Err(Error::invalid(
                    "a visibility is not a valid expression, and would hide its entries from every reader; \
                     correct it where the file is made",
                )
                .with("row", Escaped(&row))
                .with_source(error));
            }
            buffer = block.into_bytes();
        }
        Ok(())
    }

    /// The row of the first entry with a malformed label.
    #[cold]
    fn row_of_malformed(&self, block: &Block, place: BlockPlace) -> StoreResult<Vec<u8>> {
        let mut batch = Batch::new();
        block
            .decode(
                0,
                block.entries(),
                &mut batch,
                &mut DecodeScratch::default(),
            )
            .map_err(|_| self.corrupt(place.offset, "a block is malformed"))?;
        let mut entries = batch.iter().map(|entry| entry.key);
        let found = entries.find(|key| validate(key.visibility).is_err());
        Ok(found.map_or_else(Vec::new, |key| key.row.to_vec()))
    }
}

/// Counts the entries of a batch whose label is malformed.
pub(super) fn count_malformed(batch: &Batch) -> u64 {
    let malformed: Vec<bool> = (0..batch.visibility_count() as u32)
        .map(|id| validate(batch.visibility(id)).is_err())
        .collect();
    if !malformed.contains(&true) {
        return 0;
    }
    let is_malformed = |id: u32| malformed.get(id as usize).copied().unwrap_or(false);
    let slots = batch.slots().iter();
    slots.filter(|slot| is_malformed(slot.visibility)).count() as u64
}
