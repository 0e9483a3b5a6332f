//! What was measured: for each operation how many, how long, and how they ended.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use ostrakon_cell::{Error, ErrorKind, Result};

use super::database::Status;
use super::properties::WorkloadProperties;

/// The longest time that is distinguished: an hour, in microseconds. Longer ones count as this.
const MAX_MICROS: u64 = 3_600_000_000;

/// What is measured, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Reads.
    Read,
    /// Updates.
    Update,
    /// Inserts, of a load or of a run.
    Insert,
    /// Scans.
    Scan,
    /// Reads with the update that follows.
    ReadModifyWrite,
    /// The end of a client thread.
    Cleanup,
    /// Comparisons of a record with what was written.
    Verify,
}

impl Metric {
    const fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Insert => "INSERT",
            Self::Scan => "SCAN",
            Self::ReadModifyWrite => "READ-MODIFY-WRITE",
            Self::Cleanup => "CLEANUP",
            Self::Verify => "VERIFY",
        }
    }
}

/// A metric, whether the operations failed, and whether times count from the scheduled start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    intended: bool,
    metric: Metric,
    failed: bool,
}

/// From where times count: `measurement.interval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interval {
    /// From the operation's start.
    #[default]
    Operation,
    /// From its scheduled start.
    Intended,
    /// Both.
    Both,
}

/// How times are kept and reported: `measurementtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// As a histogram with three significant digits.
    #[default]
    Histogram,
    /// As averages over short spans.
    TimeSeries,
    /// Each time by itself.
    Raw,
    /// A histogram, and each time by itself.
    HistogramAndRaw,
}

/// Settings of the measurement.
#[derive(Debug, Clone)]
pub struct MeasurementOptions {
    /// From where times count.
    pub interval: Interval,
    /// How times are kept.
    pub kind: Kind,
    /// The percentiles in the report.
    pub percentiles: Vec<f64>,
    /// The span of one average of a time series, in milliseconds.
    pub granularity_ms: u64,
}

impl MeasurementOptions {
    /// The settings among the properties.
    ///
    /// # Errors
    /// A malformed property, or a `measurementtype` that does not exist here.
    pub fn new(properties: &WorkloadProperties) -> Result<Self> {
        let interval = match properties.get("measurement.interval").unwrap_or("op") {
            "op" => Interval::Operation,
            "intended" => Interval::Intended,
            "both" => Interval::Both,
            other => return Err(unknown("measurement.interval", other, "op, intended, both")),
        };
        let kind = match properties.get("measurementtype").unwrap_or("hdrhistogram") {
            "hdrhistogram" => Kind::Histogram,
            "timeseries" => Kind::TimeSeries,
            "raw" => Kind::Raw,
            "hdrhistogram+raw" => Kind::HistogramAndRaw,
            other => {
                let known = "hdrhistogram, timeseries, raw, hdrhistogram+raw";
                return Err(unknown("measurementtype", other, known));
            }
        };
        let list = properties
            .get("hdrhistogram.percentiles")
            .unwrap_or("50,95,99");
        let parse = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|at| (0.0..=100.0).contains(at))
        };
        let percentiles: Option<Vec<f64>> = list.split(',').map(parse).collect();
        Ok(Self {
            interval,
            kind,
            percentiles: percentiles.ok_or_else(|| {
                unknown("hdrhistogram.percentiles", list, "numbers from 0 to 100")
            })?,
            granularity_ms: properties.parse("timeseries.granularity", 1000_u64)?.max(1),
        })
    }

    fn keeps_histogram(&self) -> bool {
        matches!(self.kind, Kind::Histogram | Kind::HistogramAndRaw)
    }

    fn keeps_raw(&self) -> bool {
        matches!(self.kind, Kind::Raw | Kind::HistogramAndRaw)
    }
}

fn unknown(property: &str, value: &str, known: &str) -> Error {
    Error::invalid("the value of a property is not one of those that are known")
        .with("property", property)
        .with("value", value)
        .with("known", known)
}

/// One operation that was measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) metric: Metric,
    pub(super) status: Status,
    /// From the start.
    pub(super) time: Duration,
    /// From the scheduled start.
    pub(super) intended: Duration,
    /// Since 1970, in milliseconds, at the end.
    pub(super) now_ms: u64,
}

/// One time, with when it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawTime {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Microseconds.
    pub micros: u32,
}

