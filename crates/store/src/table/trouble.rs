//! Handles failures of a table's background work: records them, retries when due, flushes without
//! iterators when the memory is needed, and rejects the table's writes as a last resort.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::{Activity, IteratorScope, IteratorSetting, Problem};

use super::core::TableCore;
use super::running::{Begun, Work};
use crate::catalog::Fence;
use crate::compaction::{Cancel, Failure, caught};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::properties::TableConfig;
use crate::tablet::TabletView;

/// A table that cannot compact accepts writes until a tablet has this many times `table.file.max`
/// files.
const FILES_SHARE: usize = 4;

/// Maximum number of tablets named when scans cannot read a file that many share.
const NAMED_MOST: usize = 16;

/// Which iterators a flush runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlushIterators {
    /// Those of the table.
    OfTable,
    /// Only the system's: entries are written to the file as they are in memory. Scans and
    /// compactions then treat them as they would have in memory, so that nothing is lost when the
    /// table's iterators fail.
    None,
}

impl TableCore {
    /// Flushes frozen memtables through the table's iterators. Under `flushing`.
    pub(super) fn flush_frozen(&self) -> StoreResult<()> {
        let outcome = loop {
            let config = self.config();
            let outcome = caught(|| self.flush_frozen_by(FlushIterators::OfTable));
            let was_stopped =
                matches!(&outcome, Err(error) if error.kind() == ErrorKind::Cancelled);
            // Stopped because the iterators were changed: those in force now run instead.
            if !was_stopped || has_same_iterators(&config, &self.config(), IteratorScope::Minc) {
                break outcome;
            }
        };
        let was_stopped = matches!(&outcome, Err(error) if is_end(error));
        if outcome.is_ok() || was_stopped {
            // The iterators that stalled read nothing any more, so memory can be written without them.
            self.unwritable.store(false, Ordering::Relaxed);
        } else if !self.has_flush_iterators() {
            self.unwritable.store(true, Ordering::Relaxed);
        }
        self.note(Activity::Flush, None, outcome)
    }

    /// Flushes frozen memtables without the table's iterators. Under `flushing`.
    fn flush_frozen_as_is(&self) -> StoreResult<()> {
        let outcome = caught(|| self.flush_frozen_by(FlushIterators::None));
        self.unwritable.store(outcome.is_err(), Ordering::Relaxed);
        match outcome {
            // The recorded failure of the iterators stays.
            Ok(()) => Ok(()),
            failed => self.note(Activity::Flush, None, failed),
        }
    }

    /// Whether a flush runs iterators of the table, or would if they were valid.
    pub(super) fn has_flush_iterators(&self) -> bool {
        !matches!(self.config().iterators(IteratorScope::Minc), Ok([]))
    }

    /// Whether the last flush succeeded, or a retry is due.
    pub(crate) fn may_flush(&self) -> bool {
        self.failures
            .is_due(Activity::Flush, None, &*self.context.clock)
    }

    /// Whether nothing of this table can be written to files.
    pub(crate) fn is_unwritable(&self) -> bool {
        self.unwritable.load(Ordering::Relaxed)
    }

    /// Writes everything that is in memory now to files. The table's iterators are left out if they
    /// fail, or failed and are not due for a retry. `Ok` means that none of it is in memory alone
    /// any more.
    pub(crate) fn flush_for_room(&self) -> StoreResult<()> {
        let _flushing = self.flushing.take();
        self.freeze();
        self.flush_all_frozen()
    }

    /// Flushes what is in memory now through the table's iterators, if that is due. The result is
    /// recorded with the table: memory that could not be written is kept and retried.
    pub(crate) fn try_to_flush(&self) {
        let _flushing = self.flushing.take();
        if self.may_flush() {
            self.freeze();
            let _ = self.flush_frozen();
        }
    }

    /// As [`flush_for_room`](Self::flush_for_room), for frozen memtables: for changes that require
    /// that no older data is in memory. Under `flushing`.
    pub(super) fn flush_all_frozen(&self) -> StoreResult<()> {
        // Without iterators to leave out, the only option is to try, whether due or not.
        if self.may_flush() || !self.has_flush_iterators() {
            match self.flush_frozen() {
                Err(error) if is_end(&error) || !self.has_flush_iterators() => return Err(error),
                Err(_) => {}
                Ok(()) => return Ok(()),
            }
        }
        self.flush_frozen_as_is()
    }

    /// Writes everything that is in memory now to files without the table's iterators.
    pub(super) fn flush_as_is(&self) -> StoreResult<()> {
        let _flushing = self.flushing.take();
        self.freeze();
        self.flush_frozen_as_is()
    }

    /// Writes the active memtable to files if it has grown to `at_least` bytes.
    pub(crate) fn flush_if_large(&self, at_least: u64) -> StoreResult<()> {
        let data = self.data.read();
        let is_small = (data.active.memory() as u64) < at_least && data.frozen.is_empty();
        drop(data);
        if is_small {
            return Ok(());
        }
        self.flush_for_room()
    }

