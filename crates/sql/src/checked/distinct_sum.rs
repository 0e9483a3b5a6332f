//! `sum(DISTINCT …)` of integers, which is exact or fails.

use std::collections::HashMap;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::sum::{finished, plus, value};

/// The engine's set of distinct values, with a checked sum.
#[derive(Debug)]
pub(super) struct DistinctSum {
    values: Box<dyn Accumulator>,
    kind: DataType,
}

impl DistinctSum {
    pub(super) fn new(values: Box<dyn Accumulator>, kind: &DataType) -> Self {
        Self {
            values,
            kind: kind.clone(),
        }
    }
}

impl Accumulator for DistinctSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    /// The engine's own sum wraps; its state is the list of the values.
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.values.state()?;
        let [ScalarValue::List(list)] = state.as_slice() else {
            return internal_err!("the distinct values of a sum are not one list");
        };
        let mut sum = None;
        for values in list.iter().flatten() {
            for at in 0..values.len() {
                if let Some(value) = value(&*values, at)? {
                    sum = Some(plus(sum.unwrap_or_default(), value)?);
                }
            }
        }
        ScalarValue::try_from_array(&finished(vec![sum], &self.kind)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }
}

/// The sum of the distinct values in a frame that moves.
#[derive(Debug)]
pub(super) struct MovingDistinctSum {
    /// How often each value is in the frame.
    counts: HashMap<i128, u64>,
    sum: i128,
    kind: DataType,
}

impl MovingDistinctSum {
    pub(super) fn new(kind: &DataType) -> Self {
        Self {
            counts: HashMap::new(),
            sum: 0,
            kind: kind.clone(),
        }
    }
}

impl Accumulator for MovingDistinctSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for array in values {
            for at in 0..array.len() {
                if let Some(value) = value(array, at)? {
                    let count = self.counts.entry(value).or_default();
                    if *count == 0 {
                        self.sum = plus(self.sum, value)?;
                    }
                    *count += 1;
                }
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for array in values {
            for at in 0..array.len() {
                let Some(value) = value(array, at)? else {
                    continue;
                };
                match self.counts.get_mut(&value) {
                    Some(count) if *count > 1 => *count -= 1,
                    Some(_) => {
                        self.counts.remove(&value);
                        self.sum = plus(self.sum, -value)?;
                    }
                    None => return internal_err!("a value leaves a frame that it is not in"),
                }
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = (!self.counts.is_empty()).then_some(self.sum);
        ScalarValue::try_from_array(&finished(vec![sum], &self.kind)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("the sum of a frame is not computed in parts")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("the sum of a frame is not computed in parts")
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<(i128, u64)>()
    }
}
