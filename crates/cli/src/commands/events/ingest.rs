//! `events ingest`

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use ostrakon_cell::ErrorKind;
use ostrakon_events::{
    EventStore, EventType, Ingest, IngestOptions, LogFormat, LogPart, Record, RecordSource, Step,
    field_name,
};
use serde_json::json;

use super::directory::and_more;
use super::logs::{Content, Log, Reading, shown};
use crate::args::{EventsIngestArgs, EventsSource};
use crate::commands::access::{Absent, Access};
use crate::failure::{Failure, Result, nearest};
use crate::files::same_file;
use crate::import;
use crate::interrupt::Watch;
use crate::output::{Output, counted, grouped, seconds};
use crate::progress::Progress;

/// Fields of a file that a message names.
const NAMED: usize = 12;

/// Records between two looks at Ctrl-C and at the progress.
const STEP: u64 = 1024;

/// Lines that are not events.
pub(super) struct Rejects {
    lines: import::Rejects,
    /// Whether the first ones are shown when they are found, and not at the end.
    shows_at_once: bool,
}

/// What is told at the end.
#[derive(Debug, Default, Clone)]
pub(super) struct Total {
    pub(super) events: u64,
    pub(super) duplicates: u64,
    /// Duplicates of events of the same run, as far as one store is open for it.
    pub(super) repeated: u64,
    pub(super) entries: u64,
}

/// Reads log files, and tells what was stored once the store is closed: what is reported took that long.
pub(super) fn run(access: &Access, args: &EventsIngestArgs, out: &mut Output) -> Result<()> {
    let started = Instant::now();
    let (total, rejects) = access.with_store(Absent::Refuse, |source| {
        add_files(&EventStore::new(source), args)
    })?;
    tell(args, &total, &rejects, started.elapsed().as_secs_f64(), out)
}

fn add_files(store: &EventStore, args: &EventsIngestArgs) -> Result<(Total, Rejects)> {
    if let Some(rejects) = &args.rejects
        && args.files.iter().any(|file| same_file(file, rejects))
    {
        return Err(
            Failure::usage("the file of --rejects is one of the files to read")
                .next("choose another name for the rejected lines"),
        );
    }
    if let Some(directory) = args.files.iter().find(|file| file.is_dir()) {
        return Err(refuse_directory(&args.name, directory));
    }
    let reading = Reading::new(&args.source)?;
    let definition = store.get(&args.name)?;
    check_renamed(&definition, &args.source)?;
    let mut ingest = store.ingest(&args.name, options(args))?;
    let mut rejects = Rejects::new(args)?;
    let sizes = args
        .files
        .iter()
        .map(|file| std::fs::metadata(file).ok().map(|data| data.len()));
    let progress = Progress::bytes(sizes.sum());
    let watch = Watch::start();
    let mut before = 0;
    for (complete, file) in args.files.iter().enumerate() {
        let seen = (&watch, &progress, before);
        let read = reading
            .open(file)
            .and_then(|log| read(&mut ingest, &definition, file, log, &mut rejects, seen));
        // A read that waits fails once the command is to stop.
        if watch.stopped() {
            ingest.commit()?;
            rejects.flush()?;
            let kept = counted(ingest.report().events, "event is", "events are");
            let rest = match import::is_stdin(file) {
                true => {
                    "every complete line that was read is stored, and the rest of the input is not"
                }
                false => "run the command again to go on",
            };
            watch.check(&format!("{kept} stored; {rest}"))?;
        }
        match read {
            Ok(bytes) => before += bytes,
            Err(failure) => return Err(keep(&mut ingest, &mut rejects, complete, failure)),
        }
    }
    if let Err(failure) = rejects.flush().and_then(|()| Ok(ingest.commit()?)) {
        return Err(tell_stored(&ingest, failure));
    }
    let report = ingest.finish()?;
    let total = Total {
        events: report.events,
        duplicates: report.duplicates,
        repeated: report.repeated,
        entries: report.entries,
    };
    Ok((total, rejects))
}

fn refuse_directory(name: &str, directory: &Path) -> Failure {
    let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
    Failure::io("cannot read the log file", &error)
        .with("file", shown(directory))
        .next(format!(
            "name its files: `ostrakon events ingest {name} {}`; or read all of them, and what is added to them: \
             `ostrakon events ingest {name} --follow {}`",
            shown(&directory.join("*")),
            shown(directory),
        ))
}

