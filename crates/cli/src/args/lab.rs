//! `ostrakon lab …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ostrakon_cell::{Authorizations, Durability};

use super::values::{
    ExperimentNames, Property, authorizations, count, durability, named_file, seconds, size,
};
use super::ycsb::YcsbCommand;

/// One variant per subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the experiments
    List,
    /// Run experiments, and write a JSON record of each
    Run(RunArgs),
    /// Create an HTML page from the records in a directory
    Report(ReportArgs),
    /// The continuous test suite: linked lists that reveal any loss of data
    #[command(
        subcommand,
        after_help = "Examples:
  ostrakon lab continuous ingest --splits 16 --entries 10M
  ostrakon lab continuous walk --seconds 10
  ostrakon lab continuous verify                          reports rows that were lost
  ostrakon lab continuous agitate --kills 10

Only ingest and agitate create a store or a table. walk, batch-walk, verify and agitate exit with
code 1 if data is lost or damaged, and also if they found no data to check."
    )]
    Continuous(Box<ContinuousCommand>),
    /// The workloads of YCSB on a table
    #[command(
        subcommand,
        after_help = "Examples:
  ostrakon lab ycsb load -P workloada -p recordcount=100000 --threads 2
  ostrakon lab ycsb run -P workloada -p recordcount=100000 -p operationcount=100000 --threads 2
  ostrakon lab ycsb run -P workloadc -p recordcount=100000 -p operationcount=100000 --json

Property names, defaults and the format of the report are those of YCSB's core workload. Each field
of a record is an entry, and each write is one mutation."
    )]
    Ycsb(Box<YcsbCommand>),
    /// Sort one rank's part of a graph into a file (started by `run` as a child process)
    #[command(hide = true)]
    Rank(RankArgs),
}

/// `lab rank`
#[derive(Debug, Args)]
pub(crate) struct RankArgs {
    /// The number of this rank, from 0
    #[arg(long)]
    pub(crate) rank: usize,
    /// The number of ranks
    #[arg(long)]
    pub(crate) ranks: usize,
    /// Tablets per rank
    #[arg(long)]
    pub(crate) tablets: usize,
    /// A base graph has 2^scale vertex numbers
    #[arg(long)]
    pub(crate) graph_scale: u32,
    /// Edges of a base graph per vertex number
    #[arg(long)]
    pub(crate) edges_per_vertex: u32,
    /// Renumber the vertices at random
    #[arg(long)]
    pub(crate) permuted: bool,
    /// Seed of the random sequence
    #[arg(long)]
    pub(crate) seed: u64,
    /// The split file
    #[arg(long, value_name = "FILE")]
    pub(crate) splits: PathBuf,
    /// The location whose tablets this rank shares
    #[arg(long)]
    pub(crate) location: String,
    /// Directory of the sorted file
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// `lab run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon lab run sen2013-table-1 --out records
  ostrakon lab run all --scale 0.1 --repeat 1 --out quick
  ostrakon lab report records

Experiments create their own stores below --work, and delete them. They do not use --data.")]
pub(crate) struct RunArgs {
    /// Names of experiments (see `ostrakon lab list`), or all
    #[arg(
        required = true,
        value_name = "NAME",
        value_parser = ExperimentNames,
        hide_possible_values = true
    )]
    pub(crate) names: Vec<String>,
    /// Factor by which to scale entries and seconds; 1 takes one to three minutes per experiment on two cores
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub(crate) scale: f64,
    /// Repetitions of each measurement
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeat: usize,
    /// Directory of the records; created if missing
    #[arg(long, value_name = "DIR", default_value = "lab-results")]
    pub(crate) out: PathBuf,
    /// Directory for stores while an experiment runs [default: the directory of the records]
    #[arg(long, value_name = "DIR")]
    pub(crate) work: Option<PathBuf>,
    /// Durability of the writes
    #[arg(long, value_name = "LEVEL", default_value = "sync", value_parser = durability())]
    pub(crate) durability: Durability,
}

/// `lab report`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon lab report records
  ostrakon lab report records --output page.html")]
pub(crate) struct ReportArgs {
    /// Directory of the records
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The page [default: DIR/report.html]
    #[arg(short, long, value_name = "FILE", value_parser = named_file())]
    pub(crate) output: Option<PathBuf>,
    /// Directory of earlier records; the page shows how rates have changed since then
    #[arg(long, value_name = "DIR")]
    pub(crate) baseline: Option<PathBuf>,
}

