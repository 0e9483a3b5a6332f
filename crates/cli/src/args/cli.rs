//! The top level of the command line: global options, and the list of commands.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::builder::{OsStringValueParser, Resettable, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};

use super::entries::{
    DeleteArgs, DeleteManyArgs, DeleteRowsArgs, ExportArgs, GetArgs, PutArgs, ScanArgs,
};
use super::events::EventsCommand;
use super::import::ImportArgs;
use super::lab::LabCommand;
use super::levels::{LevelCommand, NamespaceCommand};
#[cfg(feature = "sql")]
use super::sql::SqlArgs;
use super::store::{CheckpointArgs, CompletionsArgs, IteratorsArgs, ManArgs, RepairLogArgs};
use super::table::TableCommand;
use super::values::{memory, wait};

const STYLES: Styles = Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(AnsiColor::Cyan.on_default())
    .error(AnsiColor::Red.on_default().bold())
    .valid(AnsiColor::Green.on_default())
    .invalid(AnsiColor::Yellow.on_default());

const EXAMPLES: &str = "\
A first table:
  export OSTRAKON_DATA=./store
  ostrakon table create people
  ostrakon put people alice contact mail alice@example.org --visibility 'hr|self'
  ostrakon scan people --auths hr

Rows, columns and values are bytes. Write \\xNN for any byte and \\\\ for a backslash. Output uses
the same escapes, so you can paste it back into a command, in single quotes. JSON output uses only
the escapes of JSON. Bytes that are not UTF-8 are in base64, as \"row_base64\" instead of \"row\".
`-` stands for stdin or stdout. The value `-` itself is written \\x2d.

A SIZE may have a unit of 1024: 64K, 512M, 2G. A number of entries may have a unit of 1000: 10k,
20M, 1B. A SPAN of time has the unit us, ms, s, m, h, d or w: 50ms, 15m, 90d.

Exit codes:
  0  Success.
  1  The command is valid, but it failed or found a problem: a missing table or file, a name that
     already exists, a store that is damaged or in use, a full disk, rejected lines, lost data, or
     a value that SQL cannot compute or convert to the type of its column.
  2  The arguments are wrong, or do not fit the store: an unknown option, property, iterator
     class, column or field; an invalid value, label, range, condition or statement; options that
     contradict each other, or do not fit the file or the table; a missing --yes; a record in SQL
     whose key is NULL; or a command that the table or the event type does not allow.
  129, 130, 143  SIGHUP, Ctrl-C or SIGTERM ended the command. Data written before that is kept.

Errors go to stderr. With --json, the last line of stderr is one object, \"error\", with the fields
\"kind\", \"message\", \"context\", \"causes\" and \"next\" (the advice, or null). Warnings from the
store's background work are printed before it.

`ostrakon help COMMAND` explains a command.";

/// Ostrakon: tables with cell-level security in one directory
///
/// A store is a directory of tables. A table holds entries, sorted by key. A key is a row, a column
/// (family and qualifier), a visibility and a timestamp. The visibility is a label, such as
/// `hr|self`. A scan returns only the entries whose labels its authorizations satisfy.
#[derive(Debug, Parser)]
#[command(
    name = "ostrakon",
    version = env!("OSTRAKON_VERSION"),
    styles = STYLES,
    after_help = EXAMPLES,
    max_term_width = 100,
    propagate_version = true,
    infer_long_args = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Directory of the store
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "OSTRAKON_DATA",
        hide_env_values = true,
        value_parser = OsStringValueParser::new().map(PathBuf::from),
        help_heading = "Global options"
    )]
    pub(crate) data: Option<PathBuf>,

    /// Print results as JSON (one object, or one object per line), and errors as an object on stderr
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,

    /// Memory that the store may use, such as 512M or 2G, at least 16M; in `sql`, the query gets one half of it
    /// [default: a quarter of the machine's memory, from 64M to 4G]
    #[arg(
        long,
        global = true,
        value_name = "SIZE",
        env = "OSTRAKON_MEMORY",
        hide_env_values = true,
        value_parser = memory,
        help_heading = "Global options"
    )]
    pub(crate) memory: Option<u64>,

    /// Open the store read-only (the default for commands that change nothing; the SQL prompt opens it for writing)
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) read_only: bool,

    /// Open a store whose log is damaged or incomplete, and read what is left; only with commands that read
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) allow_damage: bool,

    /// How long to wait for a store that another process is using
    #[arg(
        long,
        global = true,
        value_name = "SECONDS",
        env = "OSTRAKON_WAIT",
        hide_env_values = true,
        default_value = "3",
        value_parser = wait,
        help_heading = "Global options"
    )]
    pub(crate) wait: Duration,

    /// Log to stderr what the store does; repeat for more detail. OSTRAKON_LOG takes a filter, such as
    /// ostrakon_store=debug
    #[arg(
        short,
        long,
        global = true,
        action = clap::ArgAction::Count,
        help_heading = "Global options"
    )]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Commands that use a store, and commands that do not.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Store(StoreCommand),
    /// Store log records as events, and query, count and plot them
    #[command(
        subcommand,
        after_help = "Examples:
  ostrakon events create conn --from conn.log
  ostrakon events ingest conn conn.log
  ostrakon events query conn \"id.resp_h == '10.0.0.1' and time > ago('1d')\"
  ostrakon events histogram conn --by 1h --last 1d"
    )]
    Events(EventsCommand),
    /// Run SQL on tables, events and files
    #[cfg(feature = "sql")]
    Sql(SqlArgs),
    /// Says that this program was built without SQL
    #[cfg(not(feature = "sql"))]
    #[command(hide = true, disable_help_flag = true)]
    Sql {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
    /// Rerun published experiments, and run YCSB and the continuous test suite
    #[command(
        subcommand,
        after_help = "Examples:
  ostrakon lab list
  ostrakon lab run sen2013-table-1 --scale 0.01 --out records
  ostrakon lab report records
  ostrakon lab continuous ingest --entries 10M"
    )]
    Lab(LabCommand),
    /// Make a store with a damaged log writable again, and accept the loss
    RepairLog(RepairLogArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Write the manual pages to a directory
    Man(ManArgs),
}

