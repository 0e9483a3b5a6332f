//! Closes a store, in bounded time whatever the iterators of its tables do.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use super::background;
use super::open::Store;
use crate::commit::LogThread;
use crate::error::{ErrorKind, StoreResult};
use crate::runtime::Wakeup;
use crate::table::{GRACE, LONGEST, LOOK, PATIENCE, Watch, Work, looks};
use crate::wal::{SegmentEnd, WalWriter, list_segments};

/// A table's memory that is left to the log when the store closes, in bytes: replaying it takes
/// less than a tenth of a second.
const KEPT_IN_LOG_BYTES: u64 = 16 << 20;

impl Store {
    /// Stops all threads once everything submitted is in the log. Later calls on the store and its
    /// tables fail with [`Closed`](ErrorKind::Closed). A small amount of unflushed data stays in
    /// the log, where the next opening reads it; a larger amount, or writes without a log, are
    /// flushed first.
    ///
    /// Compactions are stopped. Flushes whose iterators read nothing for five seconds are stopped
    /// too, and all flushes after a minute. Their data stays in the log; data that is in no log is
    /// written without the iterators.
    ///
    /// # Errors
    /// When the log could not be synced, or a table could not be flushed; then the data in the log
    /// is safe. [`Unavailable`](ErrorKind::Unavailable) naming table and class when an iterator
    /// neither ended nor checked its interrupt within two seconds of being stopped: the store is
    /// closed, and the iterator's thread is left behind. It can no longer change a name in the
    /// store's directory, and the next opening removes the file it was writing.
    pub fn close(&self) -> StoreResult<()> {
        // In a forked child of the process that opened the store there are no threads to wait for,
        // and locks may be held by threads that do not exist.
        self.context.health.check_process()?;
        // A second call waits: what the first one has begun is not done before it returns.
        let _closing = self.closing.lock();
        // First: a writer whose batch it submits may wait for memory that only the other threads
        // free.
        self.context.timer.close();
        self.context.commits.close();
        let log = self.log.lock().take();
        let logged = log.map(LogThread::join);
        // No new work begins. A running flush is completed.
        self.stop.store(true, Ordering::SeqCst);
        self.context.wakeups.all();
        self.context.running.stop_compactions();
        let was_writing = logged.is_some();
        let mut outcome = match logged {
            Some(logged) => logged.and_then(|end| self.flush_for_closing(end)),
            None => Ok(()),
        };
        let threads = std::mem::take(&mut *self.threads.lock());
        outcome = outcome.and(self.join_bounded(threads));
        let in_order = was_writing && self.context.health.check_writable().is_ok();
        self.context.health.close();
        for table in self.tables.read().values() {
            table.stop_readers();
        }
        let requests = std::mem::take(&mut *self.context.requests.lock());
        outcome = outcome.and(self.join_bounded(requests));
        outcome = outcome.and(self.context.files.close());
        if in_order && outcome.is_ok() {
            self.note_closed();
        }
        // Handles to tables may outlive the store but not the lock on the directory: from here on
        // nothing of this store writes.
        self.context.catalog.close();
        self.names.seal();
        *self.counted.lock() = None;
        outcome
    }

    /// Waits for threads; stops their work, and leaves behind those that do not end then.
    fn join_bounded(&self, mut threads: Vec<JoinHandle<()>>) -> StoreResult<()> {
        let running = &self.context.running;
        let (mut watch, mut asked) = (Watch::default(), 0);
        let pause = Wakeup::default();
        for look in 0.. {
            // The thread has reported its panic.
            let ended = threads.extract_if(.., |thread| thread.is_finished());
            ended.for_each(|thread| drop(thread.join()));
            if threads.is_empty() {
                break;
            }
            self.context.wakeups.all();
            // Repeatedly: a request may have begun just now.
            running.stop_compactions();
            for table in self.tables.read().values() {
                table.cancel_user_compactions();
            }
            watch.look(running, look, looks(PATIENCE), Work::stop);
            if look > looks(LONGEST) {
                running.stop_iterators();
            }
            match running.left_behind(None) {
                None => asked = 0,
                Some(_) if asked <= looks(GRACE) => asked += 1,
                Some(error) => {
                    self.context
                        .metrics
                        .threads_left_behind
                        .add(threads.len() as u64);
                    return Err(error);
                }
            }
            pause.wait(LOOK);
        }
        Ok(())
    }

    /// Flushes until little is left in the log: opening reads all of it, records of flushed batches
    /// included. Nothing is appended to it any more.
    fn flush_for_closing(&self, end: SegmentEnd) -> StoreResult<()> {
        let context = &self.context;
        if context.health.check_writable().is_err() {
            return Ok(());
        }
        let tables = context.attention.with_memory();
        let current = context.log.segment.load(Ordering::SeqCst);
        let oldest = tables.iter().filter_map(|table| table.unflushed().1).min();
        let needed = oldest.unwrap_or(current).min(current);
        // Actual lengths: a segment ends after the group of commits that filled it.
        let mut log_bytes = 0;
        let mut written = None;
        for (number, path) in list_segments(&*context.vfs, &self.wal_dir())? {
            if number >= needed {
                log_bytes += context.vfs.len(&path)?;
            }
            if number == current {
                written = Some(path);
            }
        }
        let long_log = log_bytes > KEPT_IN_LOG_BYTES;
        let mut flushed = Ok(());
        for table in tables {
            let unflushed = table.unflushed().0;
            if table.has_unlogged() || unflushed > KEPT_IN_LOG_BYTES || (long_log && unflushed > 0)
            {
                // The others too if one fails: data that is in no log would be lost.
                flushed = flushed.and(table.flush_to_close_bounded());
            }
        }
        flushed?;
        if long_log {
            // The current segment may be deleted only when another follows it, since the number of
            // a segment with records is never reused. All of a segment that is followed by another
            // must be on the disk, also its end record.
            if let Some(path) = written {
                context.vfs.open_random(&path)?.sync_data()?;
            }
            let (vfs, dir) = (&context.vfs, self.wal_dir());
            WalWriter::create(vfs, &dir, current + 1, context.log.origin, end)?;
            context.log.segment.store(current + 1, Ordering::SeqCst);
            context.log.end.store(0, Ordering::SeqCst);
            context.log.sum.store(0, Ordering::SeqCst);
        }
        background::delete_old_segments(context)
    }

    /// Records for the next opening that the store was closed cleanly.
    fn note_closed(&self) {
        let context = &self.context;
        if context.catalog.is_uncertain() {
            return;
        }
        // If the lock was lost, another process may have the store open and will record how it
        // closed it.
        let held = self.lock.check();
        let log = held.and_then(|()| background::closed_log(context, &self.wal_dir()));
        let noted = log.and_then(|closed| match closed == self.closed {
            true => Ok(()),
            false => closed.write(&*context.vfs, &context.dir),
        });
        // The writes are safe without it, and the disk may be full: the next opening treats it as a
        // crash.
        if let Err(error) = noted {
            tracing::warn!(%error, "the clean shutdown could not be recorded");
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if self.context.health.check_process().is_err() {
            // Resources freed with the last handle, such as files on the disk, belong to the parent
            // process.
            let _ = std::mem::ManuallyDrop::new((self.context.clone(), self.tables.clone()));
            return;
        }
        if let Err(error) = self.close() {
            // A thread was left behind or data was not written: `close` would have returned the
            // error.
            if error.kind() != ErrorKind::Closed {
                tracing::error!(%error, "closing the store failed");
            }
        }
    }
}
