//! The result of a run, as YCSB prints it and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use ostrakon_cell::{Error, Result};
use serde::Serialize;

use super::measurements::{Key, Kind, MeasurementOptions, Measurements, RawTime, Times};
use super::run::YcsbPhase;

/// The result of a run.
#[derive(Debug)]
pub struct YcsbReport {
    /// What was done.
    pub phase: YcsbPhase,
    /// Client threads.
    pub threads: usize,
    /// Operations that ended, failed ones included.
    pub operations: u64,
    /// Seconds from the start of the threads to the end of the last, with their cleanup.
    pub seconds: f64,
    /// What was measured.
    pub measurements: Measurements,
    /// The first error of an operation of a run.
    pub error: Option<Error>,
}

/// The result as JSON.
#[derive(Debug, Clone, Serialize)]
pub struct YcsbFigures {
    /// `load` or `run`.
    pub phase: &'static str,
    /// Client threads.
    pub threads: usize,
    /// Operations that ended, failed ones included.
    pub operations: u64,
    /// Seconds, cleanup included.
    pub seconds: f64,
    /// Operations a second.
    pub operations_per_second: f64,
    /// Times of all operations together.
    #[serde(flatten)]
    pub latency: OperationFigures,
    /// Times by operation, under YCSB's names.
    pub latencies: BTreeMap<String, OperationFigures>,
    /// How operations ended: by operation, how often by status.
    pub statuses: BTreeMap<String, BTreeMap<&'static str, u64>>,
}

/// Times of one kind of operation, in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct OperationFigures {
    /// How many were measured.
    pub count: u64,
    /// The mean.
    pub mean_us: f64,
    /// The shortest.
    pub min_us: u64,
    /// 50 of 100 took no longer.
    pub p50_us: u64,
    /// 90 of 100 took no longer.
    pub p90_us: u64,
    /// 95 of 100 took no longer.
    pub p95_us: u64,
    /// 99 of 100 took no longer.
    pub p99_us: u64,
    /// 999 of 1,000 took no longer.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl From<&Times> for OperationFigures {
    fn from(times: &Times) -> Self {
        let at = |percentile| times.percentile_us(percentile);
        Self {
            count: times.count(),
            mean_us: times.mean_us(),
            min_us: if times.count() == 0 {
                0
            } else {
                times.min_us()
            },
            p50_us: at(50.0),
            p90_us: at(90.0),
            p95_us: at(95.0),
            p99_us: at(99.0),
            p999_us: at(99.9),
            max_us: times.max_us(),
        }
    }
}

impl YcsbReport {
    /// Operations a second.
    #[must_use]
    pub fn operations_per_second(&self) -> f64 {
        self.operations as f64 / self.seconds.max(1e-9)
    }

    /// The result for JSON.
    ///
    /// # Errors
    /// Never in practice; see [`Measurements`].
    pub fn figures(&self) -> Result<YcsbFigures> {
        let measured = &self.measurements;
        let name = |key: Key| key.name(measured.options());
        let latencies = measured
            .times()
            .map(|(key, times)| (name(key), times.into()));
        let mut statuses: BTreeMap<String, BTreeMap<&str, u64>> = BTreeMap::new();
        for metric in measured.metrics() {
            let counts = measured.statuses(metric);
            statuses.insert(
                name(measured.status_key(metric)),
                counts
                    .map(|(status, count)| (status.name(), count))
                    .collect(),
            );
        }
        Ok(YcsbFigures {
            phase: match self.phase {
                YcsbPhase::Load => "load",
                YcsbPhase::Run => "run",
            },
            threads: self.threads,
            operations: self.operations,
            seconds: self.seconds,
            operations_per_second: self.operations_per_second(),
            latency: (&measured.together()?).into(),
            latencies: latencies.collect(),
            statuses,
        })
    }

