//! Aggregates of the distinct values in a frame that moves.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use datafusion::arrow::array::ArrayRef;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

use super::in_frame::{arrays, count_of, no_state, row};
use super::maker::Maker;

/// The distinct rows of a frame. A result is computed from them if they have changed since the last one.
#[derive(Debug)]
pub(super) struct DistinctRows {
    of: Of,
    /// How often each row is there. With one hash function, they are always added up in the same order: the last digits of
    /// a sum depend on that.
    counts: HashMap<Vec<ScalarValue>, u64, BuildHasherDefault<DefaultHasher>>,
    known: Option<ScalarValue>,
}

#[derive(Debug)]
enum Of {
    Aggregate(Maker),
    /// The number of values that are not NULL.
    Count,
}

impl DistinctRows {
    pub(super) fn new(maker: Maker) -> Self {
        Self::of(Of::Aggregate(maker))
    }

    /// For `approx_distinct`, from whose sketch no value can be taken away.
    pub(super) fn counted() -> Self {
        Self::of(Of::Count)
    }

    fn of(of: Of) -> Self {
        Self {
            of,
            counts: HashMap::default(),
            known: None,
        }
    }
}

impl Accumulator for DistinctRows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for at in 0..count_of(values) {
            let count = self.counts.entry(row(values, at)?).or_default();
            if *count == 0 {
                self.known = None;
            }
            *count += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for at in 0..count_of(values) {
            let row = row(values, at)?;
            match self.counts.get_mut(&row) {
                Some(count) if *count > 1 => *count -= 1,
                Some(_) => {
                    self.counts.remove(&row);
                    self.known = None;
                }
                None => return internal_err!("a value leaves a frame that it is not in"),
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let value = match &self.of {
            Of::Aggregate(maker) => {
                let mut all = maker.make()?;
                let rows: Vec<_> = self.counts.keys().cloned().collect();
                if !rows.is_empty() {
                    all.update_batch(&arrays(&rows)?)?;
                }
                all.evaluate()?
            }
            Of::Count => {
                let has_value = |row: &&Vec<ScalarValue>| !row.iter().any(ScalarValue::is_null);
                let count = self.counts.keys().filter(has_value).count();
                ScalarValue::UInt64(u64::try_from(count).ok())
            }
        };
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
        size_of_val(self) + self.counts.capacity() * size_of::<(Vec<ScalarValue>, u64)>()
    }
}