/// Stores what was read before a file failed, and tells so with the failure. Events are stored once, so that the command can
/// be repeated with all files.
fn keep(ingest: &mut Ingest, rejects: &mut Rejects, complete: usize, failure: Failure) -> Failure {
    // If the store is what failed, nothing more can be stored.
    let kept = ingest.commit().is_ok() && rejects.flush().is_ok();
    if !kept {
        return tell_stored(ingest, failure);
    }
    let report = ingest.report();
    let read = report.events + report.duplicates;
    if complete == 0 && read == 0 {
        return failure;
    }
    let mut stored = format!(
        "{} of {} before it",
        counted(report.events, "event", "events"),
        counted(complete as u64, "complete file", "complete files"),
    );
    if complete == 0 {
        stored = format!(
            "{} read before this place",
            counted(report.events, "event", "events")
        );
    }
    stored.push_str(&left_out(report.duplicates, report.repeated));
    let failure = match rejects.lines.count() {
        0 => failure.with("stored", stored),
        count => failure
            .with("stored", stored)
            .with("rejected lines", grouped(count)),
    };
    failure.then_next(
        "correct the file or leave it out, and run the command again with all files: events that are stored are left out",
    )
}

/// Tells what was stored before the store or the disk failed.
fn tell_stored(ingest: &Ingest, failure: Failure) -> Failure {
    let report = ingest.report();
    let stored = counted(report.events, "event", "events");
    let left_out = left_out(report.duplicates, report.repeated);
    let failure = failure.with("stored", format!("{stored}{left_out}"));
    match failure.is_kind(ErrorKind::OutOfSpace) {
        true => failure.next(
            "free disk space, and run the command again with all files: events that are stored are left out",
        ),
        false => failure,
    }
}

/// How many events were not stored again, and how many of them equal one of the same ingest; nothing if there are none.
fn left_out(duplicates: u64, repeated: u64) -> String {
    let verb = |count| if count == 1 { "equals" } else { "equal" };
    let mut text = match duplicates {
        0 => return String::new(),
        1 => "; 1 left out, because it equals another event".to_owned(),
        count => format!(
            "; {} left out, because they equal another event",
            grouped(count)
        ),
    };
    if repeated == duplicates {
        text.push_str(" of this ingest");
    } else if repeated > 0 {
        text.push_str(&format!(
            " ({} of them {} one of this ingest)",
            grouped(repeated),
            verb(repeated)
        ));
    }
    text
}

/// Refuses new names that are not fields of the type: they would be kept as text, which no query expects.
pub(super) fn check_renamed(definition: &EventType, source: &EventsSource) -> Result<()> {
    let is_known = |name: &str| {
        let enriches = source.enrich.iter().any(|(field, _)| field == name);
        enriches || name == definition.time || definition.field(name).is_some()
    };
    let Some((_, unknown)) = source.map.iter().find(|(_, field)| !is_known(field)) else {
        return Ok(());
    };
    let names: Vec<&str> = definition
        .fields
        .iter()
        .map(|field| field.name.as_str())
        .collect();
    let failure = Failure::usage("--map gives a field a name that the event type does not have")
        .with("name", unknown)
        .with("type", &definition.name)
        .with("fields", names.join(", "));
    Err(match nearest(unknown, names.iter().copied()) {
        Some(name) => failure.next(format!("did you mean `{name}`?")),
        None => failure
            .next("write --map SOURCE=FIELD: first the name in the file, then a field of the type"),
    })
}

/// How records are written.
pub(super) fn options(args: &EventsIngestArgs) -> IngestOptions {
    IngestOptions {
        batch_events: args.batch_events.max(1),
        ..IngestOptions::default()
    }
}

