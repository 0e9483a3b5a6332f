//! Ingests log files.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::Result;
use ostrakon_events::{EventStore, Ingest, IngestOptions, Record, Step};

use super::files::Files;
use crate::logs::about;

/// Records between two looks at the signal to stop.
const STEP: u64 = 1024;
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
    let mut source = files.open(&path)?;
    ingest.start_source();
    let mut record = Record::default();
    for number in 1_u64.. {
        let step = source
            .next(&mut record)
            .map_err(|error| about(error, &path))?;
        let reason = match step {
            Step::End => break,
            Step::Record => ingest.add(source.names(), &record)?,
            Step::Rejected(reason) => Some(reason),
        };
        if let Some(reason) = reason {
            done.rejected += 1;
            if done.reasons.len() < REASONS {
                done.reasons.push((path.clone(), source.line(), reason));
            }
        }
        if number % STEP == 0 && stopped.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}
