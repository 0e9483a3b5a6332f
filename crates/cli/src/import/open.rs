//! Opens an input, and chooses its reader.

use std::ffi::OsStr;
use std::io::BufRead;
use std::path::Path;

use super::delimited::{Delimited, Dialect, Separator};
use super::input::{self, Consumed, Input, shown_name};
use super::json::JsonLines;
use super::lines::Lines;
use super::pattern::Pattern;
use super::record::RecordReader;
use super::zeek::Zeek;
use crate::args::{ImportArgs, ImportFormat};
use crate::failure::{Failure, Result};

/// An open input.
pub(super) struct Opened {
    pub(super) reader: Box<dyn RecordReader>,
    pub(super) format: ImportFormat,
    /// How much of the file was read.
    pub(super) consumed: Consumed,
}

/// Opens a file, or stdin.
pub(super) fn open(path: &Path, args: &ImportArgs) -> Result<Opened> {
    let consumed = Consumed::default();
    let mut input = match input::open(path, &consumed)? {
        Input::Text(input) => input,
        Input::Parquet => return open_parquet(path, args, consumed),
    };
    let format = match args.format {
        Some(format) => format,
        None => detect(path, &mut *input)?,
    };
    if args.pattern.is_some() && format != ImportFormat::Regex {
        return Err(Failure::usage("--pattern works only with --format regex")
            .next("add --format regex, or leave out --pattern"));
    }
    refuse_idle_options(format, args)?;
    let lines = Lines::new(input);
    let reader: Box<dyn RecordReader> = match format {
        ImportFormat::Csv | ImportFormat::Tsv | ImportFormat::Zeek | ImportFormat::Edges => {
            let zeek = (format == ImportFormat::Zeek).then(Zeek::default);
            Box::new(Delimited::new(lines, dialect(format, args)?, zeek)?)
        }
        ImportFormat::Parquet => {
            return Err(Failure::usage("the file is not a Parquet file")
                .with("file", shown_name(path))
                .next("leave out --format, or check that the file is complete"));
        }
        ImportFormat::Jsonl => Box::new(JsonLines::new(lines)),
        ImportFormat::Weblog => Box::new(Pattern::weblog(lines)?),
        ImportFormat::Lines => Box::new(Pattern::whole_lines(lines)?),
        ImportFormat::Regex => {
            let pattern = args.pattern.as_deref().ok_or_else(|| {
                Failure::usage("--format regex needs --pattern")
                    .next("--pattern '^(?<id>\\d+) (?<rest>.*)$'")
            })?;
            Box::new(Pattern::new(lines, pattern)?)
        }
    };
    Ok(Opened {
        reader,
        format,
        consumed,
    })
}

#[cfg(feature = "parquet")]
fn open_parquet(path: &Path, args: &ImportArgs, consumed: Consumed) -> Result<Opened> {
    let format = ImportFormat::Parquet;
    if args.format.is_some_and(|given| given != format) {
        return Err(Failure::usage("the file is a Parquet file")
            .with("file", shown_name(path))
            .next("leave out --format"));
    }
    refuse_idle_options(format, args)?;
    Ok(Opened {
        reader: Box::new(super::parquet::Parquet::open(path, consumed.clone())?),
        format,
        consumed,
    })
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(path: &Path, _args: &ImportArgs, _consumed: Consumed) -> Result<Opened> {
    Err(Failure::usage("this program was built without Parquet")
        .with("file", shown_name(path))
        .next("build it with `cargo build -p ostrakon-cli --features parquet`"))
}

/// Rejects options about delimiters for formats that would ignore them.
fn refuse_idle_options(format: ImportFormat, args: &ImportArgs) -> Result<()> {
    if matches!(
        format,
        ImportFormat::Csv | ImportFormat::Tsv | ImportFormat::Edges
    ) {
        return Ok(());
    }
    let given = [
        ("--fields", !args.fields.is_empty()),
        ("--no-header", args.no_header),
        ("--delimiter", args.delimiter.is_some()),
        ("--escape", args.escape.is_some()),
        ("--no-quotes", args.no_quotes),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} works only with --format csv, tsv and edges"
        ))
        .next(format!(
            "leave out {option}, or say the format with --format"
        ))),
        None => Ok(()),
    }
}

fn detect(path: &Path, input: &mut dyn BufRead) -> Result<ImportFormat> {
    let start = input.fill_buf().map_err(|error| {
        Failure::io("cannot read the file", &error).with("file", shown_name(path))
    })?;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    if start.starts_with(b"#separator ") {
        return Ok(ImportFormat::Zeek);
    }
    let shown = path.with_extension("");
    let packed = ["gz", "zst"]
        .map(OsStr::new)
        .iter()
        .any(|one| path.extension() == Some(one));
    let ending = if packed { &shown } else { path }
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    match ending.as_str() {
        "csv" => Ok(ImportFormat::Csv),
        "tsv" | "tab" => Ok(ImportFormat::Tsv),
        "jsonl" | "ndjson" => Ok(ImportFormat::Jsonl),
        "edges" | "edgelist" => Ok(ImportFormat::Edges),
        _ if start.starts_with(b"{") => Ok(ImportFormat::Jsonl),
        _ if Pattern::is_weblog(start) => Ok(ImportFormat::Weblog),
        _ => {
            let failure =
                Failure::usage("the format is not clear from the file extension or the first line")
                    .with("file", shown_name(path))
                    .next("use --format csv, tsv, jsonl, zeek, edges, weblog, regex or lines");
            Err(input::about_packing(path, failure))
        }
    }
}

fn dialect(format: ImportFormat, args: &ImportArgs) -> Result<Dialect> {
    let delimiter = args.delimiter;
    if matches!(delimiter, Some(b'"' | b'\n' | b'\r')) {
        return Err(
            Failure::usage("the delimiter cannot be a quote or a line feed")
                .next("give the byte between the fields, such as --delimiter ';'"),
        );
    }
    let edges = format == ImportFormat::Edges;
    let names = if edges && args.fields.is_empty() {
        ["from", "to", "weight"].map(String::from).to_vec()
    } else {
        args.fields.clone()
    };
    let mark = args.comment.as_ref().map(|mark| mark.0.clone());
    Ok(Dialect {
        separator: match (delimiter, format) {
            (Some(byte), _) => Separator::Byte(byte),
            (None, ImportFormat::Edges) => Separator::Blanks,
            (None, ImportFormat::Csv) => Separator::Byte(b','),
            (None, _) => Separator::Byte(b'\t'),
        },
        quotes: matches!(format, ImportFormat::Csv | ImportFormat::Edges) && !args.no_quotes,
        escape: args.escape,
        comment: mark
            .filter(|mark| !mark.is_empty())
            .or_else(|| edges.then(|| b"#".to_vec())),
        header: matches!(format, ImportFormat::Csv | ImportFormat::Tsv) && !args.no_header,
        optional: usize::from(edges && args.fields.is_empty()),
        names,
    })
}
