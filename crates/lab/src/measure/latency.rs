//! Latencies: a histogram while running, percentiles afterwards.

use std::time::Duration;

use hdrhistogram::Histogram;
use ostrakon_cell::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// The longest time that is distinguished: an hour, in nanoseconds. Longer ones count as this.
const MAX_NANOS: u64 = 3_600_000_000_000;

/// Records times with three significant digits in constant memory.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Nothing recorded yet.
    ///
    /// # Errors
    /// Never in practice: the bounds are constants the histogram accepts.
    pub fn new() -> Result<Self> {
        Histogram::new_with_bounds(1, MAX_NANOS, 3)
            .map(Self)
            .map_err(|error| {
                Error::new(ErrorKind::Internal, "the histogram refuses its bounds")
                    .with_source(error.to_string())
            })
    }

    /// Records one time.
    #[inline]
    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record(time.as_nanos() as u64);
    }

    /// Adds what another thread recorded.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds, so nothing can be out of range.
        let _ = self.0.add(&other.0);
    }

    /// Percentiles, in microseconds.
    #[must_use]
    pub fn summary(&self) -> LatencySummary {
        let at = |quantile: f64| self.0.value_at_quantile(quantile) as f64 / 1e3;
        if self.0.is_empty() {
            return LatencySummary::default();
        }
        LatencySummary {
            count: self.0.len(),
            mean_us: self.0.mean() / 1e3,
            min_us: self.0.min() as f64 / 1e3,
            p50_us: at(0.5),
            p90_us: at(0.9),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: self.0.max() as f64 / 1e3,
            curve: CURVE
                .iter()
                .map(|&quantile| (quantile, at(quantile)))
                .collect(),
        }
    }
}

/// Where the curve of a distribution is taken: dense at the slow end.
const CURVE: [f64; 19] = [
    0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999,
    0.9999, 1.0,
];

/// The distribution of a latency, in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Times recorded.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// Shortest.
    pub min_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 90 of 100 stay below.
    pub p90_us: f64,
    /// 95 of 100 stay below.
    pub p95_us: f64,
    /// 99 of 100 stay below.
    pub p99_us: f64,
    /// 999 of 1,000 stay below.
    pub p999_us: f64,
    /// Longest.
    pub max_us: f64,
    /// The distribution as (quantile, microseconds), for plots.
    pub curve: Vec<(f64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_a_thousand() {
        let mut all = Latencies::new().unwrap();
        for half in [1..=500_u64, 501..=1000] {
            let mut part = Latencies::new().unwrap();
            for micros in half {
                part.record(Duration::from_micros(micros));
            }
            all.add(&part);
        }
        let summary = all.summary();
        assert_eq!(summary.count, 1000);
        for (got, expected) in [
            (summary.p50_us, 500.0),
            (summary.p99_us, 990.0),
            (summary.max_us, 1000.0),
            (summary.mean_us, 500.5),
        ] {
            assert!(
                (got - expected).abs() < expected / 500.0,
                "{got} {expected}"
            );
        }
        assert_eq!(
            Latencies::new().unwrap().summary(),
            LatencySummary::default()
        );
    }
}
