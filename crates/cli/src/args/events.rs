//! `ostrakon events …`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ostrakon_cell::Authorizations;
use ostrakon_events::{CountPath, EqualRecords, FollowUp, LogFormat, Path, field_name};

use super::values::{at_least_one, authorizations, event_types, named_file};

/// One variant per subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Create an event type, inferred from a log file or read from TOML
    #[command(after_help = "Examples:
  ostrakon events create conn --from conn.log
  ostrakon events create conn --from conn.log --print > conn.toml    edit it, then:
  ostrakon events create conn --schema conn.toml")]
    Create(EventsCreateArgs),
    /// Replace the definition of an event type with an edited one
    #[command(after_help = "Examples:
  ostrakon events show conn > conn.toml
  ostrakon events edit conn --schema conn.toml

Fields and shards can be added. The index of a field cannot be changed once there are events.")]
    Edit {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
        /// The definition, as TOML, or - for stdin
        #[arg(long, value_name = "FILE")]
        schema: PathBuf,
    },
    /// List the event types
    List,
    /// Print the definition of an event type as TOML
    Show {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
    },
    /// Delete an event type with all its events
    #[command(after_help = "Examples:
  ostrakon events drop conn --yes")]
    Drop {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Read log files into an event type; events that are already stored are skipped
    #[command(after_help = "Examples:
  ostrakon events ingest conn logs/conn.*.log.gz
  ostrakon events ingest web access.log --rejects rejects.txt
  ostrakon events ingest conn --follow /var/log/zeek --name 'conn*.log'
  ostrakon events ingest conn conn.log --enrich id.orig_h=hosts.csv
  zcat syslog.gz | ostrakon events ingest messages - --format syslog")]
    Ingest(EventsIngestArgs),
    /// Print events, newest first
    #[command(after_help = "Examples:
  ostrakon events query conn \"id.resp_h == '10.0.0.1' and time > ago('1h')\"
  ostrakon events query conn \"id.resp_h in '10.0.0.0/8' and not service == 'dns'\" --limit 20
  ostrakon events query web \"status >= 500 or path startswith '/admin'\" --fields client,path --json
  ostrakon events query web \"path contains 'login'\" --last 1d --format csv
  ostrakon events query dns \"query == 'example.org'\" --then conn.id.orig_h=id.orig_h

Expressions compare a field with a value: == != < <= > >=, in ('a', 'b'), in '10.0.0.0/8',
startswith, endswith, contains, =~ and !~ (regular expressions), exists. They are combined with
and, or, not and parentheses. `time` is the time of the event; ago('1h') and now() are points in
time. If an event does not have the field, != and !~ are true, and every other comparison is
false.")]
    Query(EventsQueryArgs),
    /// Count events by time span, and plot the counts
    #[command(after_help = "Examples:
  ostrakon events histogram conn --by 1h --last 1d
  ostrakon events histogram conn \"id.resp_h == '10.0.0.1'\" --by 1d --json")]
    Histogram {
        #[command(flatten)]
        question: EventsQuestion,
        /// The width of a bin, which is one bar, such as 15m, 1h or 1d
        #[arg(long, value_name = "SPAN", default_value = "1h")]
        by: String,
        /// Source of the counts [default: auto]
        #[arg(
            long,
            value_name = "PATH",
            default_value = "auto",
            hide_default_value = true
        )]
        count_by: CountBy,
    },
    /// Print the most frequent values of a field
    #[command(after_help = "Examples:
  ostrakon events top conn id.orig_h
  ostrakon events top web path \"status == 404\" -n 20")]
    Top {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
        /// The field
        field: String,
        /// The condition
        #[arg(value_name = "EXPRESSION")]
        expression: Option<String>,
        /// How many values to print
        #[arg(
            short = 'n',
            long,
            value_name = "N",
            default_value_t = 10,
            value_parser = number,
            allow_negative_numbers = true
        )]
        limit: usize,
        #[command(flatten)]
        when: EventsWhen,
    },
    /// Show how a query is answered
    #[command(after_help = "Examples:
  ostrakon events explain conn \"id.resp_h == '10.0.0.1'\"
  ostrakon events explain conn \"service == 'dns'\" --analyze     also runs the query")]
    Explain {
        #[command(flatten)]
        question: EventsQuestion,
        #[command(flatten)]
        path: EventsPath,
        /// Also run the query, and show what it has read
        #[arg(long)]
        analyze: bool,
        #[command(flatten)]
        planner: EventsPlanner,
    },
    /// Measure the share of events below which the index is faster, and save it for all readers
    #[command(after_help = "\
The planner uses the index for conditions that match a smaller share of the events than this. The
result is saved in the store. At least 10,000 events that --auths can see are needed: of fewer, the
times say little.

