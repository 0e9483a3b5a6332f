//! Validates labels on submission: a malformed label is rejected, since it would hide its entry
//! from every reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostrakon_cell::visibility::{VisibilityError, validate};
use ostrakon_cell::{Batch, Escaped, MutationBatch};

use super::core::TableCore;
use crate::error::{Error, StoreResult};

/// A line about malformed labels is logged again after this time.
const LOGGED_AGAIN_NANOS: u64 = 3600 * 1_000_000_000;

/// Counts the malformed labels that scans of a table meet, which earlier versions imported.
#[derive(Debug, Default)]
pub(super) struct MalformedLabels {
    /// Met so far, each label once per batch.
    pub(super) met: Arc<AtomicU64>,
    /// Those that were reported.
    reported: AtomicU64,
    /// When a line was logged, by the monotonic clock; 0 before the first.
    logged_nanos: AtomicU64,
}

impl MalformedLabels {
    /// Those met since the last call.
    fn take(&self) -> u64 {
        let met = self.met.load(Ordering::Relaxed);
        if met == self.reported.load(Ordering::Relaxed) {
            return 0;
        }
        met.saturating_sub(self.reported.swap(met, Ordering::Relaxed))
    }

    /// Whether a line is due.
    fn is_due(&self, now_nanos: u64) -> bool {
        let logged = self.logged_nanos.load(Ordering::Relaxed);
        let is_due = logged == 0 || now_nanos.saturating_sub(logged) >= LOGGED_AGAIN_NANOS;
        if is_due {
            self.logged_nanos.store(now_nanos.max(1), Ordering::Relaxed);
        }
        is_due
    }
}

impl TableCore {
    /// Counts the malformed labels that scans met, and logs once an hour that there are some. A scan
    /// that is `confined` to what its reader may see logs nothing.
    pub(super) fn report_malformed(&self, confined: bool) {
        let met = self.malformed.take();
        if met == 0 {
            return;
        }
        let context = &self.context;
        context.metrics.labels_malformed.add(met);
        if !confined && self.malformed.is_due(context.clock.monotonic_nanos()) {
            tracing::warn!(
                table = %self.status().name,
                "entries have malformed visibilities, which hide them from every reader; `check` counts them by file",
            );
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_labels_are_taken_once_and_logged_hourly() {
        let labels = MalformedLabels::default();
        assert_eq!(labels.take(), 0);
        labels.met.fetch_add(3, Ordering::Relaxed);
        assert_eq!((labels.take(), labels.take()), (3, 0));
        labels.met.fetch_add(2, Ordering::Relaxed);
        assert_eq!(labels.take(), 2);
        let second = 1_000_000_000;
        assert!(labels.is_due(5 * second));
        assert!(!labels.is_due(6 * second));
        assert!(!labels.is_due(3604 * second));
        assert!(labels.is_due(3605 * second));
        assert!(!labels.is_due(3606 * second));
    }
}
