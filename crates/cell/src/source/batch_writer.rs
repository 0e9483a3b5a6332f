//! The batch writer, through which a program writes.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::collector::Collector;
use super::{Rejection, Table, Tick};
use crate::{ColumnUpdate, Durability, Mutation, Result};

/// Settings of a [`BatchWriter`].
#[derive(Debug, Clone)]
pub struct BatchWriterConfig {
    /// Bytes collected before a batch is submitted, at most half of `max_memory`. Default 1 MiB:
    /// large enough that one sync serves ten thousand entries. Smaller batches become visible
    /// sooner.
    pub batch_bytes: usize,
    /// Limit of the bytes that are collected, or submitted and not yet acknowledged; at the limit
    /// the writer waits. Default 50 MiB, as in Accumulo.
    pub max_memory: usize,
    /// The longest that a mutation stays collected before it is submitted, even if the program
    /// makes no further call; `None` for no limit: a batch is then submitted when it is full.
    /// Default 120 seconds, as in Accumulo. Costs one lock per entry. Sources without a timer
    /// ([`Table::tick_every`]) submit full batches only.
    pub max_latency: Option<Duration>,
    /// The longest that a submitted batch may wait to be acknowledged; `None`, the default as in
    /// Accumulo, waits without limit. After the timeout the writer fails, and it is unknown which
    /// mutations were applied.
    pub timeout: Option<Duration>,
    /// Durability of these writes; `None` takes the durability of the table.
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

/// Writes mutations to one table: collects them in encoded batches, submits full batches without
/// waiting, and reports failures at the next call.
///
/// A batch that fails breaks the writer, also if the timer submitted it or the source panicked.
/// From then on [`add`](Self::add), [`put`](Self::put), [`flush`](Self::flush) and
/// [`close`](Self::close) add nothing and return its error, until
/// [`take_failure`](Self::take_failure) takes it. Mutations of submitted batches may be lost.
///
/// A writer belongs to one thread; create one per thread. Collected mutations are submitted when
/// the batch is full, after [`max_latency`](BatchWriterConfig::max_latency), and on
/// [`flush`](Self::flush) and [`close`](Self::close). Dropping a writer submits nothing more.
pub struct BatchWriter(State);

enum State {
    /// Only the owning thread uses it.
    Alone(Box<Collector>),
    /// The source's timer may submit its batch.
    Timed(Arc<Timed>),
}

/// A collector that a timer may submit.
struct Timed(Mutex<Collector>);

/// Ticks per longest latency. A batch is submitted once it has seen this many ticks. The first of
/// them comes at most one tick period after the batch was begun, so that no batch grows older than
/// the longest latency.
const TICKS: u32 = 4;

impl Tick for Timed {
    fn tick(&self) {
        // If the lock is held, the writer is at work and submits the batch itself.
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
    /// A malformed label, an oversized key, or a mutation that is larger than the source takes at a
    /// time (nothing is added, and the writer continues); the failure of an earlier batch, which
    /// every later call repeats (nothing is added); or
    /// [`ConstraintViolation`](crate::ErrorKind::ConstraintViolation) for mutations of earlier
    /// batches. The last is reported once: this mutation is added, and the writer continues.
    pub fn add(&mut self, mutation: &Mutation) -> Result<()> {
        self.with(|collector| collector.add(mutation))
    }

    /// Adds a mutation of a single update, without building a [`Mutation`].
    ///
    /// # Errors
    /// As [`add`](Self::add).
    #[inline]
    pub fn put(&mut self, row: &[u8], update: ColumnUpdate<'_>) -> Result<()> {
        self.with(|collector| collector.put(row, update))
    }

    /// Submits the collected mutations and waits until everything is acknowledged.
    ///
    /// # Errors
    /// The first failure of any batch since the last flush, or the mutations that constraints
    /// rejected since then; see [`add`](Self::add).
    pub fn flush(&mut self) -> Result<()> {
        self.with(Collector::flush)
    }

    /// Takes the failure that broke the writer, if there is one. The writer continues with what it
    /// has collected since the failed batch; the mutations of that batch are not written again.
    pub fn take_failure(&mut self) -> Option<crate::Error> {
        self.with(Collector::take_failure)
    }

    /// Calls [`flush`](Self::flush) and consumes the writer.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn close(mut self) -> Result<()> {
        self.flush()
    }

    /// All rejections by constraints so far, summed up per constraint and code.
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
    // A source that panicked has reported it; the collected mutations are still complete.
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
