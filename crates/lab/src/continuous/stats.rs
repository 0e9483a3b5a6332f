//! Stats: one line about the table at intervals.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Scope;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use ostrakon_cell::{Error, ErrorKind, Result, Source, TabletInfo};
use serde::Serialize;

use crate::Progress;
use crate::control::Control;
use crate::measure::Usage;

/// Settings of [`run_stats`].
#[derive(Debug, Clone)]
pub struct StatsOptions {
    /// The table. Default `ci`.
    pub table: String,
    /// Time between lines. Default 30 s.
    pub interval: Duration,
    /// Lines to collect; `None`, the default, continues until stopped.
    pub lines: Option<u64>,
}

impl Default for StatsOptions {
    fn default() -> Self {
        Self {
            table: "ci".to_owned(),
            interval: Duration::from_secs(30),
            lines: None,
        }
    }
}

/// One line: what of the suite's collector makes sense for one process.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StatsLine {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// Entries of all tables.
    pub total_entries: u64,
    /// Entries a second that all tables together grew by since the line before.
    pub total_ingest: f64,
    /// Entries of the table.
    pub table_entries: u64,
    /// Entries a second that the table grew by since the line before.
    pub table_ingest: f64,
    /// Those of the table's entries that are in memory and in no file yet.
    pub table_memory_entries: u64,
    /// Bytes of memory that they hold.
    pub table_memory_bytes: u64,
    /// Tablets of the table.
    pub tablets: u64,
    /// Bytes of the table's files.
    pub table_bytes: u64,
    /// The table's files.
    pub table_files: u64,
    /// Bytes of all tables' files.
    pub total_bytes: u64,
    /// Tables.
    pub tables: u64,
    /// Fewest files of a tablet.
    pub files_min: u64,
    /// Most files of a tablet.
    pub files_max: u64,
    /// Mean number of files of a tablet.
    pub files_mean: f64,
    /// Its standard deviation.
    pub files_deviation: f64,
    /// Resident memory of this process, in bytes.
    pub memory_bytes: u64,
    /// Processors this process kept busy since the line before.
    pub processors: f64,
}

/// What was collected.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StatsFigures {
    /// The newest lines, at most 10,000.
    pub lines: Vec<StatsLine>,
}

/// Collects lines, handing each to the progress as text.
///
/// # Errors
/// No such table, or the source cannot be reached.
pub fn run_stats(
    source: &Arc<dyn Source>,
    options: &StatsOptions,
    progress: &dyn Progress,
) -> Result<StatsFigures> {
    let mut collector = Collector::new(source, &options.table);
    let control = Control::new(None, options.lines, progress);
    progress.phase("collect", options.lines);
    let mut figures = StatsFigures::default();
    loop {
        let line = collector.line()?;
        progress.line(&line.to_string());
        if figures.lines.len() == LINES_MAX {
            figures.lines.remove(0);
        }
        figures.lines.push(line);
        progress.done(control.done.fetch_add(1, Ordering::Relaxed) + 1);
        control.pause(options.interval);
        if !control.goes_on() {
            return Ok(figures);
        }
    }
}

/// Lines kept.
const LINES_MAX: usize = 10_000;

/// Makes lines, each against the one before.
pub(super) struct Collector {
    source: Arc<dyn Source>,
    table: String,
    before: Option<(Instant, StatsLine, Usage)>,
}

impl Collector {
    pub(super) fn new(source: &Arc<dyn Source>, table: &str) -> Self {
        Self {
            source: Arc::clone(source),
            table: table.to_owned(),
            before: None,
        }
    }

    pub(super) fn line(&mut self) -> Result<StatsLine> {
        let mut line = StatsLine {
            time_ms: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_millis() as u64),
            ..StatsLine::default()
        };
        for info in self.source.tables()? {
            line.tables += 1;
            if !info.online {
                continue;
            }
            // A table may be deleted between the list and the look.
            let tablets = match self
                .source
                .table(&info.name)
                .and_then(|table| table.tablets())
            {
                Err(error)
                    if matches!(error.kind(), ErrorKind::TableNotFound | ErrorKind::Offline) =>
                {
                    continue;
                }
                tablets => tablets?,
            };
            line.total_entries += tablets.iter().map(|tablet| tablet.entries).sum::<u64>();
            line.total_bytes += tablets.iter().map(|tablet| tablet.bytes).sum::<u64>();
            if info.name == self.table {
                line.add_tablets(&tablets);
            }
        }
        if line.tablets == 0 {
            // Says which name is wrong, better than a line of zeros.
            self.source.table(&self.table)?;
        }
        let (now, usage) = (Instant::now(), Usage::now());
        line.memory_bytes = usage.resident_bytes;
        if let Some((then, before, used)) = &self.before {
            let seconds = (now - *then).as_secs_f64().max(1e-9);
            let rate = |new: u64, old: u64| (new as f64 - old as f64) / seconds;
            line.total_ingest = rate(line.total_entries, before.total_entries);
            line.table_ingest = rate(line.table_entries, before.table_entries);
            line.processors = (usage.processor_seconds - used.processor_seconds).max(0.0) / seconds;
        }
        self.before = Some((now, line.clone(), usage));
        Ok(line)
    }

    /// Collects in the background, handing lines to the progress, until what is returned is dropped.
    /// What goes wrong becomes a line too: it must not end the run it watches.
    pub(super) fn start<'scope, 'env>(
        mut self,
        scope: &'scope Scope<'scope, 'env>,
        interval: Duration,
        progress: &'scope dyn Progress,
    ) -> Result<Sender<()>> {
        let (stop, stopped) = bounded::<()>(1);
        std::thread::Builder::new()
            .name("lab-stats".to_owned())
            .spawn_scoped(scope, move || {
                loop {
                    match self.line() {
                        Ok(line) => progress.line(&line.to_string()),
                        Err(error) => progress.line(&format!("stats: {error}")),
                    }
                    if stopped.recv_timeout(interval) == Err(RecvTimeoutError::Disconnected) {
                        return;
                    }
                }
            })
            .map_err(|error| {
                Error::new(ErrorKind::Io, "no thread could be started").with_source(error)
            })?;
        Ok(stop)
    }
}

