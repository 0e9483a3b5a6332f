//! How many rows a scan returns, for the order of joins. Estimates decide how a query is run, and never its answer.

use std::mem::size_of;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use ostrakon_cell::{Table, TabletInfo};

use super::bytes::{ByteSet, Interval};

/// Of the rows that a condition tests, one of so many is taken to pass: the engine's own assumption.
const TESTED: u64 = 5;
/// Entries that a row named by a condition has at least.
const ROW_ENTRIES: u64 = 16;
/// The share of a table that such a row has at least, since some rows are long.
const ROW_SHARE: u64 = 1000;
/// Bytes that a value of text or bytes is taken to have.
const TEXT_BYTES: usize = 32;

/// The entries in these rows of a table; `None` if the reader does not see its layout: what is hidden counts as well.
pub(crate) fn entries(table: &dyn Table, rows: &ByteSet, sees_layout: bool) -> Option<u64> {
    if !sees_layout {
        return None;
    }
    // A reader's handle does not show its tablets.
    let tablets = table.tablets().ok()?;
    let all: u64 = tablets.iter().map(|tablet| tablet.entries).sum();
    if let Some(points) = rows.points() {
        let one = ROW_ENTRIES.max(all / ROW_SHARE);
        return Some(all.min(one.saturating_mul(points.len() as u64)));
    }
    let inside = tablets.iter().map(|tablet| {
        let parts = rows.intervals().iter();
        parts.map(|part| share(tablet, part)).max().unwrap_or(0)
    });
    Some(inside.sum())
}

/// The entries of a tablet in a range of rows.
fn share(tablet: &TabletInfo, rows: &Interval) -> u64 {
    let (after, through) = (&tablet.previous_end, &tablet.end);
    let is_before = through
        .as_ref()
        .is_some_and(|through| *through < rows.start);
    let is_behind = match (&rows.end, after) {
        (Some(end), Some(after)) => end <= after,
        _ => false,
    };
    let from_start =
        rows.start.is_empty() || after.as_ref().is_some_and(|after| *after >= rows.start);
    let to_end = match (&rows.end, through) {
        (None, _) => true,
        (Some(end), Some(through)) => through < end,
        (Some(_), None) => false,
    };
    match (is_before || is_behind, from_start && to_end) {
        (true, _) => 0,
        (_, true) => tablet.entries,
        _ => tablet.entries / TESTED,
    }
}

/// What is left of rows after so many tests.
pub(crate) fn after_tests(rows: u64, tests: usize) -> u64 {
    (0..tests).fold(rows, |rows, _| rows / TESTED)
}

/// The statistics of so many rows, as estimates.
pub(super) fn statistics(schema: &SchemaRef, rows: Option<u64>) -> Statistics {
    let unknown = Statistics::new_unknown(schema);
    let Some(rows) = rows.and_then(|rows| usize::try_from(rows).ok()) else {
        return unknown;
    };
    let widths = schema.fields().iter().map(|field| {
        let width = field.data_type().primitive_width();
        width.unwrap_or(TEXT_BYTES + size_of::<i32>())
    });
    let width: usize = widths.sum::<usize>().max(1);
    unknown
        .with_num_rows(Precision::Inexact(rows))
        .with_total_byte_size(Precision::Inexact(rows.saturating_mul(width)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tablets_count_by_how_much_of_them_is_read() {
        let tablet = |previous_end: Option<&str>, end: Option<&str>| TabletInfo {
            previous_end: previous_end.map(|row| row.as_bytes().to_vec()),
            end: end.map(|row| row.as_bytes().to_vec()),
            files: 1,
            entries: 100,
            bytes: 0,
            memory_entries: 0,
            memory_bytes: 0,
            location: String::new(),
        };
        let rows = |start: &str, end: Option<&str>| Interval {
            start: start.as_bytes().to_vec(),
            end: end.map(|end| end.as_bytes().to_vec()),
        };
        for (tablet, rows, expected) in [
            (tablet(None, None), rows("", None), 100),
            (tablet(None, None), rows("b", None), 20),
            (tablet(None, Some("b")), rows("b", None), 20),
            (tablet(None, Some("b")), rows("c", None), 0),
            (tablet(Some("b"), Some("d")), rows("b", Some("e")), 100),
            (tablet(Some("b"), Some("d")), rows("b", Some("d")), 20),
            (tablet(Some("b"), Some("d")), rows("", Some("b")), 0),
            (tablet(Some("b"), None), rows("a", None), 100),
            (tablet(Some("b"), None), rows("a", Some("z")), 20),
        ] {
            assert_eq!(share(&tablet, &rows), expected, "{tablet:?} {rows:?}");
        }
    }
}
