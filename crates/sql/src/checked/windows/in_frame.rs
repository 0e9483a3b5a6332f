//! Accumulators that rows leave in the order in which they came, without anything being taken away from a result.
//!
//! [`TwoStacks`] adds the parts of a frame up, and [`Recomputed`] adds all rows again. Floating-point numbers are rounded in
//! the order in which they are added, so two equal frames may have results that differ in the last digits.

use std::collections::VecDeque;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::maker::Maker;

/// A queue of two stacks (Tangwongsan, Hirzel and Schneider, "Low-latency sliding-window aggregation in worst-case constant
/// time", 2017, section 2 gives its history). The rows that came last are in one accumulator. For those before them
/// there is a state of each row and all up to the last of them, so that a row leaves with its state. Each row is added
/// twice, whatever the size of the frame.
#[derive(Debug)]
pub(super) struct TwoStacks {
    maker: Maker,
    /// States of the rows that do not count in `back`. The last one is that of all of them, the one before it that of all
    /// but the oldest row, and so on.
    front: Vec<Vec<ScalarValue>>,
    back: Box<dyn Accumulator>,
    /// The rows of `back`.
    rows: VecDeque<Vec<ScalarValue>>,
}

impl TwoStacks {
    pub(super) fn new(maker: Maker) -> Result<Self> {
        Ok(Self {
            back: maker.make()?,
            maker,
            front: Vec::new(),
            rows: VecDeque::new(),
        })
    }

    /// Moves all rows to the front, each with its state.
    fn move_to_front(&mut self) -> Result<()> {
        let mut states = self.maker.make()?;
        while let Some(row) = self.rows.pop_back() {
            states.update_batch(&arrays(&[row])?)?;
            self.front.push(states.state()?);
        }
        self.back = self.maker.make()?;
        Ok(())
    }
}

impl Accumulator for TwoStacks {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.back.update_batch(values)?;
        push_rows(&mut self.rows, values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let count = count_of(values);
        let of_front = count.min(self.front.len());
        self.front.truncate(self.front.len() - of_front);
        if count > of_front {
            if count - of_front > self.rows.len() {
                return internal_err!("more rows leave a frame than are in it");
            }
            self.rows.drain(..count - of_front);
            self.move_to_front()?;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some(front) = self.front.last() else {
            return self.back.evaluate();
        };
        let mut all = self.maker.make()?;
        if self.rows.is_empty() {
            all.merge_batch(&arrays(std::slice::from_ref(front))?)?;
        } else {
            all.merge_batch(&arrays(&[front.clone(), self.back.state()?])?)?;
        }
        all.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        no_state()
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        no_state()
    }

    fn size(&self) -> usize {
        let front = self.front.iter().map(|state| size_of_val(&**state));
        let rows = self.rows.iter().map(|row| size_of_row(row));
        size_of_val(self) + self.back.size() + front.sum::<usize>() + rows.sum::<usize>()
    }
}

/// The rows of the frame. Each result is computed from all of them: for aggregates whose states are lists of rows.
#[derive(Debug)]
pub(super) struct Recomputed {
    maker: Maker,
    rows: VecDeque<Vec<ScalarValue>>,
    /// The result, until a row comes or goes.
    known: Option<ScalarValue>,
}

impl Recomputed {
    pub(super) fn new(maker: Maker) -> Self {
        Self {
            maker,
            rows: VecDeque::new(),
            known: None,
        }
    }
}

impl Accumulator for Recomputed {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.known = None;
        push_rows(&mut self.rows, values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let count = count_of(values);
        if count > self.rows.len() {
            return internal_err!("more rows leave a frame than are in it");
        }
        self.known = None;
        self.rows.drain(..count);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let mut all = self.maker.make()?;
        if !self.rows.is_empty() {
            all.update_batch(&arrays(self.rows.make_contiguous())?)?;
        }
        let value = all.evaluate()?;
        self.known = Some(value.clone());
        Ok(value)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        no_state()
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        no_state()
    }

    fn size(&self) -> usize {
        let rows = self.rows.iter().map(|row| size_of_row(row));
        size_of_val(self) + rows.sum::<usize>()
    }
}

/// Frames are not computed in parts.
pub(super) fn no_state<T>() -> Result<T> {
    internal_err!("the aggregate of a frame is not computed in parts")
}

pub(super) fn count_of(values: &[ArrayRef]) -> usize {
    values.first().map_or(0, Array::len)
}

fn size_of_row(row: &[ScalarValue]) -> usize {
    row.iter().map(ScalarValue::size).sum()
}

fn push_rows(rows: &mut VecDeque<Vec<ScalarValue>>, values: &[ArrayRef]) -> Result<()> {
    for at in 0..count_of(values) {
        rows.push_back(row(values, at)?);
    }
    Ok(())
}

/// Copies a row: a slice of an array would keep all of the array.
pub(super) fn row(values: &[ArrayRef], at: usize) -> Result<Vec<ScalarValue>> {
    let row = values.iter().map(|array| {
        let mut value = ScalarValue::try_from_array(array, at)?;
        value.compact();
        Ok(value)
    });
    row.collect()
}

/// At least one row, as an array for each column.
pub(super) fn arrays(rows: &[Vec<ScalarValue>]) -> Result<Vec<ArrayRef>> {
    let columns = rows.first().map_or(0, Vec::len);
    let column = |at: usize| {
        let values = rows.iter().filter_map(|row| row.get(at).cloned());
        ScalarValue::iter_to_array(values)
    };
    (0..columns).map(column).collect()
}
