//! Reads a table piece by piece in several threads, and interprets each entry.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ostrakon_cell::{Batch, Escaped, Range, Result, ScanOptions, Table};

use super::super::layout::{EntryError, Link, parse_entry};
use super::options::{CorruptEntry, VerifyOptions};
use crate::control::Control;
use crate::threads::in_threads;

/// What one thread read.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) entries: u64,
    pub(super) corrupt: u64,
    pub(super) foreign: u64,
    pub(super) unchecked: u64,
    pub(super) corrupt_examples: Vec<CorruptEntry>,
    pub(super) foreign_examples: Vec<String>,
}

/// Reads all pieces. Each thread gets its own visitor from `visitor`, which sees every sound
/// link, and gives it back.
pub(super) fn read<V: Send>(
    table: &Arc<dyn Table>,
    options: &VerifyOptions,
    (pieces, threads): (&[Range], usize),
    control: &Control<'_>,
    visitor: impl Fn() -> V + Sync,
    visit: impl Fn(&mut V, &Link<'_>) -> Result<()> + Sync,
) -> Result<Vec<(V, Read)>> {
    let scan = ScanOptions {
        authorizations: options.authorizations.clone(),
        ..ScanOptions::default()
    };
    let next = AtomicUsize::new(0);
    let done: &AtomicU64 = &control.done;
    in_threads(
        "verify",
        threads,
        || control.stop(),
        |_| {
            let mut visitor = visitor();
            let mut read = Read::default();
            let mut batch = Batch::new();
            let mut running = table.scan(&[Range::row("")], &scan)?;
            while control.goes_on() {
                let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                running.restart(std::slice::from_ref(piece))?;
                while running.next_batch(&mut batch)? {
                    for entry in batch.iter() {
                        match parse_entry(&entry) {
                            Ok(link) => {
                                read.unchecked += u64::from(!link.checked);
                                visit(&mut visitor, &link)?;
                            }
                            Err(error) => read.fault(&entry, error, options.examples),
                        }
                    }
                    read.entries += batch.len() as u64;
                    done.fetch_add(batch.len() as u64, Ordering::Relaxed);
                    if !control.goes_on() {
                        break;
                    }
                }
            }
            Ok((visitor, read))
        },
    )
}

impl Read {
    #[cold]
    fn fault(&mut self, entry: &ostrakon_cell::EntryRef<'_>, error: EntryError, examples: usize) {
        let fault = match error {
            EntryError::Foreign => {
                self.foreign += 1;
                if self.foreign_examples.len() < examples {
                    self.foreign_examples
                        .push(Escaped(entry.key.row).to_string());
                }
                return;
            }
            EntryError::Shape => "not as the test writes it",
            EntryError::Checksum => "the checksum does not match",
        };
        self.corrupt += 1;
        if self.corrupt_examples.len() < examples {
            self.corrupt_examples.push(CorruptEntry {
                key: entry.key.to_string(),
                fault: fault.to_owned(),
            });
        }
    }
}