/// The times of one [`Key`].
#[derive(Debug, Clone)]
pub struct Times {
    histogram: Histogram<u64>,
    /// Since the last status line.
    recent: Histogram<u64>,
    sum: u64,
    /// Sum and number by the start of the span, in milliseconds since the run began.
    series: BTreeMap<u64, (u64, u64)>,
    raw: Vec<RawTime>,
}

/// What was measured, by one thread or by all.
#[derive(Debug, Clone)]
pub struct Measurements {
    options: MeasurementOptions,
    started_ms: u64,
    times: BTreeMap<Key, Times>,
    statuses: BTreeMap<(Metric, Status), u64>,
}

fn histogram() -> Result<Histogram<u64>> {
    Histogram::new_with_bounds(1, MAX_MICROS, 3).map_err(|error| {
        Error::new(ErrorKind::Internal, "the histogram refuses its bounds")
            .with_source(error.to_string())
    })
}

impl Measurements {
    /// Nothing measured yet, in a run that began at this time.
    #[must_use]
    pub fn new(options: MeasurementOptions, started_ms: u64) -> Self {
        Self {
            options,
            started_ms,
            times: BTreeMap::new(),
            statuses: BTreeMap::new(),
        }
    }

    pub(super) fn record(&mut self, one: &Measured) -> Result<()> {
        let interval = self.options.interval;
        // A comparison that finds a difference has not failed.
        let failed = !one.status.is_ok() && one.metric != Metric::Verify;
        let key = |intended| Key {
            intended,
            metric: one.metric,
            failed,
        };
        // A comparison is no operation of the schedule.
        if interval != Interval::Intended || one.metric == Metric::Verify {
            self.add(key(false), one.time, one.now_ms)?;
        }
        if interval != Interval::Operation && one.metric != Metric::Verify {
            self.add(key(true), one.intended, one.now_ms)?;
        }
        // YCSB counts no status for these two.
        if !matches!(one.metric, Metric::ReadModifyWrite | Metric::Cleanup) {
            *self.statuses.entry((one.metric, one.status)).or_default() += 1;
        }
        Ok(())
    }

    fn add(&mut self, key: Key, time: Duration, now_ms: u64) -> Result<()> {
        let times = match self.times.entry(key) {
            std::collections::btree_map::Entry::Occupied(kept) => kept.into_mut(),
            std::collections::btree_map::Entry::Vacant(empty) => empty.insert(Times::new()?),
        };
        let micros = u64::try_from(time.as_micros()).unwrap_or(MAX_MICROS);
        times.histogram.saturating_record(micros);
        times.recent.saturating_record(micros);
        times.sum += micros;
        if self.options.kind == Kind::TimeSeries {
            let span = self.options.granularity_ms;
            let at = now_ms.saturating_sub(self.started_ms) / span * span;
            let (sum, count) = times.series.entry(at).or_default();
            *sum += micros;
            *count += 1;
        }
        if self.options.keeps_raw() {
            times.raw.push(RawTime {
                at_ms: now_ms,
                micros: u32::try_from(micros).unwrap_or(u32::MAX),
            });
        }
        Ok(())
    }

    /// Adds what another thread measured.
    pub(super) fn add_thread(&mut self, other: &Self) {
        for (key, theirs) in &other.times {
            match self.times.entry(*key) {
                std::collections::btree_map::Entry::Vacant(empty) => {
                    empty.insert(theirs.clone());
                }
                std::collections::btree_map::Entry::Occupied(mut kept) => {
                    let ours = kept.get_mut();
                    // All have the same bounds, so nothing can be out of range.
                    let _ = ours.histogram.add(&theirs.histogram);
                    ours.sum += theirs.sum;
                    for (at, (sum, count)) in &theirs.series {
                        let all = ours.series.entry(*at).or_default();
                        all.0 += sum;
                        all.1 += count;
                    }
                    ours.raw.extend_from_slice(&theirs.raw);
                }
            }
        }
        for (key, count) in &other.statuses {
            *self.statuses.entry(*key).or_default() += count;
        }
    }

    /// Moves the times since the last status line to `recent`.
    pub(super) fn take_recent(&mut self, recent: &mut BTreeMap<Key, Histogram<u64>>) {
        for (key, times) in &mut self.times {
            match recent.entry(*key) {
                std::collections::btree_map::Entry::Vacant(empty) => {
                    empty.insert(times.recent.clone());
                }
                // All have the same bounds, so nothing can be out of range.
                std::collections::btree_map::Entry::Occupied(mut kept) => {
                    let _ = kept.get_mut().add(&times.recent);
                }
            }
            times.recent.reset();
        }
    }

