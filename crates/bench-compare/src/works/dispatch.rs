//! Runs the workload of a job.

use super::{first_reads, ingest, machine, memory, read, replay, unmerged, visibility, ycsb};
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

/// Runs the job.
pub(crate) fn run(job: &Job) -> Outcome<Vec<Figure>> {
    match job.step {
        Step::Ingest => ingest::pre_split(job),
        Step::IngestUnsplit => ingest::unsplit(job),
        Step::FirstReads => first_reads::run(job),
        Step::Read => read::run(job),
        Step::Unmerged => unmerged::run(job),
        Step::Visibility => visibility::run(job),
        Step::Crash => replay::crash(job),
        Step::Replay => replay::replay(job),
        Step::Memory => memory::run(job),
        Step::YcsbLoad => ycsb::load(job),
        Step::YcsbRead => ycsb::read(job),
        Step::Touch(bytes) => {
            machine::touch_memory(bytes);
            Ok(Vec::new())
        }
    }
}