    /// The result as YCSB's text exporter prints it: `[NAME], measurement, value`, without the lines about the garbage
    /// collector of a Java machine. Raw times come first, as in YCSB; see [`raw`](Self::raw).
    #[must_use]
    pub fn text(&self, raw_summary: bool) -> String {
        let mut text = String::new();
        let mut line = |name: &str, what: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "[{name}], {what}, {value}");
        };
        line(
            "OVERALL",
            "RunTime(ms)",
            format!("{:.0}", self.seconds * 1e3),
        );
        let rate = format!("{:?}", self.operations_per_second());
        line("OVERALL", "Throughput(ops/sec)", rate);
        let measured = &self.measurements;
        let options = measured.options();
        let mut exported = measured
            .times()
            .map(|(key, times)| (key, Some(times)))
            .collect::<Vec<_>>();
        for metric in measured.metrics() {
            // All operations of a metric may have failed: the statuses stand under its name nevertheless.
            let key = measured.status_key(metric);
            if !exported.iter().any(|one| one.0 == key) {
                exported.push((key, None));
            }
        }
        exported.sort_by_key(|one| one.0);
        for (key, times) in exported {
            let statuses: Vec<(String, u64)> = if key == measured.status_key(key.metric()) {
                let counts = measured.statuses(key.metric());
                counts
                    .map(|(status, count)| (format!("Return={}", status.name()), count))
                    .collect()
            } else {
                Vec::new()
            };
            let both = options.kind == Kind::HistogramAndRaw;
            let name = key.name(options);
            let mut part = |prefix: &str, lines: Vec<(String, String)>| {
                let name = if both {
                    format!("{prefix}{name}")
                } else {
                    name.clone()
                };
                for (what, value) in lines {
                    line(&name, &what, value);
                }
                for (what, count) in &statuses {
                    line(&name, what, count.to_string());
                }
            };
            let Some(times) = times else {
                part("Hdr", vec![("Operations".to_owned(), "0".to_owned())]);
                continue;
            };
            if options.shows_histogram() {
                part("Hdr", histogram_lines(times, options));
            } else if options.kind == Kind::TimeSeries {
                part("", span_lines(times));
            }
            if options.shows_raw() {
                part("Raw", raw_lines(times, raw_summary));
            }
        }
        if options.kind == Kind::TimeSeries {
            for (key, times) in measured.times() {
                for (at, mean) in times.series() {
                    line(&key.name(options), &at.to_string(), format!("{mean:?}"));
                }
            }
        }
        text
    }

    /// Every time as YCSB prints it: `operation,milliseconds since 1970,microseconds`. Empty unless raw times were kept.
    #[must_use]
    pub fn raw(&self) -> String {
        let options = self.measurements.options();
        let mut text = String::new();
        if !options.shows_raw() {
            return text;
        }
        let prefix = if options.kind == Kind::HistogramAndRaw {
            "Raw"
        } else {
            ""
        };
        for (key, times) in self.measurements.times() {
            let name = format!("{prefix}{}", key.name(options));
            let _ = writeln!(
                text,
                "{name} latency raw data: op, timestamp(ms), latency(us)"
            );
            for RawTime { at_ms, micros } in times.raw() {
                let _ = writeln!(text, "{name},{at_ms},{micros}");
            }
        }
        text
    }
}

fn span_lines(times: &Times) -> Vec<(String, String)> {
    vec![
        ("Operations".to_owned(), times.count().to_string()),
        (
            "AverageLatency(us)".to_owned(),
            format!("{:?}", times.mean_us()),
        ),
        ("MinLatency(us)".to_owned(), times.min_us().to_string()),
        ("MaxLatency(us)".to_owned(), times.max_us().to_string()),
    ]
}

fn histogram_lines(times: &Times, options: &MeasurementOptions) -> Vec<(String, String)> {
    let mut lines = span_lines(times);
    for &percentile in &options.percentiles {
        let value = times.percentile_us(percentile).to_string();
        lines.push((
            format!("{}PercentileLatency(us)", ordinal(percentile)),
            value,
        ));
    }
    lines
}

fn raw_lines(times: &Times, with_summary: bool) -> Vec<(String, String)> {
    let mut lines = vec![("Total Operations".to_owned(), times.count().to_string())];
    let mut sorted: Vec<u32> = times.raw().iter().map(|one| one.micros).collect();
    sorted.sort_unstable();
    if !with_summary || sorted.is_empty() {
        return lines;
    }
    let at = |share: f64| {
        let position = (sorted.len() as f64 * share) as usize;
        sorted
            .get(position)
            .copied()
            .unwrap_or_default()
            .to_string()
    };
    let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
    line(
        "Below is a summary of latency in microseconds:",
        "-1".to_owned(),
    );
    line("Average", format!("{:?}", times.mean_us()));
    line("Min", at(0.0));
    line(
        "Max",
        sorted.last().copied().unwrap_or_default().to_string(),
    );
    for (name, share) in [
        ("p1", 0.01),
        ("p5", 0.05),
        ("p50", 0.5),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("p99.99", 0.9999),
    ] {
        line(name, at(share));
    }
    lines
}

/// `50th`, `1st`, `99.9`: as YCSB names percentiles.
fn ordinal(percentile: f64) -> String {
    if percentile.fract() != 0.0 {
        return percentile.to_string();
    }
    let number = percentile as u64;
    let suffix = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_named_as_in_ycsb() {
        let names = [50.0, 1.0, 11.0, 22.0, 93.0, 99.9].map(ordinal);
        assert_eq!(names, ["50th", "1st", "11th", "22nd", "93rd", "99.9"]);
    }
}
