//! Sums of counts: `AggregateScan` for each label, `TotalScan` for all labels that the reader sees.

use std::borrow::Cow;

use ostrakon_cell::{Batch, Error, IteratorSetting, KeyRef, Range, Result};

use super::period::PeriodClass;
use super::snapshot::Snapshot;

pub(super) const AGGREGATE_SCAN: PeriodClass = PeriodClass {
    names: &["ostrakon.events.AggregateScan"],
    description: "Internal to the event store: sums the counts of committed batches, for each label. Options: \
                  committed (required): the last committed batch; since (required): the time from which events are \
                  kept; aborted (none): comma-separated batches that were not committed, as FIRST-LAST; from, to \
                  (unbounded): the time range. Times are microseconds since 1970.",
    handle: sum_row,
};

/// Planners and histograms read these: with many labels, most of the time would go into passing on their counts.
pub(super) const TOTAL_SCAN: PeriodClass = PeriodClass {
    names: &["ostrakon.events.TotalScan"],
    description: "Internal to the event store: sums the counts of committed batches over all labels that the reader \
                  sees; the label of a sum is the conjunction of these labels. Options: committed (required): the last \
                  committed batch; since (required): the time from which events are kept; aborted (none): \
                  comma-separated batches that were not committed, as FIRST-LAST; from, to (unbounded): the time \
                  range. Times are microseconds since 1970.",
    handle: total_row,
};

/// The setting that sums the counts of bins that begin from `from` to before `to`, over all labels.
pub(crate) fn total_scan(snapshot: &Snapshot, from: i64, to: i64) -> IteratorSetting {
    TOTAL_SCAN.setting("counts", snapshot, from, to)
}

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

fn total_row(
    snapshot: &Snapshot,
    batch: &Batch,
    positions: std::ops::Range<usize>,
    wanted: &Range,
    out: &mut Batch,
) -> Result<()> {
    let slots = batch.slots().get(positions.clone()).unwrap_or_default();
    let (mut sum, mut last) = (0, None);
    let mut label = Cow::Borrowed(&b""[..]);
    for (at, slot) in positions.clone().zip(slots) {
        if !snapshot.sees(slot.timestamp) {
            continue;
        }
        sum = add(sum, batch.value(at))?;
        // Equal labels of a batch have equal ids, and follow one another.
        if last.replace(slot.visibility) != Some(slot.visibility) {
            also(&mut label, batch.visibility(slot.visibility));
        }
    }
    if sum == 0 {
        return Ok(());
    }
    let key = KeyRef {
        visibility: &label,
        ..batch.key(positions.start)
    };
    if wanted.contains(key) {
        out.push(key, &sum.to_be_bytes())?;
    }
    Ok(())
}

/// Makes `all`, a conjunction, demand `label` too.
fn also<'a>(all: &mut Cow<'a, [u8]>, label: &'a [u8]) {
    let part = |label: &[u8], all: &mut Vec<u8>| {
        let parenthesised = label.contains(&b'|');
        all.extend(parenthesised.then_some(b'('));
        all.extend_from_slice(label);
        all.extend(parenthesised.then_some(b')'));
    };
    match all {
        _ if label.is_empty() => {}
        Cow::Borrowed([]) => *all = Cow::Borrowed(label),
        Cow::Borrowed(first) => {
            let mut both = Vec::with_capacity(16 * (label.len() + 1));
            part(first, &mut both);
            both.push(b'&');
            part(label, &mut both);
            *all = Cow::Owned(both);
        }
        Cow::Owned(several) => {
            several.push(b'&');
            part(label, several);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conjunction_demands_every_label() {
        let mut all = Cow::Borrowed(&b""[..]);
        let expected = ["", "a|b", "(a|b)&c", "(a|b)&c&(d|e)", "(a|b)&c&(d|e)"];
        for (label, expected) in ["", "a|b", "c", "d|e", ""].iter().zip(expected) {
            also(&mut all, label.as_bytes());
            assert_eq!(std::str::from_utf8(&all), Ok(expected));
        }
        assert!(ostrakon_cell::VisibilityExpression::parse("(a|b)&c&(d|e)").is_ok());
    }
}
