//! Check: verifies every checksum, order and reference of a store.

use std::sync::atomic::Ordering;

use ostrakon_cell::source::{CheckProblem, CheckReport, Progress};

use super::open::Store;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::wal::{SegmentReader, list_segments, missing_segments};

impl Store {
    pub(super) fn verify(&self, progress: Progress<'_>) -> StoreResult<CheckReport> {
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
        // In this order: the current one is there, and what is deleted later was given up before.
        let current = context.segment.load(Ordering::SeqCst);
        let segments = list_segments(&*context.vfs, &self.wal_dir())?;
        let view = context.catalog.view()?;
        let (first, end) = (view.wal_low_water()?, view.wal_last()?);
        drop(view);
        let begun = end.segment.max(current);
        for damage in missing_segments(&self.wal_dir(), &segments, first, begun) {
            report
                .problems
                .push(problem(self.relative(&damage.path), None, damage.message));
        }
        let last = segments.last().map(|(number, _)| *number);
        for (number, path) in segments {
            report.files += 1;
            let outcome =
                SegmentReader::open(&*context.vfs, &path, Some(number) == last).map(|reader| {
                    let known = if number == end.segment { end.bytes } else { 0 };
                    let mut reader = reader.written_to(known);
                    while reader.next_record().is_some() {}
                    reader.damage().map(crate::wal::Damage::to_error)
                });
            match outcome {
                Ok(None) => {}
                // A segment that was flushed and deleted meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Ok(Some(error)) | Err(error) => {
                    report
                        .problems
                        .push(problem(self.relative(&path), None, error.to_string()));
                }
            }
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
                Err(error) => report.problems.push(problem(
                    self.relative(&path),
                    owners(record.id),
                    format!("{error}; restore the file from a checkpoint"),
                )),
            }
            report.bytes += record.bytes;
            if !progress(report.bytes, total) {
                return Err(Error::new(ErrorKind::Cancelled, "the check was cancelled"));
            }
        }
        Ok(report)
    }

    fn relative(&self, path: &std::path::Path) -> String {
        path.strip_prefix(&self.context.dir)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// Finds a table that reads a file.
    fn owners(&self) -> impl Fn(crate::catalog::FileId) -> Option<String> {
        let mut owners = std::collections::HashMap::new();
        for (name, table) in self.tables.read().iter() {
            for tablet in table.layout().tablets() {
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