    /// Writes the content of memory to files before the store closes. Where iterators fail, only
    /// data that is in no log is written; the rest stays in the log.
    pub(crate) fn flush_to_close(&self) -> StoreResult<()> {
        let _flushing = self.flushing.take();
        self.freeze();
        match self.flush_frozen() {
            Err(_) if self.has_flush_iterators() && self.has_unlogged() => {
                self.flush_frozen_as_is()
            }
            Err(_) if self.has_flush_iterators() => Ok(()),
            outcome => outcome,
        }
    }

    /// Records the outcome of work: failures are counted and logged, a success clears them.
    pub(super) fn note<T>(
        &self,
        activity: Activity,
        tablet: Option<&Fence>,
        outcome: StoreResult<T>,
    ) -> StoreResult<T> {
        match &outcome {
            Ok(_) => self.failures.succeeded(activity, tablet),
            Err(error) if is_end(error) => {}
            Err(error) => {
                let context = &self.context;
                context.metrics.background_errors.increment();
                let clock = &*context.clock;
                if let Some(times) = self.failures.failed(activity, tablet, error, clock) {
                    let cause = crate::compaction::without_data(error);
                    tracing::warn!(
                        table = %self.status.read().name,
                        work = activity.as_str(),
                        error = ?cause,
                        not_logged = times,
                        "background work failed; other tables are not affected, and it is retried",
                    );
                }
            }
        }
        outcome
    }

    /// Records that a scan found a damaged or missing file: the tablets that read it are listed
    /// among the problems.
    #[cold]
    pub(super) fn note_read(&self, error: &Error) {
        if !matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotFound) {
            return;
        }
        let mut context = error.context().iter();
        let Some((_, path)) = context.find(|(name, _)| *name == "file") else {
            return;
        };
        let version = self.version();
        let reads_it = |tablet: &&Arc<TabletView>| {
            let mut files = tablet.files.iter();
            files.any(|file| file.file.reader().path() == Path::new(path))
        };
        let concerned = version.tablets().iter().filter(reads_it);
        for tablet in concerned.take(NAMED_MOST) {
            // The scan reports it to its reader.
            let _ = self.failures.failed(
                Activity::Read,
                Some(&tablet.extent),
                error,
                &*self.context.clock,
            );
        }
    }

    /// Begins a flush.
    pub(super) fn begin_flush(&self, iterators: FlushIterators) -> Begun<'_> {
        let classes = match iterators {
            FlushIterators::OfTable => self.classes(IteratorScope::Minc),
            FlushIterators::None => String::new(),
        };
        let begun =
            self.context
                .running
                .begin(self, Activity::Flush, None, classes, Cancel::default());
        begun.counted_as_flush(&self.context.metrics)
    }

    /// Begins a compaction of a tablet, which can be stopped through `cancel`.
    pub(super) fn begin_compaction(
        &self,
        tablet: &Fence,
        own: &[IteratorSetting],
        cancel: &Cancel,
    ) -> Begun<'_> {
        let mut classes = self.classes(IteratorScope::Majc);
        for setting in own {
            classes = [classes.as_str(), &setting.class].join(", ");
        }
        let tablet = Some(tablet.clone());
        let classes = classes.trim_start_matches(", ").to_owned();
        let running = &self.context.running;
        running.begin(self, Activity::Compaction, tablet, classes, cancel.clone())
    }

    /// The classes of a scope's iterators.
    fn classes(&self, scope: IteratorScope) -> String {
        let config = self.config();
        let settings = config.iterators(scope).unwrap_or_default();
        let names = settings.iter().map(|setting| setting.class.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// Records that iterators of a flush or a compaction have stalled. A table that cannot be
    /// flushed holds no more than its share of memory meanwhile.
    pub(crate) fn note_stall(&self, work: &Work) {
        if work.activity == Activity::Flush {
            self.unwritable.store(true, Ordering::Relaxed);
        }
        let _ = self.note::<()>(work.activity, work.tablet.as_ref(), Err(work.stall()));
    }

    /// After a change of the properties that were `before`: stops flushes and background compactions
    /// that run iterators no longer in force, and retries failed work.
    pub(crate) fn properties_changed(&self, before: &TableConfig) {
        let now = self.config();
        if !has_same_iterators(before, &now, IteratorScope::Minc) {
            self.context.running.stop_flushes_of(self.id);
        }
        if !has_same_iterators(before, &now, IteratorScope::Majc) {
            self.cancel_background_compactions();
        }
        self.retry();
    }

    /// Stops running flushes and compactions.
    pub(crate) fn stop_work(&self) {
        self.cancel_compactions();
        self.context.running.stop_table(self.id);
    }

    /// Returns an error if the table rejects writes because its background work fails and its share
    /// is full.
    #[inline]
    pub(super) fn check_share(&self) -> StoreResult<()> {
        if self.failures.is_empty() {
            return Ok(());
        }
        match self.refusal() {
            Some(cause) => Err(self.refused(&cause)),
            None => Ok(()),
        }
    }

    /// Why the table rejects writes, if it does.
    fn refusal(&self) -> Option<Failure> {
        let context = &self.context;
        let is_full = || {
            self.unflushed().0 >= context.options.failing_share_bytes()
                || context.pressure.is_full()
        };
        if self.is_unwritable() && is_full() {
            return self.failures.of_table(Activity::Flush);
        }
        let most = self.config().file_max.saturating_mul(FILES_SHARE);
        if self.most_files.load(Ordering::Relaxed) >= most {
            let mut failures = self.failures.list().into_iter();
            return failures.find(|failure| failure.activity == Activity::Compaction);
        }
        None
    }

    #[cold]
    fn refused(&self, failure: &Failure) -> Error {
        let kind = match failure.activity {
            Activity::Compaction => ErrorKind::TooManyFiles,
            _ => ErrorKind::Unavailable,
        };
        Error::new(
            kind,
            format!(
                "the table rejects writes: {} failed {} times and its share of memory or files is used up",
                failure.activity.as_str(),
                failure.times
            ),
        )
        .with("table", &self.status.read().name)
        .with("cause", failure.cause.kind().as_str())
        .with_source(failure.cause.to_string())
    }

    /// Retries all failed work now: its cause may be gone.
    pub(crate) fn retry(&self) {
        self.failures.try_all_now();
        self.context.attention.changed(self.id);
        self.context.wakeups.flush.wake();
        self.context.wakeups.compact.wake();
    }

    /// Whether this table has present problems.
    pub(crate) fn is_degraded(&self) -> bool {
        !self.failures.is_empty() || !self.config().problems.is_empty()
    }

    /// The present problems of this table.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let status = self.status();
        if status.deleted {
            return Vec::new();
        }
        let table = Some(status.name.to_string());
        let stored = status.config.problems().map(|error| Problem {
            table: table.clone(),
            tablet: None,
            activity: Activity::Properties,
            kind: error.kind(),
            message: error.to_string(),
            way_out: "open the store with a program that knows the class, or correct or remove the property; \
                      until then what needs it waits, and nothing is lost"
                .to_owned(),
            times: 1,
            since_millis: 0,
            next_try_millis: None,
            refuses_writes: false,
        });
        let mut problems: Vec<Problem> = stored.collect();
        if self.failures.is_empty() {
            return problems;
        }
        let refusal = self.refusal().map(|failure| failure.activity);
        let clock = &*self.context.clock;
        for failure in self.failures.list() {
            let due_in = failure.due_in(clock).as_millis() as i64;
            problems.push(Problem {
                table: table.clone(),
                tablet: failure
                    .tablet
                    .as_ref()
                    .map(|extent| (extent.after.clone(), extent.through.clone())),
                activity: failure.activity,
                kind: failure.cause.kind(),
                message: failure.cause.to_string(),
                way_out: way_out(&failure).to_owned(),
                times: failure.times,
                since_millis: failure.since_millis,
                next_try_millis: (failure.activity != Activity::Read)
                    .then(|| clock.now_millis().saturating_add(due_in)),
                refuses_writes: refusal == Some(failure.activity),
            });
        }
        problems
    }
}

