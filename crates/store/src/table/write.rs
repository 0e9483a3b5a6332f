//! Writing: a batch becomes a sorted run, goes through the log, and is published.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ostrakon_cell::constraint::Screened;
use ostrakon_cell::source::WriteOutcome;
use ostrakon_cell::{ConstraintEnvironment, Durability, MutationBatch, PendingWrite};

use super::caller::{Caller, Deadline};
use super::core::TableCore;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::{Chunk, Run};
use crate::properties::TableConfig;
use crate::wal::{Commit, Ticket};

/// Bytes of batches that wait for the log before writers are held up.
const QUEUE_BYTES: usize = 32 << 20;

/// A batch on its way through the log.
///
/// However it ends, its writer is told and the memory it was let in with is given back, unless a
/// memtable has taken both over: a commit that is dropped was not published.
pub(crate) struct LoggedCommit {
    /// The table.
    pub(crate) table: Arc<TableCore>,
    /// The batch.
    pub(crate) chunk: Arc<Chunk>,
    /// The batch, sorted.
    pub(crate) run: Arc<Run>,
    /// How sure it must be before the writer is told.
    pub(crate) durability: Durability,
    /// Where the writer waits.
    ticket: Ticket,
    /// Whether its memory was given back, or is a memtable's now.
    given_back: bool,
    _submitted: Submitted,
}

/// A batch that its table counts as submitted, until it is published or refused.
pub(super) struct Submitted(Arc<TableCore>);

impl Submitted {
    pub(super) fn new(table: &Arc<TableCore>) -> Self {
        table.submitted.fetch_add(1, Ordering::SeqCst);
        Self(table.clone())
    }
}

impl Drop for Submitted {
    fn drop(&mut self) {
        self.0.submitted.fetch_sub(1, Ordering::SeqCst);
    }
}

impl LoggedCommit {
    /// Makes the batch visible. `segment` is the log segment that is being written.
    ///
    /// # Errors
    /// The table was deleted meanwhile.
    pub(crate) fn publish(&mut self, sequence: u64, segment: u64) -> StoreResult<()> {
        let logged = self.durability > Durability::None;
        let segment = logged.then_some(segment);
        self.table.publish(self.run.clone(), sequence, segment)?;
        self.given_back = true;
        Ok(())
    }

    /// Tells the writer, when nothing of the batch is left that should not be.
    pub(crate) fn settle(mut self, outcome: StoreResult<()>) {
        self.give_back();
        self.ticket.settle(outcome);
    }

    fn give_back(&mut self) {
        if !std::mem::replace(&mut self.given_back, true) {
            let memory = self.run.memory() as u64;
            self.table.context.pressure.give(memory);
        }
    }
}

impl Drop for LoggedCommit {
    fn drop(&mut self) {
        self.give_back();
        self.ticket.abandon();
    }
}

impl Commit for LoggedCommit {
    fn bytes(&self) -> usize {
        self.run.memory()
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
}

impl TableCore {
    /// Checks a batch and hands it to the log.
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

    /// Stamps and sorts a batch that was checked, and hands it to the log. It counts as submitted
    /// since before the table was found on-line.
    pub(super) fn commit_batch(
        self: &Arc<Self>,
        submitted: Submitted,
        mut batch: MutationBatch,
        durability: Durability,
        caller: &Caller,
    ) -> StoreResult<Ticket> {
        let ticket = Ticket::default();
        if batch.is_empty() {
            ticket.settle(Ok(()));
            return Ok(ticket);
        }
        self.check_size(&batch)?;
        self.admit(caller)?;
        let timestamp = self.time.stamp(&*self.context.clock, &mut batch);
        let prefix = self.row_prefix(&batch);
        let chunk = Arc::new(Chunk::new(batch, timestamp, self.context.buffers.clone()));
        // Sorting here spreads it over the writers; the log thread only hands runs on.
        let run = Arc::new(Run::of_chunk(chunk.clone(), prefix));
        self.context.pressure.take(run.memory() as u64);
        let commit = LoggedCommit {
            table: self.clone(),
            chunk,
            run,
            durability,
            ticket: ticket.clone(),
            given_back: false,
            _submitted: submitted,
        };
        match self.context.commits.submit(commit, QUEUE_BYTES) {
            Ok(()) => Ok(ticket),
            Err(commit) => {
                drop(commit);
                // The log thread may have failed while this waited for room.
                self.context.health.check_writable()?;
                Err(Error::new(ErrorKind::Closed, "the store is closed"))
            }
        }
    }

    /// Leaves out what the table's constraints refuse. Before the log: what is in it is accepted.
    ///
    /// # Errors
    /// A constraint panicked; none of the batch may go on.
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
        // Constraints are code of others. They change nothing here, so nothing is left half-done.
        let screen = AssertUnwindSafe(|| config.constraints.screen(&environment, batch));
        let screened = catch_unwind(screen).map_err(|_| {
            Error::new(
                ErrorKind::Internal,
                "a constraint of the table panicked and nothing of the batch was written; what is \
                 printed above says where. Take the constraint off the table (`table config`) or \
                 correct it",
            )
            .with("table", &environment.table)
        })?;
        let violations = screened.rejections.iter().map(|one| one.mutations).sum();
        self.context.metrics.constraint_violations.add(violations);
        Ok(screened)
    }

    /// Refuses a batch that memory for writes could not hold beside others.
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

    /// Waits for room in memory: first a delay that grows as room shrinks, then until a flush has
    /// made some.
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
            // A table that went off-line meanwhile is not waited for.
            self.check_online()?;
            self.check_share()?;
            if context.options.background {
                context.wakeups.flush.wake();
                context.pressure.wait();
                let now = context.clock.monotonic_nanos();
                context.metrics.write_stall_nanos.add(now - begun);
            } else {
                // No background thread does it: make room here.
                self.flush_for_room()?;
                if context.pressure.is_full() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
