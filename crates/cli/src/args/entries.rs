//! Commands on entries: put, delete, scan, export.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ostrakon_cell::{Authorizations, Column, Durability, IteratorSetting, VisibilityExpression};

use super::values::{
    Bytes, Timeout, authorizations, column, count, durability, duration, family, iterator, label,
    table_names, timestamp,
};

/// Which cell, and how the change is written; shared by `put` and `delete`.
#[derive(Debug, Args)]
pub(crate) struct CellArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    /// The row
    pub(crate) row: Bytes,
    /// The column family
    pub(crate) family: Bytes,
    /// The column qualifier
    pub(crate) qualifier: Bytes,
    /// The label: an expression over authorizations, such as 'a&(b|c)' [default: empty]
    #[arg(
        short = 'l',
        long,
        value_name = "LABEL",
        default_value = "",
        hide_default_value = true,
        value_parser = label
    )]
    pub(crate) visibility: VisibilityExpression,
    /// Durability of the write when the command returns [default: the table's]
    #[arg(long, value_name = "LEVEL", value_parser = durability())]
    pub(crate) durability: Option<Durability>,
    #[command(flatten)]
    pub(crate) within: Timeout,
}

/// `put`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon put people alice contact mail alice@example.org
  ostrakon put people alice contact mail alice@example.org --visibility 'hr|self'
  ostrakon put people alice photo jpeg - < alice.jpg     reads the value from stdin
  ostrakon put codes '\\x00\\x2a' bits '' '\\xff'")]
pub(crate) struct PutArgs {
    #[command(flatten)]
    pub(crate) cell: CellArgs,
    /// The value; - reads it from stdin, unchanged
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
    /// The timestamp, an integer: in tables of the time type `millis`, milliseconds since 1970 [default: set by the
    /// table]
    #[arg(
        short,
        long,
        value_name = "NUMBER",
        value_parser = timestamp,
        allow_negative_numbers = true
    )]
    pub(crate) timestamp: Option<i64>,
}

/// `delete`
#[derive(Debug, Args)]
#[command(after_help = "\
Deletes the versions of the cell with exactly this row, family, qualifier and visibility. A
version with a timestamp in the future stays; delete it with --timestamp.

Examples:
  ostrakon delete people alice contact mail
  ostrakon delete people alice contact mail --visibility 'hr|self'

See also `delete-many` (deletes the entries of a scan) and `delete-rows` (deletes a range of
rows).")]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    pub(crate) cell: CellArgs,
    /// Delete versions up to this timestamp, and keep later ones. An integer: in tables of the time type `millis`,
    /// milliseconds since 1970 [default: set by the table, as for `put`]
    #[arg(
        short,
        long,
        value_name = "NUMBER",
        value_parser = timestamp,
        allow_negative_numbers = true
    )]
    pub(crate) timestamp: Option<i64>,
}

/// `delete-many`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon delete-many people --row alice --column contact
  ostrakon delete-many people --prefix tmp/ --auths hr --yes

Only entries that the authorizations let you read are deleted. Without options that select entries,
these are all entries that you can read. Deleting an entry hides the older versions of its cell too,
also those that the scan does not return.")]
pub(crate) struct DeleteManyArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// `delete-rows`
#[derive(Debug, Args)]
#[command(after_help = "\
Deletes the rows after --begin, up to and including --end, whatever their labels are. One of
--begin, --end and --all is required. The rows are excluded from the table's files, so deleting
millions of rows takes no longer than deleting one.

Examples:
  ostrakon delete-rows events --end '2025\\xff' --yes
  ostrakon delete-rows events --all --yes                leaves an empty table")]
pub(crate) struct DeleteRowsArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    /// Only rows after this one
    #[arg(short, long, value_name = "ROW")]
    pub(crate) begin: Option<Bytes>,
    /// Only rows up to and including this one
    #[arg(short, long, value_name = "ROW")]
    pub(crate) end: Option<Bytes>,
    /// All rows
    #[arg(long, conflicts_with_all = ["begin", "end"])]
    pub(crate) all: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// Which entries; shared by every command that reads.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Which entries")]
