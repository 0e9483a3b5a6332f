//! The batch writer: collects mutations and keeps several batches under way.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashSet;

use super::{PendingWrite, Rejection, Table};
use crate::{
    ColumnUpdate, Durability, Error, ErrorKind, Mutation, MutationBatch, Result,
    VisibilityExpression,
};

/// Settings of a [`BatchWriter`].
#[derive(Debug, Clone)]
pub struct BatchWriterConfig {
    /// Bytes collected before a batch is submitted. Default 1 MiB: large enough that one sync
    /// serves ten thousand entries; smaller ones are seen sooner.
    pub batch_bytes: usize,
    /// Bytes submitted and not yet acknowledged after which the writer waits. Default 50 MiB, as
    /// Accumulo's.
    pub max_memory: usize,
    /// Durability of these writes; `None` takes the table's.
    pub durability: Option<Durability>,
}

impl Default for BatchWriterConfig {
    fn default() -> Self {
        Self {
            batch_bytes: 1 << 20,
            max_memory: 50 << 20,
            durability: None,
        }
    }
}

/// Labels known to be well-formed; bounded, since every entry may carry its own.
const KNOWN_LABELS: usize = 4096;

/// Writes mutations to one table: collects them in encoded batches, submits full ones without
/// waiting, and reports failures at the next call.
///
/// A writer belongs to one thread; make one for each. What is collected is submitted when the batch
/// is full and on [`flush`](Self::flush) and [`close`](Self::close); dropping a writer submits
/// nothing more.
pub struct BatchWriter {
    table: Arc<dyn Table>,
    config: BatchWriterConfig,
    batch: MutationBatch,
    pending: VecDeque<(usize, Box<dyn PendingWrite>)>,
    pending_bytes: usize,
    last_label: Vec<u8>,
    known_labels: HashSet<Vec<u8>>,
    failed: Option<Error>,
}

impl BatchWriter {
    /// A writer to `table`.
    #[must_use]
    pub fn new(table: Arc<dyn Table>, config: BatchWriterConfig) -> Self {
        Self {
            table,
            config,
            batch: MutationBatch::new(),
            pending: VecDeque::new(),
            pending_bytes: 0,
            last_label: Vec::new(),
            known_labels: HashSet::new(),
            failed: None,
        }
    }

    /// Adds a mutation.
    ///
    /// # Errors
    /// A malformed label or an oversized key (nothing is added), or the failure of an earlier
    /// batch, which every later call repeats.
    pub fn add(&mut self, mutation: &Mutation) -> Result<()> {
        for update in mutation.updates() {
            self.check_label(update.visibility)?;
        }
        self.batch.push(mutation)?;
        self.after_add()
    }

    /// Adds a mutation of a single update, without a [`Mutation`].
    ///
    /// # Errors
    /// As [`add`](Self::add).
    #[inline]
    pub fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Result<()> {
        self.check_label(update.visibility)?;
        self.batch.put(row, update)?;
        self.after_add()
    }

    /// Submits what is collected and waits until everything is acknowledged.
    ///
    /// # Errors
    /// The first failure of any batch since the last flush; see [`add`](Self::add).
    pub fn flush(&mut self) -> Result<()> {
        self.submit()?;
        while let Some((bytes, pending)) = self.pending.pop_front() {
            self.settle(bytes, pending)?;
        }
        self.check_failed()
    }

    /// [`flush`](Self::flush), and gives the writer up.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<()> {
        self.flush()
    }

    #[inline]
    fn after_add(&mut self) -> Result<()> {
        if self.batch.byte_len() >= self.config.batch_bytes {
            self.submit()
        } else {
            Ok(())
        }
    }

    fn submit(&mut self) -> Result<()> {
        self.check_failed()?;
        if self.batch.is_empty() {
            return Ok(());
        }
        let bytes = self.batch.byte_len();
        let buffer = self
            .table
            .batch_buffer(self.config.batch_bytes + self.config.batch_bytes / 8);
        let batch = std::mem::replace(&mut self.batch, MutationBatch::with_buffer(buffer));
        let pending = self
            .table
            .submit(batch, self.config.durability)
            .inspect_err(|error| self.failed = Some(error.duplicate()))?;
        self.pending.push_back((bytes, pending));
        self.pending_bytes += bytes;
        while self.pending_bytes > self.config.max_memory
            || self
                .pending
                .front()
                .is_some_and(|(_, pending)| pending.is_done())
        {
            let Some((bytes, pending)) = self.pending.pop_front() else {
                break;
            };
            self.settle(bytes, pending)?;
        }
        Ok(())
    }

    fn settle(&mut self, bytes: usize, pending: Box<dyn PendingWrite>) -> Result<()> {
        self.pending_bytes -= bytes;
        let outcome = pending
            .wait()
            .and_then(|outcome| match outcome.rejections.as_slice() {
                [] => Ok(()),
                rejections => Err(rejected(rejections)),
            });
        outcome.inspect_err(|error| {
            if error.kind() != ErrorKind::ConstraintViolation {
                self.failed = Some(error.duplicate());
            }
        })
    }

    fn check_failed(&self) -> Result<()> {
        self.failed
            .as_ref()
            .map_or(Ok(()), |error| Err(error.duplicate()))
    }

    /// A malformed label would hide its entry from everybody for ever: refuse it here.
    #[inline]
    fn check_label(&mut self, label: &[u8]) -> Result<()> {
        if label.is_empty() || label == self.last_label {
            Ok(())
        } else {
            self.learn_label(label)
        }
    }

    #[cold]
    fn learn_label(&mut self, label: &[u8]) -> Result<()> {
        if !self.known_labels.contains(label) {
            VisibilityExpression::parse(label).map_err(|error| {
                Error::invalid("the visibility is no expression; nothing was written")
                    .with_source(error)
            })?;
            if self.known_labels.len() >= KNOWN_LABELS {
                self.known_labels.clear();
            }
            self.known_labels.insert(label.to_vec());
        }
        self.last_label.clear();
        self.last_label.extend_from_slice(label);
        Ok(())
    }
}

impl std::fmt::Debug for BatchWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "BatchWriter to {}, {} bytes under way",
            self.table.name(),
            self.pending_bytes
        )
    }
}

fn rejected(rejections: &[Rejection]) -> Error {
    let said: Vec<String> = rejections
        .iter()
        .map(|one| {
            format!(
                "{}: {} ({} mutations)",
                one.constraint, one.description, one.mutations
            )
        })
        .collect();
    Error::new(
        ErrorKind::ConstraintViolation,
        "constraints refused some mutations; the others were applied",
    )
    .with("rejected", said.join("; "))
}
