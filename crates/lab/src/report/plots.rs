//! Selects the charts of an experiment.

use ostrakon_cell::Result;

use super::chart::{Chart, Series, nines};
use super::picture::pictures;
use crate::experiments::{Record, Repetition};
use crate::measure::{HostSample, RateSample, is_steady};

/// All charts of a record, those without data left out.
pub(super) fn plots(record: &Record) -> Result<String> {
    let mut all = pictures(&record.plots)?;
    for (name, y) in rate_names(record) {
        let series = against_time(record, |repetition| {
            let rates = repetition.rates.iter().find(|rates| rates.name == name)?;
            is_steady(&rates.samples).then(|| rates_of(&rates.samples))
        });
        let title = format!("{} against time", capital(&name));
        all += &line_chart(&title, ("seconds", &y), series)?;
    }
    let clients = ["ingest.rate", "query.rate", "verify.rate"];
    // Those who bring charts of their own draw this one better.
    for key in clients.iter().filter(|_| record.plots.is_empty()) {
        all += &against_clients(record, key)?;
    }
    all += &latencies(record)?;
    all += &host(record)?;
    Ok(all)
}

pub(super) fn line_chart(title: &str, (x, y): (&str, &str), series: Vec<Series>) -> Result<String> {
    let marked = series.iter().all(|series| series.points.len() <= 12);
    Chart {
        title,
        x,
        y,
        series,
        marked,
        log_y: false,
        nines: false,
    }
    .figure()
}

/// Names of the rates in the record, with the unit of their vertical axis.
fn rate_names(record: &Record) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    let repetitions = record.rows.iter().flat_map(|row| &row.repetitions);
    for rates in repetitions.flat_map(|repetition| &repetition.rates) {
        if !names.iter().any(|(name, _)| *name == rates.name) {
            let what = rates.name.rsplit(", ").next().unwrap_or("units");
            names.push((rates.name.clone(), format!("{what} a second")));
        }
    }
    names
}

/// One line a repetition; the repetitions of a row share its colour.
fn against_time(
    record: &Record,
    points: impl Fn(&Repetition) -> Option<Vec<(f64, f64)>>,
) -> Vec<Series> {
    let mut all = Vec::new();
    for (group, row) in record.rows.iter().enumerate() {
        for repetition in &row.repetitions {
            if let Some(points) = points(repetition) {
                all.push(Series {
                    name: row.name.clone(),
                    points,
                    group,
                });
            }
        }
    }
    all
}

/// Rates between samples, at the later one. The sliver at the end is left out.
pub(super) fn rates_of(samples: &[RateSample]) -> Vec<(f64, f64)> {
    let widths: Vec<f64> = pairs(samples).map(|(a, b)| b.seconds - a.seconds).collect();
    let widest = widths.iter().copied().fold(0.0, f64::max);
    pairs(samples)
        .map(|(a, b)| (b.seconds, b.seconds - a.seconds, (b.done - a.done) as f64))
        .filter(|(_, width, _)| *width > widest / 3.0 && *width > 0.0)
        .map(|(at, width, done)| (at, done / width))
        .collect()
}

fn pairs(samples: &[RateSample]) -> impl Iterator<Item = (&RateSample, &RateSample)> {
    samples.iter().zip(samples.iter().skip(1))
}

