//! `ostrakon table …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ostrakon_cell::{IteratorSetting, TimeType};

use super::values::{Bytes, Property, Timeout, iterator, time_type};

/// One variant a verb.
#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// Create a table
    Create(CreateArgs),
    /// Delete tables and everything in them
    Delete {
        /// The tables
        #[arg(required = true, value_name = "TABLE")]
        tables: Vec<String>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Give a table another name
    Rename {
        /// Its present name
        from: String,
        /// Its new name
        to: String,
    },
    /// List the tables
    List {
        /// Show id, state, time type, tablets and files too, entries and bytes in files, and entries in
        /// memory
        #[arg(short, long)]
        long: bool,
    },
    /// List the rows at which a table is split
    Splits {
        /// The table
        table: String,
    },
    /// List the tablets of a table with their files, entries and size
    Tablets {
        /// The table
        table: String,
    },
    /// Show what fails in tables, why, and what to do
    #[command(after_help = "Examples:
  ostrakon table status                what fails in any table; nothing for a sound store
  ostrakon table status people --try   flush the table first, to see whether that works")]
    Status {
        /// The table; all of them without one
        table: Option<String>,
        /// Flush what is in memory and read from each tablet first: a command that just opened the store has not
        /// tried that yet
        #[arg(long = "try")]
        tried: bool,
    },
    /// Put a damaged or missing table file back, from a checkpoint
    #[command(after_help = "Examples:
  ostrakon table restore-file backups/monday/files/0000000000000012.sorted

The file is verified first: it must be sound, and the one that the store knows under that number.")]
    RestoreFile {
        /// The file in the checkpoint
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Split a table at more rows
    #[command(after_help = "Examples:
  ostrakon table add-splits people g n t
  ostrakon table add-splits people --splits-file splits.txt   one row a line, \\xNN for bytes
  ostrakon table splits people | ostrakon --data other table add-splits people --splits-file -")]
    AddSplits {
        /// The table
        table: String,
        /// The rows; each becomes the last row of a tablet
        #[arg(value_name = "ROW", required_unless_present = "splits_file")]
        rows: Vec<Bytes>,
        /// A file with one row to split at a line, as `table splits` prints them; - for stdin
        #[arg(long, value_name = "FILE", alias = "file")]
        splits_file: Option<PathBuf>,
    },
    /// Make one tablet of several
    #[command(after_help = "Examples:
  ostrakon table merge people                            one tablet for the whole table
  ostrakon table merge people --begin g --end t          of the tablets with rows after g up to t")]
    Merge {
        /// The table
        table: String,
        #[command(flatten)]
        rows: RowBounds,
    },
    /// Show in which tablets rows lie
    #[command(after_help = "Examples:
  ostrakon table locate people alice zoe
  ostrakon table locate people alice --json")]
    Locate {
        /// The table
        table: String,
        /// The rows; they need not exist
        #[arg(value_name = "ROW", required = true)]
        rows: Vec<Bytes>,
    },
    /// Write what is in memory to files
    Flush {
        /// The table
        table: String,
        /// Return at once
        #[arg(long, conflicts_with = "timeout")]
        no_wait: bool,
        #[command(flatten)]
        within: Timeout,
    },
    /// Merge the files of each tablet into one
    Compact(CompactArgs),
    /// Take over every sorted file of a directory, all at once
    ImportDirectory(ImportDirectoryArgs),
    /// Make a table with the present content of another, sharing its files
    Clone(CloneArgs),
    /// Read and change the properties of a table
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show how many bytes tables take on disk
    Du {
        /// The tables; all without any
        #[arg(value_name = "TABLE")]
        tables: Vec<String>,
    },
    /// Take a table off-line: it keeps its data and answers nobody
    Offline {
        /// The table
        table: String,
    },
    /// Bring a table back on-line
    Online {
        /// The table
        table: String,
    },
}

/// `table create`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon table create people
  ostrakon table create people --splits g,n,t --property table.durability=flush
  ostrakon table create events --splits-file splits.txt --time-type logical")]
pub(crate) struct CreateArgs {
    /// The table: NAME, or NAMESPACE.NAME
    pub(crate) table: String,
    /// Rows to split at, between commas; a comma inside a row is \x2c
    #[arg(long, value_name = "ROWS", value_delimiter = ',')]
    pub(crate) splits: Vec<Bytes>,
    /// A file with one row to split at a line, as `table splits` prints them; - for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) splits_file: Option<PathBuf>,
    /// Where timestamps come from that a writer does not give
    #[arg(long, value_name = "TYPE", default_value = "millis", value_parser = time_type())]
    pub(crate) time_type: TimeType,
    /// A property that differs from the default; may be given again
    #[arg(short, long = "property", value_name = "NAME=VALUE")]
    pub(crate) properties: Vec<Property>,
    /// Leave out the iterator that keeps only the newest version of a cell
    #[arg(long)]
    pub(crate) no_default_iterators: bool,
    /// Create it off-line
    #[arg(long)]
    pub(crate) offline: bool,
}

/// Rows after one row up to another, as tablets are bounded.
#[derive(Debug, Args)]
pub(crate) struct RowBounds {
    /// Only rows after this one
    #[arg(short, long, value_name = "ROW")]
    pub(crate) begin: Option<Bytes>,
    /// Only rows up to this one, itself included
    #[arg(short, long, value_name = "ROW")]
    pub(crate) end: Option<Bytes>,
}

/// `table compact`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon table compact people
  ostrakon table compact people --begin g --end t --iterator 30,AgeOffFilter,ttl=86400000
  ostrakon table compact people --cancel                 stops compactions that users asked for")]
pub(crate) struct CompactArgs {
    /// The table
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) rows: RowBounds,
    /// An iterator for this compaction only; may be given again
    #[arg(
        short,
        long = "iterator",
        value_name = "PRIORITY,CLASS[,OPTION=VALUE…]",
        value_parser = iterator
    )]
    pub(crate) iterators: Vec<IteratorSetting>,
    /// Leave what is in memory there
    #[arg(long)]
    pub(crate) no_flush: bool,
    /// Return at once
    #[arg(long, conflicts_with = "timeout")]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) within: Timeout,
    /// Cancel instead
    #[arg(
        long,
        conflicts_with_all = ["begin", "end", "iterators", "no_flush", "no_wait", "timeout"]
    )]
    pub(crate) cancel: bool,
}

