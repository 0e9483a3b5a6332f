//! Sentences from the rows of one record; `None` where a row they need was not measured.

use super::super::record::{Record, Row};
use super::super::unit::Unit;

/// A factor: `1.9 times`.
pub(super) fn times(factor: f64) -> String {
    format!(
        "{} times",
        Unit::Count.show((factor * 100.0).round() / 100.0)
    )
}

/// A relative change in whole percent, with its sign.
pub(super) fn percent(factor: f64) -> String {
    let percent = ((factor - 1.0) * 100.0).round();
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{:.0} %", percent.abs())
}

pub(super) fn rate(value: f64) -> String {
    Unit::PerSecond.show(value)
}

/// Rows of a record by name.
pub(super) struct Rows<'a>(pub(super) &'a [Row]);

impl Rows<'_> {
    pub(super) fn of(&self, row: &str, metric: &str) -> Option<f64> {
        let row = self.0.iter().find(|one| one.name == row)?;
        row.metrics.get(metric).map(|spread| spread.mean)
    }

    /// The second row's metric as a multiple of the first's.
    pub(super) fn factor(&self, from: &str, to: &str, metric: &str) -> Option<f64> {
        let (from, to) = (self.of(from, metric)?, self.of(to, metric)?);
        (from > 0.0).then(|| to / from)
    }

    pub(super) fn growth(&self, from: &str, to: &str, metric: &str, what: &str) -> Option<String> {
        let factor = self.factor(from, to, metric)?;
        Some(format!(
            "From {from} to {to}: {} the {what} rate.",
            times(factor)
        ))
    }

    pub(super) fn change(&self, from: &str, to: &str, metric: &str, what: &str) -> Option<String> {
        let factor = self.factor(from, to, metric)?;
        Some(format!("{what}: the rate changes by {}.", percent(factor)))
    }

    pub(super) fn settled(&self) -> Option<String> {
        let name = "2 clients, longer";
        let (burst, settled) = (
            self.of(name, "ingest.rate")?,
            self.of(name, "ingest.settled_rate")?,
        );
        Some(format!(
            "Flushing and compacting included, the longer run has {} entries/s instead of {}.",
            rate(settled),
            rate(burst)
        ))
    }

    pub(super) fn splitting(&self) -> Option<String> {
        let (split, whole) = ("1 tablet that splits", "pre-split into 32");
        let burst = self.factor(whole, split, "ingest.rate")?;
        let settled = self.factor(whole, split, "ingest.settled_rate");
        let settled = settled.map_or_else(String::new, |factor| {
            format!(" ({} with flush and compaction)", percent(factor))
        });
        Some(format!(
            "Splitting while data comes in changes the rate, against a pre-split table: the paper −86 to −95 %, here {}{settled}, \
             with {} tablets at the end.",
            percent(burst),
            Unit::Exact.show(self.of(split, "table.tablets").unwrap_or_default())
        ))
    }

    pub(super) fn little_memory(&self, name: &str) -> Option<String> {
        let little = format!("{name}, little memory");
        let factor = self.factor(name, &little, "query.rate")?;
        let row = self.0.iter().find(|one| one.name == little)?;
        let size = row.data_bytes as f64 / row.memory_bytes.max(1) as f64;
        Some(format!(
            "Where the table is {} the memory, the rate changes by {}.",
            times(size),
            percent(factor)
        ))
    }

    pub(super) fn batches(&self) -> Option<String> {
        let factor = self.factor("1 walker, row by row", "1 batch walker", "query.rate")?;
        Some(format!(
            "A batch walker looks up {} as many rows a second as a walker. The paper: \"roughly ten times\"; its tables \
             have 14, 6 and 4 times (pre-split) and 16, 3 and 27 times (splitting).",
            times(factor)
        ))
    }

    pub(super) fn mix(&self, paper: &str) -> Option<String> {
        let alone = |what: &str| {
            let found = self.0.iter().find(|row| row.name.ends_with(what))?;
            found.name.strip_suffix(what).map(str::to_owned)
        };
        let (writers, walkers) = (alone(" ingest alone")?, alone(" walk alone")?);
        let both = format!("{writers} ingest + {walkers} walk");
        let ingest = self.factor(&format!("{writers} ingest alone"), &both, "ingest.rate")?;
        let query = self.factor(&format!("{walkers} walk alone"), &both, "query.rate")?;
        Some(format!(
            "{writers} ingest clients and {walkers} walkers together, against each alone: ingest {}, queries {}. {paper}",
            percent(ingest),
            percent(query)
        ))
    }

    pub(super) fn nothing_undefined(&self) -> Option<String> {
        let sum = |metric: &str| -> f64 {
            let of = |row: &Row| row.metrics.get(metric).map_or(0.0, |spread| spread.max);
            self.0.iter().map(of).sum()
        };
        if !self
            .0
            .iter()
            .any(|row| row.metrics.contains_key("verify.undefined"))
        {
            return None;
        }
        Some(match sum("verify.undefined") + sum("verify.corrupt") {
            0.0 => "Nothing is undefined or corrupt in any row.".to_owned(),
            wrong => format!("DATA IS LOST OR DAMAGED: {wrong} entries are undefined or corrupt."),
        })
    }

    /// What labels change, drawn per list and different for each entry.
    pub(super) fn labels(&self, metric: &str, what: &str, paper: &str) -> Option<String> {
        let without = "without labels";
        let list = self.factor(without, "a random label per list", metric)?;
        let entry = self.factor(without, "a label of its own per entry", metric)?;
        Some(format!(
            "Labels change {what}: with one for each list {}, with one for each entry {}{paper}.",
            percent(list),
            percent(entry)
        ))
    }

    pub(super) fn expected_edges(&self) -> Option<String> {
        let row = &self.0.first()?.name;
        let (got, expected) = (
            self.of(row, "graph.entries")?,
            self.of(row, "graph.expected_entries")?,
        );
        Some(format!(
            "{} different edges; theory expects {} ({:+.2} %).",
            Unit::Exact.show(got),
            Unit::Exact.show(expected),
            (got / expected - 1.0) * 100.0
        ))
    }

    pub(super) fn degrees(&self) -> Option<String> {
        let of = |row: &str| {
            let one = Unit::Exact.show(self.of(row, "degree.one")?);
            let largest = Unit::Exact.show(self.of(row, "degree.largest")?);
            Some(format!("{one} and {largest}"))
        };
        Some(format!(
            "Vertices of degree 1, and the largest degree: the paper 18,884 and 447; here {} of every edge, {} of one in \
             twenty. Neither has both.",
            of("every edge")?,
            of("one edge in twenty")?
        ))
    }

    pub(super) fn each_writer(&self) -> Option<String> {
        let each = self.of("1 writer × 32 tablets", "ingest.writer_rate")?;
        Some(format!(
            "One writer: {} edges/s; a process of the paper about 100,000 on a cluster without a log.",
            rate(each)
        ))
    }

    pub(super) fn run_of_writers(&self) -> Option<String> {
        let name = "2 writers";
        let (each, seconds) = (
            self.of(name, "ingest.writer_rate")?,
            self.of(name, "ingest.seconds")?,
        );
        Some(format!(
            "{name}: {} edges/s each on average, for {}, acknowledged durably; a process of the paper about 100,000 for about \
             300 s, without a log.",
            rate(each),
            Unit::Seconds.show(seconds)
        ))
    }

    pub(super) fn maxima(&self, record: &Record) -> Vec<Option<String>> {
        let processors = record.conditions.host.processors;
        let sentence = |row: &Row| {
            let flushed = row.metrics.get("ingest.flushed_rate")?.mean;
            let seconds = row.metrics.get("ingest.flushed_seconds")?.mean;
            Some(format!(
                "{}: {} edges/s into files, in {} on {processors} processors; a server of the paper at most 500,000 on 32 \
                 cores, for about 300 s.",
                row.name,
                rate(flushed),
                Unit::Seconds.show(seconds)
            ))
        };
        self.0.iter().map(sentence).collect()
    }

    pub(super) fn log(&self) -> Option<String> {
        let (sync, none) = ("sync: on the disk when acknowledged", "none: no log");
        let burst = self.factor(sync, none, "ingest.rate")?;
        let flushed = self.factor(sync, none, "ingest.flushed_rate")?;
        Some(format!(
            "Without a log: the paper about +30 %, here {} until the last acknowledgement and {} until everything is in \
             files.",
            percent(burst),
            percent(flushed)
        ))
    }
}
