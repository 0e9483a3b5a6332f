//! `export`

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ostrakon_cell::{Batch, EntryRef, Source, Table};
use serde_json::json;

use super::access::find_table;
use super::rows::{Asked, asked};
use crate::args::{ExportArgs, ExportFormat};
use crate::failure::{Failure, Result};
use crate::interrupt::Watch;
use crate::output::{Output, counted, escape, seconds, write_entry_json};
use crate::progress::Progress;

const HEAD: [&str; 6] = [
    "row",
    "family",
    "qualifier",
    "visibility",
    "timestamp",
    "value",
];

/// Writes entries to a file or to stdout.
pub(super) fn run(source: &dyn Source, args: ExportArgs, out: &mut Output) -> Result<()> {
    let table = find_table(source, &args.table)?;
    let format = args.format.unwrap_or_else(|| by_ending(&args.file));
    let limit = args.limit.unwrap_or(u64::MAX);
    let asked = asked(args.selection)?.limited(args.limit);
    if args.file == Path::new("-") {
        // The entries are the output; a summary would stand among them.
        return write_entries(&*table, &asked, limit, format, out.stream()).map(drop);
    }
    let started = Instant::now();
    let entries = Target::create(&args.file, args.force)?
        .fill(|file| write_entries(&*table, &asked, limit, format, file))?;
    let elapsed = started.elapsed().as_secs_f64();
    let object = json!({
        "table": args.table,
        "file": args.file.display().to_string(),
        "entries": entries,
        "seconds": elapsed,
    });
    out.object(&object, || {
        format!(
            "wrote {} to {} in {}",
            counted(entries, "entry", "entries"),
            args.file.display(),
            seconds(elapsed)
        )
    })
}

fn by_ending(file: &Path) -> ExportFormat {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => ExportFormat::Csv,
        Some("tsv" | "tab") => ExportFormat::Tsv,
        _ => ExportFormat::Jsonl,
    }
}

fn write_entries(
    table: &dyn Table,
    asked: &Asked,
    limit: u64,
    format: ExportFormat,
    out: &mut dyn Write,
) -> Result<u64> {
    let watch = Watch::start();
    let progress = Progress::count("entries written");
    let mut form = Form::new(format, out)?;
    if asked.ranges.is_empty() || limit == 0 {
        form.finish()?;
        return Ok(0);
    }
    let mut scan = table.scan(&asked.ranges, &asked.options)?;
    let (mut batch, mut entries) = (Batch::new(), 0_u64);
    while entries < limit && scan.next_batch(&mut batch)? {
        let wanted = usize::try_from(limit - entries).unwrap_or(usize::MAX);
        batch
            .iter()
            .take(wanted)
            .try_for_each(|entry| form.entry(entry))?;
        entries += batch.len().min(wanted) as u64;
        progress.set(entries);
        watch.check("nothing was exported")?;
    }
    form.finish()?;
    Ok(entries)
}

/// One of the formats.
enum Form<'a> {
    Csv(Box<csv::Writer<&'a mut dyn Write>>),
    Tsv(&'a mut dyn Write),
    Jsonl(&'a mut dyn Write),
}

impl<'a> Form<'a> {
    fn new(format: ExportFormat, out: &'a mut dyn Write) -> io::Result<Self> {
        Ok(match format {
            ExportFormat::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(HEAD).map_err(of_stream)?;
                Self::Csv(Box::new(writer))
            }
            ExportFormat::Tsv => {
                writeln!(out, "{}", HEAD.join("\t"))?;
                Self::Tsv(out)
            }
            ExportFormat::Jsonl => Self::Jsonl(out),
        })
    }

    fn entry(&mut self, entry: EntryRef<'_>) -> io::Result<()> {
        let key = entry.key;
        let time = key.timestamp.to_string();
        // Escapes hold tabs and line ends too, so that a line is an entry in every format.
        let fields = || {
            [
                escape(key.row),
                escape(key.family),
                escape(key.qualifier),
                escape(key.visibility),
                time.as_str().into(),
                escape(entry.value),
            ]
        };
        match self {
            Self::Csv(writer) => {
                for field in fields() {
                    writer.write_field(field.as_bytes()).map_err(of_stream)?;
                }
                writer.write_record(None::<&[u8]>).map_err(of_stream)
            }
            Self::Tsv(out) => {
                for (at, field) in fields().iter().enumerate() {
                    if at > 0 {
                        out.write_all(b"\t")?;
                    }
                    out.write_all(field.as_bytes())?;
                }
                out.write_all(b"\n")
            }
            Self::Jsonl(out) => write_entry_json(*out, entry, true),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Tsv(_) | Self::Jsonl(_) => Ok(()),
        }
    }
}

/// The stream's own error: a reader that is gone must be told from a full disk.
fn of_stream(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A file that appears under its name only when it is whole.
struct Target {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
}

impl Target {
    fn create(path: &Path, force: bool) -> Result<Self> {
        let shown = path.display().to_string();
        if !force && path.exists() {
            return Err(Failure::outcome("the file exists already")
                .with("file", shown)
                .next("choose another name, or say --force to replace it"));
        }
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = File::create(&partial).map_err(|error| {
            Failure::io("the file cannot be written", &error).with("file", shown)
        })?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: BufWriter::with_capacity(256 << 10, file),
        })
    }

    fn fill(mut self, write: impl FnOnce(&mut dyn Write) -> Result<u64>) -> Result<u64> {
        let written = write(&mut self.file).and_then(|entries| {
            self.file.flush()?;
            fs::rename(&self.partial, &self.path)?;
            Ok(entries)
        });
        if written.is_err() {
            // What is left of it helps nobody; that it cannot be removed changes nothing.
            let _ = fs::remove_file(&self.partial);
        }
        written.map_err(|failure| failure.about_file("the file cannot be written", &self.path))
    }
}