/// Whether the iterators of a scope are the same ones, with the same options.
fn has_same_iterators(one: &TableConfig, other: &TableConfig, scope: IteratorScope) -> bool {
    match (one.iterators(scope), other.iterators(scope)) {
        (Ok(one), Ok(other)) => one == other,
        (one, other) => one.is_err() && other.is_err(),
    }
}

/// Whether work ended because it was stopped, which is not a failure.
fn is_end(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Closed)
}

fn way_out(failure: &Failure) -> &'static str {
    match (failure.cause.kind(), failure.activity) {
        (ErrorKind::OutOfSpace, _) => "free disk space; the work is then retried automatically",
        (ErrorKind::Corruption | ErrorKind::NotFound, _) if has_context(&failure.cause, "file") => {
            "restore the file from a checkpoint; until then only reads of its rows fail"
        }
        (ErrorKind::Io, _) => {
            "check the disk and its permissions; the work is retried automatically. Restore a missing file from a \
             checkpoint"
        }
        (_, Activity::Flush) => {
            "correct the options of the flush iterators or remove them, or delete the entries that they cannot read. Until then memory is flushed without them when it is needed; compactions and \
             scans read those entries"
        }
        (_, Activity::Compaction) => {
            "correct the options of the compaction iterators or remove them, or delete the entries that they cannot \
             read; until then the files of the tablet stay as they are"
        }
        _ => "check the store, and report a bug if the check finds nothing",
    }
}

fn has_context(error: &Error, name: &str) -> bool {
    error.context().iter().any(|(known, _)| *known == name)
}
