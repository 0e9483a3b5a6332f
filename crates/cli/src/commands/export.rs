//! `export`

use std::io::Write;
use std::time::{Duration, Instant};

use ostrakon_cell::{Batch, Range, ScanOptions, Source, Table};
use ostrakon_events::check_entries_not_of_events;
use serde_json::json;

use super::access::{RECORD_SCHEMA, find_table};
use super::damage::{Lost, behind, is_damage};
use super::rows::{ScanRequest, scan_request};
use crate::args::{ExportArgs, ExportFormat};
use crate::export::{Form, NOT_TEXT, Target, by_name, is_stdout};
use crate::failure::{Failure, Result};
use crate::import::MAX_LINE_BYTES;
use crate::interrupt::Watch;
use crate::output::{Output, counted, escape, seconds, with_bytes};
use crate::progress::Progress;

/// How often an export checks for Ctrl-C.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);

/// Writes entries to a file or to stdout.
pub(super) fn run(source: &dyn Source, args: ExportArgs, out: &mut Output) -> Result<()> {
    let (format, packing) = by_name(&args.file, args.format)?;
    let table = find_table(source, &args.table)?;
    let limit = args.limit.unwrap_or(u64::MAX);
    let request = scan_request(&args.table, args.selection)?.limited(args.limit);
    let job = Job {
        table: &*table,
        request: &request,
        limit,
        format,
        binary: args.binary,
        skip_damaged: args.skip_damaged,
    };
    if is_stdout(&args.file) {
        // The entries are the output; a summary would be mixed with them.
        return job
            .write(out.stream())
            .map_err(|failure| as_rows(source, &*table, failure))
            .and_then(|written| written.told());
    }
    let started = Instant::now();
    let written = Target::create(&args.file, packing, args.force)?.fill(|file| job.write(file));
    let written = written.map_err(|failure| as_rows(source, &*table, failure))?;
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

/// Advises to export a table of events or records through SQL, which knows the types of its columns, if its entries are
/// not text.
fn as_rows(source: &dyn Source, table: &dyn Table, failure: Failure) -> Failure {
    if !failure.message().ends_with(NOT_TEXT) || cfg!(not(feature = "sql")) {
        return failure;
    }
    let name = table.name();
    let of_type = check_entries_not_of_events(source, &name).err();
    let is_of_events = of_type.is_some_and(|error| {
        let mut context = error.context().iter();
        context.any(|(key, value)| *key == "type" && name == format!("events.{value}"))
    });
    let has_schema = table
        .properties()
        .is_ok_and(|properties| properties.contains_key(RECORD_SCHEMA));
    match is_of_events || has_schema {
        true => failure.next(format!(
            "use `ostrakon sql -c 'SELECT * FROM {name}' --output FILE.parquet`, which writes columns with types; --binary \
             writes the entries as they are, and declares their columns as bytes"
        )),
        false => failure,
    }
}

fn lost_range(lost: &Lost) -> serde_json::Value {
    let object = with_bytes(json!({}), "begin", Some(&lost.begin));
    with_bytes(object, "before", lost.before.as_deref())
}

fn lost_rows(lost: &Lost) -> String {
    let begin = match lost.begin.is_empty() {
        true => "the first".into(),
        false => escape(&lost.begin),
    };
    // A row and a zero byte are the place directly behind the row.
    match lost.before.as_deref() {
        Some([last @ .., 0]) => format!("rows from {begin} up to {}", escape(last)),
        Some(before) => format!("rows from {begin} on, before {}", escape(before)),
        None => format!("rows from {begin} to the last"),
    }
}

/// What was written.
struct Written {
    entries: u64,
    /// Entries whose lines `import` rejects.
    too_long: u64,
    /// The rows that were skipped.
    lost: Vec<Lost>,
}

impl Written {
    /// Warns of lines that are too long; a failure if rows were skipped.
    fn told(&self) -> Result<()> {
        if self.too_long > 0 {
            let lines = counted(self.too_long, "line is", "lines are");
            let most = MAX_LINE_BYTES >> 20;
            Failure::warning(format!(
                "{lines} longer than {most} MiB; `ostrakon import` rejects such lines"
            ))
            .next("export to a Parquet file, which has no such limit")
            .warn();
        }
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

/// What to write.
struct Job<'a> {
    table: &'a dyn Table,
    request: &'a ScanRequest,
    limit: u64,
    format: ExportFormat,
    /// Whether columns of Parquet are declared as bytes.
    binary: bool,
    /// Whether to continue after rows that cannot be read.
    skip_damaged: bool,
}

impl Job<'_> {
    fn write(&self, out: &mut (dyn Write + Send)) -> Result<Written> {
        let watch = Watch::start();
        let progress = Progress::count("entries written");
        let mut form = Form::new(self.format, self.binary, out)?;
        let mut written = Written {
            entries: 0,
            too_long: 0,
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
            let asked = ScanOptions {
                // The scan must return at intervals even if no entry matches, so that Ctrl-C is noticed.
                answer_within: Some(ANSWER_WITHIN),
                ..options.clone()
            };
            let mut scan = self.table.scan(&ranges, &asked)?;
            let failed = loop {
                match scan.next_batch(&mut batch) {
                    Ok(true) => {}
                    Ok(false) => break false,
                    Err(error) if self.skip_damaged && is_damage(&error) => break true,
                    Err(error) => return Err(error.into()),
                }
                let wanted = usize::try_from(self.limit - written.entries).unwrap_or(usize::MAX);
                for entry in batch.iter().take(wanted) {
                    written.too_long += u64::from(form.is_too_long(entry));
                    form.entry(entry)?;
                }
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
