//! Where to split a tablet that has grown too large.

use super::layout::TabletView;
use crate::error::StoreResult;

/// Candidate rows asked of each file for every piece wanted.
const CANDIDATES: usize = 8;

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
    candidates.sort();
    let total: u64 = candidates.iter().map(|(_, bytes)| bytes).sum();
    let mut points: Vec<Vec<u8>> = Vec::with_capacity(pieces - 1);
    let mut seen = 0;
    for (row, bytes) in candidates {
        seen += bytes;
        let wanted = total * (points.len() as u64 + 1) / pieces as u64;
        let fits = row.len() <= row_max
            && tablet.extent.contains(&row)
            && tablet.extent.through.as_ref() != Some(&row)
            && points.last() != Some(&row);
        if points.len() + 1 < pieces && seen >= wanted && fits {
            points.push(row);
        }
    }
    Ok(points)
}
