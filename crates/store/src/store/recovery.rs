//! Recovery: what the log holds and the files do not goes back into memory.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ostrakon_cell::MutationBatch;

use crate::catalog::TableId;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::{Chunk, RowPrefix, Run};
use crate::table::{StoreContext, TableCore};
use crate::wal::{Damage, SegmentReader, list_segments, missing_segments};

/// What recovery found.
pub(super) struct Recovered {
    /// Number of the segment to begin.
    pub(super) next_segment: u64,
    /// From this number on no segment is missing.
    pub(super) gapless_from: u64,
    /// What could not be read; only ever filled when the store is opened read-only.
    pub(super) damages: Vec<Damage>,
}

/// Replays the log into the tables' memtables.
pub(super) fn recover(
    context: &Arc<StoreContext>,
    wal_dir: &Path,
    tables: &BTreeMap<String, Arc<TableCore>>,
) -> StoreResult<Recovered> {
    let mut by_id: HashMap<TableId, Replay> = HashMap::new();
    let view = context.catalog.view()?;
    for record in view.tables()? {
        if let Some(table) = tables.get(&record.name) {
            let replay = Replay {
                table: table.clone(),
                flushed: record.flushed_sequence,
                prefix: None,
            };
            by_id.insert(record.id, replay);
        }
    }
    let read_only = context.options.read_only;
    let segments = match list_segments(&*context.vfs, wal_dir) {
        Ok(segments) => segments,
        // A store that crashed while it was made has no log yet.
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let first = view.wal_low_water()?;
    let end = view.wal_last()?;
    let missing = missing_segments(wal_dir, &segments, first, end.segment);
    if let Some(damage) = missing.first()
        && !read_only
    {
        return Err(Error::new(
            ErrorKind::Corruption,
            format!(
                "{}; put it back if it was moved; everything else can be read by opening the store \
                 read-only, or restore a checkpoint",
                damage.message
            ),
        )
        .with("file", damage.path.display()));
    }
    let mut recovered = Recovered {
        next_segment: first.max(1),
        gapless_from: first,
        damages: missing,
    };
    let last = segments.last().map(|(number, _)| *number);
    for (number, path) in segments {
        recovered.next_segment = recovered.next_segment.max(number + 1);
        let mut reader = match SegmentReader::open(&*context.vfs, &path, Some(number) == last) {
            Ok(reader) if number == end.segment => reader.written_to(end.bytes),
            Ok(reader) => reader,
            Err(error) if read_only && error.kind() == ErrorKind::Corruption => {
                recovered.damages.push(Damage {
                    path,
                    offset: 0,
                    message: error.message().to_owned(),
                });
                continue;
            }
            Err(error) => return Err(error),
        };
        while let Some((header, payload)) = reader.next_record() {
            context
                .sequence
                .fetch_max(header.sequence, Ordering::SeqCst);
            // Tables deleted since, and batches that are in files already, are passed over.
            let Some(replay) = by_id.get_mut(&TableId(header.table)) else {
                continue;
            };
            if header.sequence <= replay.flushed {
                continue;
            }
            let batch = MutationBatch::from_encoded(payload.to_vec())
                .map_err(|error| error.with("file", path.display()))?;
            replay.insert(context, batch, header.timestamp, header.sequence, number)?;
        }
        if let Some(damage) = reader.damage() {
            if !read_only {
                return Err(Error::new(
                    ErrorKind::Corruption,
                    format!(
                        "{}; everything else can be read by opening the store read-only, or restore \
                         a checkpoint",
                        damage.message
                    ),
                )
                .with("file", path.display())
                .with("offset", damage.offset));
            }
            recovered.damages.push(damage.clone());
        } else if Some(number) == last && !read_only && !reader.settle(&*context.vfs)? {
            // A gap would look like a segment that somebody took away.
            recovered.next_segment = number.max(first).max(1);
        }
    }
    if first == 0 {
        // Written by a version that left gaps.
        recovered.gapless_from = recovered.next_segment;
    }
    Ok(recovered)
}

struct Replay {
    table: Arc<TableCore>,
    flushed: u64,
    prefix: Option<RowPrefix>,
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
        self.table.time().advance_to(timestamp);
        let prefix = self
            .prefix
            .get_or_insert_with(|| self.table.row_prefix(&batch))
            .clone();
        let run = Arc::new(Run::of_chunk(
            Arc::new(Chunk::new(batch, timestamp, context.buffers.clone())),
            prefix,
        ));
        context.pressure.take(run.memory() as u64);
        context.metrics.wal_entries_recovered.add(run.len() as u64);
        self.table.publish(run, sequence, Some(segment));
        self.table.merge_runs();
        if !context.options.read_only {
            // A log larger than memory is flushed on the way.
            self.table.flush_if_large(context.options.flush_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::path::PathBuf;

    use ostrakon_cell::{Mutation, MutationBatch, Source, TableOptions};

    use crate::catalog::Catalog;
    use crate::error::{ErrorKind, StoreResult};
    use crate::vfs::{MemoryVfs, Vfs};
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

    /// Opens the store, writes something and closes it: a segment.
    fn write(vfs: &Arc<dyn Vfs>, row: &str) {
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
    fn gaps_of_an_older_version_raise_no_alarm_and_later_ones_do() {
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

    #[test]
    fn a_segment_that_was_cut_after_closing_is_told() {
        let vfs: Arc<dyn Vfs> = MemoryVfs::shared();
        for row in ["a", "b", "c"] {
            write(&vfs, row);
        }
        let (number, newest) = segments(&vfs).pop().unwrap();
        assert_eq!(number, 3);
        let whole = vfs.read_to_vec(&newest, u64::MAX).unwrap();
        // What says that the store was closed is behind the records, and may be lost with the power.
        let seal = crate::wal::RECORD_HEADER_BYTES;
        for session in ["closed", "opened again"] {
            for len in 0..whole.len() - seal {
                let what = format!("{session}, cut to {len}");
                vfs.replace(&newest, &whole[..len]).unwrap();
                let error = open(&vfs).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
                assert!(error.to_string().contains("3.wal"), "{what}: {error}");
                let options = StoreOptions {
                    read_only: true,
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
            for len in whole.len() - seal..=whole.len() {
                // Behind it nothing has begun.
                if session == "closed" {
                    for (_, later) in segments(&vfs).split_off(3) {
                        vfs.remove(&later).unwrap();
                    }
                    vfs.replace(&newest, &whole[..len]).unwrap();
                    drop(open(&vfs).unwrap());
                }
            }
            vfs.replace(&newest, &whole).unwrap();
            let store = open(&vfs).unwrap();
            assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
        }
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
        // The newest holds nothing: nobody misses it.
        drop(open(&vfs).unwrap());
        let (number, newest) = segments(&vfs).pop().unwrap();
        assert_eq!(number, 4);
        vfs.remove(&newest).unwrap();
        drop(open(&vfs).unwrap());
    }
}
