//! Scans.

use ostrakon_cell::{
    Batch, Entry, Error, ErrorKind, Interrupt, Key, Range, Result, Scan, ScanOptions,
};

use super::faults::Fault;
use super::table::BrokenTable;

pub(super) struct BrokenScan {
    pub(super) table: BrokenTable,
    pub(super) ranges: Vec<Range>,
    pub(super) options: ScanOptions,
    pub(super) found: Vec<Entry>,
    pub(super) handed_out: usize,
    pub(super) last: Option<Key>,
    pub(super) failed: Option<Error>,
}

impl BrokenScan {
    fn check(&self) -> Result<()> {
        let interrupted = self
            .options
            .interrupt
            .as_ref()
            .is_some_and(Interrupt::is_set);
        if interrupted && !self.table.is(Fault::IgnoresInterrupts) {
            return Err(Error::new(ErrorKind::Cancelled, "interrupted"));
        }
        if self.options.timeout == Some(std::time::Duration::ZERO) {
            return Err(Error::new(ErrorKind::TimedOut, "no time"));
        }
        if self.table.is(Fault::ScansOutliveTables) {
            return Ok(());
        }
        self.table
            .inner
            .scan(&[], &ScanOptions::default())
            .map(drop)
    }

    fn read(&mut self, out: &mut Batch) -> Result<bool> {
        if self.table.is(Fault::OneBatchOnly) && self.handed_out > 0 {
            return Ok(false);
        }
        self.check()?;
        if self.table.is(Fault::NoSnapshot) {
            // Reads on behind the last key in what is there by now.
            self.found = self.table.read(&self.ranges, &self.options)?;
            let last = self.last.as_ref();
            self.found
                .retain(|entry| last.is_none_or(|last| entry.key > *last));
            self.handed_out = 0;
        }
        for entry in self.found.iter().skip(self.handed_out) {
            if out.is_full(self.options.batch) {
                break;
            }
            out.push(entry.key.as_ref(), &entry.value)?;
        }
        self.handed_out += out.len();
        if !out.is_empty() {
            self.last = Some(out.key(out.len() - 1).to_key());
        }
        Ok(!out.is_empty())
    }

    fn start_over(&mut self, ranges: &[Range]) -> Result<()> {
        if !self.table.is(Fault::RestartIgnoresRanges) {
            self.ranges = self.table.twist_ranges(ranges);
        }
        self.check()?;
        self.found = self.table.read(&self.ranges, &self.options)?;
        self.handed_out = 0;
        self.last = None;
        Ok(())
    }

    fn settled<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.failed = outcome.as_ref().err().map(Error::duplicate);
        if self.table.is(Fault::ScansGoOnAfterErrors) {
            self.failed = None;
            self.options.interrupt = None;
        }
        outcome
    }
}

impl Scan for BrokenScan {
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        if let Some(error) = &self.failed {
            return Err(error.duplicate());
        }
        let read = self.read(out);
        self.settled(read)
    }

    fn restart(&mut self, ranges: &[Range]) -> Result<()> {
        let restarted = self.start_over(ranges);
        self.settled(restarted)
    }

    fn unread(&self) -> Result<Vec<Range>> {
        if !self.options.resumable {
            return Err(Error::invalid("nothing was kept"));
        }
        let merged = Range::merge(self.ranges.clone());
        let last = self.last.as_ref();
        let last = last.filter(|_| !self.table.is(Fault::ResumesAtTheStart));
        if self.handed_out == self.found.len() {
            return Ok(Vec::new());
        }
        let left = merged.into_iter();
        Ok(left
            .filter_map(|range| match last {
                Some(last) => range.after(last.as_ref()),
                None => Some(range),
            })
            .collect())
    }
}
