//! Where to split a tablet that has grown too large.

use super::tablet::TabletView;
use crate::catalog::Fence;
use crate::error::StoreResult;

/// Candidate rows requested from each file per piece.
const CANDIDATES: usize = 8;

/// Limit of the content of a stretch of rows, as a multiple of the requested content.
const STRETCH_MOST: u64 = 4;

/// Rows at which a tablet with more than `threshold` bytes is cut into roughly equal pieces; empty
/// when it is small enough or cannot be cut (one huge row, or rows longer than `row_max`).
///
/// Taken from the files' indexes, so no data is read.
pub fn split_points(
    tablet: &TabletView,
    threshold: u64,
    row_max: usize,
) -> StoreResult<Vec<Vec<u8>>> {
    let bytes = tablet.bytes();
    if bytes <= threshold {
        return Ok(Vec::new());
    }
    let pieces = (bytes.div_ceil(threshold) as usize).max(2);
    let mut candidates: Vec<(Vec<u8>, u64)> = Vec::new();
    for file in &tablet.files {
        let Some(fence) = file.reference.fence.intersection(&tablet.extent) else {
            continue;
        };
        let cuts = file
            .file
            .reader()
            .middle_rows(&fence, pieces * CANDIDATES)?;
        candidates.extend(cuts.into_iter().map(|cut| (cut.row, cut.bytes)));
    }
    Ok(Spread::of(candidates).points(&tablet.extent, pieces, row_max))
}

/// The distribution of a tablet's content over its rows: some rows in order, each with the amount
/// up to it.
pub struct Spread(Vec<(Vec<u8>, u64)>);

impl Spread {
    /// From rows in any order, with the amount that each stands for.
    #[must_use]
    pub fn of(mut weights: Vec<(Vec<u8>, u64)>) -> Self {
        weights.sort_unstable();
        let mut rows: Vec<(Vec<u8>, u64)> = Vec::with_capacity(weights.len());
        let mut sum = 0;
        for (row, weight) in weights {
            sum += weight;
            match rows.last_mut() {
                Some((last, up_to)) if *last == row => *up_to = sum,
                _ => rows.push((row, sum)),
            }
        }
        Self(rows)
    }

    /// The last of the rows.
    #[must_use]
    pub fn last_row(&self) -> Option<&[u8]> {
        self.0.last().map(|(row, _)| row.as_slice())
    }

    /// The total amount.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.last().map_or(0, |(_, up_to)| *up_to)
    }

    /// Rows inside `extent`, none longer than `row_max`, that cut it into about `pieces` equal
    /// pieces; into fewer if one row holds as much as several pieces.
    #[must_use]
    pub fn points(&self, extent: &Fence, pieces: usize, row_max: usize) -> Vec<Vec<u8>> {
        let (total, pieces) = (u128::from(self.total()), pieces as u128);
        let mut points: Vec<Vec<u8>> = Vec::new();
        if total == 0 {
            return points;
        }
        // The number of pieces up to the next point.
        let mut next = 1;
        for (row, seen) in &self.0 {
            let fits = (1..=row_max).contains(&row.len())
                && extent.contains(row)
                && extent.through.as_ref() != Some(row);
            let parts = u128::from(*seen) * pieces;
            if next < pieces && parts >= total * next && fits {
                points.push(row.clone());
                // The nearest point that leaves a piece of more than half the size.
                next = (parts + total / 2) / total + 1;
            }
        }
        points
    }

    /// Up to `count` evenly spaced stretches of rows, in order, with about `each` content. Where
    /// rows are so large that a stretch would hold several times as much, there is none.
    #[must_use]
    pub fn stretches(&self, count: usize, each: u64) -> Vec<Fence> {
        let mut stretches: Vec<Fence> = Vec::with_capacity(count);
        let first = |least: u64| self.0.partition_point(|(_, up_to)| *up_to < least);
        for number in 0..count as u64 {
            let before = self.total() * (2 * number + 1) / (2 * count as u64);
            let Some((after, from)) = self.0.get(first(before)) else {
                continue;
            };
            let Some((through, up_to)) = self.0.get(first(from + each.max(1))) else {
                continue;
            };
            let rises = stretches
                .last()
                .is_none_or(|last| last.through.as_ref().is_none_or(|row| row <= after));
            if rises && up_to - from <= each.max(1) * STRETCH_MOST {
                stretches.push(Fence::new(Some(after.clone()), Some(through.clone())));
            }
        }
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of one letter, each with its weight.
    fn spread(weights: &[(u8, u64)]) -> Spread {
        let weights = weights.iter().rev();
        Spread::of(weights.map(|(row, weight)| (vec![*row], *weight)).collect())
    }

    fn points(weights: &[(u8, u64)], pieces: usize) -> Vec<u8> {
        let points = spread(weights).points(&Fence::ALL, pieces, 10);
        points.concat()
    }

    #[test]
    fn pieces_weigh_the_same() {
        let even: Vec<(u8, u64)> = (b'a'..=b'i').map(|row| (row, 1)).collect();
        assert_eq!(points(&even, 3), b"cf");
        assert_eq!(points(&even, 1), b"");
        // The same row twice, from two files.
        assert_eq!(
            points(&[(b'a', 1), (b'b', 2), (b'b', 2), (b'c', 5)], 2),
            b"b"
        );
        // One row's content stays together; content after it does not balance it.
        let large = |behind| [(b'a', 1), (b'b', 84), (b'c', 1), (b'd', behind)];
        assert_eq!(points(&large(34), 4), b"b");
        assert_eq!(points(&large(28), 4), b"b");
        assert_eq!(points(&[], 4), b"");
        // Nothing is not cut, wherever it may be.
        assert_eq!(points(&[(b'a', 0), (b'b', 0), (b'c', 0)], 2), b"");
        assert_eq!(points(&[(b'a', 0), (b'b', 1), (b'c', 0)], 3), b"b");
    }

    #[test]
    fn stretches_lie_in_order_and_are_short() {
        let even: Vec<(u8, u64)> = (b'a'..=b'p').map(|row| (row, 10)).collect();
        let ends = |weights: &[(u8, u64)], count, each| -> Vec<u8> {
            let stretches = spread(weights).stretches(count, each);
            let ends = stretches
                .into_iter()
                .flat_map(|one| [one.after, one.through]);
            ends.flatten().flatten().collect()
        };
        assert_eq!(ends(&even, 2, 20), b"dfln");
        // The second one would hold the large row.
        assert_eq!(
            ends(
                &[(b'a', 10), (b'b', 10), (b'c', 10), (b'd', 10), (b'e', 60)],
                2,
                10
            ),
            b"cd"
        );
        // The second one would begin where the first one does.
        assert_eq!(ends(&[(b'a', 90), (b'b', 10), (b'c', 10)], 3, 5), b"abbc");
        assert_eq!(ends(&[], 3, 5), b"");
    }
}
