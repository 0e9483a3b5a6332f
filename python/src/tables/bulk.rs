//! Bulk import: columns, sorted here unless they are, become table files in one step.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Batch, KeyRef, Result, Table};

use crate::columns::Entries;

/// Entries handed to the engine at once.
const BATCH_ENTRIES: usize = 1 << 14;

/// Imports the entries as one atomic change; returns their number.
pub(super) fn import(table: &Arc<dyn Table>, entries: &Entries) -> Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_millis() as i64);
    // Where the parts of each entry lie; the columns stay where they are.
    let mut keys: Vec<(KeyRef<'_>, &[u8])> = Vec::with_capacity(entries.len());
    entries.for_each(0..entries.len(), |row, update| {
        keys.push((
            KeyRef {
                row,
                family: update.family,
                qualifier: update.qualifier,
                visibility: update.visibility,
                timestamp: update.timestamp.unwrap_or(now),
                deleted: update.value.is_none(),
            },
            update.value.unwrap_or_default(),
        ));
        Ok(())
    })?;
    let sorted = keys.windows(2).all(|pair| match pair {
        [a, b] => a.0.cmp(&b.0) == Ordering::Less,
        _ => true,
    });
    if !sorted {
        // Of equal keys the last one given counts: it comes first.
        keys.reverse();
        keys.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let mut bulk = table.bulk_writer()?;
    let mut batch = Batch::new();
    for part in keys.chunks(BATCH_ENTRIES) {
        batch.clear();
        for (key, value) in part {
            batch.push(*key, value)?;
        }
        bulk.append(&batch)?;
    }
    bulk.finish()
}
