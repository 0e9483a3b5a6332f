//! The memory of a session's queries.

use std::fmt;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use parking_lot::Mutex;

/// Shares memory among the operators of queries.
///
/// Those that can spill (sorts, aggregations) share what is left equally, as in the engine's
/// `FairSpillPool`. But three eighths are kept for those that cannot: they merge what was spilled,
/// and with the engine's pool they fail once the others have filled all of it. A large one of these
/// leaves as much as it takes to those after it: the merge of a sort takes as many parts at once as
/// it gets memory for, and the other merges and the operator after them need a few batches.
///
/// Exchanges between threads are never refused memory. They could spill, but with the engine's
/// present version (55.2) a query waits forever if two of its threads do so at once
/// (<https://github.com/apache/datafusion/issues/24883>). What they hold is bounded by their
/// readers, unless one of these is much slower than the others.
#[derive(Debug)]
pub(super) struct QueryMemory {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Operators that can spill.
    spillers: usize,
    /// Bytes of those that can spill, and of those that cannot.
    spillable: usize,
    fixed: usize,
}

/// How an operator uses memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Spills,
    Fixed,
    Exchange,
}

impl Use {
    fn of(consumer: &MemoryConsumer) -> Self {
        match consumer.can_spill() {
            _ if consumer.name().starts_with("RepartitionExec") => Self::Exchange,
            true => Self::Spills,
            false => Self::Fixed,
        }
    }
}

impl State {
    fn held(&mut self, by: Use) -> &mut usize {
        match by {
            Use::Spills => &mut self.spillable,
            Use::Fixed | Use::Exchange => &mut self.fixed,
        }
    }
}

impl QueryMemory {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// The most bytes of one operator that can spill.
    fn share(&self, state: &State) -> usize {
        let left = self.limit - state.fixed.clamp(self.limit / 8 * 3, self.limit);
        left / state.spillers.max(1)
    }

    /// Bytes left to an operator that cannot spill and holds `held`. Beyond a sixteenth of all it
    /// gets half of what the others leave.
    fn left(&self, state: &State, held: usize) -> usize {
        let others = (state.spillable + state.fixed).saturating_sub(held);
        let left = self.limit.saturating_sub(others);
        let most = (left / 2).max(left.min(self.limit / 16));
        most.saturating_sub(held)
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &'static str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if Use::of(consumer) == Use::Spills {
            self.state.lock().spillers += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if Use::of(consumer) == Use::Spills {
            let mut state = self.state.lock();
            state.spillers = state.spillers.saturating_sub(1);
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
        let left = match by {
            Use::Spills => self.share(&state).saturating_sub(reservation.size()),
            Use::Fixed => self.left(&state, reservation.size()),
            Use::Exchange => usize::MAX,
        };
        if additional > left {
            let name = reservation.consumer().name();
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{name} needs {additional} more bytes; {left} of the query's {} are left to it",
                self.limit
            )));
        }
        *state.held(by) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let state = self.state.lock();
        state.spillable + state.fixed
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes for queries", self.limit)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn operators_that_cannot_spill_have_room_beside_those_that_can() {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(1600));
        let sort = |name: &str| {
            MemoryConsumer::new(name)
                .with_can_spill(true)
                .register(&pool)
        };
        let (first, second) = (sort("a"), sort("b"));
        // Two share five eighths.
        assert!(first.try_grow(500).is_ok() && first.try_grow(1).is_err());
        assert!(second.try_grow(500).is_ok() && second.try_grow(1).is_err());
        let merge = MemoryConsumer::new("merge").register(&pool);
        // It gets half of what is left, the next one half of the rest.
        assert!(merge.try_grow(300).is_ok());
        let error = merge.try_grow(1).unwrap_err().to_string();
        assert!(error.contains("merge needs 1 more bytes; 0 of"), "{error}");
        let next = MemoryConsumer::new("next").register(&pool);
        assert!(next.try_grow(150).is_ok() && next.try_grow(1).is_err());
        // Small ones get what they need.
        let last = MemoryConsumer::new("last").register(&pool);
        assert!(last.try_grow(100).is_ok() && last.try_grow(1).is_err());
        // What cannot spill may have more, and the others less then.
        second.shrink(500);
        assert!(merge.try_grow(125).is_ok() && merge.try_grow(1).is_err());
        assert!(second.try_grow(463).is_err() && second.try_grow(462).is_ok());
        merge.free();
        next.free();
        assert!(second.try_grow(38).is_ok() && second.try_grow(1).is_err());
        let exchange = MemoryConsumer::new("RepartitionExec[0]")
            .with_can_spill(true)
            .register(&pool);
        assert!(exchange.try_grow(5000).is_ok());
        drop((first, second, merge, next, last, exchange));
        assert_eq!(pool.reserved(), 0);
    }
}
