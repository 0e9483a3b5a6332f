//! Selects the charts of an experiment.

use ostrakon_cell::Result;

use super::chart::{Chart, Series, nines};
use super::picture::pictures;
use crate::experiments::{Record, Repetition};
use crate::measure::RateSample;

/// All charts of a record, those without data left out.
pub(super) fn plots(record: &Record) -> Result<String> {
    let mut all = pictures(&record.plots)?;
    for (name, y) in rate_names(record) {
        let series = against_time(record, |repetition| {
            let rates = repetition.rates.iter().find(|rates| rates.name == name)?;
            Some(rates_of(&rates.samples))
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

fn line_chart(title: &str, (x, y): (&str, &str), series: Vec<Series>) -> Result<String> {
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
fn rates_of(samples: &[RateSample]) -> Vec<(f64, f64)> {
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
        if points.len() > 1 {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            series.push(Series {
                name: format!("{what}{suffix}"),
                points,
                group: series.len(),
            });
        }
    }
    let title = format!("{} against clients", capital(what));
    line_chart(&title, ("client threads", unit), series)
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
    let of = |value: fn(&crate::measure::HostSample) -> f64| -> Vec<Series> {
        record
            .rows
            .iter()
            .enumerate()
            .filter_map(|(group, row)| {
                let samples = &row.repetitions.first()?.host;
                // A single look says nothing about time.
                if samples.len() < 2 {
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
        "Written towards the disk",
        ("seconds, loading included", "MiB a second"),
        of(|sample| sample.disk_written_bytes_per_second / f64::from(1 << 20)),
    )?;
    Ok(all)
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

    #[test]
    fn rates_leave_the_sliver_out() {
        let at = |seconds, done| RateSample { seconds, done };
        let samples = [at(0.0, 0), at(0.5, 100), at(1.0, 300), at(1.01, 400)];
        assert_eq!(rates_of(&samples), [(0.5, 200.0), (1.0, 400.0)]);
        assert!(rates_of(&[]).is_empty());
    }
}
