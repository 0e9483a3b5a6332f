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
use crate::wal::{Damage, SegmentReader, list_segments};

/// What recovery found.
pub(super) struct Recovered {
    /// Number of the segment to begin.
    pub(super) next_segment: u64,
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
    let mut recovered = Recovered {
        next_segment: 1,
        damages: Vec::new(),
    };
    let last = segments.last().map(|(number, _)| *number);
    for (number, path) in segments {
        recovered.next_segment = number + 1;
        let mut reader = match SegmentReader::open(&*context.vfs, &path, Some(number) == last) {
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
        } else if Some(number) == last && !read_only {
            reader.settle(&*context.vfs)?;
        }
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
