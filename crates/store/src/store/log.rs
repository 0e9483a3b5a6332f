//! The log thread: takes what writers submitted, writes and syncs it in groups, and publishes it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use ostrakon_cell::Durability;

use crate::error::{Error, ErrorKind, StoreResult};
use crate::table::{LoggedCommit, StoreContext};
use crate::threads;
use crate::wal::{RecordHeader, WalWriter};

/// The running log thread.
pub(super) struct LogThread(JoinHandle<StoreResult<()>>);

impl LogThread {
    pub(super) fn start(context: Arc<StoreContext>, writer: WalWriter) -> StoreResult<Self> {
        threads::spawn("log", move || run(&context, writer)).map(Self)
    }

    /// Waits until everything submitted is settled; call after the queue was closed.
    pub(super) fn join(self) -> StoreResult<()> {
        self.0.join().unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Internal,
                "the log thread panicked; reopen the store",
            ))
        })
    }
}

fn run(context: &StoreContext, mut writer: WalWriter) -> StoreResult<()> {
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
        // A disk that is full now has all that was promised: without the seal, the segment reads as
        // after a crash.
        let _ = writer.seal();
    }
    Ok(())
}

fn commit(context: &StoreContext, writer: &mut WalWriter, group: &mut Vec<LoggedCommit>) {
    let sequences: Vec<u64> = group.iter().map(|_| context.next_sequence()).collect();
    let written = context.health.check_writable().and_then(|()| {
        write(context, writer, group, &sequences).inspect_err(|error| {
            context.health.fail(error.duplicate());
        })
    });
    context.pressure.wrote(&*context.clock);
    for (commit, sequence) in group.drain(..).zip(sequences) {
        let memory = commit.run.memory() as u64;
        match &written {
            Ok(()) if commit.table.check_exists().is_err() => {
                context.pressure.give(memory);
                commit.ticket.settle(commit.table.check_exists());
            }
            Ok(()) => {
                let logged = commit.durability > Durability::None;
                commit
                    .table
                    .publish(commit.run, sequence, logged.then(|| writer.number()));
                let (metrics, batch) = (&context.metrics, commit.chunk.batch());
                metrics.batches_written.increment();
                metrics.mutations_written.add(batch.mutations() as u64);
                metrics.entries_written.add(batch.len() as u64);
                metrics.bytes_written.add(batch.byte_len() as u64);
                commit.ticket.settle(Ok(()));
            }
            Err(error) => {
                context.pressure.give(memory);
                commit.ticket.settle(Err(error.duplicate()));
            }
        }
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
