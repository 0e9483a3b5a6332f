//! From a job to the work.

use std::time::Instant;

use super::{ingest, machine, memory, read, replay, unmerged, visibility};
use crate::Outcome;
use crate::children::{Job, Step};
use crate::figures::Figure;
use crate::workload::Workload;

impl Job {
    /// The entries of this job, without labels.
    pub(super) fn workload(&self) -> Workload {
        Workload {
            entries: self.entries,
            writers: self.writers,
            labels: Vec::new(),
        }
    }
}

/// Does what the job says.
pub(crate) fn run(job: &Job) -> Outcome<Vec<Figure>> {
    match job.step {
        Step::Ingest => ingest::pre_split(job),
        Step::IngestUnsplit => ingest::unsplit(job),
        Step::Read => read::run(job),
        Step::Unmerged => unmerged::run(job),
        Step::Visibility => visibility::run(job),
        Step::Crash => replay::crash(job),
        Step::Replay => replay::replay(job),
        Step::Memory => memory::run(job),
        Step::Touch => {
            machine::touch_memory(job.entries);
            Ok(Vec::new())
        }
    }
}

/// Does something and says how many seconds it took.
pub(super) fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<(f64, T)> {
    let started = Instant::now();
    let result = work()?;
    Ok((started.elapsed().as_secs_f64().max(1e-9), result))
}

/// The value in the middle; the mean of the two in the middle of an even number; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (
        sorted.get((sorted.len().max(1) - 1) / 2),
        sorted.get(sorted.len() / 2),
    ) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[]), 0.0);
    }
}