/// Prints what was stored; an error if lines were rejected.
pub(super) fn tell(
    args: &EventsIngestArgs,
    report: &Total,
    rejects: &Rejects,
    elapsed: f64,
    out: &mut Output,
) -> Result<()> {
    let object = json!({
        "type": args.name,
        "events": report.events,
        "duplicates": report.duplicates,
        "repeated": report.repeated,
        "rejected": rejects.lines.count(),
        "entries": report.entries,
        "seconds": elapsed,
    });
    out.object(&object, || {
        let mut text = format!(
            "{} in {} ({} events/s)",
            counted(report.events, "event", "events"),
            seconds(elapsed),
            grouped((report.events as f64 / elapsed.max(1e-9)) as u64)
        );
        text.push_str(&left_out(report.duplicates, report.repeated));
        text
    })?;
    complain(args, report, rejects)
}

/// The failure that reports rejected lines.
fn complain(args: &EventsIngestArgs, report: &Total, rejects: &Rejects) -> Result<()> {
    let count = rejects.lines.count();
    if count == 0 {
        return Ok(());
    }
    let others = match report.events + report.duplicates {
        0 => "no event was stored",
        _ => "all others are stored",
    };
    let lines = counted(count, "line was", "lines were");
    let mut failure = Failure::outcome(format!("{lines} rejected; {others}"));
    if !rejects.shows_at_once {
        for (at, line) in rejects.lines.first().iter().enumerate() {
            failure = failure.with(&format!("rejected {}", at + 1), line.clone());
        }
    }
    Err(match (rejects.lines.path(), rejects.shows_at_once) {
        (Some(file), _) => failure.next(format!("{} lists each with its reason", shown(file))),
        (None, false) if report.events + report.duplicates == 0 => failure.next(
            "if the log has another format, name it with --format; use --rejects FILE to keep rejected lines with their \
             reasons",
        ),
        (None, false) => {
            failure.next("use --rejects FILE to keep rejected lines with their reasons")
        }
        (None, true) => failure.next(format!(
            "use --rejects FILE: --follow does not read rejected lines again; to collect these, ingest their files with \
             `ostrakon events ingest {} FILES --rejects FILE`, which skips the events that are stored",
            args.name
        )),
    })
}

/// Reads one file; returns the bytes read of it.
fn read(
    ingest: &mut Ingest,
    definition: &EventType,
    file: &Path,
    log: Log,
    rejects: &mut Rejects,
    (watch, progress, before): (&Watch, &Progress, u64),
) -> Result<u64> {
    let about_file = |error| Failure::from(error).with("file", shown(file));
    let read = log.read;
    let goes_on = || {
        progress.set(before + read.get());
        !watch.stopped()
    };
    match log.content {
        Content::Text(text, input) => {
            let mut reader = ingest.read_log(&text, input);
            // The input ends once the command is to stop. The complete lines that were read before are kept.
            while let Some(part) = reader.next_part().map_err(about_file)? {
                if !part.rejected.is_empty() && has_fixed_fields(text.format) {
                    refuse_without_time(definition, file, reader.fields())?;
                }
                add_part(ingest, file, part, rejects)?;
                goes_on();
            }
            refuse_without_time(definition, file, reader.fields())?;
            warn_of_another_kind(definition, file, reader.fields());
        }
        Content::Rows(mut rows) => {
            ingest.start_source();
            let mut record = Record::default();
            for number in 0_u64.. {
                if number % STEP == 0 && !goes_on() {
                    break;
                }
                let step = rows.next(&mut record).map_err(about_file)?;
                if number == 0 {
                    refuse_without_time(definition, file, rows.names().iter().map(String::as_str))?;
                }
                if !add_row(ingest, file, (&*rows, step, &record), rejects)? {
                    break;
                }
            }
            warn_of_another_kind(definition, file, rows.names().iter().map(String::as_str));
        }
    }
    Ok(read.get())
}

/// Whether the fields of a file are known with its first record. Objects of JSON may each have others.
pub(super) fn has_fixed_fields(format: LogFormat) -> bool {
    format != LogFormat::Json
}

/// Refuses a file without the field with the time of events: no line of it is an event, and all of them would be rejected.
pub(super) fn refuse_without_time<'a>(
    definition: &EventType,
    file: &Path,
    fields: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let mut fields: Vec<String> = fields.map(field_name).collect();
    if fields.is_empty() || fields.contains(&definition.time) {
        return Ok(());
    }
    fields.sort_unstable();
    let all = fields.len();
    fields.truncate(NAMED);
    let (name, time) = (&definition.name, &definition.time);
    Err(Failure::outcome(format!(
        "the file has no field `{time}`, which is the time of the type's events, so that no line of it is an event"
    ))
    .with("file", shown(file))
    .with("type", name)
    .with("fields of the file", and_more(fields, all))
    .next(format!(
        "if it is a log of another kind, create a type for it with `ostrakon events create NAME --from FILE`; if another \
         field has the time, name it with --map FIELD={time}"
    )))
}

