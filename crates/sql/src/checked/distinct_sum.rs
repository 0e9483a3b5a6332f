//! `sum(DISTINCT …)` of integers, which is exact or fails.

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
