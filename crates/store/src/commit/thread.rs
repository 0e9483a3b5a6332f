//! The log thread: takes submitted batches, writes and syncs them in groups, and publishes them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use ostrakon_cell::Durability;

use super::logged::LoggedCommit;
use super::queue::CommitQueue;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::metrics::Metrics;
use crate::runtime::{Health, LogState, Pressure, Wakeups};
use crate::threads;
use crate::wal::{RecordHeader, SegmentEnd, WalWriter};

/// State that the log thread shares with the rest of the store.
pub(crate) struct LogShared {
    /// Batches waiting for the log.
    pub(crate) commits: Arc<CommitQueue>,
    /// The state of the log.
    pub(crate) state: Arc<LogState>,
    /// Whether the store may be written.
    pub(crate) health: Arc<Health>,
    /// Memory for writes.
    pub(crate) pressure: Arc<Pressure>,
    /// Wakes the flush threads when a segment is full.
    pub(crate) wakeups: Arc<Wakeups>,
    /// Counters.
    pub(crate) metrics: Arc<Metrics>,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Size of a segment at which the next one begins, in bytes.
    pub(crate) segment_bytes: u64,
}

/// The running log thread.
pub(crate) struct LogThread(JoinHandle<StoreResult<SegmentEnd>>);

impl LogThread {
    pub(crate) fn start(shared: LogShared, writer: WalWriter) -> StoreResult<Self> {
        let work = move || {
            // Its own state is not used after a panic; queue and tables are consistent after each
            // step.
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&shared, writer)));
            outcome.unwrap_or_else(|_| {
                shared.health.fail(panicked());
                shared.commits.abandon();
                Err(panicked())
            })
        };
        threads::spawn("log", work).map(Self)
    }

    /// Waits until everything submitted is settled; call after the queue was closed. Returns how
    /// the log ends.
    pub(crate) fn join(self) -> StoreResult<SegmentEnd> {
        self.0.join().unwrap_or_else(|_| Err(panicked()))
    }
}

fn panicked() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the log thread panicked; what is printed above says where. Open the store again",
    )
}

fn run(shared: &LogShared, mut writer: WalWriter) -> StoreResult<SegmentEnd> {
    let mut group = Vec::new();
    while shared.commits.take(&mut group) {
        commit(shared, &mut writer, &mut group);
    }
    // Batches with a durability below `sync` were not synced: sync them now.
    if shared.health.check_writable().is_ok() {
        writer.sync()?;
        shared
            .state
            .end
            .store(writer.segment_bytes(), Ordering::SeqCst);
        shared.state.sum.store(writer.end().sum, Ordering::SeqCst);
    }
    Ok(writer.end())
}

fn commit(shared: &LogShared, writer: &mut WalWriter, group: &mut Vec<LoggedCommit>) {
    let sequences: Vec<u64> = group.iter().map(|_| shared.state.next_sequence()).collect();
    let written = shared.health.check_writable().and_then(|()| {
        let written =
            make_way(shared, writer, group).and_then(|()| write(shared, writer, group, &sequences));
        written.inspect_err(|error| shared.health.fail(error.duplicate()))
    });
    shared.pressure.wrote(&*shared.clock);
    for (mut commit, sequence) in group.drain(..).zip(sequences) {
        let outcome = match &written {
            Ok(()) => commit.publish(sequence, writer.number()),
            Err(error) => Err(error.duplicate()),
        };
        if outcome.is_ok() {
            let (metrics, batch) = (&shared.metrics, commit.chunk().batch());
            metrics.batches_written.increment();
            metrics.mutations_written.add(batch.mutations() as u64);
            metrics.entries_written.add(batch.len() as u64);
            metrics.bytes_written.add(batch.byte_len() as u64);
        }
        commit.settle(outcome);
    }
    if written.is_ok() && writer.segment_bytes() >= shared.segment_bytes {
        if let Err(error) = writer.roll() {
            shared.health.fail(error);
        }
        // Only now: before, the group's batches were in the old segment and not all published.
        shared
            .state
            .segment
            .store(writer.number(), Ordering::SeqCst);
        shared.wakeups.flush.wake();
    }
}

/// Begins another segment if the group is too large for one that is continued.
fn make_way(shared: &LogShared, writer: &mut WalWriter, group: &[LoggedCommit]) -> StoreResult<()> {
    let batches = group
        .iter()
        .map(|commit| commit.chunk().batch().encoded().len());
    if writer.make_way_for(batches.sum())? {
        // Everything in the old segment is published.
        shared
            .state
            .segment
            .store(writer.number(), Ordering::SeqCst);
    }
    Ok(())
}

fn write(
    shared: &LogShared,
    writer: &mut WalWriter,
    group: &[LoggedCommit],
    sequences: &[u64],
) -> StoreResult<()> {
    let logged = group
        .iter()
        .zip(sequences)
        .filter(|(commit, _)| commit.durability() > Durability::None)
        .map(|(commit, sequence)| {
            let batch = commit.chunk().batch();
            let header = RecordHeader {
                sequence: *sequence,
                table: commit.table().0,
                updates: batch.len() as u32,
                timestamp: commit.chunk().timestamp(),
                ..RecordHeader::default()
            };
            (header, batch.encoded())
        });
    let waits_for_sync = |commit: &LoggedCommit| commit.durability() == Durability::Sync;
    let then_sync = group.iter().any(waits_for_sync);
    let before = writer.segment_bytes();
    writer.append(logged, then_sync)?;
    let metrics = &shared.metrics;
    metrics.wal_bytes.add(writer.segment_bytes() - before);
    let records = group
        .iter()
        .filter(|commit| commit.durability() > Durability::None)
        .count();
    metrics.wal_records.add(records as u64);
    if then_sync {
        let begun = shared.clock.monotonic_nanos();
        writer.sync()?;
        metrics.wal_syncs.increment();
        metrics
            .wal_sync_nanos
            .add(shared.clock.monotonic_nanos() - begun);
    }
    Ok(())
}
