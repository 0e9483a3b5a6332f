//! `ostrakon lab ycsb …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ostrakon_cell::{Authorizations, Durability, VisibilityExpression};

use super::lab::SettleChoice;
use super::values::{Property, authorizations, durability, label, workload_property};

/// `lab ycsb …`
#[derive(Debug, Subcommand)]
pub(crate) enum YcsbCommand {
    /// Insert the records of a workload; creates the store and the table if they are missing
    #[command(after_help = "Examples:
  ostrakon lab ycsb load -P workloada -p recordcount=1000000 --threads 2
  ostrakon lab ycsb load -P workloada -p recordcount=1000 -p insertstart=500 -p insertcount=500")]
    Load(YcsbLoadArgs),
    /// Run the operations of a workload, and print the measurements
    #[command(after_help = "Examples:
  ostrakon lab ycsb run -P workloada -p recordcount=1000000 -p operationcount=100000 --threads 2
  ostrakon lab ycsb run -P workloadc -p recordcount=1000 -p maxexecutiontime=10 -p operationcount=0
  ostrakon lab ycsb run -P workloadb --target 1000 -p measurement.interval=both --json")]
    Run(YcsbArgs),
}

/// When a write ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WritesChoice {
    /// When a batch writer has accepted it; durable at the end of the run
    Buffered,
    /// When it is visible and durable
    Durable,
}

/// `lab ycsb load`
#[derive(Debug, Args)]
pub(crate) struct YcsbLoadArgs {
    #[command(flatten)]
    pub(crate) common: YcsbArgs,
    /// Number of split points of a new table, spread evenly over the row range; the table has one tablet more
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) splits: usize,
    /// What to do after the last record; not measured
    #[arg(long, value_enum, default_value_t = SettleChoice::No)]
    pub(crate) settle: SettleChoice,
}

/// `lab ycsb run`
#[derive(Debug, Args)]
pub(crate) struct YcsbArgs {
    /// A core workload, workloada to workloadf, or a property file of YCSB (repeatable)
    #[arg(short = 'P', long = "workload", value_name = "WORKLOAD")]
    pub(crate) workloads: Vec<PathBuf>,
    /// A property of YCSB, which overrides those of workloads (repeatable)
    #[arg(short = 'p', long = "property", value_name = "NAME=VALUE", value_parser = workload_property)]
    pub(crate) properties: Vec<Property>,
    /// Client threads; the property threadcount [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<u64>,
    /// Operations per second of all threads together; the property target [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) target: Option<u64>,
    /// When a write counts as finished [default: buffered for load, durable for run]
    #[arg(long, value_enum)]
    pub(crate) writes: Option<WritesChoice>,
    /// Durability of the writes [default: the table's]
    #[arg(long, value_name = "LEVEL", value_parser = durability())]
    pub(crate) durability: Option<Durability>,
    /// The family of all fields
    #[arg(long, value_name = "FAMILY", default_value = "ycsb")]
    pub(crate) family: String,
    /// Label of every entry written
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub(crate) visibility: Option<VisibilityExpression>,
    /// Comma-separated authorizations of the reader [default: none]
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true,
        value_parser = authorizations
    )]
    pub(crate) auths: Authorizations,
    /// Print a status line to stderr every 10 seconds (property status.interval)
    #[arg(short, long)]
    pub(crate) status: bool,
    /// Seed of the random sequence, to repeat a run [default: random]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}
