//! Runs an import.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::{BatchWriter, BatchWriterConfig, ErrorKind, Table};
use serde::Serialize;

use super::input::{is_stdin, shown_name};
use super::open::{Opened, open};
use super::plan::Plan;
use super::record::{Record, Step};
use super::rejects::Rejects;
use super::screen::Screen;
use crate::args::ImportArgs;
use crate::failure::{Failure, Result};
use crate::files::same_file;
use crate::interrupt::Watch;
use crate::output::{Output, counted, grouped, seconds};
use crate::progress::Progress;

/// Number of records after which Ctrl-C is checked and the progress bar updated.
const LOOK_EVERY: u64 = 1024;

/// What an import did.
#[derive(Debug, Default, Serialize)]
struct Summary {
    table: String,
    files: u64,
    records: u64,
    entries: u64,
    rejected: u64,
    dry_run: bool,
    seconds: f64,
    entries_per_second: f64,
}

/// Checks that all files can be opened and that the options fit their formats, before a store or a
/// table is created. An input that can be read only once (a pipe) is not touched.
pub(crate) fn look(args: &ImportArgs) -> Result<()> {
    for path in args.files.iter().filter(|path| *path != Path::new("-")) {
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            continue;
        }
        let Opened { format, .. } = open(path, args)?;
        Plan::new(args, format, shown_name(path))?;
    }
    Ok(())
}

/// Whether reading any of the files may wait for another process.
pub(crate) fn reads_pipe(args: &ImportArgs) -> bool {
    args.files.iter().any(|path| {
        is_stdin(path)
            || std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
    })
}

/// Finds or creates the table, when there is something to write.
pub(crate) type OpenTable<'a> = &'a mut (dyn FnMut() -> Result<Arc<dyn Table>> + 'a);

/// Where the records go.
pub(crate) enum Destination<'a> {
    /// Into a table.
    Table(OpenTable<'a>),
    /// Nowhere; they are checked alone, also by the constraints of the table.
    Nothing(Option<Screen>),
}

/// Reads the files of `args`.
pub(crate) fn run<'a>(args: &'a ImportArgs, into: Destination<'a>, out: &mut Output) -> Result<()> {
    let (table, screen) = match into {
        Destination::Table(open) => (Some(open), None),
        Destination::Nothing(screen) => (None, screen),
    };
    let watch = Watch::start();
    let started = Instant::now();
    if let Some(rejects) = &args.rejects
        && args.files.iter().any(|file| same_file(file, rejects))
    {
        return Err(
            Failure::usage("the file of --rejects is one of the files to import")
                .next("choose another name for the rejected lines"),
        );
    }
    let mut job = Job {
        args,
        table,
        writer: None,
        screen,
        rejects: Rejects::open(args.rejects.as_deref())?,
        summary: Summary {
            table: args.table.clone(),
            dry_run: args.dry_run,
            ..Summary::default()
        },
        refused_by_constraints: None,
        batch_failed: false,
    };
    let read = args
        .files
        .iter()
        .try_for_each(|file| job.file(file, &watch));
    // The good lines are kept even if reading failed.
    let flushed = job.flush();
    job.rejects.flush()?;
    job.summary.rejected = job.rejects.count();
    if let Err(failure) = read {
        return Err(job.with_stored(failure));
    }
    flushed?;
    let is_unwritten = job.table.is_some() && job.writer.is_none();
    if is_unwritten && !args.create {
        // The table must exist, although there is nothing to write.
        job.writer()?;
    }
    job.summary.seconds = started.elapsed().as_secs_f64();
    job.summary.entries_per_second = job.summary.entries as f64 / job.summary.seconds.max(1e-9);
    let Job {
        rejects,
        summary,
        refused_by_constraints,
        ..
    } = job;
    out.object(&summary, || {
        let done = describe(&summary);
        match is_unwritten && args.create {
            true => done + "; no table was created, because there is nothing to store",
            false => done,
        }
    })?;
    if let Some(failure) = refused_by_constraints {
        return Err(failure);
    }
    complain(args, &rejects, summary.records)
}

fn describe(summary: &Summary) -> String {
    format!(
        "{} {}, {}, {} rejected in {} ({} entries/s)",
        if summary.dry_run {
            "checked"
        } else {
            "imported"
        },
        counted(summary.records, "record", "records"),
        counted(summary.entries, "entry", "entries"),
        grouped(summary.rejected),
        seconds(summary.seconds),
        grouped(summary.entries_per_second as u64),
    )
}

/// The failure that reports rejected lines.
fn complain(args: &ImportArgs, rejects: &Rejects, records: u64) -> Result<()> {
    if rejects.count() == 0 || args.accept_rejects {
        return Ok(());
    }
    let mut failure = Failure::outcome(match args.dry_run {
        true => format!(
            "{} would be rejected; nothing was written",
            counted(rejects.count(), "line", "lines")
        ),
        false => format!(
            "{} rejected; {}",
            counted(rejects.count(), "line was", "lines were"),
            match records {
                0 => "nothing was imported",
                _ => "all others were imported",
            }
        ),
    });
    for (at, line) in rejects.first().iter().enumerate() {
        failure = failure.with(&format!("rejected {}", at + 1), line.clone());
    }
    Err(match rejects.path() {
        Some(path) => failure.next(format!("{} lists each with its reason", path.display())),
        None => failure.next("import again with --rejects FILE to collect all of them"),
    })
}

