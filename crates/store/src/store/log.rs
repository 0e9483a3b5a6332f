//! The log thread: takes what writers submitted, writes and syncs it in groups, and publishes it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use ostrakon_cell::Durability;

use crate::error::{Error, ErrorKind, StoreResult};
use crate::table::{LoggedCommit, StoreContext};
use crate::threads;
use crate::wal::{RecordHeader, SegmentEnd, WalWriter};

/// The running log thread.
pub(super) struct LogThread(JoinHandle<StoreResult<SegmentEnd>>);

impl LogThread {
    pub(super) fn start(context: Arc<StoreContext>, writer: WalWriter) -> StoreResult<Self> {
        let work = move || {
            // What it holds when it panics is not used any more; queue and tables are whole after
            // each step.
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&context, writer)));
            outcome.unwrap_or_else(|_| {
                context.health.fail(panicked());
                context.commits.abandon();
                Err(panicked())
            })
        };
        threads::spawn("log", work).map(Self)
    }

    /// Waits until everything submitted is settled; call after the queue was closed. Answers how the
    /// log ends.
    pub(super) fn join(self) -> StoreResult<SegmentEnd> {
        self.0.join().unwrap_or_else(|_| Err(panicked()))
    }
}

fn panicked() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the log thread panicked; what is printed above says where. Open the store again",
    )
}

fn run(context: &StoreContext, mut writer: WalWriter) -> StoreResult<SegmentEnd> {
    let mut group = Vec::new();
    while context.commits.take(&mut group) {
        commit(context, &mut writer, &mut group);
    }
    // Levels below `sync` were written without being synced: do it now that there is time.
    if context.health.check_writable().is_ok() {
        writer.sync()?;
        context
            .log_end
            .store(writer.segment_bytes(), Ordering::SeqCst);
        context.log_sum.store(writer.end().sum, Ordering::SeqCst);
    }
    Ok(writer.end())
}

fn commit(context: &StoreContext, writer: &mut WalWriter, group: &mut Vec<LoggedCommit>) {
    let sequences: Vec<u64> = group.iter().map(|_| context.next_sequence()).collect();
    let written = context.health.check_writable().and_then(|()| {
        let written = make_way(context, writer, group)
            .and_then(|()| write(context, writer, group, &sequences));
        written.inspect_err(|error| context.health.fail(error.duplicate()))
    });
    context.pressure.wrote(&*context.clock);
    for (mut commit, sequence) in group.drain(..).zip(sequences) {
        let outcome = match &written {
            Ok(()) => commit.publish(sequence, writer.number()),
            Err(error) => Err(error.duplicate()),
        };
        if outcome.is_ok() {
            let (metrics, batch) = (&context.metrics, commit.chunk.batch());
            metrics.batches_written.increment();
            metrics.mutations_written.add(batch.mutations() as u64);
            metrics.entries_written.add(batch.len() as u64);
            metrics.bytes_written.add(batch.byte_len() as u64);
        }
        commit.settle(outcome);
    }
    if written.is_ok() && writer.segment_bytes() >= context.options.segment_bytes() {
        if let Err(error) = writer.roll() {
            context.health.fail(error);
        }
        // Only now: until here the group's batches were in the old segment and not all published.
        context.segment.store(writer.number(), Ordering::SeqCst);
        context.wakeups.flush.wake();
    }
}

/// Begins another segment if the group is too large for one that is continued.
fn make_way(
    context: &StoreContext,
    writer: &mut WalWriter,
    group: &[LoggedCommit],
) -> StoreResult<()> {
    let batches = group
        .iter()
        .map(|commit| commit.chunk.batch().encoded().len());
    if writer.make_way_for(batches.sum())? {
        // All that was in the old segment is published.
        context.segment.store(writer.number(), Ordering::SeqCst);
    }
    Ok(())
}

fn write(
    context: &StoreContext,
    writer: &mut WalWriter,
    group: &[LoggedCommit],
    sequences: &[u64],
) -> StoreResult<()> {
    let logged = group
        .iter()
        .zip(sequences)
        .filter(|(commit, _)| commit.durability > Durability::None)
        .map(|(commit, sequence)| {
            let batch = commit.chunk.batch();
            let header = RecordHeader {
                sequence: *sequence,
                table: commit.table.id().0,
                updates: batch.len() as u32,
                timestamp: commit.chunk.timestamp(),
                ..RecordHeader::default()
            };
            (header, batch.encoded())
        });
    let waits_for_sync = |commit: &LoggedCommit| commit.durability == Durability::Sync;
    let then_sync = group.iter().any(waits_for_sync);
    let before = writer.segment_bytes();
    writer.append(logged, then_sync)?;
    let metrics = &context.metrics;
    metrics.wal_bytes.add(writer.segment_bytes() - before);
    let records = group
        .iter()
        .filter(|commit| commit.durability > Durability::None)
        .count();
    metrics.wal_records.add(records as u64);
    if then_sync {
        let begun = context.clock.monotonic_nanos();
        writer.sync()?;
        metrics.wal_syncs.increment();
        metrics
            .wal_sync_nanos
            .add(context.clock.monotonic_nanos() - begun);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use ostrakon_cell::{
        Authorizations, ColumnUpdate, MutationBatch, Scanner, Source, TableOptions,
    };

    use super::*;
    use crate::Store;
    use crate::memtable::{Chunk, RowPrefix, Run};

    fn run_with_label(label: &[u8]) -> Arc<Run> {
        let mut batch = MutationBatch::new();
        let update = ColumnUpdate {
            visibility: label,
            value: Some(b"v"),
            ..ColumnUpdate::default()
        };
        batch.put(b"r", update).unwrap();
        let chunk = Arc::new(Chunk::new(batch, 1, Arc::default()));
        Arc::new(Run::of_chunk(chunk, RowPrefix::default()))
    }

    /// Before labels were checked at the store's door, a table could get malformed ones.
    #[test]
    fn entries_with_malformed_labels_stay_hidden_and_the_table_readable() {
        let store = Store::in_memory().unwrap();
        store.create_table("t", &TableOptions::default()).unwrap();
        let core = store.core("t").unwrap();
        for (sequence, label) in [&b"a&"[..], b"a"].into_iter().enumerate() {
            let run = run_with_label(label);
            core.publish(run, 1 + sequence as u64, None).unwrap();
        }
        let table = store.table("t").unwrap();
        let auths = Authorizations::new(["a"]).unwrap();
        let read = || {
            let scan = Scanner::new(table.clone()).authorizations(auths.clone());
            scan.entries().unwrap()
        };
        assert_eq!(read().len(), 1);
        table.flush(true).unwrap();
        assert_eq!(read()[0].key.visibility, b"a");
    }
}