Examples:
  ostrakon events calibrate conn")]
    Calibrate {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
        #[command(flatten)]
        when: EventsWhen,
    },
    /// Delete the events that satisfy a condition
    #[command(after_help = "\
Only events that --auths can see are deleted. Without EXPRESSION, --from, --to and --last, these are
all events that --auths can see.

Examples:
  ostrakon events delete conn \"service == 'dns'\" --yes
  ostrakon events delete conn --to 2013-09-01 --yes")]
    Delete {
        #[command(flatten)]
        question: EventsQuestion,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Remove events that are older than `keep` of the event type
    #[command(after_help = "Examples:
  ostrakon events age-off conn --yes
  ostrakon events age-off conn --before 2015-05-17T10:05 --auths soc

Only whole time bins are removed. With a bin of 1h, --before 2015-05-17T10:05 removes the events
before 10:00.")]
    AgeOff {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
        /// Remove events before this time instead, rounded down to a whole bin
        #[arg(long, value_name = "TIME")]
        before: Option<String>,
        /// Authorizations with which the removed events are counted for the output [default: none]
        #[arg(
            short = 's',
            long = "auths",
            visible_alias = "authorizations",
            value_name = "NAMES",
            default_value = "",
            hide_default_value = true,
            value_parser = authorizations
        )]
        authorizations: Authorizations,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Check that events, index and counts agree
    #[command(after_help = "\
Give all authorizations that occur in the labels of the type: only events that --auths can see are
checked.

Examples:
  ostrakon events check conn
  ostrakon events check conn --auths soc,hr --json")]
    Check {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
        #[command(flatten)]
        reader: EventsReader,
    },
    /// Correct index and counts to agree with the events
    #[command(after_help = "\
Give all authorizations that occur in the labels of the type: only events that --auths can see are
used.

Examples:
  ostrakon events repair conn
  ostrakon events repair conn --auths soc,hr")]
    Repair {
        /// The event type
        #[arg(value_name = "TYPE", add = event_types())]
        name: String,
        #[command(flatten)]
        reader: EventsReader,
    },
}

/// `events create`
#[derive(Debug, Args)]
pub(crate) struct EventsCreateArgs {
    /// The event type: lower-case letters, digits and _
    #[arg(value_name = "TYPE")]
    pub(crate) name: String,
    /// Infer the type from the first lines of this log file
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    pub(crate) from: Option<PathBuf>,
    /// Read the definition from this TOML file, or - for stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The field with the time of events [default: found by its name and its values]
    #[arg(long, value_name = "FIELD", conflicts_with = "schema")]
    pub(crate) time: Option<String>,
    #[command(flatten)]
    pub(crate) source: EventsSource,
    /// The label of events
    #[arg(short = 'l', long, value_name = "LABEL")]
    pub(crate) visibility: Option<String>,
    /// The field with the label of an event. A record without this field gets the label of --visibility, or is rejected
    /// if there is none
    #[arg(long, value_name = "FIELD")]
    pub(crate) visibility_field: Option<String>,
    /// Age above which `events age-off` removes events, such as 90d; nothing is removed automatically [default: no
    /// limit]
    #[arg(long, value_name = "SPAN")]
    pub(crate) keep: Option<String>,
    /// What to do with records that are equal in all fields [default: merge]
    #[arg(long, value_name = "WHAT")]
    pub(crate) equal_records: Option<EventsEqual>,
    /// The number of shards, which divide scans among threads [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) shards: Option<u16>,
    /// Keep the events of existing tables of this type, whose definition was lost
    #[arg(long, requires = "schema", conflicts_with = "print")]
    pub(crate) adopt: bool,
    /// Print the definition instead of creating the type
    #[arg(long)]
    pub(crate) print: bool,
}

/// `events ingest`
#[derive(Debug, Args)]
pub(crate) struct EventsIngestArgs {
    /// The event type
    #[arg(value_name = "TYPE", add = event_types())]
    pub(crate) name: String,
    /// Log files, plain or compressed with gzip or zstd, or Parquet files; - for stdin
    #[arg(required_unless_present = "follow", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Read the files of this directory, and then new files and appended lines, until Ctrl-C
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    pub(crate) follow: Option<PathBuf>,
    /// With --follow: read only files whose names match this pattern, such as 'conn*.log' (repeatable)
    #[arg(long = "name", value_name = "PATTERN", value_parser = glob::Pattern::new, requires = "follow", conflicts_with = "files")]
    pub(crate) names: Vec<glob::Pattern>,
    /// With --follow: how often to check the directory
    #[arg(long, value_name = "SPAN", default_value = "1s", requires = "follow")]
    pub(crate) interval: String,
    /// End when nothing was added for this number of whole seconds; 0 ends at the first check that finds nothing new
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "follow",
        conflicts_with = "files"
    )]
    pub(crate) until_idle: Option<u64>,
    #[command(flatten)]
    pub(crate) source: EventsSource,
    /// Write rejected lines to this file, as TSV with file, line, reason and text. Replaces a file of rejected
    /// lines of an earlier run, and no other file; with --follow, appends to it
    #[arg(long, value_name = "FILE", value_parser = named_file())]
    pub(crate) rejects: Option<PathBuf>,
    /// Maximum number of events that become visible at once
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = at_least_one)]
    pub(crate) batch_events: usize,
}

