//! Ingests log files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{Error, Result};
use ostrakon_events::{EventStore, EventType, Ingest, IngestOptions, UnlikeFields};

use super::files::Files;
use super::rejects::Rejects;
use crate::logs::about;

/// Rejected lines that are returned with their reasons.
const REASONS: usize = 100;

/// File, line and reason.
pub(super) type Rejected = (PathBuf, u64, String);

/// A file of which most fields are not fields of the type: the file, these fields, the number of all, and a condition that
/// finds its events.
pub(super) type Unlike = (PathBuf, Vec<String>, usize, Option<String>);

/// What was ingested.
#[derive(Default)]
pub(super) struct Ingested {
    pub(super) events: u64,
    pub(super) duplicates: u64,
    pub(super) repeated: u64,
    pub(super) entries: u64,
    pub(super) rejected: u64,
    pub(super) reasons: Vec<Rejected>,
    pub(super) unlike: Vec<Unlike>,
}

/// What Python asks for besides the files.
pub(super) struct Wanted {
    pub(super) batch_events: Option<usize>,
    /// The file for rejected lines.
    pub(super) rejects: Option<PathBuf>,
}

/// Ingests files one after another, until `stopped`. What was read by then is stored.
pub(super) fn ingest(
    store: &EventStore,
    name: &str,
    (files, paths): (&Files, Vec<PathBuf>),
    wanted: Wanted,
    stopped: &AtomicBool,
) -> Result<Ingested> {
    let defaults = IngestOptions::default();
    let options = IngestOptions {
        batch_events: wanted.batch_events.unwrap_or(defaults.batch_events).max(1),
        ..defaults
    };
    let definition = store.get(name)?;
    let mut ingest = store.ingest(name, options)?;
    let mut rejects = Rejects::open(wanted.rejects, &paths)?;
    let mut done = Ingested::default();
    for (complete, path) in paths.into_iter().enumerate() {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        let read = read(
            (&mut ingest, &definition),
            files,
            path,
            (&mut done, &mut rejects),
            stopped,
        );
        read.map_err(|error| keep(&mut ingest, &mut rejects, complete, error))?;
    }
    rejects.flush()?;
    let report = ingest.finish()?;
    Ok(Ingested {
        events: report.events,
        duplicates: report.duplicates,
        repeated: report.repeated,
        entries: report.entries,
        ..done
    })
}

/// Stores what was read before a file failed, and tells so with the error. Events are stored once, so that the call can be
/// repeated with all files.
fn keep(ingest: &mut Ingest, rejects: &mut Rejects, complete: usize, error: Error) -> Error {
    // If the store is what failed, nothing more can be stored.
    let kept = ingest.commit().is_ok() && rejects.flush().is_ok();
    let report = ingest.report();
    if !kept || (complete == 0 && report.events + report.duplicates == 0) {
        return error;
    }
    error
        .with("complete files before it", complete)
        .with("events stored", report.events)
        .with("duplicates", report.duplicates)
        .with(
            "next",
            "correct the file or leave it out, and ingest all files again: events that are stored are left out",
        )
}

fn read(
    (ingest, definition): (&mut Ingest, &EventType),
    files: &Files,
    path: PathBuf,
    (done, rejects): (&mut Ingested, &mut Rejects),
    stopped: &AtomicBool,
) -> Result<()> {
    let (log, input) = files.open(&path)?;
    let mut reader = ingest.read_log(&log, input);
    while !stopped.load(Ordering::Relaxed)
        && let Some(mut part) = reader.next_part().map_err(|error| about(error, &path))?
    {
        for line in part.rejected.drain(..) {
            done.rejected += 1;
            rejects.add(&path, &line)?;
            if done.reasons.len() < REASONS {
                done.reasons.push((path.clone(), line.line, line.reason));
            }
        }
        ingest.add_part(part)?;
    }
    if let Some(unlike) = definition.unlike_fields(reader.fields()) {
        let UnlikeFields {
            unknown,
            fields,
            condition,
        } = unlike;
        done.unlike.push((path, unknown, fields, condition));
    }
    Ok(())
}