struct Job<'a> {
    args: &'a ImportArgs,
    table: Option<OpenTable<'a>>,
    /// Made for the first record.
    writer: Option<BatchWriter>,
    screen: Option<Screen>,
    rejects: Rejects,
    summary: Summary,
    /// The first rejection by a constraint that `screen` does not know, or that was set meanwhile.
    refused_by_constraints: Option<Failure>,
    /// A batch failed, so some of the records before are not stored.
    batch_failed: bool,
}

impl Job<'_> {
    /// The writer, unless nothing is to be written.
    fn writer(&mut self) -> Result<Option<&mut BatchWriter>> {
        if self.writer.is_none()
            && let Some(open) = &mut self.table
        {
            let config = BatchWriterConfig {
                durability: self.args.durability,
                ..BatchWriterConfig::default()
            };
            let table = open()?;
            self.screen = Screen::of(&*table)?;
            self.writer = Some(BatchWriter::new(table, config));
        }
        Ok(self.writer.as_mut())
    }

    fn file(&mut self, path: &Path, watch: &Watch) -> Result<()> {
        let name = shown_name(path);
        let of_file = |failure: Failure| failure.with("file", name.clone());
        let opened = open(path, self.args);
        watch.check(&format!("nothing of {name} was read"))?;
        let Opened {
            mut reader,
            format,
            consumed,
        } = opened?;
        let mut plan = Plan::new(self.args, format, name.clone())?;
        let total = std::fs::metadata(path)
            .ok()
            .filter(std::fs::Metadata::is_file);
        let progress = Progress::bytes(total.map(|file| file.len()));
        let mut record = Record::default();
        let mut steps: u64 = 0;
        self.summary.files += 1;
        loop {
            if steps.is_multiple_of(LOOK_EVERY) {
                progress.set(consumed.get());
                progress.say(|| format!("{} records", grouped(self.summary.records)));
            }
            steps += 1;
            let line = record.line();
            let step = reader.next(&mut record);
            if watch.stopped() {
                watch.check(&match self.args.dry_run {
                    true => format!("{name} was checked up to line {line}"),
                    false if line == 0 => format!("nothing of {name} was read"),
                    false => format!(
                        "the records up to line {line} of {name} are kept; importing again writes the \
                         same entries"
                    ),
                })?;
            }
            match step.map_err(of_file)? {
                Step::End => return plan.check(reader.fields()).map_err(of_file),
                Step::Reject(reason) => {
                    self.rejects
                        .add(&name, record.line(), &reason, record.text())?;
                }
                Step::Record => {
                    let made = plan.apply(&record, reader.fields()).map_err(of_file)?;
                    let written = match made {
                        Ok(()) => self.write(&plan, &name, record.line())?,
                        Err(reason) => Err(reason),
                    };
                    if let Err(reason) = written {
                        self.rejects
                            .add(&name, record.line(), &reason, record.text())?;
                    }
                }
            }
        }
    }

    /// Writes a record. The inner error says why the table does not take it.
    fn write(&mut self, plan: &Plan<'_>, name: &str, line: u64) -> Result<Result<(), String>> {
        let mutations = || {
            [Some(&plan.mutation), plan.mirror.as_ref()]
                .into_iter()
                .flatten()
        };
        self.writer()?;
        if let Some(screen) = &self.screen
            && let Some(reason) = mutations().find_map(|mutation| screen.refusal(mutation))
        {
            return Ok(Err(reason));
        }
        let mut entries = 0;
        for mutation in mutations() {
            entries += mutation.len() as u64;
            let Some(writer) = self.writer()? else {
                continue;
            };
            let Err(error) = writer.add(mutation) else {
                continue;
            };
            let failure = match writer.take_failure() {
                // Not of a batch before: the table does not take this mutation.
                None if error.kind() == ErrorKind::InvalidArgument => {
                    return Ok(Err(format!("{} (--memory)", error.message())));
                }
                None => error,
                Some(failure) => failure,
            };
            self.settle(failure.into(), Some((name, line)))?;
        }
        self.summary.records += 1;
        self.summary.entries += entries;
        Ok(Ok(()))
    }

    /// Adds what an import that failed has stored.
    fn with_stored(&self, failure: Failure) -> Failure {
        let Summary {
            records, rejected, ..
        } = self.summary;
        // Wrong options have nothing to do with the lines; an interrupt says itself what is kept.
        if self.args.dry_run || failure.is_interrupt() || failure.is_usage() && records == 0 {
            return failure;
        }
        let stored = match (self.batch_failed, records) {
            (true, _) => {
                "a part of the records that were read; importing them again writes the same entries"
                    .to_owned()
            }
            (false, 0) => "nothing".to_owned(),
            (false, _) => format!(
                "{}; importing them again writes the same entries",
                counted(records, "record", "records")
            ),
        };
        let failure = failure.with("stored", stored);
        match rejected {
            0 => failure,
            rejected => failure.with("rejected", counted(rejected, "line", "lines")),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self.writer.as_mut().map(BatchWriter::flush) {
            Some(Err(error)) => self.settle(error.into(), None),
            _ => Ok(()),
        }
    }

    /// Continues after a rejection by a constraint, which affects only some mutations; other errors
    /// end the import.
    fn settle(&mut self, failure: Failure, near: Option<(&str, u64)>) -> Result<()> {
        let failure = match near {
            Some((name, line)) => failure.with("near", format!("{name}:{line}")),
            None => failure,
        };
        if failure.is_kind(ErrorKind::ConstraintViolation) {
            self.refused_by_constraints.get_or_insert(failure);
            return Ok(());
        }
        self.batch_failed = true;
        Err(failure)
    }
}
