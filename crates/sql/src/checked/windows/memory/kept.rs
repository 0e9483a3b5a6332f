//! What aggregates keep of the rows of a frame.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};
use datafusion::logical_expr::Accumulator;

use super::bytes::bytes_of_values;
use super::reservation::reservation;
use super::results::may_be_long;
use crate::checked::windows::in_frame::count_of;

/// Memory is reserved in steps: a frame moves by one row at a time, and there may be many small partitions.
const STEP: usize = 64 << 10;

/// How the bytes of an accumulator are found.
#[derive(Clone, Copy, Debug)]
pub(in crate::checked::windows) enum Measure {
    /// So many for each row of a frame that moves, and those of its long values.
    PerRow(usize),
    /// The accumulator knows. Some of them count all that they keep, so they are not asked for each row.
    Size,
}

/// An accumulator whose memory is counted.
pub(in crate::checked::windows) struct CountedAccumulator {
    inner: Box<dyn Accumulator>,
    measure: Measure,
    rows: usize,
    /// The bytes of long values.
    long: usize,
    /// The size when it was asked for last, and at how many rows, or bytes of long values, it is asked for again.
    size: usize,
    next: usize,
    next_long: usize,
    pool: Arc<dyn MemoryPool>,
    reserved: Option<MemoryReservation>,
}

impl CountedAccumulator {
    pub(in crate::checked::windows) fn new(
        inner: Box<dyn Accumulator>,
        measure: Measure,
        pool: Arc<dyn MemoryPool>,
    ) -> Self {
        Self {
            inner,
            measure,
            rows: 0,
            long: 0,
            size: 0,
            next: 0,
            next_long: 0,
            pool,
            reserved: None,
        }
    }

    fn reserve(&mut self) -> Result<()> {
        let bytes = match self.measure {
            // A value is copied once for a result.
            Measure::PerRow(each) => self.rows * each + 2 * self.long,
            Measure::Size => {
                if self.rows >= self.next || self.long >= self.next_long {
                    self.size = self.inner.size();
                    self.next = self.rows + (self.rows / 8).max(1024);
                    self.next_long = self.long + (self.long / 8).max(4 * STEP);
                }
                self.size
            }
        };
        let reserved = self.reserved.as_ref().map_or(0, MemoryReservation::size);
        if bytes > reserved.max(STEP) || bytes + 4 * STEP < reserved {
            let pool = &self.pool;
            let reservation = self.reserved.get_or_insert_with(|| reservation(pool));
            reservation.try_resize(bytes.next_multiple_of(STEP))?;
        }
        Ok(())
    }
}

fn long_of(values: &[ArrayRef]) -> usize {
    let long = values.iter().filter(|array| may_be_long(array.data_type()));
    long.map(bytes_of_values).sum()
}

impl Accumulator for CountedAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows += count_of(values);
        self.long += long_of(values);
        if let Measure::PerRow(_) = self.measure {
            self.reserve()?;
        }
        self.inner.update_batch(values)?;
        match self.measure {
            Measure::PerRow(_) => Ok(()),
            Measure::Size => self.reserve(),
        }
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)?;
        self.rows = self.rows.saturating_sub(count_of(values));
        self.long = self.long.saturating_sub(long_of(values));
        self.reserve()
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }
}

impl fmt::Debug for CountedAccumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountedAccumulator")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