/// Where a run of the continuous test leaves its record.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Directory in which to write a record of this run, for `ostrakon lab report`
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
}

/// `lab continuous …`
#[derive(Debug, Subcommand)]
pub(crate) enum ContinuousCommand {
    /// Write linked lists
    #[command(after_help = "Examples:
  ostrakon lab continuous ingest --splits 16 --entries 10M --durability sync
  ostrakon lab continuous ingest --seconds 60 --writers 2 --json")]
    Ingest(IngestArgs),
    /// Follow one list at a time; a missing row is lost data
    Walk(WalkArgs),
    /// Follow thousands of lists at once with the batch scanner
    BatchWalk(BatchWalkArgs),
    /// Read random ranges
    Scan(ScanTestArgs),
    /// Read every entry, and write an entry that points back to it (many objects read, updated)
    Moru(MoruArgs),
    /// Find broken links and damaged entries; exits with code 0 only if there are none
    Verify(VerifyArgs),
    /// Ingest in a child process that is killed repeatedly, and verify that no data is lost
    Agitate(AgitateArgs),
    /// Print a line about the table at intervals
    Stats(StatsArgs),
}

/// The table and the interval of its rows.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// The table
    #[arg(long, value_name = "TABLE", default_value = "ci")]
    pub(crate) table: String,
    /// The smallest row, as a number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) min: u64,
    /// Upper bound of the rows, as a number, exclusive
    #[arg(long, value_name = "NUMBER", default_value_t = i64::MAX as u64)]
    pub(crate) max: u64,
    /// Seed of the random sequence, to repeat a run [default: random]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}

/// What to do after the last entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SettleChoice {
    /// Nothing
    No,
    /// Flush
    Flush,
    /// Flush and compact
    Compact,
}

/// What writers do, in `ingest` and in the child of `agitate`.
#[derive(Debug, Args)]
pub(crate) struct WriterArgs {
    /// Number of split points of a new table, spread evenly over the row range; the table has one tablet more
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) splits: usize,
    /// Writer threads
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) writers: usize,
    /// Durability of the writes [default: the table's]
    #[arg(long, value_name = "LEVEL", value_parser = durability())]
    pub(crate) durability: Option<Durability>,
    /// Entries per round; after each round, a writer waits until all are acknowledged. Runs limited by --entries use
    /// shorter rounds [default: 1M; 10,000 under agitate]
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) flush_interval: Option<u64>,
    /// Number of rounds before the lists are joined
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub(crate) depth: u32,
    /// Leave the checksum out of values
    #[arg(long)]
    pub(crate) no_checksum: bool,
    /// A file with one label per line; each list gets one of them
    #[arg(long, value_name = "FILE")]
    pub(crate) visibilities: Option<PathBuf>,
    /// Probability that finished lists are deleted instead of joined
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    pub(crate) delete_probability: f64,
    /// Maximum number of unacknowledged bytes per writer
    #[arg(long, value_name = "SIZE", default_value = "100000000", value_parser = size)]
    pub(crate) buffer: u64,
    /// Number of bytes that a writer collects before it submits them
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size)]
    pub(crate) batch: u64,
    /// Upper bound of the random column families, exclusive
    #[arg(long, value_name = "NUMBER", default_value_t = 32_767)]
    pub(crate) max_cf: u32,
    /// Upper bound of the random column qualifiers, exclusive
    #[arg(long, value_name = "NUMBER", default_value_t = 32_767)]
    pub(crate) max_cq: u32,
    /// A property to create the table with (repeatable)
    #[arg(short, long = "property", value_name = "NAME=VALUE")]
    pub(crate) properties: Vec<Property>,
}

/// `ingest`
#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) writer: WriterArgs,
    /// Number of entries to write, by all writers together, such as 100M [default: until stopped]
    #[arg(short = 'n', long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) entries: Option<u64>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<f64>,
    /// What to do after the last entry
    #[arg(long, value_name = "WHAT", default_value = "compact")]
    pub(crate) settle: SettleChoice,
    /// Interval at which to print a line of statistics
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) stats: Option<f64>,
    /// Report acknowledged entries on stdout (used by `agitate` for its child process)
    #[arg(long, hide = true, conflicts_with = "json")]
    pub(crate) agitated: bool,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// How long readers run, and which authorizations they have.
