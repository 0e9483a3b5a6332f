//! Dividing the rows of a scan into parts for several readers.

use ostrakon_cell::Range;

use super::source::Snapshot;
use crate::catalog::Fence;
use crate::error::StoreResult;
use crate::tablet::TabletView;
use crate::version::Spread;

/// Parts of a tablet with fewer entries are not worth a reader of their own: a batch or two, read
/// within milliseconds. Between tablets even small tables are divided: their owner split them.
const PART_LEAST: u64 = 32 << 10;

/// Candidate rows per part. A part is that much more or less than its share at most.
const CANDIDATES: u64 = 16;

/// The ranges divided into at most `most` lists in row order, of about the same number of entries.
/// A row is never divided. No data is read: the numbers are estimates from indexes and memory.
///
/// # Errors
/// Those of reading an index.
pub(crate) fn divide(
    snapshot: &Snapshot,
    ranges: &[Range],
    most: usize,
) -> StoreResult<Vec<Vec<Range>>> {
    let ranges = Range::merge(ranges.to_vec());
    let rows = match hull(&ranges) {
        Some(rows) if most > 1 => rows,
        _ => return Ok(vec![ranges]),
    };
    let tablets: Vec<&TabletView> = overlapping(snapshot, &rows).collect();
    let in_memory = entries_in_memory(snapshot, &rows)?;
    let mut in_files = 0;
    for tablet in &tablets {
        in_files += entries_inside(tablet, &rows)?;
    }
    let by_size = ((in_memory + in_files) / PART_LEAST) as usize;
    let parts = most.min(by_size.max(tablets.len()));
    if parts <= 1 {
        return Ok(vec![ranges]);
    }
    let candidates = CANDIDATES * parts as u64;
    let mut weights = Vec::new();
    for memtable in &snapshot.memtables {
        let step = in_memory.div_ceil(candidates).max(1);
        let sample = memtable.sample(step, rows.after.as_deref(), rows.through.as_deref())?;
        weights.extend(sample.into_iter().map(|(row, _)| (row, step)));
    }
    for tablet in &tablets {
        weigh_files(
            tablet,
            &rows,
            candidates / tablets.len() as u64,
            &mut weights,
        )?;
    }
    let spread = Spread::of(weights);
    let mut points = spread.points(&rows, parts, usize::MAX);
    // Nothing is known to follow the last row.
    points.pop_if(|last| Some(last.as_slice()) == spread.last_row());
    Ok(cut(&ranges, &points))
}

/// The rows that the ranges span. The first row may be missing: this is for estimates.
fn hull(ranges: &[Range]) -> Option<Fence> {
    let (first, last) = (ranges.first()?, ranges.last()?);
    if ranges.len() == 1 && first.as_row().is_some() {
        return None;
    }
    let row = |key: &ostrakon_cell::Key| key.row.clone();
    let after = first.start().map(row).filter(|row| !row.is_empty());
    let rows = Fence::new(after, last.end().map(row));
    (!rows.is_empty()).then_some(rows)
}

fn overlapping<'a>(
    snapshot: &'a Snapshot,
    rows: &'a Fence,
) -> impl Iterator<Item = &'a TabletView> {
    let tablets = snapshot.version.tablets();
    let first = rows
        .after
        .as_deref()
        .map_or(0, |row| snapshot.version.position(row));
    (first..tablets.len())
        .map_while(move |at| tablets.get(at))
        .map(|tablet| &**tablet)
        .take_while(|tablet| {
            let ends = rows.through.as_deref().zip(tablet.extent.after.as_deref());
            ends.is_none_or(|(through, after)| after < through)
        })
}

fn entries_in_memory(snapshot: &Snapshot, rows: &Fence) -> StoreResult<u64> {
    let mut entries = 0;
    for memtable in &snapshot.memtables {
        let (up_to, _) = memtable.count_up_to(rows.through.as_deref())?;
        let before = match &rows.after {
            None => 0,
            after => memtable.count_up_to(after.as_deref())?.0,
        };
        entries += up_to.saturating_sub(before);
    }
    Ok(entries)
}