pub(crate) struct Selection {
    /// Only this row (repeatable)
    #[arg(short, long = "row", value_name = "ROW")]
    pub(crate) rows: Vec<Bytes>,
    /// Rows that begin with this (repeatable)
    #[arg(short, long = "prefix", value_name = "PREFIX")]
    pub(crate) prefixes: Vec<Bytes>,
    /// Rows from this one on, inclusive
    #[arg(short, long, value_name = "ROW", conflicts_with_all = ["rows", "prefixes", "batch"])]
    pub(crate) begin: Option<Bytes>,
    /// Rows up to this one, inclusive
    #[arg(short, long, value_name = "ROW", conflicts_with_all = ["rows", "prefixes", "batch"])]
    pub(crate) end: Option<Bytes>,
    /// Exclude the row of --begin
    #[arg(long, requires = "begin")]
    pub(crate) begin_exclusive: bool,
    /// Exclude the row of --end
    #[arg(long, requires = "end")]
    pub(crate) end_exclusive: bool,
    /// Read the rows and ranges in this file, with ROW or BEGIN<tab>END per line; - for stdin. Entries are returned in
    /// any order
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rows", "prefixes"])]
    pub(crate) batch: Option<PathBuf>,
    /// Only this column: FAMILY or FAMILY:QUALIFIER (repeatable)
    #[arg(short, long = "column", value_name = "COLUMN", value_parser = column)]
    pub(crate) columns: Vec<Column>,
    /// Comma-separated authorizations of the reader, such as hr,self [default: none]
    #[arg(
        short = 's',
        long = "auths",
        visible_alias = "authorizations",
        value_name = "NAMES",
        value_parser = authorizations
    )]
    pub(crate) authorizations: Option<Authorizations>,
    /// An iterator for this scan only (repeatable)
    #[arg(
        short,
        long = "iterator",
        value_name = "PRIORITY,CLASS[,OPTION=VALUE…]",
        value_parser = iterator
    )]
    pub(crate) iterators: Vec<IteratorSetting>,
    /// Read ranges in parallel, and return entries in any order
    #[arg(long)]
    pub(crate) unordered: bool,
    /// Number of threads for an unordered scan [default: twice the number of cores, at least 4]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Fail if the scan takes longer than this [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// `scan`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon scan people
  ostrakon scan people --row alice --column contact --auths hr
  ostrakon scan people --begin a --end m --limit 10
  ostrakon scan people --prefix al --json | jq .value
  ostrakon scan people --count
  cut -f1 wanted.tsv | ostrakon scan people --batch -
  ostrakon scan people --iterator 30,RegExFilter,valueRegex='.*@example.org'
  ostrakon scan people --raw -0 | xargs -0 -n1 echo

Each line shows ROW FAMILY:QUALIFIER [VISIBILITY], a tab, and the value. Bytes that are not
printable text are written as \\xNN, and so are spaces inside a row or column, and colons inside a
family. With --json, text has only the escapes of JSON, and bytes that are not UTF-8 are in base64,
as \"value_base64\" instead of \"value\".")]
pub(crate) struct ScanArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Stop after this many entries
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_parser = count,
        allow_negative_numbers = true,
        help_heading = "What to show"
    )]
    pub(crate) limit: Option<u64>,
    /// Show only the number of entries, and the speed of reading them
    #[arg(
        long,
        conflicts_with_all = ["timestamps", "keys_only", "values_only"],
        help_heading = "What to show"
    )]
    pub(crate) count: bool,
    /// Show timestamps
    #[arg(short, long, help_heading = "What to show")]
    pub(crate) timestamps: bool,
    /// Show keys without values
    #[arg(long, help_heading = "What to show")]
    pub(crate) keys_only: bool,
    /// Show values without keys
    #[arg(
        long,
        conflicts_with_all = ["keys_only", "timestamps", "json"],
        help_heading = "What to show"
    )]
    pub(crate) values_only: bool,
    /// Write the bytes of the values as they are, each with a line feed after it
    #[arg(
        long,
        conflicts_with_all = ["keys_only", "timestamps", "values_only", "count", "json"],
        help_heading = "What to show"
    )]
    pub(crate) raw: bool,
    /// With --raw: a zero byte after each value instead of a line feed
    #[arg(short = '0', long, requires = "raw", help_heading = "What to show")]
    pub(crate) null: bool,
}

/// `get`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon get people alice
  ostrakon get people alice contact
  ostrakon get people alice contact mail --raw
  ostrakon get people alice -c contact:mail -c contact:phone --auths hr

