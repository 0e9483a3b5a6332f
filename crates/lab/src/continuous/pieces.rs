//! Cuts a table into ranges that threads read in parallel.

use ostrakon_cell::{Range, Result, Table};

use super::layout::{ROW_BYTES, format_row, parse_hex};

/// Pieces each thread should get at least, so that none waits long for the last.
const PIECES_PER_THREAD: usize = 16;

/// Ranges that together cover the table once, in row order: its tablets, cut evenly where there
/// are few, joined where there are more than `most`.
pub(super) fn pieces(table: &dyn Table, threads: usize, most: usize) -> Result<Vec<Range>> {
    let ends: Vec<Vec<u8>> = table
        .tablets()?
        .into_iter()
        .filter_map(|tablet| tablet.end)
        .collect();
    Ok(cut(&ends, threads * PIECES_PER_THREAD, most.max(1)))
}

fn cut(ends: &[Vec<u8>], wanted: usize, most: usize) -> Vec<Range> {
    let tablets = ends.len() + 1;
    let step = tablets.div_ceil(most);
    let parts = (wanted / tablets).min(most / tablets).max(1);
    let mut bounds: Vec<Vec<u8>> = Vec::new();
    let mut low = Some(0);
    for at in 0..tablets {
        let end = ends.get(at);
        let high = end.map_or(Some(1 << 63), |end| row_number(end));
        if let (Some(low), Some(high)) = (low, high) {
            let width = u128::from(high.saturating_sub(low));
            for part in 1..parts as u128 {
                let row = low + (width * part / parts as u128) as u64;
                if row > low && row < high {
                    bounds.push(format_row(row).to_vec());
                }
            }
        }
        if let Some(end) = end.filter(|_| (at + 1) % step == 0) {
            bounds.push(end.clone());
        }
        low = high;
    }
    bounds.dedup();
    let starts = std::iter::once(None).chain(bounds.iter().map(Some));
    let stops = bounds.iter().map(Some).chain(std::iter::once(None));
    starts
        .zip(stops)
        .map(|(start, stop)| Range::tablet(start.map(Vec::as_slice), stop.map(Vec::as_slice)))
        .collect()
}

/// A split point as a number; it may have lost trailing zeros. `None` if it is none of the test's.
fn row_number(split: &[u8]) -> Option<u64> {
    let number = parse_hex(split).filter(|_| (1..=ROW_BYTES).contains(&split.len()))?;
    Some(number << (4 * (ROW_BYTES - split.len()))).filter(|row| row >> 63 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each row lies in exactly one range, and ranges follow one another.
    fn check(ends: &[&str], wanted: usize, most: usize) -> usize {
        let ends: Vec<Vec<u8>> = ends.iter().map(|end| end.as_bytes().to_vec()).collect();
        let ranges = cut(&ends, wanted, most);
        for row in [
            "",
            "0",
            "0000000000000000",
            "3",
            "3000000000000000",
            "4",
            "40",
            "5fffffffffffffff",
            "7fffffffffffffff",
            "apple",
            "zebra",
        ] {
            let hits = ranges
                .iter()
                .filter(|range| range.contains_row(row.as_bytes()))
                .count();
            assert_eq!(hits, 1, "{row:?} in {ranges:?}");
        }
        ranges.len()
    }

    #[test]
    fn few_tablets_are_cut_and_many_are_joined() {
        assert_eq!(check(&[], 32, 4096), 32);
        assert_eq!(check(&["4"], 32, 4096), 32);
        assert_eq!(check(&["2", "4", "6"], 2, 4096), 4);
        assert_eq!(check(&["1", "2", "3", "4", "5", "6", "7"], 32, 3), 3);
        assert_eq!(check(&[], 32, 1), 1);
    }

    #[test]
    fn tablets_of_other_rows_stay_whole() {
        assert_eq!(check(&["apple", "pear"], 32, 4096), 3);
        assert_eq!(check(&["3", "apple"], 6, 4096), 4);
        assert_eq!(check(&["9"], 8, 4096), 2);
    }
}
