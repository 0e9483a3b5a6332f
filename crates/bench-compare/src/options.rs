//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::rivals::EngineKind;

/// The run's size with `--full`.
const FULL_ENTRIES: u64 = 100_000_000;

/// Ostrakon and its rivals in one run: medians, ratios of medians, and their conditions.
#[derive(Debug, Parser)]
#[command(name = "bench-compare", version)]
pub(crate) struct Options {
    /// Entries each ingest writes: a number, or one with k or M (500k, 2M) [default: 2M]
    #[arg(long, value_parser = parse_count)]
    scale: Option<u64>,
    /// Only Ostrakon, 100 M entries, once: what the promises about sustained speed and memory are
    /// about. Takes some minutes and 20 GB of disk
    #[arg(long)]
    pub(crate) full: bool,
    /// The workloads of YCSB instead: a load of --scale records of ten fields [default: 1M], and workload C
    #[arg(long, conflicts_with = "full")]
    pub(crate) ycsb: bool,
    /// Repetitions; medians are over these [default: 3, with --full 1]
    #[arg(long)]
    repeat: Option<usize>,
    /// Threads that write
    #[arg(long, default_value_t = 2)]
    pub(crate) writers: usize,
    /// Engines to run; Ostrakon always is
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) engines: Vec<EngineKind>,
    /// Where data is written, on a real disk [default: beside the program]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object instead of a Markdown table
    #[arg(long)]
    pub(crate) json: bool,
    /// One piece of work, as the parent hands it to a child
    #[arg(long, hide = true)]
    pub(crate) child: Option<String>,
}

impl Options {
    /// Entries each ingest writes.
    pub(crate) fn entries(&self) -> u64 {
        match self.scale {
            _ if self.full => FULL_ENTRIES,
            Some(scale) => scale,
            None if self.ycsb => 1_000_000,
            None => 2_000_000,
        }
    }

    /// How often everything is done.
    pub(crate) fn repetitions(&self) -> usize {
        self.repeat.unwrap_or(if self.full { 1 } else { 3 }).max(1)
    }

    /// The engines of this run, Ostrakon first.
    pub(crate) fn engines(&self) -> Vec<EngineKind> {
        let wanted = |kind: EngineKind| {
            kind == EngineKind::Ostrakon
                || !self.full && (self.engines.is_empty() || self.engines.contains(&kind))
        };
        EngineKind::compiled()
            .filter(|kind| wanted(*kind) && kind.takes_part(self.ycsb))
            .collect()
    }
}

fn parse_count(text: &str) -> Result<u64, String> {
    let (digits, unit) = if let Some(digits) = text.strip_suffix(['k', 'K']) {
        (digits, 1_000.0)
    } else if let Some(digits) = text.strip_suffix(['m', 'M']) {
        (digits, 1_000_000.0)
    } else {
        (text, 1.0)
    };
    match digits.parse::<f64>() {
        Ok(number) if number * unit >= 10_000.0 && number * unit <= 1e10 => {
            Ok((number * unit) as u64)
        }
        _ => Err("a number from 10k to 10,000M is wanted, such as 500k or 2M".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_units() {
        assert_eq!(parse_count("2M"), Ok(2_000_000));
        assert_eq!(parse_count("0.5m"), Ok(500_000));
        assert_eq!(parse_count("20k"), Ok(20_000));
        assert_eq!(parse_count("12345"), Ok(12_345));
        for bad in ["", "M", "9k", "-2M", "2G", "NaN", "1e11"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ostrakon_always_runs_and_alone_with_full() {
        let run = |arguments: &[&str]| {
            let line = ["bench-compare"].iter().chain(arguments);
            Options::parse_from(line)
        };
        let some = run(&["--engines", "fjall"]);
        assert_eq!(some.engines(), [EngineKind::Ostrakon, EngineKind::Fjall]);
        assert_eq!((some.entries(), some.repetitions()), (2_000_000, 3));
        let full = run(&["--full"]);
        assert_eq!(full.engines(), [EngineKind::Ostrakon]);
        assert_eq!((full.entries(), full.repetitions()), (100_000_000, 1));
        let ycsb = run(&["--ycsb"]);
        assert_eq!(ycsb.entries(), 1_000_000);
        assert!(!ycsb.engines().contains(&EngineKind::RocksdbVector));
    }
}