#[derive(Debug, Args)]
pub(crate) struct ReaderArgs {
    /// Stop after this many seconds [default: until stopped]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) seconds: Option<f64>,
    /// Milliseconds to pause after each step [default: 0; in a run without a limit, as in Accumulo's suite, 10 in walk
    /// and scan, and 180,000 in batch-walk]
    #[arg(long, value_name = "MILLIS")]
    pub(crate) pause: Option<u64>,
    /// A file with comma-separated authorizations per line; each walk or scan uses a random line
    #[arg(long, value_name = "FILE")]
    pub(crate) auths_file: Option<PathBuf>,
    /// Maximum number of examples shown per kind of error
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) examples: usize,
}

/// `walk`
#[derive(Debug, Args)]
pub(crate) struct WalkArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) reader: ReaderArgs,
    /// Stop after this many queries
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) queries: Option<u64>,
    /// Number of walkers; each has its own thread and scan
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) walkers: usize,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// `batch-walk`
#[derive(Debug, Args)]
pub(crate) struct BatchWalkArgs {
    #[command(flatten)]
    pub(crate) walk: WalkArgs,
    /// Number of rows per batch scan
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) batch_rows: usize,
    /// Number of threads per batch scan
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(crate) threads: usize,
}

/// `scan`
#[derive(Debug, Args)]
pub(crate) struct ScanTestArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) reader: ReaderArgs,
    /// Stop after this many scans
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) scans: Option<u64>,
    /// Number of entries that a scan should return
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(crate) entries_per_scan: u64,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// `moru`
#[derive(Debug, Args)]
pub(crate) struct MoruArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Comma-separated authorizations of the reader [default: none]
    #[arg(
        short = 's',
        long,
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true,
        value_parser = authorizations
    )]
    pub(crate) auths: Authorizations,
    /// Number of threads; 0 means one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Leave the checksum out of the written values
    #[arg(long)]
    pub(crate) no_checksum: bool,
    /// Durability of the writes [default: the table's]
    #[arg(long, value_name = "LEVEL", value_parser = durability())]
    pub(crate) durability: Option<Durability>,
}

/// How `verify` works, alone and inside `agitate`.
#[derive(Debug, Args)]
pub(crate) struct VerifyHow {
    /// Comma-separated authorizations; must satisfy every label used [default: none]
    #[arg(
        short = 's',
        long,
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true,
        value_parser = authorizations
    )]
    pub(crate) auths: Authorizations,
    /// Number of threads that scan and sort; 0 means one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Memory for links; those that do not fit go to --scratch
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size)]
    pub(crate) link_memory: u64,
    /// Directory for links that do not fit in memory [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Maximum number of examples shown per kind of error
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) examples: usize,
}

/// `verify`
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The table
    #[arg(long, value_name = "TABLE", default_value = "ci")]
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) how: VerifyHow,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// `agitate`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon lab continuous agitate --kills 50
  ostrakon lab continuous agitate --kills 5 --writers 2 --durability flush --verify-each")]
pub(crate) struct AgitateArgs {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) writer: WriterArgs,
    /// How many times to kill the child process
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) kills: u64,
    /// Shortest lifetime of a child process
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    pub(crate) life_min: f64,
    /// Longest lifetime of a child process
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub(crate) life_max: f64,
    /// Seconds to wait after a kill before the store is opened again
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pub(crate) down: f64,
    /// Use the periods of Accumulo's suite: kill every 20 minutes, then wait 10 minutes
    #[arg(long, conflicts_with_all = ["life_min", "life_max", "down"])]
    pub(crate) suite_periods: bool,
    /// Verify after every kill, not only at the end
    #[arg(long)]
    pub(crate) verify_each: bool,
    #[command(flatten)]
    pub(crate) how: VerifyHow,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// `stats`
#[derive(Debug, Args)]
#[command(after_help = "\
Only one process can have a store open for writing. To watch an ingest, use
`ingest --stats SECONDS`.")]
pub(crate) struct StatsArgs {
    /// The table
    #[arg(long, value_name = "TABLE", default_value = "ci")]
    pub(crate) table: String,
    /// Seconds between lines
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub(crate) interval: f64,
    /// Stop after this many lines [default: until stopped]
    #[arg(long, value_name = "N")]
    pub(crate) lines: Option<u64>,
}
