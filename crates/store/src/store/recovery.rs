//! Recovery: replays the log into memory, except for what is in files already.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::MutationBatch;

use super::closed::Closed;
use super::proven::proven_bytes;
use crate::catalog::{CatalogView, TableId};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::{Chunk, Run};
use crate::options::StoreOptions;
use crate::table::{StoreContext, TableCore};
use crate::vfs::is_loss;
use crate::wal::{Damage, KnownLog, LogPart, LogReader, OpenEnd, SegmentEnd, file_of};

/// A batch of this size is accepted with any memory budget.
const SMALLEST_BATCH_LIMIT: u64 = 16 << 20;

/// The result of recovery.
pub(super) struct Recovered {
    /// Number of the next segment.
    pub(super) next_segment: u64,
    /// How the log ends: recorded at the start of the next segment.
    pub(super) end: SegmentEnd,
    /// The last segment, if it is continued: then the next segment has its number.
    pub(super) open_end: Option<OpenEnd>,
    /// From this number on no segment is missing.
    pub(super) gapless_from: u64,
    /// Unreadable parts of the log; only filled when damage is allowed or its loss accepted.
    pub(super) damages: Vec<Damage>,
}

/// What the catalog records about the log.
pub(super) fn known_log(
    context: &StoreContext,
    view: &CatalogView,
    closed: &Closed,
) -> StoreResult<KnownLog> {
    let store = context.catalog.identity().number();
    // Earlier versions kept it in the catalog.
    let end = view.wal_last()?;
    let mut known = KnownLog {
        store,
        first: view.wal_low_water()?,
        last: end.segment,
        last_bytes: end.bytes,
    };
    if closed.store == store && closed.last >= known.last {
        known.last = closed.last;
        known.last_bytes = closed.last_bytes;
    }
    Ok(known)
}

