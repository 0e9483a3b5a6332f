//! Writing: a batch becomes a sorted run, goes through the log, and is published.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::source::{Rejection, WriteOutcome};
use ostrakon_cell::{ConstraintEnvironment, Durability, MutationBatch, PendingWrite};

use super::core::TableCore;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::memtable::{Chunk, Run};
use crate::properties::TableConfig;
use crate::wal::{Commit, Ticket};

/// Bytes of batches that wait for the log before writers are held up.
const QUEUE_BYTES: usize = 32 << 20;

/// A batch on its way through the log.
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
    pub(crate) ticket: Ticket,
}

impl Commit for LoggedCommit {
    fn bytes(&self) -> usize {
        self.run.memory()
    }
}

/// A submitted batch.
struct Pending {
    ticket: Ticket,
    rejections: Vec<Rejection>,
}

impl PendingWrite for Pending {
    fn wait(self: Box<Self>) -> StoreResult<WriteOutcome> {
        self.ticket.wait()?;
        Ok(WriteOutcome {
            rejections: self.rejections,
        })
    }

    fn wait_at_most(self: Box<Self>, timeout: Duration) -> StoreResult<WriteOutcome> {
        self.ticket.wait_at_most(timeout)?;
        Ok(WriteOutcome {
            rejections: self.rejections,
        })
    }

    fn is_done(&self) -> bool {
        self.ticket.is_settled()
    }
}

impl TableCore {
    /// Hands a batch to the log.
    pub(super) fn submit_batch(
        self: &Arc<Self>,
        batch: MutationBatch,
        durability: Option<Durability>,
    ) -> StoreResult<Box<dyn PendingWrite>> {
        self.check_online()?;
        self.context.health.check_writable()?;
        let config = self.config();
        let (batch, rejections) = self.screen(&config, batch);
        let ticket = Ticket::default();
        let pending = Box::new(Pending {
            ticket: ticket.clone(),
            rejections,
        });
        if batch.is_empty() {
            ticket.settle(Ok(()));
            return Ok(pending);
        }
        self.admit()?;
        let timestamp = self.time.next(&*self.context.clock);
        let prefix = self.row_prefix(&batch);
        let chunk = Arc::new(Chunk::new(batch, timestamp, self.context.buffers.clone()));
        // Sorting here spreads it over the writers; the log thread only hands runs on.
        let run = Arc::new(Run::of_chunk(chunk.clone(), prefix));
        self.context.pressure.take(run.memory() as u64);
        let commit = LoggedCommit {
            table: self.clone(),
            chunk,
            run,
            durability: durability.unwrap_or(config.durability),
            ticket,
        };
        if let Err(commit) = self.context.commits.submit(commit, QUEUE_BYTES) {
            self.context.pressure.give(commit.run.memory() as u64);
            return Err(Error::new(ErrorKind::Closed, "the store is closed"));
        }
        Ok(pending)
    }

    /// Leaves out what the table's constraints refuse. Before the log: what is in it is accepted.
    fn screen(
        &self,
        config: &TableConfig,
        batch: MutationBatch,
    ) -> (MutationBatch, Vec<Rejection>) {
        if config.constraints.is_empty() {
            return (batch, Vec::new());
        }
        let environment = ConstraintEnvironment {
            table: self.status.read().name.clone(),
            ..ConstraintEnvironment::default()
        };
        let screened = config.constraints.screen(&environment, batch);
        let refused = screened.1.iter().map(|one| one.mutations).sum();
        self.context.metrics.constraint_violations.add(refused);
        screened
    }

    /// Waits for room in memory: first a delay that grows as room shrinks, then until a flush has
    /// made some.
    fn admit(self: &Arc<Self>) -> StoreResult<()> {
        let context = &self.context;
        let delayed = context.pressure.delay(&*context.clock).as_nanos() as u64;
        if delayed > 0 {
            context.metrics.write_stalls.increment();
            context.metrics.write_stall_nanos.add(delayed);
        }
        while context.pressure.is_full() {
            let begun = context.clock.monotonic_nanos();
            context.health.check_writable()?;
            if context.options.background {
                if let Some(error) = context.health.background_error() {
                    return Err(error);
                }
                context.wakeups.flush.wake();
                context.pressure.wait();
                let now = context.clock.monotonic_nanos();
                context.metrics.write_stall_nanos.add(now - begun);
            } else {
                // Nobody else will: make room here.
                self.flush_memtables()?;
                if context.pressure.is_full() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