/// How log files are read.
#[derive(Debug, Default, Args)]
pub(crate) struct EventsSource {
    /// The format of the log files [default: from their content or names]
    #[arg(short = 'f', long, value_name = "FORMAT")]
    pub(crate) format: Option<EventsFormat>,
    /// Rename a field of the files (repeatable)
    #[arg(short = 'm', long, value_name = "SOURCE=FIELD", value_parser = renamed)]
    pub(crate) map: Vec<(String, String)>,
    /// Add the columns of a table to events whose FIELD is a key in its first column (repeatable)
    #[arg(long, value_name = "FIELD=FILE", value_parser = enriched)]
    pub(crate) enrich: Vec<(String, PathBuf)>,
}

/// A number of events or values.
fn number(text: &str) -> Result<usize, String> {
    let wrong = "a number of events or values is 0 or more, such as 20 or 1000".to_owned();
    text.parse().map_err(|_| wrong)
}

fn renamed(text: &str) -> Result<(String, String), String> {
    // The name in the file may have a `=`; that of a field has none.
    let (source, field) = text
        .rsplit_once('=')
        .filter(|(source, field)| !source.is_empty() && !field.is_empty())
        .ok_or("write SOURCE=FIELD: the name in the file, and the name of the field")?;
    if field_name(field) != field {
        return Err(format!(
            "`{field}` is not a name for a field; `{}` is",
            field_name(field)
        ));
    }
    Ok((source.to_owned(), field.to_owned()))
}

fn enriched(text: &str) -> Result<(String, PathBuf), String> {
    text.split_once('=')
        .filter(|(field, file)| !field.is_empty() && !file.is_empty())
        .map(|(field, file)| (field.to_owned(), PathBuf::from(file)))
        .ok_or_else(|| "write FIELD=FILE: the field of events, and the table".into())
}

fn follow_up(text: &str) -> Result<FollowUp, String> {
    FollowUp::parse(text).map_err(|error| error.to_string())
}

/// `events query`
#[derive(Debug, Args)]
pub(crate) struct EventsQueryArgs {
    #[command(flatten)]
    pub(crate) question: EventsQuestion,
    #[command(flatten)]
    pub(crate) path: EventsPath,
    /// Comma-separated fields to print [default: all]
    #[arg(long, value_name = "FIELDS", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// How to print events [default: json with --json, else text]
    #[arg(short = 'f', long, value_name = "FORMAT")]
    pub(crate) format: Option<EventsRows>,
    /// Print at most this many events
    #[arg(
        short = 'n',
        short_alias = 'l',
        long,
        value_name = "N",
        value_parser = number,
        allow_negative_numbers = true
    )]
    pub(crate) limit: Option<usize>,
    /// Continue an earlier query; takes the `token` that it printed
    #[arg(long, value_name = "TOKEN")]
    pub(crate) resume: Option<String>,
    /// Collect the values of the second FIELD in the events found, and find the events of TYPE whose first FIELD has
    /// one of them (repeatable)
    #[arg(long, value_name = "TYPE.FIELD=FIELD", value_parser = follow_up)]
    pub(crate) then: Vec<FollowUp>,
    /// Print only the number of events
    #[arg(long, conflicts_with_all = ["limit", "resume", "fields", "then", "format", "path"])]
    pub(crate) count: bool,
    #[command(flatten)]
    pub(crate) planner: EventsPlanner,
}

