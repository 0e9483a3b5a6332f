//! Validates labels on submission: a malformed label is rejected, since it would hide its entry
//! from every reader.

use ostrakon_cell::visibility::{VisibilityError, validate};
use ostrakon_cell::{Batch, Escaped, MutationBatch};

use super::core::TableCore;
use crate::error::{Error, StoreResult};

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
        self.labels
            .check_entries(batch)
            .map_err(|error| self.malformed(error))
    }

    fn malformed(&self, cause: VisibilityError) -> Error {
        Error::invalid("a visibility is not a valid expression; nothing of the batch was written")
            .with("table", &self.status().name)
            .with_source(cause)
    }
}
