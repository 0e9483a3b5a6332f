//! `ostrakon import`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use ostrakon_cell::{Column, Durability, VisibilityExpression};

use super::values::{Bytes, byte, column, durability, label, named_file, table_names};

/// The formats of `import`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// One JSON object per line; nested objects become fields such as `user.name`
    Jsonl,
    /// Zeek's log files with their #fields and #types lines
    Zeek,
    /// Edge lists: FROM TO [WEIGHT], separated by spaces, tabs or commas; quotes and # comments allowed
    Edges,
    /// Web server logs in the common or combined format
    Weblog,
    /// Lines split into fields by --pattern
    Regex,
    /// Each line is one field, `line`
    Lines,
    /// Parquet; structs become fields such as `user.name`, lists and maps are JSON
    Parquet,
}

/// The type that the text of a field must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FieldType {
    /// Any bytes
    Bytes,
    /// UTF-8 text
    Text,
    /// A 64-bit integer
    Int,
    /// A 64-bit integer, 0 or more
    Uint,
    /// A number, such as 1.5, -2e10, inf or NaN
    Float,
    /// true or false, t or f, yes or no, y or n, 1 or 0
    Bool,
    /// A time in the format of --timestamp-format
    Time,
    /// An IPv4 or IPv6 address
    Ip,
}

/// `FIELD=FAMILY:QUALIFIER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldMap {
    pub(crate) field: String,
    pub(crate) column: Column,
}

impl FromStr for FieldMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((field, to)) if !field.is_empty() => Ok(Self {
                field: field.to_owned(),
                column: column(to)?,
            }),
            _ => Err("a mapping is written FIELD=FAMILY or FIELD=FAMILY:QUALIFIER".into()),
        }
    }
}

/// `FIELD=TYPE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldTyping {
    pub(crate) field: String,
    pub(crate) kind: FieldType,
}

impl FromStr for FieldTyping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((field, kind)) if !field.is_empty() => Ok(Self {
                field: field.to_owned(),
                kind: FieldType::from_str(kind, false).map_err(|_| {
                    format!(
                        "`{kind}` is not a valid type; the types are {}",
                        FieldType::value_variants()
                            .iter()
                            .filter_map(|kind| Some(
                                kind.to_possible_value()?.get_name().to_owned()
                            ))
                            .collect::<Vec<_>>()
                            .join(", ")
                    )
                })?,
            }),
            _ => Err("a type is written FIELD=TYPE, such as age=int".into()),
        }
    }
}

/// `import`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Each record (usually a line) becomes one mutation, which writes to one row.

  row      the fields of --row, joined by --joiner
  columns  one entry for each other field. The family is --family, the qualifier is the field's
           name, and the value is the field's text. --map sets the column of single fields;
           --only and --skip choose fields. With --qualifier-field, the whole record becomes one
           entry instead (see the graph below).
  missing  a field that is empty, or equal to a text of --missing (by default \\N), produces no entry

Files that are compressed with gzip or zstd are decompressed; they are recognized by their first
bytes, not by their names. Parquet files are read too, but not from a pipe.