/// Mean rates of rows that differ in their number of clients, in its order.
fn against_clients(record: &Record, key: &str) -> Result<String> {
    let mut series: Vec<Series> = Vec::new();
    let (what, unit) = match key {
        "ingest.rate" => ("ingest", "entries a second"),
        "query.rate" => ("queries", "queries a second"),
        _ => ("verification", "entries a second"),
    };
    for (kind, suffix) in [("", ""), ("settled", ", flushed and compacted")] {
        let key = match kind {
            "" => key.to_owned(),
            kind => key.replace(".rate", &format!(".{kind}_rate")),
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        for row in &record.rows {
            // Rows of the same number of clients differ in something else: the first is meant.
            let clients = row.clients as f64;
            let known = points.iter().any(|(other, _)| *other == clients);
            if let Some(rate) = row.metrics.get(&key).filter(|_| row.clients > 0 && !known) {
                points.push((clients, rate.mean));
            }
        }
        // Two points are no curve: the table has them.
        if points.len() > 2 {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            series.push(Series {
                name: format!("{what}{suffix}"),
                points,
                group: series.len(),
            });
        }
    }
    let title = format!("{} against clients", capital(what));
    let clients = match record.clients.as_str() {
        "" => "client threads",
        clients => clients,
    };
    line_chart(&title, (clients, unit), series)
}

/// The distribution of the first repetition of each row: quantiles across, time up.
fn latencies(record: &Record) -> Result<String> {
    let mut series = Vec::new();
    let mut of = String::new();
    for (group, row) in record.rows.iter().enumerate() {
        let first = row.repetitions.first();
        for latency in first.iter().flat_map(|repetition| &repetition.latencies) {
            of.clone_from(&latency.name);
            series.push(Series {
                name: row.name.clone(),
                points: latency
                    .latency
                    .curve
                    .iter()
                    // The maximum has no place on an axis of nines.
                    .filter(|(quantile, _)| *quantile < 1.0)
                    .map(|(quantile, micros)| (nines(*quantile), *micros))
                    .collect(),
                group,
            });
        }
    }
    Chart {
        title: &format!("How long a {of} takes"),
        x: "part that takes at most this long",
        y: "microseconds",
        series,
        marked: true,
        log_y: true,
        nines: true,
    }
    .figure()
}

/// Processors, memory and disk during the first repetition of each row.
fn host(record: &Record) -> Result<String> {
    let of = |value: fn(&HostSample) -> f64| -> Vec<Series> {
        record
            .rows
            .iter()
            .enumerate()
            .filter_map(|(group, row)| {
                let samples = &row.repetitions.first()?.host;
                if !lasts(samples) {
                    return None;
                }
                Some(Series {
                    name: row.name.clone(),
                    points: samples
                        .iter()
                        .map(|sample| (sample.seconds, value(sample)))
                        .collect(),
                    group,
                })
            })
            .collect()
    };
    let mut all = line_chart(
        "Processors kept busy by this process",
        ("seconds, loading included", "processors"),
        of(|sample| sample.processors),
    )?;
    all += &line_chart(
        "Resident memory",
        ("seconds, loading included", "MiB"),
        of(|sample| sample.resident_bytes as f64 / f64::from(1 << 20)),
    )?;
    all += &line_chart(
        "Read from the disk",
        ("seconds, loading included", "MiB a second"),
        of(|sample| sample.disk_read_bytes_per_second / f64::from(1 << 20)),
    )?;
    all += &line_chart(
        "Written towards the disk",
        ("seconds, loading included", "MiB a second"),
        of(|sample| sample.disk_written_bytes_per_second / f64::from(1 << 20)),
    )?;
    Ok(all)
}

/// Whether there is enough for a chart against time: as for rates, 2 s and 8 samples.
fn lasts(samples: &[HostSample]) -> bool {
    samples.len() >= 8 && samples.last().is_some_and(|last| last.seconds >= 2.0)
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{RateSeries, Row};
    use crate::measure::spread;

    #[test]
    fn rates_leave_the_sliver_out() {
        let at = |seconds, done| RateSample { seconds, done };
        let samples = [at(0.0, 0), at(0.5, 100), at(1.0, 300), at(1.01, 400)];
        assert_eq!(rates_of(&samples), [(0.5, 200.0), (1.0, 400.0)]);
        assert!(rates_of(&[]).is_empty());
    }

    fn record(samples: usize) -> Record {
        let samples: Vec<RateSample> = (0..=samples)
            .map(|at| RateSample {
                seconds: at as f64 / 4.0,
                done: at as u64 * 100,
            })
            .collect();
        let row = |clients: usize| Row {
            name: format!("{clients} walkers"),
            clients,
            metrics: [("query.rate".to_owned(), spread(&[clients as f64]))].into(),
            repetitions: vec![Repetition {
                rates: vec![RateSeries {
                    name: "walk, queries".to_owned(),
                    samples: samples.clone(),
                }],
                ..Repetition::default()
            }],
            ..Row::default()
        };
        Record {
            rows: vec![row(1), row(2)],
            clients: "walkers".to_owned(),
            ..Record::default()
        }
    }

    #[test]
    fn short_runs_have_no_chart_against_time() {
        assert!(plots(&record(8)).unwrap().contains("against time"));
        assert_eq!(plots(&record(7)).unwrap(), "");
    }

    #[test]
    fn two_points_are_no_chart_and_an_axis_says_what_it_counts() {
        let mut record = record(4);
        assert!(!plots(&record).unwrap().contains("against clients"));
        let mut third = record.rows[0].clone();
        third.clients = 3;
        record.rows.push(third);
        let page = plots(&record).unwrap();
        assert!(page.contains("Queries against clients"), "{page}");
        assert!(page.contains(">\nwalkers\n<"), "{page}");
    }
}
