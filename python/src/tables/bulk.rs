//! Bulk import: columns, sorted here unless they are, become table files in one step, or a file that
//! a table takes over later.

use std::cmp;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Batch, BulkWriter, Error, ErrorKind, Result, Table};
use ostrakon_store::sorted_file::{BulkFileWriter, WriterOptions};

use crate::columns::Entries;

/// Entries handed to the engine at once.
const BATCH_ENTRIES: usize = 1 << 14;

/// Imports the entries as one atomic change; returns their number.
pub(super) fn import(
    table: &Arc<dyn Table>,
    entries: &Entries,
    stopped: &AtomicBool,
) -> Result<u64> {
    write(entries, stopped, || table.bulk_writer())
}

/// Writes the entries to a sorted file, without a store; returns their number.
pub(super) fn write_file(path: &Path, entries: &Entries, stopped: &AtomicBool) -> Result<u64> {
    write(entries, stopped, || {
        let file = BulkFileWriter::create(path, WriterOptions::default())?;
        Ok(Box::new(file))
    })
}

fn write(
    entries: &Entries,
    stopped: &AtomicBool,
    open: impl FnOnce() -> Result<Box<dyn BulkWriter>>,
) -> Result<u64> {
    // What is not finished is not imported.
    let go_on = || match stopped.load(Ordering::Relaxed) {
        true => Err(Error::new(
            ErrorKind::Cancelled,
            "the import was interrupted by a signal; nothing was imported",
        )),
        false => Ok(()),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_millis() as i64);
    let key = |at: usize| entries.entry(at, now).key;
    let sorted = (1..entries.len()).all(|at| key(at - 1).cmp(&key(at)) == cmp::Ordering::Less);
    let order = if sorted {
        Vec::new()
    } else {
        sorted_positions(entries, now)
    };
    go_on()?;
    let mut bulk = open()?;
    let mut batch = Batch::new();
    for begin in (0..entries.len()).step_by(BATCH_ENTRIES) {
        let end = (begin + BATCH_ENTRIES).min(entries.len());
        go_on()?;
        batch.clear();
        for place in begin..end {
            let at = order.get(place).map_or(place, |(_, at)| *at);
            let entry = entries.entry(at, now);
            batch.push(entry.key, entry.value)?;
        }
        bulk.append(&batch)?;
    }
    go_on()?;
    bulk.finish()
}

/// The positions of the entries in key order, each with the eight bytes of its row that come behind
/// what all rows begin with: most comparisons end there, without a look at the columns.
fn sorted_positions(entries: &Entries, now: i64) -> Vec<(u64, usize)> {
    let first = entries.row(0);
    let shared = (1..entries.len()).fold(first.len(), |shared, at| {
        let row = entries.row(at);
        let same = row.iter().zip(first).take(shared);
        same.take_while(|(a, b)| a == b).count()
    });
    let mut order: Vec<(u64, usize)> = (0..entries.len())
        .map(|at| {
            (
                prefix(entries.row(at).get(shared..).unwrap_or_default()),
                at,
            )
        })
        .collect();
    // Of equal keys the last one given counts: it comes first.
    order.sort_unstable_by(|(a_prefix, a), (b_prefix, b)| {
        a_prefix.cmp(b_prefix).then_with(|| {
            let (a_key, b_key) = (entries.entry(*a, now).key, entries.entry(*b, now).key);
            a_key.cmp(&b_key).then_with(|| b.cmp(a))
        })
    });
    order
}

/// Eight bytes as a number that sorts as they do; short rows are filled with zeros.
fn prefix(row: &[u8]) -> u64 {
    match row.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            for (to, from) in bytes.iter_mut().zip(row) {
                *to = *from;
            }
            u64::from_be_bytes(bytes)
        }
    }
}
