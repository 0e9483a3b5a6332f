//! One workload in its own process.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::Outcome;
use crate::figures::Figure;
use crate::rivals::EngineKind;
use crate::works;

/// The job of a child process, passed as JSON on its command line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) step: Step,
    pub(crate) engine: EngineKind,
    /// Where the engine's files are, or will be.
    pub(crate) dir: PathBuf,
    pub(crate) entries: u64,
    pub(crate) writers: usize,
    /// Whether this is the run of full length, whose default budget the memory must stay within.
    pub(crate) full: bool,
}

/// The jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    /// Ingest into a pre-split table; keeps the files.
    Ingest,
    /// Point reads of the files of `Ingest`, by a new process with empty caches.
    FirstReads,
    /// Reads the files of `Ingest`.
    Read,
    /// Ingest into one tablet.
    IngestUnsplit,
    /// Reads 8 files that were never merged.
    Unmerged,
    /// Scans with and without labels.
    Visibility,
    /// Writes, and ends without closing; keeps the log.
    Crash,
    /// Opens the store of `Crash`.
    Replay,
    /// Ingest with a small memory budget.
    Memory,
    /// A load of YCSB; keeps the files.
    YcsbLoad,
    /// Workload C on the files of `YcsbLoad`.
    YcsbRead,
    /// Touches so many bytes of memory, which are free again when the process ends. Measures nothing.
    Touch(u64),
}

impl Step {
    /// Workloads that only Ostrakon runs.
    pub(crate) const OSTRAKON: [Self; 6] = [
        Self::IngestUnsplit,
        Self::Unmerged,
        Self::Visibility,
        Self::Crash,
        Self::Replay,
        Self::Memory,
    ];
}

/// Runs a job in a child and returns what it measured.
pub(crate) fn ask(job: &Job) -> Outcome<Vec<Figure>> {
    // Data that the previous run left unwritten would slow this one down.
    rustix::fs::sync();
    // The host of a virtual machine may have reclaimed free memory, and returns it slowly. A run after a process that
    // used much memory would have an advantage.
    spawn(&Job {
        step: Step::Touch(works::touched_bytes(
            job.entries,
            matches!(job.step, Step::YcsbLoad | Step::YcsbRead),
        )),
        ..job.clone()
    })?;
    spawn(job)
}

fn spawn(job: &Job) -> Outcome<Vec<Figure>> {
    let program = std::env::current_exe()?;
    let answer = Command::new(program)
        .arg("--child")
        .arg(serde_json::to_string(job)?)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !answer.status.success() {
        return Err(format!(
            "{:?} on {} failed ({}); its own words stand above",
            job.step,
            job.engine.title(),
            answer.status
        )
        .into());
    }
    Ok(serde_json::from_slice(&answer.stdout)?)
}

/// Runs a job, in the child process.
pub(crate) fn answer(job: &str) -> Outcome<()> {
    let job: Job = serde_json::from_str(job)?;
    let figures = works::run(&job)?;
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}
