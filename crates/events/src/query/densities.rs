//! How many events there are, and how many have a value, from the counts.

use ostrakon_cell::Result;

use super::access::form_ranges;
use super::prepare::Prepared;
use crate::condition::Forms;
use crate::layout::ALL_EVENTS;
use crate::ledger;

/// More different values and bins are not read for an estimate.
const ENTRIES_MAX: usize = 20_000;

/// How many bins are read at first, if the newest may be enough.
const BINS_MIN: usize = 64;

/// The number of events by bin, newest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub(super) bins: Vec<(i64, u64)>,
    /// The end of the time whose bins were not read; `None` if all were.
    pub(super) unread: Option<i64>,
}

impl Totals {
    pub(super) fn sum(&self) -> u64 {
        self.bins.iter().map(|(_, count)| *count).sum()
    }
}

impl Prepared<'_> {
    /// The start of the bin of a moment.
    pub(super) fn floor(&self, moment: i64) -> i64 {
        moment.saturating_sub(moment.rem_euclid(self.bin))
    }

    /// Totals none of which was read.
    pub(super) fn unread_totals(&self) -> Totals {
        Totals {
            bins: Vec::new(),
            unread: (self.from < self.to).then_some(self.to),
        }
    }

    /// Reads older bins: three times as many as were read, at least [`BINS_MIN`]. With many labels, or over years, it would
    /// take longer to read all than to answer with the newest events.
    pub(super) fn read_older(&self, totals: &mut Totals) -> Result<()> {
        self.read_totals(totals, totals.bins.len().saturating_mul(3).max(BINS_MIN))
    }

    /// Reads all older bins.
    pub(super) fn read_rest(&self, totals: &mut Totals) -> Result<()> {
        self.read_totals(totals, usize::MAX)
    }

    fn read_totals(&self, totals: &mut Totals, most: usize) -> Result<()> {
        let Some(to) = totals.unread else {
            return Ok(());
        };
        let from = self.floor(self.from);
        let ranges = match from < to {
            true => form_ranges(ALL_EVENTS, &Forms::These(vec![Vec::new()]), from, to),
            false => Vec::new(),
        };
        // Settled tables have no counts for older states. Totals only say where events may be, so that those of a newer
        // state serve as well: they count everything that was not deleted meanwhile.
        let mut newer = None;
        let (bins, complete) = ledger::read_unsettled(&self.tables.definition.name, || {
            let snapshot = newer.take().unwrap_or_else(|| self.snapshot.clone());
            let mut bins = Vec::new();
            let complete =
                self.counts_of(&snapshot, &ranges, (from, to), most, |row, _, count| {
                    bins.push((row.time, u64::try_from(count).unwrap_or(0)));
                    bins.len() < most
                })?;
            newer = Some(self.tables.state()?.snapshot);
            Ok(((bins, complete), self.tables.registry.clone(), snapshot))
        })?;
        totals.unread = match complete {
            true => None,
            false => bins.last().map(|(start, _)| *start),
        };
        totals.bins.extend(bins);
        Ok(())
    }

    /// How many events have one of these values, at least in whole bins; `None` if that takes long to find out.
    pub(super) fn density(&self, field: u16, forms: &Forms) -> Result<Option<u64>> {
        let from = self.floor(self.from);
        let (mut sum, mut entries) = (0_u64, 0);
        let ranges = form_ranges(field, forms, from, self.to);
        let complete = self.counts(&ranges, (from, self.to), |_, _, count| {
            sum = sum.saturating_add_signed(count);
            entries += 1;
            entries <= ENTRIES_MAX
        })?;
        Ok(complete.then_some(sum))
    }
}