/// `table import-directory`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon table import-directory graph ./parts           the files leave ./parts
  ostrakon table import-directory graph ./parts --keep    they stay; never change them afterwards
  ostrakon table import-directory graph ./parts --verify  reads every entry of them first

The files are those that other processes wrote (BulkFileWriter in Rust,
ostrakon.write_sorted_file in Python); their names end with .sorted, and names that begin with
_ or . are passed over. One file that is wrong keeps all of them out.")]
pub(crate) struct ImportDirectoryArgs {
    /// The table
    pub(crate) table: String,
    /// The directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Leave the files there; the store shares their bytes where the file system can link
    #[arg(long)]
    pub(crate) keep: bool,
    /// Leave the files there and copy them
    #[arg(long, conflicts_with = "keep")]
    pub(crate) copy: bool,
    /// Read every entry of every file before it is taken over
    #[arg(long)]
    pub(crate) verify: bool,
    /// Accept a directory without files
    #[arg(long)]
    pub(crate) allow_empty: bool,
}

/// `table clone`
#[derive(Debug, Args)]
pub(crate) struct CloneArgs {
    /// The table to copy
    pub(crate) from: String,
    /// The name of the copy
    pub(crate) to: String,
    /// Leave out what is still in memory
    #[arg(long)]
    pub(crate) no_flush: bool,
    /// A property of the copy that differs; may be given again
    #[arg(short, long = "property", value_name = "NAME=VALUE")]
    pub(crate) properties: Vec<Property>,
    /// A property that the copy does not take over; may be given again
    #[arg(short = 'x', long = "exclude", value_name = "NAME")]
    pub(crate) exclude: Vec<String>,
    /// Leave the copy off-line
    #[arg(long)]
    pub(crate) offline: bool,
}

/// `table config …`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the properties in force, defaults included
    #[command(after_help = "Examples:
  ostrakon table config get people
  ostrakon table config get people split                 only names with `split` in them
  ostrakon table config get people --long                where each is set, and what it does")]
    Get {
        /// The table
        table: String,
        /// Show only properties with this text in their name
        filter: Option<String>,
        /// Show where each value is set (default, system, namespace or table), and whether it has an effect
        #[arg(short, long)]
        long: bool,
    },
    /// Set properties, all in one step
    #[command(after_help = "Examples:
  ostrakon table config set people table.durability=flush table.split.threshold=64M
  ostrakon table config set people table.iterator.scan.vers.opt.maxVersions=3")]
    Set {
        /// The table
        table: String,
        /// What to set
        #[arg(required = true, value_name = "NAME=VALUE")]
        properties: Vec<Property>,
    },
    /// Take properties of a table back to what it inherits, all in one step
    Delete {
        /// The table
        table: String,
        /// What to take back
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}