impl StatsLine {
    fn add_tablets(&mut self, tablets: &[TabletInfo]) {
        let files: Vec<u64> = tablets.iter().map(|tablet| tablet.files).collect();
        let count = files.len().max(1) as f64;
        self.tablets = files.len() as u64;
        self.table_entries = tablets.iter().map(|tablet| tablet.entries).sum();
        self.table_memory_entries = tablets.iter().map(|tablet| tablet.memory_entries).sum();
        self.table_memory_bytes = tablets.iter().map(|tablet| tablet.memory_bytes).sum();
        self.table_bytes = tablets.iter().map(|tablet| tablet.bytes).sum();
        self.table_files = files.iter().sum();
        self.files_min = files.iter().copied().min().unwrap_or(0);
        self.files_max = files.iter().copied().max().unwrap_or(0);
        self.files_mean = self.table_files as f64 / count;
        let squares: f64 = files
            .iter()
            .map(|&files| (files as f64 - self.files_mean).powi(2))
            .sum();
        self.files_deviation = (squares / count).sqrt();
    }
}

/// The fields in the order of the suite's collector, those that make no sense for one process left
/// out, separated by blanks.
impl fmt::Display for StatsLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "STATS {} entries {} ingest {:.0} table {} ingest {:.0} tablets {} bytes {} files {} \
             files/tablet {} {} {:.2} {:.2} memory {} processors {:.2} unflushed {} bytes {}",
            self.time_ms,
            self.total_entries,
            self.total_ingest,
            self.table_entries,
            self.table_ingest,
            self.tablets,
            self.table_bytes,
            self.table_files,
            self.files_min,
            self.files_max,
            self.files_mean,
            self.files_deviation,
            self.memory_bytes,
            self.processors,
            self.table_memory_entries,
            self.table_memory_bytes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoProgress;
    use crate::continuous::{IngestOptions, run_ingest};
    use ostrakon_testkit::reference_model::MapSource;

    #[test]
    fn lines_tell_of_the_table() {
        let source: Arc<dyn Source> = Arc::new(MapSource::new());
        let ingest = IngestOptions {
            entries: Some(2_700),
            splits: 3,
            ..IngestOptions::default()
        };
        run_ingest(&source, &ingest, &NoProgress).unwrap();
        let options = StatsOptions {
            lines: Some(2),
            interval: Duration::from_millis(20),
            ..StatsOptions::default()
        };
        let lines = run_stats(&source, &options, &NoProgress).unwrap().lines;
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[1].tables, lines[1].tablets), (1, 4));
        assert_eq!(lines[1].table_entries, 2_700, "stored versions count");
        assert_eq!(
            lines[1].table_memory_entries, 2_700,
            "the reference model has memory only"
        );
        assert!(
            lines[1].to_string().contains(" unflushed 2700 "),
            "{}",
            lines[1]
        );
        assert_eq!(lines[1].table_ingest, 0.0);
        assert!(lines[1].to_string().contains(" tablets 4 "), "{}", lines[1]);
    }

    #[test]
    fn a_table_that_is_not_there_is_named() {
        let source: Arc<dyn Source> = Arc::new(MapSource::new());
        let error = run_stats(&source, &StatsOptions::default(), &NoProgress).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TableNotFound);
    }

    #[test]
    fn files_are_spread_over_tablets() {
        let tablet = |files| TabletInfo {
            files,
            ..TabletInfo::default()
        };
        let mut line = StatsLine::default();
        line.add_tablets(&[tablet(1), tablet(3)]);
        assert_eq!(
            (line.files_min, line.files_max, line.table_files),
            (1, 3, 4)
        );
        assert_eq!((line.files_mean, line.files_deviation), (2.0, 1.0));
    }
}