    /// The settings.
    #[must_use]
    pub fn options(&self) -> &MeasurementOptions {
        &self.options
    }

    /// The times by name, as the report calls them.
    pub fn times(&self) -> impl Iterator<Item = (Key, &Times)> {
        self.times.iter().map(|(key, times)| (*key, times))
    }

    /// How the operations of a metric ended.
    pub fn statuses(&self, metric: Metric) -> impl Iterator<Item = (Status, u64)> {
        let all = self.statuses.iter();
        all.filter(move |((of, _), _)| *of == metric)
            .map(|((_, status), count)| (*status, *count))
    }

    /// The key under which a metric's statuses are reported.
    pub(super) fn status_key(&self, metric: Metric) -> Key {
        Key {
            intended: self.options.interval == Interval::Intended && metric != Metric::Verify,
            metric,
            failed: false,
        }
    }

    /// The metrics that have statuses.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics: Vec<Metric> = self.statuses.keys().map(|key| key.0).collect();
        metrics.dedup();
        metrics
    }
}

impl Key {
    /// The metric.
    #[must_use]
    pub fn metric(self) -> Metric {
        self.metric
    }

    /// The name in reports. Where both times are reported, the intended ones have a prefix.
    #[must_use]
    pub fn name(self, options: &MeasurementOptions) -> String {
        let both = self.intended && options.interval == Interval::Both;
        let before = if both { "Intended-" } else { "" };
        let after = if self.failed { "-FAILED" } else { "" };
        format!("{before}{}{after}", self.metric.name())
    }
}

impl Times {
    fn new() -> Result<Self> {
        Ok(Self {
            histogram: histogram()?,
            recent: histogram()?,
            sum: 0,
            series: BTreeMap::new(),
            raw: Vec::new(),
        })
    }

    /// Number of operations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The mean, in microseconds.
    #[must_use]
    pub fn mean_us(&self) -> f64 {
        self.sum as f64 / self.count().max(1) as f64
    }

    /// The shortest, in microseconds.
    #[must_use]
    pub fn min_us(&self) -> u64 {
        self.histogram.min()
    }

    /// The longest, in microseconds.
    #[must_use]
    pub fn max_us(&self) -> u64 {
        self.histogram.max()
    }

    /// The time that this percentage of the operations did not exceed, in microseconds.
    #[must_use]
    pub fn percentile_us(&self, percentile: f64) -> u64 {
        self.histogram.value_at_percentile(percentile)
    }

    /// The mean of every span: its start in milliseconds, and microseconds.
    pub fn series(&self) -> impl Iterator<Item = (u64, f64)> {
        self.series
            .iter()
            .map(|(at, (sum, count))| (*at, *sum as f64 / (*count).max(1) as f64))
    }

    /// Every time, thread by thread.
    #[must_use]
    pub fn raw(&self) -> &[RawTime] {
        &self.raw
    }
}

impl Measurements {
    /// The times of all single operations together.
    ///
    /// # Errors
    /// Never in practice: the bounds are constants the histogram accepts.
    pub(super) fn together(&self) -> Result<Times> {
        let mut all = Times::new()?;
        let intended = self.options.interval == Interval::Intended;
        for (key, times) in &self.times {
            let single = !matches!(
                key.metric,
                Metric::ReadModifyWrite | Metric::Cleanup | Metric::Verify
            );
            if single && key.intended == intended {
                let _ = all.histogram.add(&times.histogram);
                all.sum += times.sum;
            }
        }
        Ok(all)
    }
}

/// One part of a status line, as YCSB prints it.
pub(super) fn summary(name: &str, recent: &Histogram<u64>) -> String {
    let at = |percentile| recent.value_at_percentile(percentile);
    format!(
        "[{name}: Count={}, Max={}, Min={}, Avg={}, 50={}, 90={}, 99={}, 99.9={}, 99.99={}]",
        recent.len(),
        recent.max(),
        if recent.is_empty() { 0 } else { recent.min() },
        short(recent.mean()),
        at(50.0),
        at(90.0),
        at(99.0),
        at(99.9),
        at(99.99),
    )
}