/// Entries of a tablet's files inside `rows`. Only the first and the last tablet may reach beyond.
fn entries_inside(tablet: &TabletView, rows: &Fence) -> StoreResult<u64> {
    let extent = tablet.extent.intersection(rows);
    if extent.as_ref() == Some(&tablet.extent) {
        return Ok(tablet.entries());
    }
    let mut entries = 0;
    for file in &tablet.files {
        let fence = extent
            .as_ref()
            .and_then(|extent| file.reference.fence.intersection(extent));
        if let Some(fence) = fence {
            entries += file.file.reader().estimate(&fence)?.1;
        }
    }
    Ok(entries)
}

/// Rows of a tablet's files inside `rows`, each with the number of entries that it stands for.
fn weigh_files(
    tablet: &TabletView,
    rows: &Fence,
    candidates: u64,
    weights: &mut Vec<(Vec<u8>, u64)>,
) -> StoreResult<()> {
    if candidates < 2
        && let Some(end) = &tablet.extent.through
    {
        // There are so many tablets that their ends alone are enough.
        weights.push((end.clone(), entries_inside(tablet, rows)?));
        return Ok(());
    }
    let extent = tablet.extent.intersection(rows);
    for file in &tablet.files {
        let fence = extent
            .as_ref()
            .and_then(|extent| file.reference.fence.intersection(extent));
        let Some(fence) = fence else {
            continue;
        };
        let reader = file.file.reader();
        let (bytes, entries) = reader.estimate(&fence)?;
        let mut left = entries;
        let pieces = candidates.clamp(2, 1 << 16) as usize;
        for cut in reader.middle_rows(&fence, pieces)? {
            let share = u128::from(entries) * u128::from(cut.bytes) / u128::from(bytes.max(1));
            let share = u64::try_from(share).unwrap_or(u64::MAX).min(left);
            left -= share;
            weights.push((cut.row, share));
        }
        // What follows the last cut is known to end with the fence, if that has an end.
        if let Some(end) = fence.through {
            weights.push((end, left));
        }
    }
    Ok(())
}

/// The ranges cut after each of some ascending rows; without empty lists.
fn cut(ranges: &[Range], points: &[Vec<u8>]) -> Vec<Vec<Range>> {
    let ends = points.iter().map(|row| Some(row.as_slice())).chain([None]);
    let mut parts = Vec::with_capacity(points.len() + 1);
    let (mut after, mut at) = (None, 0);
    for end in ends {
        let rows = Range::tablet(after, end);
        after = end;
        let mut part = Vec::new();
        while let Some(range) = ranges.get(at) {
            part.extend(range.clip(&rows));
            // A range that goes on behind this part is looked at again for the next one.
            let goes_on = end.is_some_and(|end| range.end().is_none_or(|last| *last.row > *end));
            if goes_on {
                break;
            }
            at += 1;
        }
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[&str]) -> Vec<Vec<u8>> {
        of.iter().map(|row| row.as_bytes().to_vec()).collect()
    }

    #[test]
    fn parts_together_are_the_ranges() {
        let letters = "abcdefghijkl";
        let ranges = [
            Range::rows("b".."c"),
            Range::row("d"),
            Range::rows("e"..="e"),
            Range::row_family("f", "x"),
            Range::rows("h"..),
        ];
        for at in [
            &["a"][..],
            &["b", "c", "d"],
            &["d", "e", "f"],
            &["k", "m"],
            &[],
        ] {
            let parts = cut(&ranges, &points(at));
            assert!(parts.len() <= at.len() + 1, "{at:?}");
            for row in letters.split("").filter(|row| !row.is_empty()) {
                let holding = |ranges: &[Range]| {
                    let holds = |range: &&Range| range.contains_row(row.as_bytes());
                    ranges.iter().filter(holds).count()
                };
                let found: Vec<usize> = parts.iter().map(|part| holding(part)).collect();
                assert_eq!(
                    found.iter().sum::<usize>(),
                    holding(&ranges),
                    "{row} {at:?}"
                );
            }
            let starts: Vec<Range> = parts.concat();
            assert!(
                starts.is_sorted_by(|a, b| a.cmp_start(b).is_lt()),
                "{starts:?}"
            );
        }
        assert_eq!(cut(&[], &points(&["a"])), Vec::<Vec<Range>>::new());
    }

    #[test]
    fn one_row_is_not_divided() {
        assert_eq!(hull(&[Range::row("a")]), None);
        assert_eq!(hull(&[]), None);
        let rows = hull(&[Range::row("a"), Range::rows("c"..)]);
        assert_eq!(rows, Some(Fence::new(Some(b"a".to_vec()), None)));
    }
}
