//! What a store does while a command runs, for `-v`: told by its counters, a few times each second. They count
//! hidden entries too, so commands that read with authorizations do not start it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ostrakon_store::Store;
use ostrakon_store::metrics::MetricsSnapshot;

use crate::output::{bytes, counted};

const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Logs what the store does until it is finished; nothing without `-v`.
pub(super) struct Activity(Option<(Sender<()>, JoinHandle<()>)>);

impl Activity {
    pub(super) fn start(store: &Arc<Store>) -> Self {
        if !tracing::enabled!(tracing::Level::INFO) {
            return Self::none();
        }
        let (end, ended) = channel::<()>();
        let store = Arc::clone(store);
        let thread = std::thread::Builder::new().name("activity".into());
        let watch = thread.spawn(move || {
            let mut before = MetricsSnapshot::default();
            loop {
                let goes_on = ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout);
                let now = store.metrics();
                tell(&now.since(&before));
                before = now;
                if !goes_on {
                    return;
                }
            }
        });
        Self(watch.ok().map(|thread| (end, thread)))
    }

    /// Logs nothing.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Logs the rest, after the store was closed.
    pub(super) fn finish(self) {
        if let Some((end, thread)) = self.0 {
            drop(end);
            // It only logs.
            let _ = thread.join();
        }
    }
}

/// Logs what happened since the last look: at `-v` what changes files, at `-vv` also reads and writes.
fn tell(done: &MetricsSnapshot) {
    let entries = |number| counted(number, "entry", "entries");
    let files = |number| counted(number, "file", "files");
    if done.wal_entries_recovered > 0 {
        tracing::info!(
            "recovered {} from the log",
            entries(done.wal_entries_recovered)
        );
    }
    if done.flushes > 0 {
        tracing::info!(
            "{}: wrote {} from memory, {}",
            counted(done.flushes, "flush", "flushes"),
            entries(done.flush_entries),
            bytes(done.flush_bytes)
        );
    }
    if done.compactions > 0 {
        tracing::info!(
            "{}: read {} in {}, wrote {} in {}",
            counted(done.compactions, "compaction", "compactions"),
            entries(done.compaction_entries_read),
            bytes(done.compaction_bytes_read),
            entries(done.compaction_entries_written),
            bytes(done.compaction_bytes_written)
        );
    }
    if done.splits + done.merges > 0 {
        tracing::info!(
            "{} split, {} merged",
            counted(done.splits, "tablet", "tablets"),
            counted(done.merges, "tablet", "tablets")
        );
    }
    if done.files_deleted > 0 {
        tracing::info!(
            "deleted {} that nothing refers to",
            files(done.files_deleted)
        );
    }
    if done.write_stalls > 0 {
        tracing::info!(
            "delayed writers {}, {} ms together, because flushes were slower",
            counted(done.write_stalls, "time", "times"),
            done.write_stall_nanos / 1_000_000
        );
    }
    if done.wal_records > 0 {
        tracing::debug!(
            "wrote {} in {} to the log, {}, {}",
            entries(done.entries_written),
            counted(done.batches_written, "batch", "batches"),
            bytes(done.wal_bytes),
            counted(done.wal_syncs, "sync", "syncs")
        );
    }
    if done.scans_started > 0 {
        tracing::debug!(
            "{}, returned {}; {} from files, {}; {} found in the cache",
            counted(done.scans_started, "scan", "scans"),
            entries(done.entries_read),
            counted(done.blocks_read, "block", "blocks"),
            bytes(done.block_bytes_read),
            counted(done.block_cache_hits, "block", "blocks")
        );
    }
}
