//! Check: verifies every checksum, order and reference of a store.

use std::path::Path;
use std::sync::atomic::Ordering;

use ostrakon_cell::source::{CheckProblem, CheckReport, Progress};

use super::open::Store;
use super::recovery::known_log;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::wal::{LogPart, LogReader};

/// Message for a store whose log may have lost its end.
const NO_CLOSED: &str = "the file `closed` is missing or damaged, so that nothing proves where the log ended when the \
                         store was opened: a store that was never closed in order, as after a crash of the process \
                         that made it, has none; in any other the last writes may be missing";

/// Turns an error about a file into a message; returns the error itself if it is not about the
/// file.
fn verdict(error: Error) -> StoreResult<String> {
    match error.kind() {
        ErrorKind::Corruption | ErrorKind::NotFound => {
            Ok(format!("{error}; restore the file from a checkpoint"))
        }
        ErrorKind::NewerFormat => Ok(error.to_string()),
        ErrorKind::Io | ErrorKind::PermissionDenied => Ok(format!(
            "{error}; the file could not be read, so its state is unknown"
        )),
        // Errors of the process or the machine: no file descriptors, no memory, store closed.
        _ => Err(error),
    }
}

impl Store {
    pub(super) fn verify(&self, progress: Progress<'_>) -> StoreResult<CheckReport> {
        self.context.health.check_open()?;
        let context = &self.context;
        let mut report = CheckReport::default();
        let problem = |file: String, table: Option<String>, message: String| CheckProblem {
            file,
            table,
            message,
        };
        for (path, message) in context.catalog.check_copies(&*context.vfs, &context.dir)? {
            report
                .problems
                .push(problem(self.relative(&path), None, message));
        }
        for message in context.catalog.view()?.check()? {
            report
                .problems
                .push(problem("catalog".into(), None, message));
        }
        self.verify_log(&mut report)?;
        if self.is_end_unproven {
            report.notes.push(NO_CLOSED.to_owned());
        }
        let _kept = context.files.hold_garbage();
        let view = context.catalog.view()?;
        let files = view.files()?;
        let total: u64 = files.iter().map(|file| file.bytes).sum();
        let owners = self.owners();
        for record in files {
            report.files += 1;
            let path = context.files.path(record.id);
            let done = report.bytes;
            let checked = context.files.file(&record).and_then(|file| {
                file.reader().verify(&mut |bytes| {
                    progress(done + bytes, total);
                })?;
                file.reader().summary()
            });
            match checked {
                Ok(summary)
                    if summary.entries != record.entries || summary.bytes != record.bytes =>
                {
                    let message = format!(
                        "the file has {} entries in {} bytes, the catalog says {} in {}",
                        summary.entries, summary.bytes, record.entries, record.bytes
                    );
                    report
                        .problems
                        .push(problem(self.relative(&path), owners(record.id), message));
                }
                Ok(summary) => report.entries += summary.entries,
                Err(error) => {
                    let message = verdict(error)?;
                    report
                        .problems
                        .push(problem(self.relative(&path), owners(record.id), message));
                }
            }
            report.bytes += record.bytes;
            if !progress(report.bytes, total) {
                return Err(Error::new(ErrorKind::Cancelled, "the check was cancelled"));
            }
        }
        // Tables with present problems; problems of the log were reported above.
        for degraded in self.list_problems() {
            if degraded.table.is_some() {
                let message = format!(
                    "{} fails: {}; {}",
                    degraded.activity.as_str(),
                    degraded.message,
                    degraded.way_out
                );
                report
                    .problems
                    .push(problem("table".into(), degraded.table, message));
            }
        }
        Ok(report)
    }

    /// Reads the log and reports its problems.
    fn verify_log(&self, report: &mut CheckReport) -> StoreResult<()> {
        let context = &self.context;
        // In this order: the current segment exists, and segments deleted later were recorded as
        // not needed before.
        let current = context.log.segment.load(Ordering::SeqCst);
        let mut known = known_log(context, &context.catalog.view()?, &self.closed)?;
        if current > known.last {
            (known.last, known.last_bytes) = (current, 0);
        }
        let mut log = match LogReader::open(&*context.vfs, &self.wal_dir(), known) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                LogReader::absent(&*context.vfs, &self.wal_dir(), known)
            }
            log => log?,
        };
        let mut found = |path: &Path, message: String| {
            report.problems.push(CheckProblem {
                file: self.relative(path),
                table: None,
                message,
            });
        };
        let mut files = 0;
        loop {
            match log.next_part() {
                Ok(None) => break,
                Ok(Some(LogPart::Damage(damage))) => found(&damage.path, damage.to_text()),
                Ok(Some(LogPart::Segment(mut reader))) => {
                    files += 1;
                    while reader.next_record().is_some() {}
                    if let Some(damage) = log.close(&reader) {
                        found(&damage.path, damage.to_text());
                    }
                }
                // A segment that was flushed and deleted meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => found(&self.wal_dir(), verdict(error)?),
            }
        }
        report.files += files;
        Ok(())
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.context.dir)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// Finds a table that reads a file.
    fn owners(&self) -> impl Fn(crate::catalog::FileId) -> Option<String> {
        let mut owners = std::collections::HashMap::new();
        for (name, table) in self.tables.read().iter() {
            for tablet in table.version().tablets() {
                for file in &tablet.files {
                    owners
                        .entry(file.reference.file)
                        .or_insert_with(|| name.clone());
                }
            }
        }
        move |id| owners.get(&id).cloned()
    }
}
