//! `ostrakon table …`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ostrakon_cell::{IteratorSetting, TimeType};

use super::values::{Bytes, Property, Timeout, iterator, new_table, table_names, time_type};

/// One variant per subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// Create a table
    Create(CreateArgs),
    /// Delete tables and everything in them
    #[command(
        visible_aliases = ["drop", "rm"],
        after_help = "Examples:
  ostrakon table delete people --yes
  ostrakon table delete people codes --yes"
    )]
    Delete {
        /// The tables
        #[arg(required = true, value_name = "TABLE", add = table_names())]
        tables: Vec<String>,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Rename a table
    Rename {
        /// The old name
        #[arg(add = table_names())]
        from: String,
        /// The new name
        #[arg(value_parser = new_table)]
        to: String,
    },
    /// List the tables
    #[command(visible_alias = "ls")]
    List {
        /// Also show id, state, time type, number of tablets and files, all entries, entries that are only in
        /// memory, and size of the files
        #[arg(short, long)]
        long: bool,
    },
    /// List the rows at which a table is split
    Splits {
        /// The table
        #[arg(add = table_names())]
        table: String,
    },
    /// List the tablets of a table with their files, entries and size
    Tablets {
        /// The table
        #[arg(add = table_names())]
        table: String,
    },
    /// List what fails in tables, with causes and remedies
    #[command(after_help = "Examples:
  ostrakon table status                what fails in any table; prints nothing if nothing fails
  ostrakon table status people --try   flushes and reads the table first, to find failures")]
    Status {
        /// The table [default: all tables]
        #[arg(add = table_names())]
        table: Option<String>,
        /// First flush the data in memory and read from each tablet, to find problems; a newly started command knows
        /// none
        #[arg(long = "try")]
        tried: bool,
    },
    /// Restore a damaged or missing table file from a checkpoint
    #[command(after_help = "Examples:
  ostrakon table restore-file backups/monday/files/0000000000000012.sorted

The file is verified first. It must be undamaged, and have the number and the content of the
lost file.")]
    RestoreFile {
        /// The file in the checkpoint
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Drop a damaged or missing table file of which no copy exists
    #[command(after_help = "Examples:
  ostrakon export people rest.jsonl --skip-damaged         first, keep the rows that can be read
  ostrakon table drop-file files/0000000000000012.sorted

The entries of the file are lost. Older versions of their cells, and entries that a delete marker
in the file hid, can be read again. What is left of the file is moved to the directory `lost` in
the store's directory. A file that is undamaged is not dropped.")]
    DropFile {
        /// The file, as `check` names it
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Split a table at the given rows
    #[command(after_help = "Examples:
  ostrakon table add-splits people g n t
  ostrakon table add-splits people --splits-file splits.txt   one row per line
  ostrakon table splits people | ostrakon --data other table add-splits people --splits-file -")]
    AddSplits {
        /// The table
        #[arg(add = table_names())]
        table: String,
        /// The rows; each becomes the last row of a tablet
        #[arg(value_name = "ROW", required_unless_present = "splits_file")]
        rows: Vec<Bytes>,
        /// A file with one row per line, as printed by `table splits`; - for stdin
        #[arg(long, value_name = "FILE", alias = "file")]
        splits_file: Option<PathBuf>,
    },
    /// Merge tablets into one
    #[command(after_help = "Examples:
  ostrakon table merge people                            one tablet for the whole table
  ostrakon table merge people --begin g --end t          the tablets with rows after g up to t")]
    Merge {
        /// The table
        #[arg(add = table_names())]
        table: String,
        #[command(flatten)]
        rows: RowBounds,
    },
    /// Show which tablets hold the given rows
    #[command(after_help = "Examples:
  ostrakon table locate people alice zoe
  ostrakon table locate people alice --json")]
    Locate {
        /// The table
        #[arg(add = table_names())]
        table: String,
        /// The rows; they need not exist
        #[arg(value_name = "ROW", required = true)]
        rows: Vec<Bytes>,
    },
    /// Write the unflushed data of a table to files
    Flush {
        /// The table
        #[arg(add = table_names())]
        table: String,
        /// Return without waiting
        #[arg(long, conflicts_with = "timeout")]
        no_wait: bool,
        #[command(flatten)]
        within: Timeout,
    },
    /// Merge the files of each tablet into one
    Compact(CompactArgs),
    /// Import the sorted files of a directory, atomically
    ImportDirectory(ImportDirectoryArgs),
    /// Create a copy of a table that shares its files
    Clone(CloneArgs),
    /// Show and change the properties of a table
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the disk usage of tables
    Du {
        /// The tables [default: all tables]
        #[arg(value_name = "TABLE", add = table_names())]
        tables: Vec<String>,
    },
    /// Take a table offline, so that it rejects reads and writes until it is back online
    Offline {
        /// The table
        #[arg(add = table_names())]
        table: String,
    },
    /// Bring a table back online
    Online {
        /// The table
        #[arg(add = table_names())]
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
    #[arg(value_parser = new_table)]
    pub(crate) table: String,
    /// Comma-separated rows to split at; write \x2c for a comma inside a row
    #[arg(long, value_name = "ROWS", value_delimiter = ',')]
    pub(crate) splits: Vec<Bytes>,
    /// A file with one row per line, as printed by `table splits`; - for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) splits_file: Option<PathBuf>,
    /// How the table sets timestamps that a writer does not give
    #[arg(long, value_name = "TYPE", default_value = "millis", value_parser = time_type())]
    pub(crate) time_type: TimeType,
    /// A property that differs from the default (repeatable)
    #[arg(short, long = "property", value_name = "NAME=VALUE")]
    pub(crate) properties: Vec<Property>,
    /// Leave out the iterator that keeps only the newest version of a cell
    #[arg(long)]
    pub(crate) no_default_iterators: bool,
    /// Create the table offline
    #[arg(long)]
    pub(crate) offline: bool,
}

/// Rows after one row, up to and including another: the way tablets are bounded.
#[derive(Debug, Args)]
pub(crate) struct RowBounds {
    /// Only rows after this one
    #[arg(short, long, value_name = "ROW")]
    pub(crate) begin: Option<Bytes>,
    /// Only rows up to and including this one
    #[arg(short, long, value_name = "ROW")]
    pub(crate) end: Option<Bytes>,
}

/// `table compact`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon table compact people
  ostrakon table compact people --begin g --end t --iterator 30,AgeOffFilter,ttl=86400000

Ctrl-C cancels the compaction, and keeps the tablets that are finished.")]
pub(crate) struct CompactArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) rows: RowBounds,
    /// An iterator for this compaction only (repeatable)
    #[arg(
        short,
        long = "iterator",
        value_name = "PRIORITY,CLASS[,OPTION=VALUE…]",
        value_parser = iterator
    )]
    pub(crate) iterators: Vec<IteratorSetting>,
    /// Do not flush the data in memory first
    #[arg(long)]
    pub(crate) no_flush: bool,
    /// Not possible on the command line; says why
    #[arg(long, hide = true, conflicts_with = "timeout")]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) within: Timeout,
    /// Not possible on the command line; says why
    #[arg(
        long,
        hide = true,
        conflicts_with_all = ["begin", "end", "iterators", "no_flush", "no_wait", "timeout"]
    )]
    pub(crate) cancel: bool,
}

