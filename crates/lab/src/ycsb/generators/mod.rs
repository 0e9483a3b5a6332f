//! YCSB's number generators. Given the same draws they return the same numbers as YCSB core.

mod acknowledged;
mod chooser;
mod lengths;
mod zipfian;

pub(super) use acknowledged::InsertSequence;
pub(super) use chooser::{KeyChooser, KeySpace, hotspot};
pub(super) use lengths::{LengthGenerator, read_histogram};
pub(super) use zipfian::Zipfian;

use super::random::JavaRandom;

/// Uniform between two numbers, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uniform {
    low: i64,
    interval: i64,
}

impl Uniform {
    /// `low` is at most `high`.
    pub(super) fn new(low: i64, high: i64) -> Self {
        Self {
            low,
            interval: (high - low + 1).max(1),
        }
    }

    #[inline]
    pub(super) fn next(self, random: &mut JavaRandom) -> i64 {
        random.next_long().wrapping_abs() % self.interval + self.low
    }
}

/// Chooses among values with weights.
#[derive(Debug, Clone)]
pub(super) struct Discrete<T> {
    /// With their share of all weights; not empty.
    values: Vec<(f64, T)>,
}

impl<T: Copy> Discrete<T> {
    /// Values whose weight is not above 0 are left out. `None` if none is left.
    pub(super) fn new(values: &[(f64, T)]) -> Option<Self> {
        let kept: Vec<(f64, T)> = values.iter().copied().filter(|one| one.0 > 0.0).collect();
        let sum: f64 = kept.iter().fold(0.0, |sum, one| sum + one.0);
        (!kept.is_empty()).then(|| Self {
            values: kept.iter().map(|one| (one.0 / sum, one.1)).collect(),
        })
    }

    #[inline]
    pub(super) fn next(&self, random: &mut JavaRandom) -> Option<T> {
        let mut drawn = random.next_double();
        for (share, value) in &self.values {
            if drawn < *share {
                return Some(*value);
            }
            drawn -= share;
        }
        // Shares may add up to a little less than 1.
        self.values.last().map(|last| last.1)
    }
}
