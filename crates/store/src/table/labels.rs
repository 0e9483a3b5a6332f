//! Validates labels on submission: a malformed label is rejected, since it would hide its entry
//! from every reader.

use std::collections::HashSet;

use ostrakon_cell::visibility::{VisibilityError, validate};
use ostrakon_cell::{Batch, Escaped, MutationBatch};
use parking_lot::Mutex;

use super::core::TableCore;
use crate::error::{Error, StoreResult};

/// Number of cached labels and their maximum length: a megabyte at most.
const REMEMBERED: usize = 4096;
const LONGEST: usize = 256;

/// Labels known to be valid expressions.
#[derive(Debug, Default)]
pub(super) struct KnownLabels(Mutex<HashSet<Box<[u8]>>>);

impl KnownLabels {
    /// Checks labels, each distinct one once; a label equal to the previous one costs one
    /// comparison.
    pub(super) fn check<'a>(
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

impl TableCore {
    /// Rejects a batch of mutations with a malformed label. Costs nothing if the batch's writer has
    /// checked its labels, or if there are none.
    pub(super) fn check_labels(&self, batch: &MutationBatch) -> StoreResult<()> {
        if !batch.has_unchecked_labels() {
            return Ok(());
        }
        let labels = batch.updates().map(|(_, update)| update.visibility);
        self.labels.check(labels).map_err(|error| {
            let malformed = |label: &[u8]| validate(label).is_err();
            let first = batch
                .updates()
                .find(|(_, update)| malformed(update.visibility));
            let row = first.map(|(_, update)| Escaped(update.row).to_string());
            self.malformed(error).with("row", row.unwrap_or_default())
        })
    }

    /// As [`check_labels`](Self::check_labels), for entries to be imported.
    pub(super) fn check_entry_labels(&self, batch: &Batch) -> StoreResult<()> {
        let labels = batch.slots().iter().map(|slot| slot.visibility);
        let mut last = None;
        let changes = labels.filter(|id| last.replace(*id) != Some(*id));
        self.labels
            .check(changes.map(|id| batch.visibility(id)))
            .map_err(|error| self.malformed(error))
    }

    fn malformed(&self, cause: VisibilityError) -> Error {
        Error::invalid("a visibility is not a valid expression; nothing of the batch was written")
            .with("table", &self.status().name)
            .with_source(cause)
    }
}
