//! Writes: a batch becomes a sorted run, goes through the log, and is published.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::time::Duration;

use ostrakon_cell::constraint::Screened;
use ostrakon_cell::source::WriteOutcome;
use ostrakon_cell::{ConstraintEnvironment, Durability, MutationBatch, PendingWrite};

use super::caller::{Caller, Deadline};
use super::core::TableCore;
use crate::catalog::TableId;
use crate::commit::{CommitTarget, LoggedCommit, Ticket};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::{Chunk, Run};
use crate::properties::TableConfig;

/// Bytes of batches in the commit queue at which writers wait.
const QUEUE_BYTES: usize = 32 << 20;

/// A batch that its table counts as submitted, until it is published or rejected.
pub(super) struct Submitted(Arc<TableCore>);

impl Submitted {
    pub(super) fn new(table: &Arc<TableCore>) -> Self {
        table.submitted.fetch_add(1, Ordering::SeqCst);
        Self(table.clone())
    }
}

impl CommitTarget for Submitted {
    fn id(&self) -> TableId {
        self.0.id()
    }

    fn publish(&self, run: Arc<Run>, sequence: u64, segment: Option<u64>) -> StoreResult<()> {
        self.0.publish(run, sequence, segment)
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        self.0.submitted.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A submitted batch.
struct Pending {
    ticket: Ticket,
    outcome: WriteOutcome,
    deadline: Option<Deadline>,
}

impl PendingWrite for Pending {
    fn wait(self: Box<Self>) -> StoreResult<WriteOutcome> {
        match &self.deadline {
            None => self.ticket.wait()?,
            Some(deadline) => self.ticket.wait_at_most(deadline.left())?,
        }
        Ok(self.outcome)
    }

    fn wait_at_most(self: Box<Self>, timeout: Duration) -> StoreResult<WriteOutcome> {
        let left = self.deadline.as_ref().map(Deadline::left);
        let timeout = left.map_or(timeout, |left| left.min(timeout));
        self.ticket.wait_at_most(timeout)?;
        Ok(self.outcome)
    }

    fn is_done(&self) -> bool {
        self.ticket.is_settled()
    }

    fn wake_when_done(&self, waker: &Waker) {
        self.ticket.wake_when_settled(waker);
    }
}

impl TableCore {
    /// Checks a batch and queues it for the log.
    pub(super) fn submit_batch(
        self: &Arc<Self>,
        batch: MutationBatch,
        durability: Option<Durability>,
        caller: &Caller,
    ) -> StoreResult<Box<dyn PendingWrite>> {
        let submitted = Submitted::new(self);
        caller.check()?;
        self.writable()?;
        self.check_labels(&batch)?;
        let config = self.config();
        let screened = self.screen(&config, batch, caller)?;
        let durability = durability.unwrap_or(config.durability);
        let ticket = self.commit_batch(submitted, screened.kept, durability, caller)?;
        Ok(Box::new(Pending {
            ticket,
            outcome: WriteOutcome {
                rejections: screened.rejections,
                refused: screened.refused,
                failed: Vec::new(),
            },
            deadline: caller.deadline().cloned(),
        }))
    }

    /// Stamps and sorts a batch that was checked, and queues it for the log. The table counts it as
    /// submitted from before the check that the table is on-line.
    pub(super) fn commit_batch(
        self: &Arc<Self>,
        submitted: Submitted,
        mut batch: MutationBatch,
        durability: Durability,
        caller: &Caller,
    ) -> StoreResult<Ticket> {
        if batch.is_empty() {
            let ticket = Ticket::default();
            ticket.settle(Ok(()));
            return Ok(ticket);
        }
        self.check_size(&batch)?;
        self.admit(caller)?;
        let timestamp = self.time.stamp(&*self.context.clock, &mut batch);
        let prefix = self.row_prefix(&batch);
        let chunk = Arc::new(Chunk::new(batch, timestamp, self.context.buffers.clone()));
        // Sorting here spreads the work over the writers; the log thread only publishes the runs.
        let run = Arc::new(Run::of_chunk(chunk.clone(), prefix));
        let pressure = self.context.pressure.clone();
        let commit = LoggedCommit::new(Box::new(submitted), chunk, run, durability, pressure);
        let ticket = commit.ticket();
        match self.context.commits.submit(commit, QUEUE_BYTES) {
            Ok(()) => Ok(ticket),
            Err(commit) => {
                drop(commit);
                // The log thread may have failed while this waited for memory.
                self.context.health.check_writable()?;
                Err(Error::new(ErrorKind::Closed, "the store is closed"))
            }
        }
    }

    /// Removes the mutations that the table's constraints reject. Before the log, since everything
    /// in the log is accepted.
    ///
    /// # Errors
    /// A constraint panicked; nothing of the batch may be written.
    pub(super) fn screen(
        &self,
        config: &TableConfig,
        batch: MutationBatch,
        caller: &Caller,
    ) -> StoreResult<Screened> {
        if config.constraints.is_empty() {
            return Ok(Screened {
                kept: batch,
                ..Screened::default()
            });
        }
        let environment = ConstraintEnvironment {
            table: self.status.read().name.clone(),
            user: caller.user.clone(),
            authorizations: caller.authorizations.clone(),
        };
        // Constraints are external code. They change no state here, so that a panic leaves nothing
        // inconsistent.
        let screen = AssertUnwindSafe(|| config.constraints.screen(&environment, batch));
        let screened = catch_unwind(screen).map_err(|_| {
            Error::new(
                ErrorKind::Internal,
                "a constraint of the table panicked and nothing of the batch was written; what is \
                 printed above says where. Take the constraint off the table or correct it",
            )
            .with("table", &environment.table)
        })?;
        let violations = screened.rejections.iter().map(|one| one.mutations).sum();
        self.context.metrics.constraint_violations.add(violations);
        Ok(screened)
    }

    /// Rejects a batch that does not fit into the memory for writes.
    fn check_size(&self, batch: &MutationBatch) -> StoreResult<()> {
        let most = self.context.options.batch_bytes();
        if batch.byte_len() as u64 <= most {
            return Ok(());
        }
        let text = format!(
            "the batch has {} bytes and the memory budget of the store takes {most} at a time: write less \
             at once, cut the value into parts, or open the store with a larger budget",
            batch.byte_len()
        );
        let table = self.status().name;
        Err(Error::invalid(text).with("table", &table))
    }

    /// Waits for memory: first a delay that grows as free memory shrinks, then until a flush has
    /// freed some.
    fn admit(self: &Arc<Self>, caller: &Caller) -> StoreResult<()> {
        let context = &self.context;
        self.check_share()?;
        let delayed = context.pressure.delay(&*context.clock).as_nanos() as u64;
        if delayed > 0 {
            context.metrics.write_stalls.increment();
            context.metrics.write_stall_nanos.add(delayed);
        }
        while context.pressure.is_full() {
            let begun = context.clock.monotonic_nanos();
            context.health.check_writable()?;
            caller.check()?;
            // Do not wait for a table that went off-line meanwhile.
            self.check_online()?;
            self.check_share()?;
            if context.options.background {
                context.wakeups.flush.wake();
                context.pressure.wait();
                let now = context.clock.monotonic_nanos();
                context.metrics.write_stall_nanos.add(now - begun);
            } else {
                // There is no background thread: free memory here.
                self.flush_for_room()?;
                if context.pressure.is_full() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use ostrakon_cell::{
        Authorizations, ColumnUpdate, MutationBatch, Scanner, Source, TableOptions,
    };

    use super::*;
    use crate::Store;
    use crate::memtable::RowPrefix;

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

    /// Before the store validated labels on submission, a table could get malformed ones.
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