impl MeasurementOptions {
    /// Whether the report has percentiles of histograms.
    pub(super) fn shows_histogram(&self) -> bool {
        self.keeps_histogram()
    }

    /// Whether the report has every time.
    pub(super) fn shows_raw(&self) -> bool {
        self.keeps_raw()
    }
}

/// At most two decimals.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(list: &[(&str, &str)]) -> Result<MeasurementOptions> {
        let mut properties = WorkloadProperties::default();
        for (name, value) in list {
            properties.set(name, value);
        }
        MeasurementOptions::new(&properties)
    }

    fn measured(metric: Metric, status: Status, micros: u64) -> Measured {
        Measured {
            metric,
            status,
            time: Duration::from_micros(micros),
            intended: Duration::from_micros(micros * 2),
            now_ms: 5_000 + micros,
        }
    }

    #[test]
    fn failures_are_apart_and_statuses_are_counted() {
        let mut all = Measurements::new(options(&[]).unwrap(), 5_000);
        for micros in 1..=100 {
            all.record(&measured(Metric::Read, Status::Ok, micros))
                .unwrap();
        }
        all.record(&measured(Metric::Read, Status::NotFound, 7))
            .unwrap();
        let names: Vec<String> = all
            .times()
            .map(|(key, _)| key.name(all.options()))
            .collect();
        assert_eq!(names, ["READ", "READ-FAILED"]);
        let (_, read) = all.times().next().unwrap();
        assert_eq!((read.count(), read.min_us(), read.max_us()), (100, 1, 100));
        assert_eq!((read.percentile_us(95.0), read.mean_us()), (95, 50.5));
        let statuses: Vec<_> = all.statuses(Metric::Read).collect();
        assert_eq!(statuses, [(Status::Ok, 100), (Status::NotFound, 1)]);
    }

    #[test]
    fn intended_times_replace_the_others_or_stand_beside_them() {
        let both = [("measurement.interval", "both")];
        let mut all = Measurements::new(options(&both).unwrap(), 0);
        all.record(&measured(Metric::Update, Status::Ok, 50))
            .unwrap();
        let shown: Vec<_> = all
            .times()
            .map(|(key, times)| (key.name(all.options()), times.max_us()))
            .collect();
        let expected = [
            ("UPDATE".to_owned(), 50),
            ("Intended-UPDATE".to_owned(), 100),
        ];
        assert_eq!(shown, expected);
        let only = [("measurement.interval", "intended")];
        let mut all = Measurements::new(options(&only).unwrap(), 0);
        all.record(&measured(Metric::Update, Status::Ok, 50))
            .unwrap();
        let (key, times) = all.times().next().unwrap();
        assert_eq!(
            (key.name(all.options()).as_str(), times.max_us()),
            ("UPDATE", 100)
        );
    }

    #[test]
    fn threads_are_added_and_status_lines_begin_anew() {
        let series = [
            ("measurementtype", "timeseries"),
            ("timeseries.granularity", "10"),
        ];
        let options = options(&series).unwrap();
        let mut all = Measurements::new(options.clone(), 5_000);
        let mut thread = Measurements::new(options, 5_000);
        for micros in [1, 3, 15] {
            thread
                .record(&measured(Metric::Scan, Status::Ok, micros))
                .unwrap();
        }
        all.add_thread(&thread);
        let (_, scan) = all.times().next().unwrap();
        let spans: Vec<_> = scan.series().collect();
        assert_eq!(spans, [(0, 2.0), (10, 15.0)]);
        for expected in [
            "[SCAN: Count=3, Max=15, Min=1, Avg=6.33",
            "[SCAN: Count=0, Max=0, Min=0, Avg=0",
        ] {
            let mut recent = BTreeMap::new();
            thread.take_recent(&mut recent);
            let (key, times) = recent.first_key_value().unwrap();
            let line = summary(&key.name(thread.options()), times);
            assert!(line.starts_with(expected), "{line}");
        }
    }

    #[test]
    fn unknown_kinds_are_refused_with_those_there_are() {
        let error = options(&[("measurementtype", "histogram")]).unwrap_err();
        assert!(error.to_string().contains("hdrhistogram+raw"), "{error}");
        assert!(options(&[("hdrhistogram.percentiles", "50,x")]).is_err());
        assert!(options(&[("hdrhistogram.percentiles", "50, 99.9")]).is_ok());
    }
}
