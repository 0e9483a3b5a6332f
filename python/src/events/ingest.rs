//! Ingests log files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::Result;
use ostrakon_events::{EventStore, Ingest, IngestOptions};

use super::files::Files;
use crate::logs::about;

/// Rejected lines that are returned with their reasons.
const REASONS: usize = 100;

/// File, line and reason.
pub(super) type Rejected = (PathBuf, u64, String);

/// What was ingested.
#[derive(Default)]
pub(super) struct Ingested {
    pub(super) events: u64,
    pub(super) duplicates: u64,
    pub(super) entries: u64,
    pub(super) rejected: u64,
    pub(super) reasons: Vec<Rejected>,
}

/// Ingests files one after another, until `stopped`. What was read by then is stored.
pub(super) fn ingest(
    store: &EventStore,
    name: &str,
    (files, paths): (&Files, Vec<PathBuf>),
    batch_events: Option<usize>,
    stopped: &AtomicBool,
) -> Result<Ingested> {
    let defaults = IngestOptions::default();
    let options = IngestOptions {
        batch_events: batch_events.unwrap_or(defaults.batch_events).max(1),
        ..defaults
    };
    let mut ingest = store.ingest(name, options)?;
    let mut done = Ingested::default();
    for path in paths {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        read(&mut ingest, files, path, &mut done, stopped)?;
    }
    let report = ingest.finish()?;
    Ok(Ingested {
        events: report.events,
        duplicates: report.duplicates,
        entries: report.entries,
        ..done
    })
}

fn read(
    ingest: &mut Ingest,
    files: &Files,
    path: PathBuf,
    done: &mut Ingested,
    stopped: &AtomicBool,
) -> Result<()> {
    let (log, input) = files.open(&path)?;
    let mut reader = ingest.read_log(&log, input);
    while !stopped.load(Ordering::Relaxed)
        && let Some(mut part) = reader.next_part().map_err(|error| about(error, &path))?
    {
        for line in part.rejected.drain(..) {
            done.rejected += 1;
            if done.reasons.len() < REASONS {
                done.reasons.push((path.clone(), line.line, line.reason));
            }
        }
        ingest.add_part(part)?;
    }
    Ok(())
}
