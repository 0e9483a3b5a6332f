//! Continues after a loss that no copy can repair: of a part of the log, or of a table file.
//!
//! What the store gives up is moved to the directory `lost`, and never read again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::source::DroppedFile;

use super::background::record_log;
use super::open::Store;
use super::recovery::Recovered;
use crate::catalog::FileId;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::numbered;
use crate::sorted_file::ENDING;
use crate::table::{StoreContext, TableCore};
use crate::vfs::is_loss;
use crate::wal::{KnownLog, SegmentEnd, list_segments};

/// Where given-up files go, in the store's directory.
const LOST_DIR: &str = "lost";

/// Ends a damaged log: writes what recovery read from it to files, moves its segments away, and lets
/// the log continue with a new segment.
///
/// The order matters. The segments are moved when everything that was read from them is in files; a
/// crash after that leaves a log with missing segments, which is given up again, and nothing more is
/// lost.
pub(super) fn end_log(
    context: &Arc<StoreContext>,
    wal_dir: &Path,
    tables: &BTreeMap<String, Arc<TableCore>>,
    known: KnownLog,
    recovered: &mut Recovered,
) -> StoreResult<()> {
    for table in tables.values() {
        table.flush_if_large(0)?;
    }
    let vfs = &*context.vfs;
    let segments = match list_segments(vfs, wal_dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        segments => segments?,
    };
    // A segment far beyond the last known one is a copy under another name.
    let is_near = |number: u64| numbered::is_near(number, known.last);
    let numbers = segments.iter().map(|(number, _)| *number);
    let newest = numbers.filter(|number| is_near(*number)).max();
    let next = newest.unwrap_or(0).max(known.last) + 1;
    recovered.next_segment = match is_near(recovered.next_segment) {
        true => recovered.next_segment.max(next),
        false => next,
    };
    recovered.gapless_from = recovered.next_segment;
    recovered.open_end = None;
    // Nothing is known about the length of a segment before this one.
    recovered.end = SegmentEnd {
        sequence: context.log.last_sequence(),
        ..SegmentEnd::default()
    };
    for (_, path) in &segments {
        move_to_lost(context, path)?;
    }
    if !segments.is_empty() {
        vfs.sync_names(wal_dir, &[])?;
    }
    record_log(context, recovered.next_segment)
}

/// Moves a file to the directory `lost`; returns its new path.
pub(super) fn move_to_lost(context: &StoreContext, path: &Path) -> StoreResult<PathBuf> {
    let vfs = &context.vfs;
    let dir = context.dir.join(LOST_DIR);
    vfs.create_dir_durably(&dir)?;
    let name = path.file_name().unwrap_or_default();
    let mut to = dir.join(name);
    let mut number = 1_u32;
    // What was given up before may have had the same name, in a store that was restored since.
    while vfs.exists(&to)? {
        let mut other = name.to_owned();
        other.push(format!(".{number}"));
        to = dir.join(other);
        number += 1;
    }
    vfs.rename(path, &to)?;
    vfs.sync_names(&dir, &[&to])?;
    Ok(to)
}

impl Store {
    /// Removes the table file of that name from every table that reads it, if it is damaged or
    /// missing.
    pub(super) fn drop_one(&self, file: &Path) -> StoreResult<DroppedFile> {
        let context = &self.context;
        context.health.check_writable()?;
        let name = file.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(ENDING).unwrap_or(name).parse().ok());
        let Some(id) = number.map(FileId) else {
            return Err(Error::invalid(
                "a table file of a store is named by its number, as in files/0000000000000012.sorted",
            )
            .with("file", file.display()));
        };
        let kept = context.files.hold_garbage();
        // No table is cloned, and no file restored, meanwhile.
        let administration = self.administration.lock();
        let record = context.catalog.view()?.file(id)?;
        let record = record.ok_or_else(|| {
            Error::not_found("no table of this store reads a file of that number")
                .with("file", file.display())
        })?;
        let path = context.files.path(id);
        let verified = context
            .files
            .file(&record)
            .and_then(|file| file.reader().verify(&mut |_| ()));
        match verified {
            Ok(_) => {
                return Err(Error::invalid(
                    "the file is complete and undamaged; only a file that is damaged or missing is dropped",
                )
                .with("file", path.display()));
            }
            Err(error) if is_loss(&error) => {}
            // It may be readable later, when more files can be opened, or by another user.
            Err(error) => return Err(error),
        }
        // Before the file loses its references, after which it would be deleted.
        let moved = match context.vfs.exists(&path)? {
            true => Some(move_to_lost(context, &path)?),
            false => None,
        };
        let mut dropped = DroppedFile {
            file: self.relative(&path),
            moved_to: moved.map(|path| self.relative(&path)),
            bytes: record.bytes,
            entries: record.entries,
            tables: Vec::new(),
        };
        let tables: Vec<_> = self.tables.read().values().cloned().collect();
        for table in tables {
            if table.drop_file(id)? {
                dropped.tables.push(table.status().name.to_string());
            }
        }
        drop(administration);
        drop(kept);
        context.files.collect()?;
        Ok(dropped)
    }
}
