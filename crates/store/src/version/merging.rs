//! Which files of a tablet may be merged into one.

use std::ops::Range;

use super::rows::RowBounds;
use super::tablet::{TabletFile, TabletView};
use crate::catalog::AgeRange;

/// Whether the files at these positions may be merged into one file.
///
/// The output covers all ages from the oldest to the newest of its inputs, and rows from the first
/// to the last of them. It may replace them if no other file of the tablet overlaps it in both ages
/// and rows: then every other file that shares keys with the output is newer than all of the inputs
/// or older than all of them, and keeps its position in the order.
#[must_use]
pub fn may_merge(tablet: &TabletView, chosen: &Range<usize>) -> bool {
    let Some(inputs) = tablet.files.get(chosen.clone()) else {
        return false;
    };
    let bounds = |file| RowBounds::of(file, &tablet.extent);
    let ages = AgeRange::hull_of(inputs.iter().map(TabletFile::ages));
    let rows = inputs.iter().map(bounds).reduce(RowBounds::hull);
    let (Some(ages), Some(rows)) = (ages, rows) else {
        return false;
    };
    let is_input = |at: usize| chosen.contains(&at);
    let mut others = (0..tablet.files.len()).filter(|at| !is_input(*at));
    others.all(|at| {
        let other = &tablet.files[at];
        let is_same_file = inputs
            .iter()
            .any(|input| input.reference.file == other.reference.file);
        let is_between = other.ages().intersects(ages) && bounds(other).meets(rows);
        !(is_same_file || is_between)
    })
}
