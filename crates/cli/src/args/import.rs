//! `ostrakon import`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use ostrakon_cell::{Column, Durability, VisibilityExpression};

use super::values::{Bytes, byte, column, durability, label};

/// The formats of `import`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// One JSON object a line; inner objects become fields such as `user.name`
    Jsonl,
    /// Zeek's log files with their #fields and #types lines
    Zeek,
    /// Edge lists: FROM TO [WEIGHT] between blanks or commas, quoted where needed, # for comments
    Edges,
    /// Web server logs in the common or combined format
    Weblog,
    /// Lines cut up by --pattern
    Regex,
    /// Each line is one field, `line`
    Lines,
}

/// What a field's text must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FieldType {
    /// Any bytes
    Bytes,
    /// UTF-8 text
    Text,
    /// A whole number of 64 bits
    Int,
    /// A whole number from 0 on, of 64 bits
    Uint,
    /// A number
    Float,
    /// true or false, t or f, yes or no, y or n, 1 or 0
    Bool,
    /// A time as --timestamp-format says
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
                        "`{kind}` is no type; types are {}",
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
A record (a line, as a rule) becomes one mutation of one row.

  row      the fields of --row, joined by --joiner
  columns  one entry for each other field: family from --family, qualifier the field's name,
           value the field's text. --map names the column of single fields, --only and --skip
           choose fields. Or one entry for the whole record with --qualifier-field (see the graph
           below).
  missing  fields that are empty, \\N, or named by --missing make no entry

