//! `sum(DISTINCT …)` of integers and decimals, which is exact or fails.

use std::collections::HashMap;
use std::fmt;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::wide::{Wide, finished, minus, plus, unfinished, value};

/// The sum of the distinct values of a group, or of a frame that moves.
pub(super) struct DistinctSum<T: Wide> {
    /// How often each value is there.
    counts: HashMap<T::Native, u64>,
    sum: T::Native,
    kind: DataType,
}

impl<T: Wide> DistinctSum<T> {
    pub(super) fn new(kind: &DataType) -> Self {
        Self {
            counts: HashMap::new(),
            sum: T::of(0),
            kind: kind.clone(),
        }
    }

    fn add(&mut self, array: &dyn Array) -> Result<()> {
        for at in 0..array.len() {
            if let Some(value) = value::<T>(array, at)? {
                let count = self.counts.entry(value).or_default();
                if *count == 0 {
                    self.sum = plus::<T>(self.sum, value)?;
                }
                *count += 1;
            }
        }
        Ok(())
    }
}

impl<T: Wide> Accumulator for DistinctSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        values.iter().try_for_each(|array| self.add(array))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for array in values {
            for at in 0..array.len() {
                let Some(value) = value::<T>(array, at)? else {
                    continue;
                };
                match self.counts.get_mut(&value) {
                    Some(count) if *count > 1 => *count -= 1,
                    Some(_) => {
                        self.counts.remove(&value);
                        self.sum = minus::<T>(self.sum, value)?;
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
        ScalarValue::try_from_array(&finished::<T>(vec![sum], &self.kind)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.counts.keys().copied().map(Some).collect();
        let values = unfinished::<T>(values, &self.kind);
        Ok(vec![
            SingleRowListArrayBuilder::new(values).build_list_scalar(),
        ])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for lists in states {
            for values in lists.as_list::<i32>().iter().flatten() {
                self.add(&values)?;
            }
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<(T::Native, u64)>()
    }
}

impl<T: Wide> fmt::Debug for DistinctSum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistinctSum").finish_non_exhaustive()
    }
}