/// Commands that open a store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Create, change, inspect and delete tables
    #[command(subcommand)]
    Table(TableCommand),
    /// Create, rename, list and delete namespaces
    #[command(
        subcommand,
        after_help = "Examples:
  ostrakon namespace create people
  ostrakon table create people.papers
  ostrakon namespace rename people authors                 renames its tables too"
    )]
    Namespace(NamespaceCommand),
    /// Show or change default properties of tables, for the whole store or a namespace
    #[command(subcommand)]
    Config(LevelCommand),
    /// Write one entry
    Put(PutArgs),
    /// Delete one cell
    Delete(DeleteArgs),
    /// Delete every entry that a scan would return
    DeleteMany(DeleteManyArgs),
    /// Delete a range of rows, whatever their labels are
    DeleteRows(DeleteRowsArgs),
    /// Read entries, or count them
    Scan(Box<ScanArgs>),
    /// Read one row, or some columns of it
    Get(GetArgs),
    /// List the tables; the same as `table list`
    #[command(visible_alias = "ls")]
    Tables {
        /// Also show id, state, time type, number of tablets and files, all entries, entries that are only in
        /// memory, and size of the files
        #[arg(short, long)]
        long: bool,
    },
    /// Import files into a table: CSV, TSV, JSON lines, Parquet, Zeek and web logs, edge
    /// lists
    Import(Box<ImportArgs>),
    /// Export entries to a file: CSV, TSV, JSON lines or Parquet
    Export(Box<ExportArgs>),
    /// Copy the whole store to a new directory
    Checkpoint(CheckpointArgs),
    /// Verify every checksum, sort order and reference of the store
    #[command(after_help = "\
Reads every file. The exit code is 0 if the store is undamaged. Otherwise it is 1, and each damaged
file is listed with its table and the damage found. Undamaged table files can still be read; damage
to the log can also hide later writes.

Examples:
  ostrakon check
  ostrakon check --json | jq '.problems[].file'")]
    Check,
    /// List iterator or constraint classes
    Iterators(IteratorsArgs),
}

/// Reads the command line of this process.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    Cli::try_parse().map_err(without_environment)
}

/// The same mistake with a line of usage that shows only options of the command line. clap takes those that the
/// environment sets for given ones, and shows them as if they were required.
fn without_environment(error: clap::Error) -> clap::Error {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        return error;
    }
    let command = Cli::command().mut_args(|argument| argument.env(Resettable::Reset));
    let again = command.try_get_matches_from(std::env::args_os());
    match again {
        Err(again) if again.kind() == error.kind() => again,
        // The mistake is in the environment.
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_definitions_agree_with_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_option_has_the_same_letter_in_every_command() {
        // `sql -f` is a file of statements, as in other prompts of SQL. `-s` and `-l` of `lab ycsb load` and `run` would be
        // other options of YCSB. `import --entries` is a form of the input, and not a number.
        const WITHOUT: [(&str, &str); 6] = [
            ("sql", "format"),
            ("load", "auths"),
            ("run", "auths"),
            ("load", "visibility"),
            ("run", "visibility"),
            ("import", "entries"),
        ];
        type Letters = BTreeMap<String, BTreeMap<Option<char>, Vec<String>>>;
        fn walk(command: &clap::Command, found: &mut Letters) {
            let name = command.get_name();
            for argument in command.get_arguments() {
                if let Some(long) = argument.get_long()
                    && !WITHOUT.contains(&(name, long))
                {
                    let letters = found.entry(long.to_owned()).or_default();
                    let uses = letters.entry(argument.get_short()).or_default();
                    uses.push(name.to_owned());
                }
            }
            for inner in command.get_subcommands() {
                walk(inner, found);
            }
        }
        let mut found = Letters::new();
        walk(&Cli::command(), &mut found);
        found.retain(|_, letters| letters.len() > 1);
        assert_eq!(found, Letters::new());
    }

    #[test]
    fn every_command_and_option_has_help() {
        fn walk(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
            for inner in command
                .get_subcommands()
                .filter(|inner| inner.get_name() != "help")
            {
                walk(inner);
            }
        }
        walk(&Cli::command());
    }
}
