//! `sql`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ostrakon_cell::Authorizations;

use super::values::authorizations;

/// Runs statements from arguments, files or stdin. In a terminal, starts a prompt.
#[derive(Debug, Args)]
#[command(after_help = "\
A table with a schema is a relation of records. Any other table is a relation of entries, with the
columns row, family, qualifier, visibility, timestamp and value. cells.TABLE is the relation of
entries for every table. An event type is events.TYPE. A file is named by its path, in quotes.
EXPLAIN shows which rows and columns a query reads.

Without statements and files, statements are read from stdin. If stdin is a terminal, a prompt with
completion and history opens, where \\? shows help.

All statements are parsed before the first one runs. The first one that then fails sets the exit
code, and those after it are not run.

With --memory, the store and the query get one half each.

Examples:
  ostrakon sql \"SELECT row, value FROM people WHERE family = 'contact' LIMIT 10\"
  ostrakon sql -c 'CREATE TABLE city (name VARCHAR, people BIGINT, PRIMARY KEY (name))'
  ostrakon sql -c \"INSERT INTO city SELECT * FROM 'city.csv'\"
  ostrakon sql -f report.sql --format parquet --output report.parquet")]
pub(crate) struct SqlArgs {
    /// A statement, or several that end with `;`, as with -c
    #[arg(value_name = "QUERY")]
    pub(crate) query: Option<String>,
    /// A statement, or several that end with `;` (repeatable)
    #[arg(short, long = "command", value_name = "QUERY")]
    pub(crate) command: Vec<String>,
    /// A file of statements that end with `;`, run after those of -c; - for stdin (repeatable)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// How to print rows [default: json with --json, else by the extension of --output, else table]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<SqlFormat>,
    /// Write the rows of the query, which must be the only one, to this file, device or pipe; - for stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the file of --output if it exists; devices and pipes are never replaced
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// The label of records that are written without a label of their own
    #[arg(
        long,
        value_name = "LABEL",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) label: String,
    /// Comma-separated authorizations of the reader [default: none]
    #[arg(
        short = 's',
        long = "auths",
        visible_alias = "authorizations",
        value_name = "NAMES",
        value_parser = authorizations
    )]
    pub(crate) authorizations: Option<Authorizations>,
}

impl SqlArgs {
    /// What the session may read.
    pub(crate) fn held(&self) -> Authorizations {
        self.authorizations.clone().unwrap_or_default()
    }
}

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlFormat {
    /// Aligned columns
    Table,
    /// Comma-separated values with a header; bytes have escapes
    Csv,
    /// One JSON object per row
    Json,
    /// A Parquet file (with --output)
    Parquet,
    /// A file of Arrow IPC, also known as Feather (with --output)
    Arrow,
    /// A stream of Arrow IPC (with --output)
    Arrows,
}

impl SqlFormat {
    /// Whether rows have this form only in files and pipes.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::Arrows)
    }
}
