//! `export`

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use ostrakon_cell::{Batch, EntryRef, Range, Source, Table};
use serde_json::json;

use super::access::find_table;
use super::damage::{Lost, behind, is_damage};
use super::rows::{ScanRequest, scan_request};
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
    let request = scan_request(args.selection)?.limited(args.limit);
    let job = Job {
        table: &*table,
        request: &request,
        limit,
        format,
        skip_damaged: args.skip_damaged,
    };
    if args.file == Path::new("-") {
        // The entries are the output; a summary would be mixed with them.
        return job.write(out.stream()).and_then(|written| written.told());
    }
    let started = Instant::now();
    let written = Target::create(&args.file, args.force)?.fill(|file| job.write(file))?;
    let elapsed = started.elapsed().as_secs_f64();
    let lost: Vec<_> = written.lost.iter().map(lost_range).collect();
    let object = json!({
        "table": args.table,
        "file": args.file.display().to_string(),
        "entries": written.entries,
        "lost": lost,
        "seconds": elapsed,
    });
    out.object(&object, || {
        let mut text = format!(
            "wrote {} to {} in {}",
            counted(written.entries, "entry", "entries"),
            args.file.display(),
            seconds(elapsed)
        );
        for lost in &written.lost {
            text.push_str(&format!("\nlost: {}", lost_rows(lost)));
        }
        text
    })?;
    written.told()
}

fn lost_range(lost: &Lost) -> serde_json::Value {
    json!({"begin": escape(&lost.begin), "before": lost.before.as_deref().map(escape)})
}

fn lost_rows(lost: &Lost) -> String {
    let begin = escape(&lost.begin);
    match &lost.before {
        Some(before) => format!("rows from {begin} on, before {}", escape(before)),
        None => format!("rows from {begin} on"),
    }
}

/// What was written.
struct Written {
    entries: u64,
    /// The rows that were skipped.
    lost: Vec<Lost>,
}

impl Written {
    /// A failure if rows were skipped.
    fn told(&self) -> Result<()> {
        let Some(first) = self.lost.first() else {
            return Ok(());
        };
        Err(
            Failure::outcome("damaged rows were left out; all others were exported")
                .with("ranges lost", self.lost.len().to_string())
                .with("first", lost_rows(first))
                .next(
                    "run `ostrakon check` to list every damaged file, and `ostrakon table restore-file` to restore one",
                ),
        )
    }
}

fn by_ending(file: &Path) -> ExportFormat {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("csv") => ExportFormat::Csv,
        Some("tsv" | "tab") => ExportFormat::Tsv,
        _ => ExportFormat::Jsonl,
    }
}

/// What to write.
struct Job<'a> {
    table: &'a dyn Table,
    request: &'a ScanRequest,
    limit: u64,
    format: ExportFormat,
    /// Whether to continue after rows that cannot be read.
    skip_damaged: bool,
}

impl Job<'_> {
    fn write(&self, out: &mut dyn Write) -> Result<Written> {
        let watch = Watch::start();
        let progress = Progress::count("entries written");
        let mut form = Form::new(self.format, out)?;
        let mut written = Written {
            entries: 0,
            lost: Vec::new(),
        };
        let mut ranges = self.request.ranges.clone();
        let mut options = self.request.options.clone();
        if self.skip_damaged {
            (options.resumable, options.ordered) = (true, true);
            ranges = Range::merge(ranges);
        }
        let at_once = options.batch.entries;
        let mut batch = Batch::new();
        while !ranges.is_empty() && written.entries < self.limit {
            let mut scan = self.table.scan(&ranges, &options)?;
            let failed = loop {
                match scan.next_batch(&mut batch) {
                    Ok(true) => {}
                    Ok(false) => break false,
                    Err(error) if self.skip_damaged && is_damage(&error) => break true,
                    Err(error) => return Err(error.into()),
                }
                let wanted = usize::try_from(self.limit - written.entries).unwrap_or(usize::MAX);
                batch
                    .iter()
                    .take(wanted)
                    .try_for_each(|entry| form.entry(entry))?;
                written.entries += batch.len().min(wanted) as u64;
                progress.set(written.entries);
                watch.check("nothing was exported")?;
                if written.entries >= self.limit {
                    break false;
                }
            };
            if !failed {
                break;
            }
            ranges = scan.unread()?;
            if options.batch.entries > 1 {
                // Read again, entry by entry, so that entries before the damage are not lost.
                options.batch.entries = 1;
                continue;
            }
            options.batch.entries = at_once.max(2);
            let (lost, rest) = behind(self.table, &options, &ranges)?;
            written.lost.push(lost);
            ranges = rest;
        }
        form.finish()?;
        Ok(written)
    }
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
        // Tabs and line feeds are escaped, so each line is one entry in every format.
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

/// The error of the stream: a closed pipe must be distinguished from a full disk.
fn of_stream(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A file that gets its name only when it is complete.
struct Target {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
}

impl Target {
    fn create(path: &Path, force: bool) -> Result<Self> {
        let shown = path.display().to_string();
        if !force && path.exists() {
            return Err(Failure::outcome("the file already exists")
                .with("file", shown)
                .next("choose another name, or use --force to replace the file"));
        }
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = File::create(&partial)
            .map_err(|error| Failure::io("cannot write the file", &error).with("file", shown))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            file: BufWriter::with_capacity(256 << 10, file),
        })
    }

    fn fill<T>(mut self, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
        let written = write(&mut self.file).and_then(|written| {
            self.file.flush()?;
            fs::rename(&self.partial, &self.path)?;
            Ok(written)
        });
        if written.is_err() {
            // The incomplete file is useless. If it cannot be removed, the error stays the same.
            let _ = fs::remove_file(&self.partial);
        }
        written.map_err(|failure| failure.about_file("cannot write the file", &self.path))
    }
}
