//! The formats of exported entries.

use std::io::{self, Write};

use ostrakon_cell::EntryRef;

use crate::args::ExportFormat;
use crate::failure::{Failure, Result};
use crate::import::MAX_LINE_BYTES;
use crate::output::{escape_controls, write_entry_json};

/// The names of the columns.
pub(super) const COLUMNS: [&str; 6] = [
    "row",
    "family",
    "qualifier",
    "visibility",
    "timestamp",
    "value",
];

type Stream<'a> = &'a mut (dyn Write + Send);

/// One of the formats.
pub(crate) enum Form<'a> {
    Csv(Box<csv::Writer<Stream<'a>>>),
    Tsv(Stream<'a>),
    Jsonl(Stream<'a>),
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::ParquetForm<'a>>),
}

impl<'a> Form<'a> {
    /// Begins a file. `binary` declares the columns of Parquet as bytes instead of text.
    pub(crate) fn new(format: ExportFormat, binary: bool, out: Stream<'a>) -> Result<Self> {
        if binary && format != ExportFormat::Parquet {
            return Err(
                Failure::usage("--binary works only with --format parquet").next("leave it out")
            );
        }
        Ok(match format {
            ExportFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(COLUMNS).map_err(of_stream)?;
                Self::Csv(Box::new(writer))
            }
            ExportFormat::Tsv => {
                writeln!(out, "{}", COLUMNS.join("\t"))?;
                Self::Tsv(out)
            }
            ExportFormat::Jsonl => Self::Jsonl(out),
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => {
                Self::Parquet(Box::new(super::parquet::ParquetForm::new(out, binary)?))
            }
            #[cfg(not(feature = "parquet"))]
            ExportFormat::Parquet => {
                return Err(Failure::usage("this program was built without Parquet")
                    .next("build it with `cargo build -p ostrakon-cli --features parquet`"));
            }
        })
    }

    /// Writes one entry.
    pub(crate) fn entry(&mut self, entry: EntryRef<'_>) -> Result<()> {
        match self {
            Self::Csv(writer) => {
                let time = entry.key.timestamp.to_string();
                for field in fields(entry, &time) {
                    writer.write_field(field.as_bytes()).map_err(of_stream)?;
                }
                writer.write_record(None::<&[u8]>).map_err(of_stream)?;
            }
            Self::Tsv(out) => {
                let time = entry.key.timestamp.to_string();
                for (at, field) in fields(entry, &time).iter().enumerate() {
                    if at > 0 {
                        out.write_all(b"\t")?;
                    }
                    out.write_all(field.as_bytes())?;
                }
                out.write_all(b"\n")?;
            }
            Self::Jsonl(out) => write_entry_json(*out, entry, true)?,
            #[cfg(feature = "parquet")]
            Self::Parquet(form) => form.entry(entry)?,
        }
        Ok(())
    }

    /// Whether the line of an entry is longer than `import` reads.
    pub(crate) fn is_too_long(&self, entry: EntryRef<'_>) -> bool {
        // A byte becomes at most six: `\u0001`, or an escape within quotes.
        let key = entry.key;
        let bytes = key.row.len() + key.family.len() + key.qualifier.len() + entry.value.len();
        if bytes < MAX_LINE_BYTES / 8 {
            return false;
        }
        let line = match self {
            Self::Csv(_) => text_bytes(entry, |text| memchr::memchr_iter(b'"', text).count()),
            Self::Tsv(_) => text_bytes(entry, |_| 0),
            Self::Jsonl(_) => {
                let mut counted = Counted(0);
                // Counting cannot fail.
                let _ = write_entry_json(&mut counted, entry, true);
                counted.0
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => 0,
        };
        line > MAX_LINE_BYTES
    }

    /// Writes what is still held.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Csv(mut writer) => Ok(writer.flush()?),
            Self::Tsv(_) | Self::Jsonl(_) => Ok(()),
            #[cfg(feature = "parquet")]
            Self::Parquet(form) => form.finish(),
        }
    }
}

/// The bytes of a line, with what quotes add to a field.
fn text_bytes(entry: EntryRef<'_>, quotes: impl Fn(&[u8]) -> usize) -> usize {
    let time = entry.key.timestamp.to_string();
    let fields = fields(entry, &time);
    let bytes = fields.iter().map(|field| match quotes(field.as_bytes()) {
        0 => field.len() + 1,
        quotes => field.len() + quotes + 3,
    });
    bytes.sum()
}

/// Counts what is written.
struct Counted(usize);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The fields of a line. Control characters, such as tabs and line feeds, are escaped, so each line is one entry.
fn fields<'t>(entry: EntryRef<'t>, time: &'t str) -> [std::borrow::Cow<'t, str>; 6] {
    let key = entry.key;
    [
        escape_controls(key.row),
        escape_controls(key.family),
        escape_controls(key.qualifier),
        escape_controls(key.visibility),
        time.into(),
        escape_controls(entry.value),
    ]
}

/// The error of the stream: a closed pipe must be distinguished from a full disk.
fn of_stream(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
