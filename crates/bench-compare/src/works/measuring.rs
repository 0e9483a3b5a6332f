//! How all workloads are timed, and how their results are checked.

use std::time::Instant;

use crate::Outcome;
use crate::rivals::Scanned;
use crate::workload::{KEY_BYTES, VALUE_BYTES};

/// Timed passes after one that fills the cache.
pub(super) const PASSES: usize = 3;

/// Runs something, and returns how many seconds it took.
pub(super) fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(f64, T)> {
    let started = Instant::now();
    let result = work()?;
    Ok((started.elapsed().as_secs_f64().max(1e-9), result))
}

/// Units per second: the median of several passes after one warm-up pass.
pub(super) fn rate(pass: impl Fn() -> Outcome<u64>) -> Outcome<f64> {
    pass()?;
    let mut rates = Vec::new();
    for _ in 0..PASSES {
        let (seconds, units) = timed(&pass)?;
        rates.push(units as f64 / seconds);
    }
    Ok(median(&rates))
}

/// Fails if keys are missing, because the rate of a wrong result is meaningless.
pub(super) fn complete(scanned: Scanned, entries: u64) -> Outcome<u64> {
    let values = entries * (VALUE_BYTES - 16)..=entries * VALUE_BYTES;
    if scanned.entries == entries && values.contains(&scanned.value_bytes) {
        return Ok(entries);
    }
    Err(format!(
        "a scan met {} entries with {} bytes of values; {entries} entries of {KEY_BYTES} + up to \
         {VALUE_BYTES} bytes were written",
        scanned.entries, scanned.value_bytes
    )
    .into())
}

pub(super) fn all_found(found: u64, wanted: usize) -> Outcome<u64> {
    if found == wanted as u64 {
        return Ok(found);
    }
    Err(format!("{found} of {wanted} point reads found what was written").into())
}

/// The median; of an even number of values the mean of the middle two; 0 if there are none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (
        sorted.get((sorted.len().max(1) - 1) / 2),
        sorted.get(sorted.len() / 2),
    ) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[]), 0.0);
    }
}
