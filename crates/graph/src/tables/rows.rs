//! A scan as rows of numbers.

use ostrakon_cell::{Batch, Error, Escaped, Result, Scan};

use super::ValueKind;
use crate::number::parse_number;

/// Reads a scan in key order, a row at a time.
pub(crate) struct RowStream {
    scan: Box<dyn Scan>,
    batch: Batch,
    at: usize,
    values: ValueKind,
    row: Vec<u8>,
    entries: u64,
}

impl RowStream {
    pub(crate) fn new(scan: Box<dyn Scan>, values: ValueKind) -> Self {
        Self {
            scan,
            batch: Batch::new(),
            at: 0,
            values,
            row: Vec::new(),
            entries: 0,
        }
    }

    /// Whether there is another row; then [`row`](Self::row) names it.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if !self.fill()? {
            return Ok(false);
        }
        self.row.clear();
        self.row.extend_from_slice(self.batch.row(self.at));
        Ok(true)
    }

    /// The row under way.
    pub(crate) fn row(&self) -> &[u8] {
        &self.row
    }

    /// Visits the entries of the row under way, once: qualifier and value.
    pub(crate) fn visit(&mut self, mut each: impl FnMut(&[u8], f64) -> Result<()>) -> Result<()> {
        let mut seen = None;
        while self.fill()? {
            let batch = &self.batch;
            let end = batch.slots().len();
            while self.at < end {
                let slot = &batch.slots()[self.at];
                // Entries of one row often share its bytes.
                if seen != Some(slot.row) {
                    if batch.bytes(slot.row) != self.row {
                        return Ok(());
                    }
                    seen = Some(slot.row);
                }
                let value = match self.values {
                    ValueKind::Ones => 1.0,
                    ValueKind::Numbers => parse_number(batch.bytes(slot.value))
                        .ok_or_else(|| not_a_number(&self.row, batch.bytes(slot.qualifier)))?,
                    ValueKind::NumbersOrOne => parse_number(batch.bytes(slot.value)).unwrap_or(1.0),
                };
                self.entries += 1;
                self.at += 1;
                each(batch.bytes(slot.qualifier), value)?;
            }
            seen = None;
        }
        Ok(())
    }

    /// Passes the row under way over.
    pub(crate) fn skip(&mut self) -> Result<()> {
        while self.fill()? {
            if self.batch.row(self.at) != self.row {
                break;
            }
            self.at += 1;
            self.entries += 1;
        }
        Ok(())
    }

    /// Entries read so far.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    fn fill(&mut self) -> Result<bool> {
        if self.at < self.batch.len() {
            return Ok(true);
        }
        self.at = 0;
        self.scan.next_batch(&mut self.batch)
    }
}

fn not_a_number(row: &[u8], qualifier: &[u8]) -> Error {
    Error::invalid(
        "a value is not a number: leave its column out, or count entries as 1 (ValueKind::Ones or \
         NumbersOrOne)",
    )
    .with("row", Escaped(row))
    .with("qualifier", Escaped(qualifier))
}