/// Settings of the planner.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Planner")]
pub(crate) struct EventsPlanner {
    /// Use the index if less than this share of the events matches, from 0 to 1 [default: what `calibrate` measured,
    /// else 0.01]
    #[arg(long, value_name = "SHARE")]
    pub(crate) threshold: Option<f64>,
    /// In an `and`, also look up a test in the index if it matches at most this many times the events of the most
    /// selective test; 1 or more [default: 10]
    #[arg(long, value_name = "TIMES")]
    pub(crate) factor: Option<f64>,
    /// Approximate number of events to read in the first time window [default: 10000]
    #[arg(long, value_name = "N")]
    pub(crate) first_events: Option<u64>,
    /// Shorten the next window if the last one returned more events than this [default: 50000]
    #[arg(long, value_name = "N")]
    pub(crate) window_events: Option<u64>,
    /// Lengthen the next window if the last one took less time than this [default: 50ms]
    #[arg(long, value_name = "SPAN")]
    pub(crate) window_short: Option<String>,
    /// Shorten the next window if the last one took more time than this; not less than
    /// --window-short [default: 500ms]
    #[arg(long, value_name = "SPAN")]
    pub(crate) window_long: Option<String>,
    /// The factor by which windows are lengthened or shortened, at least 2 [default: 4]
    #[arg(long, value_name = "TIMES")]
    pub(crate) window_growth: Option<u32>,
    /// Number of threads that read the shards of a window [default: one per core, at most 16]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

/// What is asked for.
#[derive(Debug, Args)]
pub(crate) struct EventsQuestion {
    /// The event type
    #[arg(value_name = "TYPE", add = event_types())]
    pub(crate) name: String,
    /// The condition
    #[arg(value_name = "EXPRESSION")]
    pub(crate) expression: Option<String>,
    #[command(flatten)]
    pub(crate) when: EventsWhen,
}

/// How a query finds its events.
#[derive(Debug, Args)]
pub(crate) struct EventsPath {
    /// How to find the events: by the index or by a scan [default: auto]
    #[arg(
        long,
        value_name = "PATH",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) path: QueryPath,
}

/// The reader.
#[derive(Debug, Args)]
pub(crate) struct EventsReader {
    /// Comma-separated authorizations of the reader [default: none]
    #[arg(
        short = 's',
        long = "auths",
        visible_alias = "authorizations",
        value_name = "NAMES",
        default_value = "",
        hide_default_value = true,
        value_parser = authorizations
    )]
    pub(crate) authorizations: Authorizations,
}

/// The time, and the reader.
#[derive(Debug, Args)]
pub(crate) struct EventsWhen {
    /// Only events from this time on, such as 2015-05-17, 2015-05-17T10:05:03Z or @1431857103 (seconds since 1970)
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Only events before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
    /// Only events within this time span before now, such as 1h or 7d
    #[arg(long, value_name = "SPAN", conflicts_with = "from")]
    pub(crate) last: Option<String>,
    /// Time to use as the present, for reproducible reports [default: the clock]
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    #[command(flatten)]
    pub(crate) reader: EventsReader,
}

/// A format of log files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventsFormat {
    /// Zeek's logs with header lines
    Zeek,
    /// One JSON object per line
    Json,
    /// The combined or common format of Apache and Nginx
    Web,
    /// Squid's own access log
    Squid,
    /// Syslog of RFC 3164 or RFC 5424
    Syslog,
    /// The log of dpkg
    Dpkg,
    /// Comma-separated values with a header
    Csv,
    /// Tab-separated values with a header
    Tsv,
}

impl From<EventsFormat> for LogFormat {
    fn from(format: EventsFormat) -> Self {
        match format {
            EventsFormat::Zeek => Self::Zeek,
            EventsFormat::Json => Self::Json,
            EventsFormat::Web => Self::Web,
            EventsFormat::Squid => Self::Squid,
            EventsFormat::Syslog => Self::Syslog,
            EventsFormat::Dpkg => Self::Dpkg,
            EventsFormat::Csv => Self::Csv,
            EventsFormat::Tsv => Self::Tsv,
        }
    }
}

/// What becomes of records that are equal in all fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventsEqual {
    /// Store them once
    Merge,
    /// Store each of them
    Keep,
}

impl From<EventsEqual> for EqualRecords {
    fn from(given: EventsEqual) -> Self {
        match given {
            EventsEqual::Merge => Self::Merge,
            EventsEqual::Keep => Self::Keep,
        }
    }
}

/// How events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventsRows {
    /// A line per event: the time, and name=value for each field
    Text,
    /// Aligned columns; long values are cut
    Table,
    /// Comma-separated values with a header, complete
    Csv,
    /// One JSON object per event
    Json,
}

/// How a query is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryPath {
    /// As the planner chooses
    Auto,
    /// By the index
    Index,
    /// By reading all events in the time range
    Scan,
}

impl From<QueryPath> for Path {
    fn from(path: QueryPath) -> Self {
        match path {
            QueryPath::Auto => Self::Auto,
            QueryPath::Index => Self::Index,
            QueryPath::Scan => Self::Scan,
        }
    }
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CountBy {
    /// Chosen by the planner
    Auto,
    /// The counts stored at ingest
    Aggregates,
    /// The entries of the index
    Index,
    /// The events
    Scan,
}

impl From<CountBy> for CountPath {
    fn from(path: CountBy) -> Self {
        match path {
            CountBy::Auto => Self::Auto,
            CountBy::Aggregates => Self::Aggregates,
            CountBy::Index => Self::Index,
            CountBy::Scan => Self::Scan,
        }
    }
}
