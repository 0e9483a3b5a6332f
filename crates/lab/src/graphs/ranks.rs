//! Starts the processes of a parallel ingest, waits for them, and imports their files in one step.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ostrakon_cell::{Error, ErrorKind, ImportDirectoryOptions, Result, Source, TabletInfo};

use super::rank::{RankFigures, RankOptions};
use super::workload::{GraphFigures, GraphWorkload};
use crate::Progress;

/// The split file; an import passes names over that begin like this.
const SPLITS_FILE: &str = "_splits";

/// How a rank is started: the lab does not know the program.
pub trait RankCommand: Sync {
    /// The command that does [`run_rank`](super::run_rank) in a separate process, writes its file to `directory`, and
    /// prints its figures as one line of JSON.
    ///
    /// # Errors
    /// The program cannot be found.
    fn rank_command(&self, options: &RankOptions, directory: &Path) -> Result<Command>;
}

/// Settings of [`run_ranks`].
#[derive(Debug, Clone)]
pub struct RanksOptions {
    /// The table, which must exist; its split points are added before the clock starts.
    pub table: String,
    /// What is written; its writers are the ranks.
    pub workload: GraphWorkload,
    /// A directory for the ranks' files, on the table's file system; created at the start, and removed at the end.
    pub directory: PathBuf,
}

/// Runs one process a rank. Each sorts its own part; when all are done, everything becomes visible in one import. The
/// first that fails ends the others, and nothing is imported.
///
/// # Errors
/// A workload that does not fit, a rank that fails (with what it said), an import that is refused, cancellation.
pub fn run_ranks(
    source: &Arc<dyn Source>,
    options: &RanksOptions,
    command: &dyn RankCommand,
    progress: &dyn Progress,
) -> Result<GraphFigures> {
    let workload = &options.workload;
    workload.check()?;
    let table = source.table(&options.table)?;
    table.add_splits(&workload.splits())?;
    let tablets = table.tablets()?;
    let directory = Directory::make(&options.directory)?;
    let splits = directory.0.join(SPLITS_FILE);
    std::fs::write(&splits, split_file(&tablets))
        .map_err(|error| io("the split file cannot be written", &splits).with_source(error))?;
    let location = tablets
        .first()
        .map_or_else(String::new, |tablet| tablet.location.clone());
    progress.phase("ranks", None);
    let started = Instant::now();
    let mut ranks = Ranks(Vec::with_capacity(workload.writers));
    for rank in 0..workload.writers {
        let told = RankOptions {
            workload: workload.clone(),
            rank,
            splits: splits.clone(),
            location: location.clone(),
        };
        let mut command = command.rank_command(&told, &directory.0)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Error::new(ErrorKind::Io, "a rank cannot be started").with_source(error)
            })?;
        ranks.0.push(child);
    }
    let done = ranks.wait(progress)?;
    let imported = Instant::now();
    let report = table.import_directory(&directory.0, &ImportDirectoryOptions::default())?;
    let mut figures = GraphFigures {
        writers: workload.writers,
        tablets: tablets.len(),
        seconds: started.elapsed().as_secs_f64(),
        import_seconds: imported.elapsed().as_secs_f64(),
        ..GraphFigures::default()
    };
    // A bulk import is in files from the start.
    figures.flushed_seconds = figures.seconds;
    for rank in done {
        figures.edges += rank.edges;
        figures.entries += rank.entries;
        figures.bytes += rank.bytes;
        figures.generating_seconds = figures.generating_seconds.max(rank.generating_seconds);
    }
    if report.entries != figures.entries {
        return Err(Error::new(
            ErrorKind::Internal,
            "the table imported a different number of entries than the ranks wrote",
        )
        .with("imported", report.entries)
        .with("written", figures.entries));
    }
    Ok(figures)
}

fn split_file(tablets: &[TabletInfo]) -> String {
    tablets.iter().fold(String::new(), |mut text, tablet| {
        let end = tablet.end.as_deref().unwrap_or_default();
        // Rows of this workload are digits.
        let end = String::from_utf8_lossy(end);
        let _ = writeln!(text, "{}\t{end}", tablet.location);
        text
    })
}

fn io(message: &'static str, path: &Path) -> Error {
    Error::new(ErrorKind::Io, message).with("path", path.display())
}

/// A directory that is removed in the end, whatever happens.
struct Directory(PathBuf);

impl Directory {
    fn make(path: &Path) -> Result<Self> {
        let made = Self(path.to_path_buf());
        made.remove()
            .and_then(|()| std::fs::create_dir_all(path))
            .map_err(|error| {
                io("the directory for the ranks' files cannot be made", path).with_source(error)
            })?;
        Ok(made)
    }

    fn remove(&self) -> std::io::Result<()> {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left is found, and removed, by the next run.
        let _ = self.remove();
    }
}

/// Running processes; those still running are killed when this goes.
struct Ranks(Vec<Child>);

impl Ranks {
    fn wait(&mut self, progress: &dyn Progress) -> Result<Vec<RankFigures>> {
        let mut figures: Vec<Option<RankFigures>> = vec![None; self.0.len()];
        while figures.iter().any(Option::is_none) {
            if progress.cancelled() {
                return Err(Error::new(ErrorKind::Cancelled, "the ranks were stopped"));
            }
            for (rank, (child, done)) in self.0.iter_mut().zip(&mut figures).enumerate() {
                if done.is_none() {
                    *done = finished(child).map_err(|error| error.with("rank", rank))?;
                }
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(figures.into_iter().flatten().collect())
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Killing one that has ended does nothing.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a rank printed, once it has ended. It prints one line, which no pipe is too small for.
fn finished(child: &mut Child) -> Result<Option<RankFigures>> {
    let failed = |message: &'static str| Error::new(ErrorKind::Io, message);
    let status = child
        .try_wait()
        .map_err(|error| failed("a rank cannot be waited for").with_source(error))?;
    let Some(status) = status else {
        return Ok(None);
    };
    let mut said = String::new();
    let mut complained = String::new();
    if let Some(out) = &mut child.stdout {
        let _ = out.read_to_string(&mut said);
    }
    if let Some(err) = &mut child.stderr {
        let _ = err.read_to_string(&mut complained);
    }
    if !status.success() {
        return Err(
            failed("a rank failed; the others were ended and nothing was imported")
                .with("status", status)
                .with("it said", complained.trim()),
        );
    }
    serde_json::from_str(&said)
        .map(Some)
        .map_err(|error| failed("a rank did not print its figures").with_source(error))
}
