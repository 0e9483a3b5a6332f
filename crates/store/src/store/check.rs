//! Check: verifies every checksum, order and reference of a store.

use std::path::Path;
use std::sync::atomic::Ordering;

use ostrakon_cell::source::{CheckProblem, CheckReport, Progress};

use super::open::Store;
use super::recovery::known_log;
use crate::catalog::CatalogView;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::version::TableVersion;
use crate::wal::{LogPart, LogReader, file_of, list_segments};

/// Message for a store whose log may have lost its end.
const NO_CLOSED: &str = "the file `closed` is missing or damaged, so the end of the log cannot be verified. This is \
                         normal for a store that was never closed cleanly; in any other, the last writes may be \
                         missing";

fn named(table: &str, problems: Vec<String>) -> impl Iterator<Item = (String, String)> {
    problems
        .into_iter()
        .map(move |problem| (table.to_owned(), problem))
}

/// Turns an error about a file into a message; returns the error itself if it is not about the
/// file.
fn verdict(error: Error) -> StoreResult<String> {
    match error.kind() {
        ErrorKind::Corruption | ErrorKind::NotFound => Ok(format!(
            "{error}; restore the file from a checkpoint, or drop it"
        )),
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
        let log_bytes = self.verify_log(&mut report)?;
        if self.is_end_unproven {
            report.notes.push(NO_CLOSED.to_owned());
        }
        let _kept = context.files.hold_garbage();
        let view = context.catalog.view()?;
        for (table, message) in self.invariants_broken(&view)? {
            report
                .problems
                .push(problem("catalog".into(), Some(table), message));
        }
        let files = view.files()?;
        let total: u64 = files.iter().map(|file| file.bytes).sum();
        let owners = self.owners();
        for record in files {
            report.files += 1;
            let path = context.files.path(record.id);
            let done = report.bytes;
            let checked = context.files.file(&record).and_then(|file| {
                let malformed = file.reader().verify(&mut |bytes| {
                    progress(done + bytes, total);
                })?;
                Ok((malformed, file.reader().summary()?))
            });
            match checked {
                Ok((_, summary))
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
                Ok((malformed, summary)) => {
                    report.entries += summary.entries;
                    if malformed > 0 {
                        let message = format!(
                            "{malformed} entries have a malformed visibility, which hides them from every reader; write \
                             them again from where they came from, and remove these with `delete-rows` and `table compact`"
                        );
                        report.problems.push(problem(
                            self.relative(&path),
                            owners(record.id),
                            message,
                        ));
                    }
                }
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
        // The progress is that of table files.
        report.bytes += log_bytes;
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

    /// The broken invariants of the tables' tablets and files: as the catalog has them, and as they are in
    /// memory. By the name of the table.
    fn invariants_broken(&self, view: &CatalogView) -> StoreResult<Vec<(String, String)>> {
        let mut broken = Vec::new();
        for record in view.tables()? {
            match TableVersion::load(view, record.id, &self.context.files) {
                Ok(version) => broken.extend(named(&record.name, version.problems())),
                Err(error) => broken.push((record.name, verdict(error)?)),
            }
        }
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        for table in tables {
            let version = table.version();
            // A deleted table has no tablets.
            if table.check_exists().is_ok() {
                for one in named(&table.status().name, version.problems()) {
                    if !broken.contains(&one) {
                        broken.push(one);
                    }
                }
            }
        }
        Ok(broken)
    }

    /// Reads the log and reports its problems. Returns the bytes that were read.
    fn verify_log(&self, report: &mut CheckReport) -> StoreResult<u64> {
        let context = &self.context;
        // In this order: a segment up to the last one known before the list was made, which is needed after that, must be
        // in the list. Others are written and deleted meanwhile.
        let current = context.log.segment.load(Ordering::SeqCst);
        let mut known = known_log(context, &context.catalog.view()?, &self.closed)?;
        if current > known.last {
            (known.last, known.last_bytes) = (current, 0);
        }
        let listed = match list_segments(&*context.vfs, &self.wal_dir()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            listed => listed?,
        };
        known.first = known_log(context, &context.catalog.view()?, &self.closed)?.first;
        let mut log = LogReader::of(&*context.vfs, &self.wal_dir(), known, listed);
        let mut found = |path: &Path, message: String| {
            report.problems.push(CheckProblem {
                file: self.relative(path),
                table: None,
                message,
            });
        };
        let (mut files, mut bytes, mut entries) = (0, 0, 0);
        loop {
            match log.next_part() {
                Ok(None) => break,
                Ok(Some(LogPart::Damage(damage))) => found(&damage.path, damage.to_text()),
                Ok(Some(LogPart::Segment(mut reader))) => {
                    files += 1;
                    while let Some((record, _)) = reader.next_record() {
                        entries += u64::from(record.updates);
                    }
                    bytes += reader.end().bytes;
                    if let Some(damage) = log.close(&reader) {
                        found(&damage.path, damage.to_text());
                    }
                }
                // A segment that was flushed and deleted meanwhile, or a link to a file that is missing.
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let path = file_of(&error);
                    let listed = list_segments(&*context.vfs, &self.wal_dir())?;
                    if listed.iter().any(|(_, other)| *other == path) {
                        found(&path, error.message().to_owned());
                    }
                }
                Err(error) => found(&self.wal_dir(), verdict(error)?),
            }
        }
        report.files += files;
        report.log_entries = entries;
        Ok(bytes)
    }

    pub(super) fn relative(&self, path: &Path) -> String {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use ostrakon_cell::{Source, TableOptions};

    use super::*;
    use crate::catalog::{
        AgeRange, CatalogTransaction, Fence, FileId, FileRecord, FileReference, TableId,
    };
    use crate::vfs::MemoryVfs;
    use crate::{Components, StoreOptions};

    fn file(id: FileId, age: u64) -> FileRecord {
        FileRecord {
            id,
            bytes: 100,
            entries: 1,
            deletes: 0,
            identity: 7,
            first_row: b"a".to_vec(),
            last_row: b"z".to_vec(),
            generation: 0,
            ages: AgeRange::at(age),
            created_millis: 1,
        }
    }

    type Change = fn(&mut CatalogTransaction<'_>, TableId, [FileId; 2]) -> StoreResult<()>;

    /// What `check` says about the table after a change of its catalog that no edit makes.
    fn found_after(change: Change) -> Vec<String> {
        let components = Components {
            vfs: MemoryVfs::shared(),
            ..Components::default()
        };
        let options = StoreOptions {
            background: false,
            ..StoreOptions::default()
        };
        let store = Store::open_with(components, "/store", options).unwrap();
        let splits = TableOptions {
            splits: vec![b"g".to_vec()],
            ..TableOptions::default()
        };
        store.create_table("t", &splits).unwrap();
        let catalog = &store.context.catalog;
        let ids = [catalog.new_file_id(), catalog.new_file_id()];
        let table = catalog.view().unwrap().table_id("t").unwrap().unwrap();
        let _ = catalog
            .transaction(|transaction| change(transaction, table, ids))
            .unwrap();
        let report = store.check(&mut |_, _| true).unwrap();
        let of_catalog = report
            .problems
            .into_iter()
            .filter(|problem| problem.file == "catalog");
        of_catalog.map(|problem| problem.message).collect()
    }

    #[test]
    fn files_of_one_age_that_share_keys_are_found() {
        let tie: Change = |change, table, ids| {
            for id in ids {
                let file = file(id, 5);
                change.add_file(&file)?;
                change.replace_files(table, None, &[], &[FileReference::whole(&file)])?;
            }
            Ok(())
        };
        let found = found_after(tie);
        assert!(
            found[0].contains("two files share keys and ages"),
            "{found:?}"
        );
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_fence_outside_its_tablet_is_found() {
        let outside: Change = |change, table, ids| {
            let file = file(ids[0], 5);
            let fence = Fence::new(None, Some(b"c".to_vec()));
            let reference = FileReference {
                fence,
                ..FileReference::whole(&file)
            };
            change.add_file(&file)?;
            // The last tablet begins after `g`.
            change.replace_files(table, None, &[], &[reference])
        };
        let found = found_after(outside);
        assert!(found[0].contains("reads no row of file"), "{found:?}");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
