//! How many events there are, and how many have a value, from the counts.

use ostrakon_cell::Result;

use super::access::form_ranges;
use super::prepare::Prepared;
use crate::condition::Forms;
use crate::layout::ALL_EVENTS;

/// More different values and bins are not read for an estimate.
const ENTRIES_MAX: usize = 20_000;

/// The number of events by bin, newest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub(super) bins: Vec<(i64, u64)>,
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

    pub(super) fn totals(&self) -> Result<Totals> {
        let mut bins: Vec<(i64, u64)> = Vec::new();
        if self.from >= self.to {
            return Ok(Totals::default());
        }
        let from = self.floor(self.from);
        let ranges = form_ranges(ALL_EVENTS, &Forms::These(vec![Vec::new()]), from, self.to);
        self.counts(&ranges, from, self.to, |row, _, count| {
            bins.push((row.time, u64::try_from(count).unwrap_or(0)));
            true
        })?;
        Ok(Totals { bins })
    }

    /// How many events have one of these values, at least in whole bins; `None` if that takes long to find out.
    pub(super) fn density(&self, field: u16, forms: &Forms) -> Result<Option<u64>> {
        let from = self.floor(self.from);
        let (mut sum, mut entries) = (0_u64, 0);
        let ranges = form_ranges(field, forms, from, self.to);
        self.counts(&ranges, from, self.to, |_, _, count| {
            sum = sum.saturating_add_signed(count);
            entries += 1;
            entries <= ENTRIES_MAX
        })?;
        Ok((entries <= ENTRIES_MAX).then_some(sum))
    }
}