/// `table import-directory`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon table import-directory graph ./parts           moves the files
  ostrakon table import-directory graph ./parts --keep    links them; never change them afterwards
  ostrakon table import-directory graph ./parts --verify  checks every entry first

Sorted files are written by other processes (with BulkFileWriter in Rust, or
ostrakon.write_sorted_file in Python). Their names end with .sorted; names that begin with _ or .
are skipped. If one file is invalid, none is imported.")]
pub(crate) struct ImportDirectoryArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    /// The directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Leave the files in the directory; the store shares them by hard links if the file system can
    #[arg(long)]
    pub(crate) keep: bool,
    /// Leave the files in the directory, and copy them
    #[arg(long, conflicts_with = "keep")]
    pub(crate) copy: bool,
    /// Also decode every entry, and check the order, the counts and the filter of each file (slower)
    #[arg(long)]
    pub(crate) verify: bool,
    /// Accept a directory without files
    #[arg(long)]
    pub(crate) allow_empty: bool,
}

/// `table clone`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon table clone people people_copy
  ostrakon table clone people tried --property table.durability=none --offline")]
pub(crate) struct CloneArgs {
    /// The table to copy
    #[arg(add = table_names())]
    pub(crate) from: String,
    /// The name of the copy
    #[arg(value_parser = new_table)]
    pub(crate) to: String,
    /// Do not flush first; the copy lacks the entries that are still in memory
    #[arg(long)]
    pub(crate) no_flush: bool,
    /// A property that differs in the copy (repeatable)
    #[arg(short, long = "property", value_name = "NAME=VALUE")]
    pub(crate) properties: Vec<Property>,
    /// A property that the copy does not inherit from the original (repeatable)
    #[arg(short = 'x', long = "exclude", value_name = "NAME")]
    pub(crate) exclude: Vec<String>,
    /// Create the copy offline
    #[arg(long)]
    pub(crate) offline: bool,
}

/// `table config …`
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the properties in effect, including defaults
    #[command(after_help = "Examples:
  ostrakon table config get people
  ostrakon table config get people split                 only names that contain `split`
  ostrakon table config get people --long                also where each is set")]
    Get {
        /// The table
        #[arg(add = table_names())]
        table: String,
        /// Show only properties whose names contain this text
        filter: Option<String>,
        /// Also show where each value is set (default, system, namespace or table), and whether it has an effect
        #[arg(short, long)]
        long: bool,
    },
    /// Set properties, atomically
    #[command(after_help = "Examples:
  ostrakon table config set people table.durability=flush table.split.threshold=64M
  ostrakon table config set people table.iterator.scan.vers.opt.maxVersions=3")]
    Set {
        /// The table
        #[arg(add = table_names())]
        table: String,
        /// The properties to set
        #[arg(required = true, value_name = "NAME=VALUE")]
        properties: Vec<Property>,
    },
    /// Unset properties of a table, atomically; it then inherits them
    Delete {
        /// The table
        #[arg(add = table_names())]
        table: String,
        /// The properties to unset
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}
