//! The memory of a session's queries.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use parking_lot::Mutex;

use super::temporary::TemporaryFiles;
use crate::checked::WINDOW;

/// Shares memory among the operators of queries.
///
/// Those that can spill (sorts, aggregations) share what is left equally, as in the engine's
/// `FairSpillPool`. But a quarter is kept for those that cannot, such as joins, which fail in the
/// engine's pool once the others have filled all of it.
///
/// A sort needs as much memory again to merge what it holds, if its key is the whole row. The engine
/// takes that from the same pool, as an operator that cannot spill; and the merge of what was spilled
/// takes as many parts at once as it gets memory for. So both parts of a sort have a limit.
///
/// Aggregations before an exchange pass on what they have when their memory is full, which costs nothing but a larger
/// exchange. They have an eighth, so that those after it, which spill, have the rest.
///
/// While there are windows, an eighth is kept for them: those that keep few rows must not fail because sorts below them
/// have filled the memory.
///
/// Exchanges between threads have an eighth of their own and spill beyond it. They hold a few batches
/// for each reader, unless one of these is much slower than the others: then all rows may wait for it.
/// The engine counts what is shared by parts of one large batch once for each part.
#[derive(Debug)]
pub(super) struct QueryMemory {
    /// Bytes of all operators but exchanges, and of exchanges.
    limit: usize,
    exchanges: usize,
    /// The threads of a query, and the most parts of a sort.
    threads: usize,
    state: Mutex<State>,
    /// Where queries spill. It lives as long as the queries, which may go on when their session is dropped.
    _files: Option<Arc<TemporaryFiles>>,
}

#[derive(Debug, Default)]
struct State {
    /// Operators that can spill.
    spillers: usize,
    windows: usize,
    /// Bytes of those that can spill, of those that cannot, of windows, and of exchanges.
    spillable: usize,
    fixed: usize,
    windowed: usize,
    exchanged: usize,
}

/// How an operator uses memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Spills,
    Sort,
    Merge,
    Partial,
    Fixed,
    Window,
    Exchange,
}

impl Use {
    fn of(consumer: &MemoryConsumer) -> Self {
        // The names have the number of the part after them.
        match consumer.name().split('[').next() {
            // Not its merge of sorted parts, which cannot spill.
            Some("RepartitionExec") if consumer.can_spill() => Self::Exchange,
            Some("ExternalSorter") => Self::Sort,
            Some("ExternalSorterMerge") => Self::Merge,
            Some("PartialHashAggregateStream" | "OrderedPartialAggregateStream") => Self::Partial,
            Some(WINDOW) => Self::Window,
            _ if consumer.can_spill() => Self::Spills,
            _ => Self::Fixed,
        }
    }
}

impl State {
    fn held(&mut self, by: Use) -> &mut usize {
        match by {
            Use::Spills | Use::Sort => &mut self.spillable,
            Use::Fixed | Use::Merge | Use::Partial => &mut self.fixed,
            Use::Window => &mut self.windowed,
            Use::Exchange => &mut self.exchanged,
        }
    }
}

impl QueryMemory {
    pub(super) fn new(limit: usize, threads: usize) -> Self {
        let exchanges = limit / 8;
        Self {
            limit: limit - exchanges,
            exchanges,
            threads,
            state: Mutex::default(),
            _files: None,
        }
    }

    pub(super) fn with_files(self, files: Arc<TemporaryFiles>) -> Self {
        Self {
            _files: Some(files),
            ..self
        }
    }

    fn total(&self) -> usize {
        self.limit + self.exchanges
    }

    /// The most bytes of an operator, if the others hold what they hold now.
    fn most(&self, by: Use, held: usize, state: &State) -> usize {
        let eighths = |count: usize| (self.limit / 8).saturating_mul(count);
        let others = (state.spillable + state.fixed + state.windowed).saturating_sub(held);
        // What is kept for windows, and not used by them now.
        let kept = match state.windows {
            _ if by == Use::Window => 0,
            0 => 0,
            _ => eighths(1).saturating_sub(state.windowed),
        };
        let left = self.limit.saturating_sub(others.saturating_add(kept));
        let share = || {
            let shared = self.limit - state.fixed.clamp(eighths(2), self.limit);
            left.min(shared / state.spillers.max(1))
        };
        match by {
            Use::Spills => share(),
            Use::Sort => share().min(eighths(3) / self.threads),
            // Somewhat more than the sorts; the rest is for operators after them.
            Use::Merge => left.min(eighths(10) / (2 * self.threads + 1)),
            Use::Partial => left.min(eighths(1) / self.threads),
            Use::Fixed | Use::Window => left,
            Use::Exchange => {
                let others = state.exchanged.saturating_sub(held);
                self.exchanges.saturating_sub(others)
            }
        }
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &'static str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        match Use::of(consumer) {
            Use::Spills | Use::Sort => self.state.lock().spillers += 1,
            Use::Window => self.state.lock().windows += 1,
            _ => {}
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut state = self.state.lock();
        match Use::of(consumer) {
            Use::Spills | Use::Sort => state.spillers = state.spillers.saturating_sub(1),
            Use::Window => state.windows = state.windows.saturating_sub(1),
            _ => {}
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.state.lock().held(Use::of(reservation.consumer())) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, bytes: usize) {
        let mut state = self.state.lock();
        let held = state.held(Use::of(reservation.consumer()));
        *held = held.saturating_sub(bytes);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut state = self.state.lock();
        let by = Use::of(reservation.consumer());
        let held = reservation.size();
        let left = self.most(by, held, &state).saturating_sub(held);
        if additional > left {
            let name = reservation.consumer().name();
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{name} needs {additional} more bytes; {left} of the query's {} are left to it",
                self.total()
            )));
        }
        *state.held(by) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let state = self.state.lock();
        state.spillable + state.fixed + state.windowed + state.exchanged
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.total())
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes for queries", self.total())
    }
}

#[cfg(test)]
mod tests;