Fields are named by the head line, by --fields, or by number from 1. Every format also has @line
(the line number, with leading zeros) and @file (the file's name).

Lines that cannot be imported never stop the others: they are counted, and --rejects collects them
with file, line number and reason. The exit code is 1 if there are any, unless --accept-rejects.

Examples:
  A CSV file with a head line; the label comes from a column:
    ostrakon import people people.csv --row id --visibility-field label --type age=int --create

  A graph from a CSV file without one (from, to, and the airline as the value):
    ostrakon import routes routes.csv --no-header --family edge \\
      --row 3 --qualifier-field 5 --value-field 1

  An edge list, both ways:
    ostrakon import friends friends.edges --both-ways --create

  JSON lines from a pipe, with a time in seconds:
    zcat events.jsonl.gz | ostrakon import events - --format jsonl --row user.id,@line \\
      --timestamp-field at --timestamp-format seconds

  A web server's log, one row for each host and time:
    ostrakon import access access.log --format weblog --row host,@line --timestamp-field time

  Lines of your own:
    ostrakon import jobs jobs.log --format regex --row id \\
      --pattern '^(?<id>\\d+) (?<state>\\w+) (?<rest>.*)$'

  What `ostrakon export` wrote:
    ostrakon import copy people.csv --entries --create")]
pub(crate) struct ImportArgs {
    /// The table
    pub(crate) table: String,
    /// The files; - for stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Create the table if it is not there
    #[arg(long)]
    pub(crate) create: bool,

    /// The format [default: by the file's ending or first line]
    #[arg(short, long, value_name = "FORMAT", help_heading = "Reading")]
    pub(crate) format: Option<ImportFormat>,
    /// The file was written by `ostrakon export`: its columns are the parts of entries
    #[arg(
        long,
        conflicts_with_all = [
            "row",
            "map",
            "qualifier_field",
            "visibility_field",
            "timestamp_field",
        ],
        help_heading = "Reading"
    )]
    pub(crate) entries: bool,
    /// The first line is data; fields are named by number, or by --fields
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_header: bool,
    /// Names of the fields, between commas, instead of the head line's
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Reading"
    )]
    pub(crate) fields: Vec<String>,
    /// One byte between fields of CSV, such as ';' or '\t' [default: a comma]
    #[arg(short, long, value_name = "BYTE", value_parser = byte, help_heading = "Reading")]
    pub(crate) delimiter: Option<u8>,
    /// Quotes are ordinary bytes (as in TSV)
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_quotes: bool,
    /// A byte that takes the meaning from the quote behind it, inside quotes, such as '\'
    /// [default: quotes are doubled]
    #[arg(
        long,
        value_name = "BYTE",
        value_parser = byte,
        conflicts_with = "no_quotes",
        help_heading = "Reading"
    )]
    pub(crate) escape: Option<u8>,
    /// Lines that begin with this are passed over
    #[arg(long, value_name = "TEXT", help_heading = "Reading")]
    pub(crate) comment: Option<Bytes>,
    /// A regular expression with named groups: the fields of --format regex
    #[arg(long, value_name = "REGEX", help_heading = "Reading")]
    pub(crate) pattern: Option<String>,
    /// A text that means that the field is missing; may be given again [default: empty and \N]
    #[arg(long = "missing", value_name = "TEXT", help_heading = "Reading")]
    pub(crate) missing: Vec<String>,
    /// A field's type; may be given again. Lines with another are rejected
    #[arg(long = "type", value_name = "FIELD=TYPE", help_heading = "Reading")]
    pub(crate) types: Vec<FieldTyping>,

    /// The fields that make the row, between commas
    #[arg(
        short,
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        help_heading = "Making entries"
    )]
    pub(crate) row: Vec<String>,
    /// What stands between several fields of a row or qualifier
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
    /// The column of one field; may be given again
    #[arg(
        short,
        long,
        value_name = "FIELD=FAMILY[:QUALIFIER]",
        help_heading = "Making entries"
    )]
    pub(crate) map: Vec<FieldMap>,
    /// Make entries of these fields only, between commas
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        conflicts_with = "skip",
        help_heading = "Making entries"
    )]
    pub(crate) only: Vec<String>,
    /// Make no entries of these fields, between commas
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        help_heading = "Making entries"
    )]
    pub(crate) skip: Vec<String>,
    /// Make the qualifier FIELD|TEXT and the value 1, so that values can be looked up as columns
    #[arg(
        long,
        conflicts_with = "qualifier_field",
        help_heading = "Making entries"
    )]
    pub(crate) explode: bool,
    /// Make one entry a record: the fields that make its qualifier, between commas
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        conflicts_with_all = ["map", "only", "skip"],
        help_heading = "Making entries"
    )]
    pub(crate) qualifier_field: Vec<String>,
    /// The field that makes that entry's family [default: --family]
    #[arg(
        long,
        value_name = "FIELD",
        conflicts_with = "family",
        help_heading = "Making entries"
    )]
    pub(crate) family_field: Option<String>,
    /// The field that makes that entry's value [default: --value]
    #[arg(long, value_name = "FIELD", help_heading = "Making entries")]
    pub(crate) value_field: Option<String>,
    /// The value of an entry whose record gives none
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "1",
        help_heading = "Making entries"
    )]
    pub(crate) value: Bytes,
    /// Write each edge in the other direction too
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
    /// The field that holds the label. Where it is missing or empty, --visibility holds; without that
    /// option the record is rejected
    #[arg(long, value_name = "FIELD", help_heading = "Making entries")]
    pub(crate) visibility_field: Option<String>,
    /// The field that holds the timestamp
    #[arg(long, value_name = "FIELD", help_heading = "Making entries")]
    pub(crate) timestamp_field: Option<String>,
    /// seconds, millis, micros, rfc3339, or a pattern such as '%d/%b/%Y:%H:%M:%S %z'
    #[arg(long, value_name = "FORMAT", help_heading = "Making entries")]
    pub(crate) timestamp_format: Option<String>,

    /// Collect rejected lines in this file: file, line, reason and text between tabs
    #[arg(long, value_name = "FILE", help_heading = "Outcome")]
    pub(crate) rejects: Option<PathBuf>,
    /// Exit code 0 even if lines were rejected
    #[arg(long, help_heading = "Outcome")]
    pub(crate) accept_rejects: bool,
    /// Read and check everything and write nothing
    #[arg(long, help_heading = "Outcome")]
    pub(crate) dry_run: bool,
    /// How sure the writes are when the command returns [default: the table's]
    #[arg(long, value_name = "LEVEL", value_parser = durability(), help_heading = "Outcome")]
    pub(crate) durability: Option<Durability>,
}
