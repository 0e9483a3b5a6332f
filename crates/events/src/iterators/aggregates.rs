//! `AggregateScan`: the versions of a count become their sum.

use ostrakon_cell::{Batch, Error, IteratorSetting, Range, Result};

use super::period::PeriodClass;
use super::snapshot::Snapshot;

pub(super) const AGGREGATE_SCAN: PeriodClass = PeriodClass {
    names: &["ostrakon.events.AggregateScan"],
    description: "Sums the counts of committed batches, for each label. Options: committed, since (required), \
                  aborted: the batches and times that count; from, to: times in microseconds.",
    handle: sum_row,
};

/// The setting that sums the counts of bins that begin from `from` to before `to`, per label.
pub(crate) fn aggregate_scan(snapshot: &Snapshot, from: i64, to: i64) -> IteratorSetting {
    AGGREGATE_SCAN.setting("counts", snapshot, from, to)
}

/// Adds a stored count.
pub(super) fn add(sum: i64, value: &[u8]) -> Result<i64> {
    let count = value.try_into().map(i64::from_be_bytes).map_err(|_| {
        Error::invalid("a stored count does not have 8 bytes: check the event type")
            .with("data", "a value")
    })?;
    sum.checked_add(count).ok_or_else(|| {
        Error::invalid("the sum of the counts exceeds 64 bits").with("data", "a value")
    })
}

fn sum_row(
    snapshot: &Snapshot,
    batch: &Batch,
    positions: std::ops::Range<usize>,
    wanted: &Range,
    out: &mut Batch,
) -> Result<()> {
    let std::ops::Range { start: mut at, end } = positions;
    while at < end {
        let label = batch.key(at).visibility;
        let (mut sum, mut next) = (0, at);
        while next < end && batch.key(next).visibility == label {
            if snapshot.sees(batch.key(next).timestamp) {
                sum = add(sum, batch.value(next))?;
            }
            next += 1;
        }
        if sum != 0 && wanted.contains(batch.key(at)) {
            out.push(batch.key(at), &sum.to_be_bytes())?;
        }
        at = next;
    }
    Ok(())
}
