//! Accumulators of sums.

use std::fmt;
use std::marker::PhantomData;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::wide::{Wide, finished, minus, plus, unfinished, value};

/// One sum; also of a moving frame.
pub(super) struct Sum<T: Wide> {
    sum: T::Native,
    values: u64,
    kind: DataType,
}

impl<T: Wide> Sum<T> {
    pub(super) fn new(kind: &DataType) -> Self {
        Self {
            sum: T::of(0),
            values: 0,
            kind: kind.clone(),
        }
    }

    fn current(&self) -> Option<T::Native> {
        (self.values > 0).then_some(self.sum)
    }
}

impl<T: Wide> fmt::Debug for Sum<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sum").finish_non_exhaustive()
    }
}

impl<T: Wide> Accumulator for Sum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(array) = values.first() else {
            return Ok(());
        };
        for at in 0..array.len() {
            if let Some(value) = value::<T>(array, at)? {
                self.sum = plus::<T>(self.sum, value)?;
                self.values += 1;
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(array) = values.first() else {
            return Ok(());
        };
        for at in 0..array.len() {
            if let Some(value) = value::<T>(array, at)? {
                self.sum = minus::<T>(self.sum, value)?;
                self.values -= 1;
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = finished::<T>(vec![self.current()], &self.kind)?;
        ScalarValue::try_from_array(&sum, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = unfinished::<T>(vec![self.current()], &self.kind);
        Ok(vec![ScalarValue::try_from_array(&sum, 0)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// A sum for each group.
pub(super) struct Sums<T: Wide> {
    sums: Vec<Option<T::Native>>,
    kind: DataType,
    width: PhantomData<T>,
}

impl<T: Wide> Sums<T> {
    pub(super) fn new(kind: &DataType) -> Self {
        Self {
            sums: Vec::new(),
            kind: kind.clone(),
            width: PhantomData,
        }
    }
}

impl<T: Wide> GroupsAccumulator for Sums<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.sums.resize(count, None);
        let Some(array) = values.first() else {
            return Ok(());
        };
        for (at, group) in groups.iter().enumerate() {
            if filter.is_some_and(|filter| filter.is_null(at) || !filter.value(at)) {
                continue;
            }
            if let (Some(value), Some(sum)) = (value::<T>(array, at)?, self.sums.get_mut(*group)) {
                *sum = Some(match sum {
                    Some(sum) => plus::<T>(*sum, value)?,
                    None => value,
                });
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        finished::<T>(emit_to.take_needed(&mut self.sums), &self.kind)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let sums = emit_to.take_needed(&mut self.sums);
        Ok(vec![unfinished::<T>(sums, &self.kind)])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.update_batch(values, groups, None, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let Some(array) = values.first() else {
            return internal_err!("a sum of nothing");
        };
        let sums = (0..array.len()).map(|at| {
            let wanted = filter.is_none_or(|filter| filter.is_valid(at) && filter.value(at));
            match wanted {
                true => value::<T>(array, at),
                false => Ok(None),
            }
        });
        let sums = sums.collect::<Result<_>>()?;
        Ok(vec![unfinished::<T>(sums, &self.kind)])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Option<T::Native>>()
    }
}
