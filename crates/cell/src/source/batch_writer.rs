//! The batch writer: what a program holds to write.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::collector::Collector;
use super::{Rejection, Table, Tick};
use crate::{ColumnUpdate, Durability, Mutation, Result};

/// Settings of a [`BatchWriter`].
#[derive(Debug, Clone)]
pub struct BatchWriterConfig {
    /// Bytes collected before a batch is submitted, at most half of `max_memory`. Default 1 MiB:
    /// large enough that one sync serves ten thousand entries; smaller ones are seen sooner.
    pub batch_bytes: usize,
    /// Bytes collected, or submitted and not yet acknowledged, after which the writer waits.
    /// Default 50 MiB, as Accumulo's.
    pub max_memory: usize,
    /// The longest that a mutation stays collected before it is submitted, also while the program
    /// does something else; `None` for as long as the batch is not full. Default 120 seconds, as
    /// Accumulo's. Costs a lock an entry. Sources without a timer
    /// ([`Table::tick_every`]) submit full batches only.
    pub max_latency: Option<Duration>,
    /// The longest that a submitted batch may wait to be acknowledged; `None`, the default as
    /// in Accumulo, waits for ever. After it the writer fails, and nobody knows what was applied.
    pub timeout: Option<Duration>,
    /// Durability of these writes; `None` takes the table's.
    pub durability: Option<Durability>,
}

impl Default for BatchWriterConfig {
    fn default() -> Self {
        Self {
            batch_bytes: 1 << 20,
            max_memory: 50 << 20,
            max_latency: Some(Duration::from_secs(120)),
            timeout: None,
            durability: None,
        }
    }
}

/// Writes mutations to one table: collects them in encoded batches, submits full ones without
/// waiting, and reports failures at the next call.
///
/// A batch that fails, also one that the timer submitted or that made the source panic, breaks the
/// writer: from then on [`add`](Self::add), [`put`](Self::put), [`flush`](Self::flush) and
/// [`close`](Self::close) add nothing and return its error, until
/// [`take_failure`](Self::take_failure) takes it. Mutations of the batches under way may be lost.
///
/// A writer belongs to one thread; make one for each. What is collected is submitted when the batch
/// is full, after [`max_latency`](BatchWriterConfig::max_latency), and on [`flush`](Self::flush) and
/// [`close`](Self::close); dropping a writer submits nothing more.
pub struct BatchWriter(State);

enum State {
    /// Nobody else touches it.
    Alone(Box<Collector>),
    /// The source's timer looks after it.
    Timed(Arc<Timed>),
}

/// A collector that a timer may submit.
struct Timed(Mutex<Collector>);

/// Ticks in the longest latency. A batch that met this many ticks is submitted: the first met it
/// at most one part after it was begun, so that it is never older than the whole.
const TICKS: u32 = 4;

impl Tick for Timed {
    fn tick(&self) {
        // A writer that has the lock is at work and submits by itself.
        if let Ok(mut collector) = self.0.try_lock() {
            collector.tick(TICKS);
        }
    }
}

impl BatchWriter {
    /// A writer to `table`.
    #[must_use]
    pub fn new(table: Arc<dyn Table>, config: BatchWriterConfig) -> Self {
        let latency = config.max_latency;
        let collector = Collector::new(table.clone(), config);
        let Some(latency) = latency else {
            return Self(State::Alone(Box::new(collector)));
        };
        let timed = Arc::new(Timed(Mutex::new(collector)));
        let tick: Weak<dyn Tick> = Arc::downgrade(&(timed.clone() as Arc<dyn Tick>));
        if table.tick_every(latency / TICKS, tick) {
            return Self(State::Timed(timed));
        }
        Self(match Arc::try_unwrap(timed) {
            Ok(timed) => {
                let collector = timed.0.into_inner();
                State::Alone(Box::new(collector.unwrap_or_else(PoisonError::into_inner)))
            }
            Err(timed) => State::Timed(timed),
        })
    }

    /// Adds a mutation.
    ///
    /// # Errors
    /// A malformed label or an oversized key (nothing is added); the failure of an earlier batch,
    /// which every later call repeats (nothing is added); or
    /// [`ConstraintViolation`](crate::ErrorKind::ConstraintViolation) for mutations of earlier
    /// batches, told once: this mutation is added, and the writer goes on.
    pub fn add(&mut self, mutation: &Mutation) -> Result<()> {
        self.with(|collector| collector.add(mutation))
    }

    /// Adds a mutation of a single update, without a [`Mutation`].
    ///
    /// # Errors
    /// As [`add`](Self::add).
    #[inline]
    pub fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Result<()> {
        self.with(|collector| collector.put(row, update))
    }

    /// Submits what is collected and waits until everything is acknowledged.
    ///
    /// # Errors
    /// The first failure of any batch since the last flush, or what constraints refused since;
    /// see [`add`](Self::add).
    pub fn flush(&mut self) -> Result<()> {
        self.with(Collector::flush)
    }

    /// Takes the failure that broke the writer, if one did. The writer goes on with what it has
    /// collected since the batch that failed; what was in that batch is not written again.
    pub fn take_failure(&mut self) -> Option<crate::Error> {
        self.with(Collector::take_failure)
    }

    /// [`flush`](Self::flush), and gives the writer up.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<()> {
        self.flush()
    }

    /// Everything constraints have refused so far, summed up: one for each constraint and code.
    #[must_use]
    pub fn rejections(&self) -> Vec<Rejection> {
        match &self.0 {
            State::Alone(collector) => collector.rejections().to_vec(),
            State::Timed(timed) => lock(timed).rejections().to_vec(),
        }
    }

    #[inline]
    fn with<T>(&mut self, act: impl FnOnce(&mut Collector) -> T) -> T {
        match &mut self.0 {
            State::Alone(collector) => act(collector),
            State::Timed(timed) => act(&mut lock(timed)),
        }
    }
}

#[inline]
fn lock(timed: &Timed) -> std::sync::MutexGuard<'_, Collector> {
    // A source that panicked has reported it; what is collected is still whole.
    timed.0.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for BatchWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            State::Alone(collector) => collector.describe(f),
            State::Timed(timed) => lock(timed).describe(f),
        }
    }
}
