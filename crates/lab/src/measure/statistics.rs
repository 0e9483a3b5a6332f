//! Mean and standard deviation over repetitions.

use serde::{Deserialize, Serialize};

/// What repetitions of one measurement gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the sample (n - 1); 0 for a single value.
    pub deviation: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Number of values.
    pub count: usize,
}

/// The spread of the values; all zero for none.
#[must_use]
pub fn spread(values: &[f64]) -> Spread {
    if values.is_empty() {
        return Spread::default();
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if values.len() > 1 {
        (squares / (count - 1.0)).sqrt()
    } else {
        0.0
    };
    Spread {
        mean,
        deviation,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        count: values.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample() {
        let got = spread(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((got.mean, got.min, got.max, got.count), (5.0, 2.0, 9.0, 8));
        assert!((got.deviation - 2.138).abs() < 0.001);
        assert_eq!(spread(&[3.0]).deviation, 0.0);
        assert_eq!(spread(&[]), Spread::default());
    }
}
