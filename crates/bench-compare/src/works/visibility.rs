//! The cost of labels: the same entries with one of 16 labels each, and without.

use ostrakon_cell::Authorizations;

use super::ingest::{SPLITS, ingest};
use super::measuring::{PASSES, complete, median, timed};
use crate::Outcome;
use crate::children::Job;
use crate::figures::{Figure, Work};
use crate::rivals::{Engine, Ostrakon, Setting};
use crate::workload::{Workload, authorizations, labels};

const LABELS: usize = 16;

/// The part of a labelled scan that a scan without labels does not need. Reading the labels is in
/// it, not only evaluating them.
pub(super) fn run(job: &Job) -> Outcome<Vec<Figure>> {
    let prepare = |folder: &str, labels: Vec<Vec<u8>>| -> Outcome<Ostrakon> {
        let engine = Ostrakon::open(&Setting {
            dir: job.dir.join(folder),
            splits: SPLITS,
            ..Setting::default()
        })?;
        let workload = Workload {
            labels,
            ..job.workload()
        };
        ingest(&engine, &workload)?;
        engine.settle()?;
        Ok(engine)
    };
    let plain = prepare("plain", Vec::new())?;
    let labelled = prepare("labelled", labels(LABELS)?)?;
    let shown = Authorizations::new(authorizations(LABELS))?;
    let scan = |engine: &Ostrakon| -> Outcome<f64> {
        let (seconds, scanned) = timed(|| engine.scan_with(shown.clone()))?;
        complete(scanned, job.entries)?;
        Ok(seconds)
    };
    let mut shares = Vec::new();
    // The first pass fills the caches.
    for pass in 0..=2 * PASSES {
        let (without, with) = (scan(&plain)?, scan(&labelled)?);
        if pass > 0 {
            shares.push((with - without) / with);
        }
    }
    Ok(vec![Figure {
        work: Work::Visibility,
        value: median(&shares),
    }])
}