Fields take their names from the header row or from --fields; without names, they are numbered from
1. Every format also has @line (the line number, with leading zeros) and @file (the file's name).

A line that cannot be imported does not stop the import. Rejected lines are counted, and --rejects
collects them with file, line number and reason. If there are any, the exit code is 1, unless
--accept-rejects is given.

Examples:
  A CSV file with a header row; the label comes from a column:
    ostrakon import people people.csv --row id --visibility-field label --type age=int --create

  A graph from a CSV file without a header row (columns 3, 5 and 1: from, to, and the value):
    ostrakon import routes routes.csv --create --no-header --family edge \\
      --row 3 --qualifier-field 5 --value-field 1

  An edge list, with each edge in both directions:
    ostrakon import friends friends.edges --both-ways --create

  JSON lines, compressed, with a time in seconds:
    ostrakon import events events.jsonl.gz --create --row user.id,@line \\
      --timestamp-field at --timestamp-format seconds

  A web server's log, one row per request, sorted by host:
    ostrakon import access access.log --create --format weblog --row host,@line \\
      --timestamp-field time

  Lines in your own format:
    ostrakon import jobs jobs.log --create --format regex --row id \\
      --pattern '^(?<id>\\d+) (?<state>\\w+) (?<rest>.*)$'

  A file written by `ostrakon export`:
    ostrakon import copy people.csv --entries --create")]
pub(crate) struct ImportArgs {
    /// The table
    #[arg(add = table_names())]
    pub(crate) table: String,
    /// The files; - for stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Create the table if it does not exist, and the store too
    #[arg(long)]
    pub(crate) create: bool,

    /// The format [default: from the file extension or the first line]
    #[arg(short, long, value_name = "FORMAT", help_heading = "Reading")]
    pub(crate) format: Option<ImportFormat>,
    /// The file was written by `ostrakon export`, so its columns are the parts of entries
    #[arg(
        long,
        conflicts_with_all = [
            "row",
            "map",
            "qualifier_field",
            "visibility",
            "visibility_field",
            "timestamp_field",
            "timestamp_format",
            "family",
            "family_field",
            "value_field",
            "value",
            "joiner",
            "only",
            "skip",
            "explode",
            "both_ways",
            "missing",
        ],
        help_heading = "Reading"
    )]
    pub(crate) entries: bool,
    /// The first line is data; fields are named by number, or by --fields
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_header: bool,
    /// Comma-separated names of the fields, instead of those in the header row
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Reading"
    )]
    pub(crate) fields: Vec<String>,
    /// The byte that separates fields of CSV, such as ';' or '\t' [default: a comma]
    #[arg(short, long, value_name = "BYTE", value_parser = byte, help_heading = "Reading")]
    pub(crate) delimiter: Option<u8>,
    /// Treat quotes as ordinary bytes (as in TSV)
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_quotes: bool,
    /// The byte that escapes a quote inside a quoted field, such as '\'; doubling a quote then does
    /// not escape it [default: none; a quote is escaped by doubling it]
    #[arg(
        long,
        value_name = "BYTE",
        value_parser = byte,
        conflicts_with = "no_quotes",
        help_heading = "Reading"
    )]
    pub(crate) escape: Option<u8>,
    /// Skip lines that begin with this
    #[arg(long, value_name = "TEXT", help_heading = "Reading")]
    pub(crate) comment: Option<Bytes>,
    /// A regular expression whose named groups are the fields of --format regex
    #[arg(long, value_name = "REGEX", help_heading = "Reading")]
    pub(crate) pattern: Option<String>,
    /// Text that marks a field as missing, in place of \N (repeatable) [default: \N]. An empty field is always missing
    #[arg(long = "missing", value_name = "TEXT", help_heading = "Reading")]
    pub(crate) missing: Vec<String>,
    /// The type of a field (repeatable): bytes, text, int, uint, float, bool, time or ip. A line is
    /// rejected if the value of the field does not have this type
    #[arg(long = "type", value_name = "FIELD=TYPE", help_heading = "Reading")]
    pub(crate) types: Vec<FieldTyping>,

    /// Comma-separated fields that make up the row
    #[arg(
        short,
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        help_heading = "Making entries"
    )]
    pub(crate) row: Vec<String>,
    /// Text between the fields of a row or qualifier
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "|",
        help_heading = "Making entries"
    )]
    pub(crate) joiner: Bytes,
    /// Family of the columns that --map does not name [default: empty; edge for edge lists]
    #[arg(long, value_name = "FAMILY", help_heading = "Making entries")]
    pub(crate) family: Option<Bytes>,
    /// The column of one field (repeatable)
    #[arg(
        short,
        long,
        value_name = "FIELD=FAMILY[:QUALIFIER]",
        help_heading = "Making entries"
    )]
    pub(crate) map: Vec<FieldMap>,
    /// Comma-separated fields to import; the others are left out
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        conflicts_with = "skip",
        help_heading = "Making entries"
    )]
    pub(crate) only: Vec<String>,
    /// Comma-separated fields to leave out
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        help_heading = "Making entries"
    )]
    pub(crate) skip: Vec<String>,
    /// Make the qualifier FIELD|TEXT and the value 1, so that values can be selected as columns
    #[arg(
        long,
        conflicts_with = "qualifier_field",
        help_heading = "Making entries"
    )]
    pub(crate) explode: bool,
    /// Make one entry per record, whose qualifier is made up of these comma-separated fields
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        conflicts_with_all = ["map", "only", "skip"],
        help_heading = "Making entries"
    )]
    pub(crate) qualifier_field: Vec<String>,
    /// With --qualifier-field: the field that is the family [default: --family]
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "family",
        help_heading = "Making entries"
    )]
    pub(crate) family_field: Option<String>,
    /// With --qualifier-field: the field that is the value [default: --value]
    #[arg(long, value_name = "FIELD", help_heading = "Making entries")]
    pub(crate) value_field: Option<String>,
    /// The value of entries whose record has no field for it
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "1",
        help_heading = "Making entries"
    )]
    pub(crate) value: Bytes,
    /// Write each edge in both directions
    #[arg(long, help_heading = "Making entries")]
    pub(crate) both_ways: bool,
    /// The label of every entry
    #[arg(
        short = 'l',
        long,
        value_name = "LABEL",
        value_parser = label,
        help_heading = "Making entries"
    )]
    pub(crate) visibility: Option<VisibilityExpression>,
    /// The field with the label. A record without one gets the label of --visibility; without that
    /// option it is rejected
    #[arg(long, value_name = "FIELD", help_heading = "Making entries")]
    pub(crate) visibility_field: Option<String>,
    /// The field with the timestamp
    #[arg(long, value_name = "FIELD", help_heading = "Making entries")]
    pub(crate) timestamp_field: Option<String>,
    /// Format of timestamps: seconds, millis, micros, rfc3339, or a pattern such as '%d/%b/%Y:%H:%M:%S %z'
    /// [default: seconds for zeek, rfc3339 for parquet, that of the logs for weblog; for other formats, required with
    /// --timestamp-field and with the type time]
    #[arg(long, value_name = "FORMAT", help_heading = "Making entries")]
    pub(crate) timestamp_format: Option<String>,

    /// Write rejected lines to this file: tab-separated file, line, reason and text. Replaces a file of rejected
    /// lines of an earlier run, and no other file
    #[arg(long, value_name = "FILE", value_parser = named_file(), help_heading = "Outcome")]
    pub(crate) rejects: Option<PathBuf>,
    /// Exit with code 0 even if lines were rejected
    #[arg(long, help_heading = "Outcome")]
    pub(crate) accept_rejects: bool,
    /// Read and check everything, constraints too, but write nothing
    #[arg(long, help_heading = "Outcome")]
    pub(crate) dry_run: bool,
    /// Durability of the writes when the command returns [default: the table's]
    #[arg(long, value_name = "LEVEL", value_parser = durability(), help_heading = "Outcome")]
    pub(crate) durability: Option<Durability>,
}
