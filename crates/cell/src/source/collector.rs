//! Collects mutations, submits them as batches and waits for their acknowledgement.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashSet;

use super::{BatchWriterConfig, PendingWrite, Rejection, Table};
use crate::{
    ColumnUpdate, Error, ErrorKind, Escaped, Mutation, MutationBatch, Result, VisibilityExpression,
};

/// Labels known to be well-formed; bounded, since every entry may carry its own.
const KNOWN_LABELS: usize = 4096;

/// The state of a [`BatchWriter`](super::BatchWriter).
pub(super) struct Collector {
    table: Arc<dyn Table>,
    config: BatchWriterConfig,
    batch: MutationBatch,
    /// Ticks since the batch was begun.
    age: u32,
    pending: VecDeque<(usize, Box<dyn PendingWrite>)>,
    pending_bytes: usize,
    last_label: Vec<u8>,
    known_labels: HashSet<Vec<u8>>,
    /// Nothing may be added: a batch failed, or the source panicked while it took one.
    broken: bool,
    /// The failure, unless it was a panic.
    failed: Option<Error>,
    /// Rejections by constraints that are not reported yet.
    unreported: Vec<Rejection>,
    /// All rejections by constraints.
    refused: Vec<Rejection>,
}

impl Collector {
    pub(super) fn new(table: Arc<dyn Table>, mut config: BatchWriterConfig) -> Self {
        config.batch_bytes = config.batch_bytes.min(config.max_memory / 2);
        Self {
            table,
            config,
            batch: MutationBatch::new(),
            age: 0,
            pending: VecDeque::new(),
            pending_bytes: 0,
            last_label: Vec::new(),
            known_labels: HashSet::new(),
            broken: false,
            failed: None,
            unreported: Vec::new(),
            refused: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, mutation: &Mutation) -> Result<()> {
        self.check_failed()?;
        for update in mutation.updates() {
            self.check_label(update.visibility)?;
        }
        self.before_add(mutation.byte_len())?;
        self.batch.push(mutation)?;
        self.after_add()
    }

    #[inline]
    pub(super) fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Result<()> {
        self.check_failed()?;
        self.check_label(update.visibility)?;
        self.before_add(row.len() + update.value.map_or(0, <[u8]>::len))?;
        self.batch.put(row, update)?;
        self.after_add()
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.submit()?;
        while let Some((bytes, pending)) = self.pending.pop_front() {
            self.settle(bytes, pending)?;
        }
        self.tell()
    }

    /// Takes the failure, so that the writer continues.
    pub(super) fn take_failure(&mut self) -> Option<Error> {
        let failure = self.check_failed().err();
        self.broken = false;
        self.failed = None;
        failure
    }

    /// Submits the batch once it has seen `most` ticks. A failure is reported at the writer's next
    /// call.
    pub(super) fn tick(&mut self, most: u32) {
        if self.batch.is_empty() {
            return;
        }
        self.age += 1;
        if self.age >= most {
            // The error is kept in `failed`.
            let _ = self.submit();
        }
    }

    pub(super) fn rejections(&self) -> &[Rejection] {
        &self.refused
    }

    pub(super) fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "BatchWriter to {}, {} bytes under way",
            self.table.name(),
            self.pending_bytes
        )
    }

    /// A mutation as large as a batch gets a batch of its own, so that no other is lost if the
    /// table refuses it.
    #[inline]
    fn before_add(&mut self, bytes: usize) -> Result<()> {
        if bytes >= self.config.batch_bytes {
            self.submit()
        } else {
            Ok(())
        }
    }

    #[inline]
    fn after_add(&mut self) -> Result<()> {
        if self.batch.byte_len() >= self.config.batch_bytes {
            self.submit_full()
        } else {
            Ok(())
        }
    }

    /// Submits a full batch. If it has one mutation, which the table refuses as invalid, nothing of
    /// it is written, no other mutation is affected, and the writer continues.
    fn submit_full(&mut self) -> Result<()> {
        let is_alone = self.batch.mutations() == 1;
        if let Err(error) = self.hand_over() {
            if is_alone && error.kind() == ErrorKind::InvalidArgument {
                self.broken = false;
                self.failed = None;
            }
            return Err(error);
        }
        self.settle_some()?;
        self.tell()
    }

    fn submit(&mut self) -> Result<()> {
        self.hand_over()?;
        self.settle_some()
    }

    /// Submits the batch.
    fn hand_over(&mut self) -> Result<()> {
        self.check_failed()?;
        self.age = 0;
        if self.batch.is_empty() {
            return Ok(());
        }
        let bytes = self.batch.byte_len();
        let buffer = self
            .table
            .batch_buffer(self.config.batch_bytes + self.config.batch_bytes / 8);
        let mut batch = std::mem::replace(&mut self.batch, MutationBatch::with_buffer(buffer));
        batch.labels_are_checked();
        // Stays `true` if the source panics: the batch is lost, and the writer must report it.
        self.broken = true;
        let pending = self
            .table
            .submit(batch, self.config.durability)
            .inspect_err(|error| self.failed = Some(error.duplicate()))?;
        self.broken = false;
        self.pending.push_back((bytes, pending));
        self.pending_bytes += bytes;
        Ok(())
    }

    /// Takes the outcomes of finished batches, and waits for others while too many bytes are under
    /// way.
    fn settle_some(&mut self) -> Result<()> {
        while self.pending_bytes + self.config.batch_bytes > self.config.max_memory
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
        self.broken = true;
        let outcome = match self.config.timeout {
            None => pending.wait(),
            Some(timeout) => pending.wait_at_most(timeout),
        };
        let outcome = outcome.inspect_err(|error| self.failed = Some(error.duplicate()))?;
        if let Some(extent) = outcome.failed.first() {
            let failed = Error::new(extent.kind, extent.message.clone())
                .with("tablets", outcome.failed.len());
            self.failed = Some(failed.duplicate());
            return Err(failed);
        }
        self.broken = false;
        for rejection in outcome.rejections {
            sum_up(&mut self.refused, &rejection);
            sum_up(&mut self.unreported, &rejection);
        }
        Ok(())
    }

    #[inline]
    fn check_failed(&self) -> Result<()> {
        if self.broken {
            Err(self.failure())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn failure(&self) -> Error {
        let panicked = || {
            Error::new(
                ErrorKind::Internal,
                "the table panicked while it took a batch of this writer; its mutations may be lost",
            )
        };
        self.failed.as_ref().map_or_else(panicked, Error::duplicate)
    }

    /// Reports rejections by constraints once.
    #[inline]
    fn tell(&mut self) -> Result<()> {
        if self.unreported.is_empty() {
            return Ok(());
        }
        Err(rejected(&std::mem::take(&mut self.unreported)))
    }

    /// Rejects malformed labels here, because an entry with one would be invisible to every reader.
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
                Error::invalid(
                    "the visibility is not a valid expression; this mutation was not added",
                )
                .with("visibility", Escaped(label))
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

fn sum_up(sum: &mut Vec<Rejection>, more: &Rejection) {
    let same = |one: &&mut Rejection| one.constraint == more.constraint && one.code == more.code;
    match sum.iter_mut().find(same) {
        Some(one) => one.mutations += more.mutations,
        None => sum.push(more.clone()),
    }
}

fn rejected(rejections: &[Rejection]) -> Error {
    let said: Vec<String> = rejections
        .iter()
        .map(|one| {
            let mutations = match one.mutations {
                1 => "mutation",
                _ => "mutations",
            };
            format!(
                "{} code {}: {} ({} {mutations})",
                one.constraint, one.code, one.description, one.mutations
            )
        })
        .collect();
    Error::new(
        ErrorKind::ConstraintViolation,
        "constraints refused some mutations; the others were applied",
    )
    .with("rejected", said.join("; "))
}