/// Replays the log into the tables' memtables.
pub(super) fn recover(
    context: &Arc<StoreContext>,
    wal_dir: &Path,
    tables: &BTreeMap<String, Arc<TableCore>>,
    closed: &Closed,
) -> StoreResult<Recovered> {
    let mut by_id: BTreeMap<TableId, Replay> = BTreeMap::new();
    let view = context.catalog.view()?;
    for record in view.tables()? {
        if let Some(table) = tables.get(&record.name) {
            let replay = Replay {
                table: table.clone(),
                name: record.name.clone(),
                flushed: record.flushed_sequence,
                ended: false,
            };
            by_id.insert(record.id, replay);
        }
    }
    let read_only = context.options.read_only;
    let known = known_log(context, &view, closed)?;
    let mut log = match LogReader::open(&*context.vfs, wal_dir, known) {
        // A store that crashed during its creation has no log yet.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            LogReader::of(&*context.vfs, wal_dir, known, Vec::new())
        }
        log => log?,
    };
    let mut recovered = Recovered {
        next_segment: known.first.max(1),
        end: SegmentEnd::default(),
        open_end: None,
        gapless_from: known.first,
        damages: Vec::new(),
    };
    // The last segment, if all its records were read, although its file may be damaged.
    let mut read_whole = None;
    let proven = match accepts_damage(&context.options) {
        true => proven_bytes(&*context.vfs, wal_dir, known, closed)?,
        // Damage ends the recovery with an error.
        false => BTreeMap::new(),
    };
    // Whether records were lost before the next one. A table that may be affected must not replay
    // the records after the gap: a lost delete would restore the entries it deleted.
    let mut in_gap = false;
    let accepts = accepts_damage(&context.options);
    loop {
        let part = match log.next_part() {
            Err(error) if accepts && is_loss(&error) => unreadable(&error),
            // It was listed: a link to a file that is missing.
            Err(error) if error.kind() == ErrorKind::NotFound => unreadable(&error),
            part => part?,
        };
        let Some(part) = part else {
            break;
        };
        let mut reader = match part {
            LogPart::Damage(damage) => {
                in_gap |= read_whole.as_ref() != Some(&damage.path);
                recovered
                    .damages
                    .push(refuse_unless_allowed(context, damage)?);
                continue;
            }
            LogPart::Segment(reader) => reader,
        };
        let (number, path) = (reader.number(), reader.path().to_owned());
        recovered.next_segment = recovered.next_segment.max(number + 1);
        let own_bytes = proven.get(&number).copied().unwrap_or(u64::MAX);
        // The checksum where the store was closed.
        let mut sum_as_closed = None;
        loop {
            let before = reader.end();
            if before.bytes == closed.bytes {
                sum_as_closed = Some(before.sum);
            }
            let Some((header, payload)) = reader.next_record() else {
                break;
            };
            if header.table == 0 || before.bytes >= own_bytes {
                continue;
            }
            if std::mem::take(&mut in_gap) {
                for replay in by_id.values_mut() {
                    replay.ended |= replay.flushed + 1 < header.sequence;
                }
            }
            context.log.advance_sequence(header.sequence);
            // Deleted tables, and batches that are in files already, are skipped.
            let Some(replay) = by_id.get_mut(&TableId(header.table)) else {
                continue;
            };
            if header.sequence <= replay.flushed || replay.ended {
                continue;
            }
            let batch = MutationBatch::from_encoded(payload.to_vec())
                .map_err(|error| error.with("file", path.display()))?;
            replay.insert(context, batch, header.timestamp, header.sequence, number)?;
        }
        read_whole = (proven.contains_key(&number) && own_bytes > 0).then(|| path.clone());
        let is_as_closed = closed.store == known.store && closed.segment == number;
        match log.close(&reader).cloned().or_else(|| {
            let end = reader.end();
            let is_other =
                closed.sum != 0 && end.bytes >= closed.bytes && sum_as_closed != Some(closed.sum);
            (is_as_closed && is_other).then(|| Damage {
                path: path.clone(),
                offset: 0,
                message: "the log segment is not the one with which the store was closed"
                    .to_owned(),
                tables: Vec::new(),
            })
        }) {
            Some(damage) => {
                in_gap |= read_whole.as_ref() != Some(&path);
                recovered
                    .damages
                    .push(refuse_unless_allowed(context, damage)?);
            }
            None if log.segments_left() == 0 && !read_only => {
                recovered.open_end = match is_as_closed {
                    true => reader.open_end(closed.bytes),
                    false => None,
                };
                if recovered.open_end.is_some() {
                    recovered.next_segment = number;
                } else if !reader.settle(&*context.vfs)? {
                    // A gap would look like a segment that was removed.
                    recovered.next_segment = number.max(known.first).max(1);
                    log.forget_last();
                }
            }
            None => {}
        }
    }
    // No readable record follows the last gap: every table may be affected.
    for replay in by_id.values_mut().filter(|_| in_gap) {
        replay.ended = true;
    }
    let ended: Vec<String> = by_id
        .into_values()
        .filter(|replay| replay.ended)
        .map(|replay| replay.name)
        .collect();
    for damage in &mut recovered.damages {
        damage.tables.clone_from(&ended);
    }
    recovered.end = log.end();
    context.log.advance_sequence(recovered.end.sequence);
    if known.first == 0 {
        // Written by a version that left gaps.
        recovered.gapless_from = recovered.next_segment;
    }
    Ok(recovered)
}

/// A segment that cannot be read, as damage.
fn unreadable(error: &Error) -> Option<LogPart> {
    Some(LogPart::Damage(Damage {
        path: file_of(error),
        offset: 0,
        message: error.message().to_owned(),
        tables: Vec::new(),
    }))
}

/// Whether the log is read in spite of damage.
fn accepts_damage(options: &StoreOptions) -> bool {
    match options.read_only {
        true => options.allow_damage,
        false => options.accept_log_loss,
    }
}

/// Returns the damage if the store may be opened in spite of it, else an error.
fn refuse_unless_allowed(context: &StoreContext, damage: Damage) -> StoreResult<Damage> {
    let options = &context.options;
    if accepts_damage(options) {
        return Ok(damage);
    }
    let how = if options.read_only {
        "allow damage to read what is left"
    } else {
        "open the store read-only and allow damage to read what is left, accept the loss to continue without the rest"
    };
    let mut error = Error::new(
        ErrorKind::Corruption,
        format!(
            "{}; put the file back if it was moved or changed, {how}, or restore a checkpoint",
            damage.message
        ),
    )
    .with("file", damage.path.display());
    if damage.offset > 0 {
        error = error.with("offset", damage.offset);
    }
    Err(error)
}

/// Memory that a log may take in a store that is open read-only: more than the memtables of a store that
/// was written with the same budget take, so that such a store can always be read.
fn replay_most(options: &StoreOptions) -> u64 {
    let written = options.memtable_bytes() + SMALLEST_BATCH_LIMIT;
    options.memory_budget_bytes.max(written)
}

