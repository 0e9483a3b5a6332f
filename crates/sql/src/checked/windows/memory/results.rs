//! Results of aggregates that may be long: lists and texts. A frame that grows has a result of all its rows for each row,
//! and the longest text of a partition may be the result for all of its rows. Such results have the limit of a call.

use std::cell::Cell;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;

use super::bytes::bytes_of_value;
use crate::checked::size::too_large;

/// What the results that are being computed may have.
#[derive(Clone, Copy)]
struct Allowance {
    limit: usize,
    spent: usize,
    /// The rows for which there is one result.
    rows: usize,
}

thread_local! {
    /// An accumulator does not know for which batch of rows it is asked for results. Windows are computed without giving way.
    static ALLOWANCE: Cell<Option<Allowance>> = const { Cell::new(None) };
}

/// Computes results of a function for a batch, each of which is for one row, unless [`set_rows`] says otherwise.
pub(in crate::checked::windows) fn with_limit<T>(
    limit: usize,
    compute: impl FnOnce() -> Result<T>,
) -> Result<T> {
    ALLOWANCE.set(Some(Allowance {
        limit,
        spent: 0,
        rows: 1,
    }));
    let computed = compute();
    ALLOWANCE.set(None);
    computed
}

/// The results that follow are for so many rows each.
pub(in crate::checked::windows) fn set_rows(rows: usize) {
    let allowance = ALLOWANCE.get();
    ALLOWANCE.set(allowance.map(|allowance| Allowance { rows, ..allowance }));
}

fn spend(function: &str, result: &ScalarValue) -> Result<()> {
    let Some(mut allowance) = ALLOWANCE.get() else {
        return Ok(());
    };
    let bytes = bytes_of_value(result).saturating_mul(allowance.rows);
    allowance.spent = allowance.spent.saturating_add(bytes);
    if allowance.spent > allowance.limit {
        let spent = u64::try_from(allowance.spent).unwrap_or(u64::MAX);
        return Err(too_large(function, spent, allowance.limit));
    }
    ALLOWANCE.set(Some(allowance));
    Ok(())
}

/// Whether results of this type have a length.
pub(in crate::checked::windows) fn may_be_long(kind: &DataType) -> bool {
    !kind.is_primitive() && !matches!(kind, DataType::Boolean | DataType::Null)
}

/// An accumulator whose results count.
#[derive(Debug)]
pub(in crate::checked::windows) struct CountedResults {
    inner: Box<dyn Accumulator>,
    function: String,
}

impl CountedResults {
    pub(in crate::checked::windows) fn new(inner: Box<dyn Accumulator>, function: &str) -> Self {
        Self {
            inner,
            function: function.to_owned(),
        }
    }
}

impl Accumulator for CountedResults {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = self.inner.evaluate()?;
        spend(&self.function, &result)?;
        Ok(result)
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