/// Warns if most fields of a file are not those of the type, which keeps them as text: the file may be a log
/// of another kind.
pub(super) fn warn_of_another_kind<'a>(
    definition: &EventType,
    file: &Path,
    fields: impl Iterator<Item = &'a str>,
) {
    let Some(unlike) = definition.unlike_fields(fields) else {
        return;
    };
    let named: Vec<&str> = unlike.unknown.iter().take(5).map(String::as_str).collect();
    let name = &definition.name;
    let removal = unlike.condition.map_or_else(String::new, |condition| {
        format!(
            ", and remove its events with `ostrakon events delete {name} '{condition}'`, which first tells how many \
             events have none of these fields"
        )
    });
    Failure::warning(format!(
        "{} of {} fields of the file are not fields of the type, and are kept as text: it may be a log of another kind",
        unlike.unknown.len(),
        unlike.fields,
    ))
    .with("file", shown(file))
    .with("type", name)
    .with("fields", named.join(", "))
    .next(format!(
        "if it is a log of another kind, create a type for it with `ostrakon events create NAME --from FILE`{removal}; \
         otherwise add the fields with `ostrakon events edit {name} --schema FILE`"
    ))
    .warn();
}

/// Adds a part of a log, and keeps its rejected lines.
pub(super) fn add_part(
    ingest: &mut Ingest,
    file: &Path,
    mut part: LogPart,
    rejects: &mut Rejects,
) -> Result<()> {
    for line in std::mem::take(&mut part.rejected) {
        rejects.add(file, line.line, &line.text, &line.reason)?;
    }
    if rejects.shows_at_once {
        // With the events, the position behind these lines is stored.
        rejects.flush()?;
    }
    Ok(ingest.add_part(part)?)
}

/// Adds a row of a table, or keeps why it is not an event; `false` at the end.
pub(super) fn add_row(
    ingest: &mut Ingest,
    file: &Path,
    (rows, step, record): (&dyn RecordSource, Step, &Record),
    rejects: &mut Rejects,
) -> Result<bool> {
    let rejected = match step {
        Step::End => return Ok(false),
        Step::Record => ingest.add(rows.names(), record)?,
        Step::Rejected(reason) => Some(reason),
    };
    if let Some(reason) = rejected {
        rejects.add(file, rows.line(), rows.text(), &reason)?;
    }
    Ok(true)
}

impl Rejects {
    /// For files that are read once; their rejected lines are shown at the end.
    fn new(args: &EventsIngestArgs) -> Result<Self> {
        Ok(Self {
            lines: import::Rejects::open(args.rejects.as_deref())?,
            shows_at_once: false,
        })
    }

    /// For files that are followed: the first lines are shown at once, and those of earlier runs, which are not read
    /// again, stay in the file.
    pub(super) fn of_followed(args: &EventsIngestArgs) -> Result<Self> {
        Ok(Self {
            lines: import::Rejects::append(args.rejects.as_deref())?,
            shows_at_once: true,
        })
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.lines.flush()
    }

    pub(super) fn add(&mut self, file: &Path, line: u64, text: &[u8], reason: &str) -> Result<()> {
        let before = self.lines.first().len();
        self.lines.add(&shown(file), line, reason, text)?;
        if !self.shows_at_once {
            return Ok(());
        }
        if self.lines.count() == 1 && self.lines.path().is_none() {
            Failure::warning("rejected lines are not read again, and they are not kept")
                .next("use --rejects FILE to keep them with their reasons")
                .warn();
        }
        let mut err = std::io::stderr();
        // If stderr fails, there is no other place to report it.
        let _ = match self.lines.first().get(before) {
            Some(line) => writeln!(err, "rejected: {line}"),
            None if self.lines.count() == before as u64 + 1 => writeln!(
                err,
                "rejected: further lines, which are counted and not shown"
            ),
            None => Ok(()),
        };
        Ok(())
    }
}