/// Refuses a log that takes more memory than [`replay_most`].
fn refuse_if_too_large(context: &StoreContext) -> StoreResult<()> {
    let most = replay_most(&context.options);
    if context.pressure.used() <= most {
        return Ok(());
    }
    Err(Error::invalid(
        "the log holds more than fits into the memory of a store that is open read-only; open the store for writing \
         once, which writes the log's content to files, or give it a larger memory budget",
    )
    .with("directory", context.dir.display())
    .with("limit", most))
}

struct Replay {
    table: Arc<TableCore>,
    name: String,
    flushed: u64,
    /// A gap in the log may have affected this table: records after it are not replayed.
    ended: bool,
}

impl Replay {
    fn insert(
        &mut self,
        context: &StoreContext,
        batch: MutationBatch,
        timestamp: i64,
        sequence: u64,
        segment: u64,
    ) -> StoreResult<()> {
        self.table.time().replayed(timestamp, &batch);
        let prefix = self.table.row_prefix(&batch);
        let run = Arc::new(Run::of_chunk(
            Arc::new(Chunk::new(batch, timestamp, context.buffers.clone())),
            prefix,
        ));
        context.pressure.take(run.memory() as u64);
        context.metrics.wal_entries_recovered.add(run.len() as u64);
        self.table.publish(run, sequence, Some(segment))?;
        self.table.merge_runs();
        if context.options.read_only {
            // It cannot be flushed.
            refuse_if_too_large(context)?;
        } else {
            // A log larger than memory is flushed during recovery, without the table's iterators if
            // these fail: the store opens whatever one table contains.
            self.table.flush_if_large(context.options.flush_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::path::PathBuf;

    use ostrakon_cell::{Mutation, MutationBatch, Scanner, Source, TableOptions};

    use crate::catalog::Catalog;
    use crate::error::{ErrorKind, StoreResult};
    use crate::vfs::{MemoryVfs, Vfs};
    use crate::wal::list_segments;
    use crate::{Components, Store, StoreOptions};

    use super::*;

    const DIR: &str = "/store";

    fn open(vfs: &Arc<dyn Vfs>) -> StoreResult<Arc<Store>> {
        let options = StoreOptions {
            background: false,
            ..StoreOptions::default()
        };
        let components = Components {
            vfs: vfs.clone(),
            ..Components::default()
        };
        Store::open_with(components, DIR, options)
    }

    /// Makes the next opening treat the last close as a crash, and begin another segment.
    fn forget_closing(vfs: &Arc<dyn Vfs>) {
        let path = Path::new(DIR).join("closed");
        if vfs.exists(&path).unwrap() {
            vfs.remove(&path).unwrap();
        }
    }

    /// Opens the store, writes an entry and closes it: one segment.
    fn write(vfs: &Arc<dyn Vfs>, row: &str) {
        forget_closing(vfs);
        let store = open(vfs).unwrap();
        if store.tables().unwrap().is_empty() {
            store.create_table("t", &TableOptions::default()).unwrap();
        }
        let mut mutation = Mutation::new(row);
        mutation.put("f", "q", "v").unwrap();
        let mut batch = MutationBatch::new();
        batch.push(&mutation).unwrap();
        let table = store.table("t").unwrap();
        table.submit(batch, None).unwrap().wait().unwrap();
    }

    fn segments(vfs: &Arc<dyn Vfs>) -> Vec<(u64, PathBuf)> {
        list_segments(&**vfs, &Path::new(DIR).join("wal")).unwrap()
    }

    /// Versions of format 1 left gaps in the log and deleted segments without saying so.
    #[test]
    fn gaps_are_reported_unless_an_older_version_left_them() {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        for row in ["a", "b", "c"] {
            write(&vfs, row);
        }
        let numbers: Vec<u64> = segments(&vfs).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 3]);
        let catalog = Catalog::open(&vfs, Path::new(DIR), 1 << 20).unwrap();
        catalog.forget_log_for_test();
        drop(catalog);
        vfs.remove(&segments(&vfs)[1].1).unwrap();

        for row in ["d", "e", "f"] {
            write(&vfs, row);
        }
        let numbers: Vec<u64> = segments(&vfs).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 3, 4, 5, 6]);
        let old = &segments(&vfs)[1].1;
        vfs.rename(old, Path::new("/kept")).unwrap();
        drop(open(&vfs).unwrap());
        for (_, path) in &segments(&vfs)[1..4] {
            vfs.rename(path, Path::new("/away")).unwrap();
            let error = open(&vfs).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            let name = path.file_name().unwrap().to_string_lossy();
            assert!(error.to_string().contains(&*name), "{error}");
            vfs.rename(Path::new("/away"), path).unwrap();
        }
        drop(open(&vfs).unwrap());
    }

    /// The only table file of a store.
    fn only_file(vfs: &Arc<dyn Vfs>) -> PathBuf {
        let dir = Path::new(DIR).join("files");
        let mut files = vfs.list(&dir).unwrap();
        assert_eq!(files.len(), 1, "{files:?}");
        dir.join(files.remove(0).name)
    }

    fn copy(from: &Arc<dyn Vfs>, to: &Arc<dyn Vfs>, name: &str) {
        let path = Path::new(DIR).join(name);
        let bytes = from.read_to_vec(&path, u64::MAX).unwrap();
        to.replace(&path, &bytes).unwrap();
    }

    /// A foreign catalog used to be noticed only after the files that it does not know were
    /// deleted.
    #[test]
    fn the_catalog_of_another_store_is_rejected_and_nothing_deleted() {
        let (vfs, other): (Arc<dyn Vfs>, Arc<dyn Vfs>) = (MemoryVfs::shared(), MemoryVfs::shared());
        write(&vfs, "a");
        let store = open(&vfs).unwrap();
        store.table("t").unwrap().flush(true).unwrap();
        drop(store);
        let file = only_file(&vfs);
        for row in ["a", "b", "c"] {
            write(&other, row);
            open(&other)
                .unwrap()
                .table("t")
                .unwrap()
                .flush(true)
                .unwrap();
        }
        let kept: Vec<Vec<u8>> = ["catalog", "catalog.mirror"]
            .iter()
            .map(|name| {
                vfs.read_to_vec(&Path::new(DIR).join(name), u64::MAX)
                    .unwrap()
            })
            .collect();
        for foreign in [
            &["catalog"][..],
            &["catalog.mirror"],
            &["catalog", "catalog.mirror"],
        ] {
            for name in foreign {
                copy(&other, &vfs, name);
            }
            let error = open(&vfs).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{foreign:?} {error}");
            assert!(
                error.to_string().contains("another store")
                    || error.to_string().contains("different stores"),
                "{error}"
            );
            assert!(vfs.exists(&file).unwrap(), "{foreign:?}");
            for (name, bytes) in ["catalog", "catalog.mirror"].iter().zip(&kept) {
                vfs.replace(&Path::new(DIR).join(name), bytes).unwrap();
            }
        }
        assert_eq!(
            Scanner::new(open(&vfs).unwrap().table("t").unwrap())
                .entries()
                .unwrap()
                .len(),
            1
        );
    }

    /// As after restoring only the catalog from a copy of the store.
    #[test]
    fn an_older_catalog_is_rejected_and_nothing_deleted() {
        let (vfs, old): (Arc<dyn Vfs>, Arc<dyn Vfs>) = (MemoryVfs::shared(), MemoryVfs::shared());
        write(&vfs, "a");
        old.create_dir_all(Path::new(DIR)).unwrap();
        for name in ["catalog", "catalog.mirror"] {
            copy(&vfs, &old, name);
        }
        open(&vfs).unwrap().table("t").unwrap().flush(true).unwrap();
        let file = only_file(&vfs);
        for name in ["catalog", "catalog.mirror"] {
            copy(&old, &vfs, name);
        }
        let error = open(&vfs).unwrap_err();
        assert!(
            error.to_string().contains("older than the store"),
            "{error}"
        );
        assert!(vfs.exists(&file).unwrap());
        // Its loss can be accepted.
        forget_closing(&vfs);
        drop(open(&vfs).unwrap());
    }

    /// Two copies of a store that were both written to: one has a segment of the other, with the
    /// same length as its own.
    #[test]
    fn a_segment_of_a_diverged_copy_is_detected() {
        let (vfs, sister): (Arc<dyn Vfs>, Arc<dyn Vfs>) =
            (MemoryVfs::shared(), MemoryVfs::shared());
        let store = open(&vfs).unwrap();
        store.create_table("t", &TableOptions::default()).unwrap();
        drop(store);
        for inner in ["wal", "files"] {
            sister.create_dir_all(&Path::new(DIR).join(inner)).unwrap();
        }
        let names = [
            "catalog",
            "catalog.mirror",
            "closed",
            "wal/0000000000000001.wal",
        ];
        for name in names {
            copy(&vfs, &sister, name);
        }
        for (disk, value) in [(&vfs, "v"), (&sister, "w")] {
            let store = open(disk).unwrap();
            let mut mutation = Mutation::new("row");
            mutation.put("f", "q", value).unwrap();
            let mut batch = MutationBatch::new();
            batch.push(&mutation).unwrap();
            let table = store.table("t").unwrap();
            table.submit(batch, None).unwrap().wait().unwrap();
        }
        let path = |disk: &Arc<dyn Vfs>| segments(disk).pop().unwrap().1;
        assert_eq!(path(&vfs), path(&sister));
        let length = |disk: &Arc<dyn Vfs>| disk.len(&path(disk)).unwrap();
        assert_eq!(length(&vfs), length(&sister));
        drop(open(&vfs).unwrap());
        let bytes = sister.read_to_vec(&path(&sister), u64::MAX).unwrap();
        vfs.replace(&path(&vfs), &bytes).unwrap();
        let error = open(&vfs).unwrap_err();
        assert!(
            error.to_string().contains("not the one with which"),
            "{error}"
        );
    }

    #[test]
    fn a_segment_truncated_after_closing_is_detected() {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        for row in ["a", "b", "c"] {
            write(&vfs, row);
        }
        let (number, newest) = segments(&vfs).pop().unwrap();
        assert_eq!(number, 3);
        let whole = vfs.read_to_vec(&newest, u64::MAX).unwrap();
        for session in ["closed", "opened again"] {
            for len in 0..whole.len() {
                let what = format!("{session}, cut to {len}");
                vfs.replace(&newest, &whole[..len]).unwrap();
                let error = open(&vfs).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
                assert!(error.to_string().contains("3.wal"), "{what}: {error}");
                let options = StoreOptions {
                    read_only: true,
                    allow_damage: true,
                    ..StoreOptions::default()
                };
                let components = Components {
                    vfs: vfs.clone(),
                    ..Components::default()
                };
                let store = Store::open_with(components, DIR, options).unwrap();
                assert_eq!(store.damages().len(), 1, "{what}");
                let problems = store.check(&mut |_, _| true).unwrap().problems;
                assert_eq!(problems.len(), 1, "{what}: {problems:?}");
            }
            vfs.replace(&newest, &whole).unwrap();
            // Another segment after it.
            forget_closing(&vfs);
            let store = open(&vfs).unwrap();
            assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
        }
    }

    #[test]
    fn a_cleanly_closed_store_continues_its_last_segment() {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        write(&vfs, "a");
        for row in ["b", "c"] {
            let store = open(&vfs).unwrap();
            let mut mutation = Mutation::new(row);
            mutation.put("f", "q", "v").unwrap();
            let mut batch = MutationBatch::new();
            batch.push(&mutation).unwrap();
            let table = store.table("t").unwrap();
            table.submit(batch, None).unwrap().wait().unwrap();
            assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
        }
        let (_, segment) = segments(&vfs).pop().unwrap();
        assert_eq!(segments(&vfs).len(), 1);
        let rows = |vfs: &Arc<dyn Vfs>| {
            let store = open(vfs).unwrap();
            let scan = Scanner::new(store.table("t").unwrap());
            scan.entries().unwrap().len()
        };
        assert_eq!(rows(&vfs), 3);
        // A crash may tear a record written after the last close: the records before it are kept.
        let whole = vfs.read_to_vec(&segment, u64::MAX).unwrap();
        vfs.replace(&segment, &[whole.as_slice(), b"torn"].concat())
            .unwrap();
        assert_eq!(rows(&vfs), 3);
        let numbers: Vec<u64> = segments(&vfs).iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2]);
    }

    #[test]
    fn openings_without_writes_leave_no_gaps() {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        for round in 1..4 {
            drop(open(&vfs).unwrap());
            drop(open(&vfs).unwrap());
            write(&vfs, "a");
            let last = segments(&vfs).last().unwrap().0;
            assert_eq!(last, round);
        }
        // The newest segment is empty: its loss is not an error.
        forget_closing(&vfs);
        drop(open(&vfs).unwrap());
        let (number, newest) = segments(&vfs).pop().unwrap();
        assert_eq!(number, 4);
        vfs.remove(&newest).unwrap();
        drop(open(&vfs).unwrap());
    }
}
