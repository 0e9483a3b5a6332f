//! Finds rows to start from: reads a few entries after a random row.

use std::time::{Duration, Instant};

use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, Error, ErrorKind, Range, Result, Scan, ScanOptions, Table,
};
use rand::RngExt;

use super::layout::{EntryError, format_row, parse_entry};
use super::rows::RowRange;

/// Random rows tried before the table is taken for empty.
const TRIES_MAX: usize = 64;

/// A scan that is restarted at random rows.
pub(super) struct Starts {
    scan: Box<dyn Scan>,
    batch: Batch,
    rows: RowRange,
    entries_max: usize,
    /// Entries read.
    pub(super) entries: u64,
    /// Entries of the test that are damaged.
    pub(super) corrupt: u64,
}

/// Whether a search failed because no entry is visible, and not because a read failed.
pub(super) fn sees_nothing(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

impl Starts {
    pub(super) fn new(
        table: &dyn Table,
        authorizations: &Authorizations,
        rows: RowRange,
        entries_max: usize,
    ) -> Result<Self> {
        let options = ScanOptions {
            authorizations: authorizations.clone(),
            batch: BatchLimit {
                entries: entries_max.clamp(1, 2048),
                ..BatchLimit::default()
            },
            ..ScanOptions::default()
        };
        // The first search says where to read.
        let nowhere = Range::row("");
        Ok(Self {
            scan: table.scan(&[nowhere], &options)?,
            batch: Batch::new(),
            rows,
            entries_max: entries_max.max(1),
            entries: 0,
            corrupt: 0,
        })
    }

    /// Appends the rows that a run of entries after a random row points to. Returns how long the
    /// successful search took.
    ///
    /// There may be none (a run of list ends); then try again.
    pub(super) fn search(
        &mut self,
        random: &mut impl RngExt,
        links: &mut Vec<u64>,
    ) -> Result<Duration> {
        for _ in 0..TRIES_MAX {
            let began = Instant::now();
            let row = format_row(self.rows.draw(random));
            let mut left = self.entries_max;
            self.scan.restart(&[Range::rows(row.as_slice()..)])?;
            while left > 0 && self.scan.next_batch(&mut self.batch)? {
                for entry in self.batch.iter().take(left) {
                    match parse_entry(&entry) {
                        Ok(link) => links.extend(link.previous),
                        Err(EntryError::Foreign) => {}
                        Err(_) => self.corrupt += 1,
                    }
                    left -= 1;
                    self.entries += 1;
                }
            }
            if left < self.entries_max {
                return Ok(began.elapsed());
            }
        }
        Err(Error::not_found(
            "no entry was found at any of many random rows: run `lab continuous ingest` first, or give the row range \
             (--min, --max) and the authorizations of the ingest",
        ))
    }
}
