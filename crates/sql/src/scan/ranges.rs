//! Divides the rows of a scan among the partitions of a plan.

use ostrakon_cell::{Capability, Range, Result, Table};

use super::ByteSet;

/// The ranges of each partition, in the order of rows: tablets next to each other form at most `most` partitions.
/// There is at least one partition.
///
/// # Errors
/// Those of the table.
pub(crate) fn partitions(
    table: &dyn Table,
    rows: &ByteSet,
    most: usize,
) -> Result<Vec<Vec<Range>>> {
    let ranges = rows.ranges();
    // A reader may not see where a table is split.
    let may_ask = table.capabilities().has(Capability::Tablets);
    if most <= 1 || !may_ask || rows.points().is_some_and(|points| points.len() <= 1) {
        return Ok(vec![ranges]);
    }
    let mut by_tablet: Vec<(u64, Vec<Range>)> = Vec::new();
    for tablet in table.tablets()? {
        let borders = Range::tablet(tablet.previous_end.as_deref(), tablet.end.as_deref());
        let clipped: Vec<Range> = ranges
            .iter()
            .filter_map(|range| range.clip(&borders))
            .collect();
        if !clipped.is_empty() {
            by_tablet.push((1 + tablet.entries + tablet.memory_entries, clipped));
        }
    }
    let total: u64 = by_tablet.iter().map(|(entries, _)| entries).sum();
    let share = total.div_ceil(most as u64).max(1);
    let mut parts: Vec<Vec<Range>> = Vec::new();
    let mut filled = share;
    for (entries, ranges) in by_tablet {
        match parts.last_mut() {
            Some(part) if filled < share => {
                part.extend(ranges);
                filled += entries;
            }
            _ => {
                parts.push(ranges);
                filled = entries;
            }
        }
    }
    match parts.is_empty() {
        true => Ok(vec![Vec::new()]),
        false => Ok(parts),
    }
}