The arguments are those of `put` and `delete`; a colon inside FAMILY is written \\x3a.
`get` does the same as `scan --row ROW --column COLUMN`, which has more options. --raw adds a line
feed to the value (with -0, a zero byte), so a file written with it is one byte longer than the
value. If a row has no entries that the authorizations let you read, `get` prints nothing and the
exit code is 0.")]
pub(crate) struct GetArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    /// The row
    pub(crate) row: Bytes,
    /// Only this column family
    #[arg(value_parser = family)]
    pub(crate) family: Option<Bytes>,
    /// Only this column qualifier of the family
    pub(crate) qualifier: Option<Bytes>,
    /// Only this column: FAMILY or FAMILY:QUALIFIER (repeatable)
    #[arg(
        short,
        long = "column",
        value_name = "COLUMN",
        value_parser = column,
        conflicts_with = "family"
    )]
    pub(crate) columns: Vec<Column>,
    /// Comma-separated authorizations of the reader, such as hr,self [default: none]
    #[arg(
        short = 's',
        long = "auths",
        visible_alias = "authorizations",
        value_name = "NAMES",
        value_parser = authorizations
    )]
    pub(crate) authorizations: Option<Authorizations>,
    /// Show timestamps
    #[arg(short, long)]
    pub(crate) timestamps: bool,
    /// Show values without keys
    #[arg(long, conflicts_with_all = ["timestamps", "json"])]
    pub(crate) values_only: bool,
    /// Write the bytes of the values as they are, each with a line feed after it
    #[arg(long, conflicts_with_all = ["timestamps", "values_only", "json"])]
    pub(crate) raw: bool,
    /// With --raw: a zero byte after each value instead of a line feed
    #[arg(short = '0', long, requires = "raw")]
    pub(crate) null: bool,
    /// Fail if the command takes longer than this [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

impl From<GetArgs> for ScanArgs {
    fn from(args: GetArgs) -> Self {
        let given = args.family.map(|family| Column {
            family: family.0,
            qualifier: args.qualifier.map(|qualifier| qualifier.0),
        });
        Self {
            table: args.table,
            selection: Selection {
                rows: vec![args.row],
                columns: given.into_iter().chain(args.columns).collect(),
                authorizations: args.authorizations,
                timeout: args.timeout,
                ..Selection::default()
            },
            limit: None,
            count: false,
            timestamps: args.timestamps,
            keys_only: false,
            values_only: args.values_only,
            raw: args.raw,
            null: args.null,
        }
    }
}

/// The formats of `export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Comma-separated values with a header row
    Csv,
    /// Tab-separated values with a header row
    Tsv,
    /// One JSON object per line
    Jsonl,
    /// Parquet, compressed with zstd
    Parquet,
}

/// `export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon export people people.csv
  ostrakon export people people.jsonl.zst                compressed; also .gz
  ostrakon export people people.parquet
  ostrakon export people - --format jsonl --auths hr | wc -l
  ostrakon export people sample.tsv --prefix al --limit 1000
  ostrakon import copy people.csv --entries --create     imports it again

The columns are row, family, qualifier, visibility, timestamp and value. In CSV and TSV, control
characters and bytes that are not UTF-8 are written as \\xNN. In JSON lines, text has only the
escapes of JSON, and bytes that are not UTF-8 are in base64, as \"value_base64\" instead of
\"value\". Only entries that the authorizations let you read are exported.

If a table file is damaged or missing, the export fails and removes the output file. With
--skip-damaged the export continues after the rows that cannot be read. It then reports the rows
that it left out, and the exit code is 1.")]
pub(crate) struct ExportArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    /// The file, device or pipe; - for stdout
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// The format [default: from the file extension; jsonl without one]
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) format: Option<ExportFormat>,
    /// Declare the columns of a Parquet file as bytes; needed if they are not all UTF-8 text
    #[arg(long)]
    pub(crate) binary: bool,
    /// Replace the file if it exists; devices and pipes are never replaced
    #[arg(long)]
    pub(crate) force: bool,
    /// Leave out rows that cannot be read, report them, and continue
    #[arg(long)]
    pub(crate) skip_damaged: bool,
    /// Stop after this many entries
    #[arg(short = 'n', long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) selection: Selection,
}
