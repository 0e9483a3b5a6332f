//! A batch that is being committed.

use std::sync::Arc;

use ostrakon_cell::Durability;

use super::ticket::Ticket;
use crate::catalog::TableId;
use crate::error::StoreResult;
use crate::memtable::{Chunk, Run};
use crate::runtime::Pressure;

/// The table a batch goes to.
pub(crate) trait CommitTarget: Send {
    /// The table's id in the log.
    fn id(&self) -> TableId;

    /// Makes a batch visible. `segment` is the log segment that holds it, if any.
    ///
    /// # Errors
    /// The table was deleted meanwhile.
    fn publish(&self, run: Arc<Run>, sequence: u64, segment: Option<u64>) -> StoreResult<()>;
}

/// A batch that was checked, stamped and sorted.
///
/// However it ends, its writer is notified and its memory is returned, unless a memtable has taken
/// the memory over. A commit that is dropped was not published.
pub(crate) struct LoggedCommit {
    target: Box<dyn CommitTarget>,
    chunk: Arc<Chunk>,
    run: Arc<Run>,
    durability: Durability,
    ticket: Ticket,
    pressure: Arc<Pressure>,
    /// Whether its memory was returned, or belongs to a memtable now.
    given_back: bool,
}

impl LoggedCommit {
    /// A commit of `chunk`, sorted as `run`. Takes its memory from `pressure`.
    pub(crate) fn new(
        target: Box<dyn CommitTarget>,
        chunk: Arc<Chunk>,
        run: Arc<Run>,
        durability: Durability,
        pressure: Arc<Pressure>,
    ) -> Self {
        pressure.take(run.memory() as u64);
        Self {
            target,
            chunk,
            run,
            durability,
            ticket: Ticket::default(),
            pressure,
            given_back: false,
        }
    }

    /// The table's id.
    pub(super) fn table(&self) -> TableId {
        self.target.id()
    }

    /// The batch.
    pub(super) fn chunk(&self) -> &Arc<Chunk> {
        &self.chunk
    }

    /// The durability at which the writer is notified.
    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    /// The ticket that the writer waits for.
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket.clone()
    }

    /// Bytes it keeps in memory.
    pub(super) fn bytes(&self) -> usize {
        self.run.memory()
    }

    /// Makes the batch visible. `segment` is the log segment that is being written.
    ///
    /// # Errors
    /// The table was deleted meanwhile.
    pub(super) fn publish(&mut self, sequence: u64, segment: u64) -> StoreResult<()> {
        let logged = self.durability > Durability::None;
        let segment = logged.then_some(segment);
        self.target.publish(self.run.clone(), sequence, segment)?;
        self.given_back = true;
        Ok(())
    }

    /// Notifies the writer, once all traces of a batch that was not published are removed.
    pub(super) fn settle(mut self, outcome: StoreResult<()>) {
        self.give_back();
        self.ticket.settle(outcome);
    }

    fn give_back(&mut self) {
        if !std::mem::replace(&mut self.given_back, true) {
            self.pressure.give(self.run.memory() as u64);
        }
    }
}

impl Drop for LoggedCommit {
    fn drop(&mut self) {
        self.give_back();
        self.ticket.abandon();
    }
}
