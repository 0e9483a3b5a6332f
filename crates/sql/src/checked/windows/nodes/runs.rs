//! Rows with equal keys that follow each other, across batches.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::{SortColumn, concat};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::utils::evaluate_partition_ranges;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;

use crate::checked::windows::memory::bytes_of;

/// Holds the rows of the last run back, which may go on.
pub(super) struct Runs {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    open: Vec<RecordBatch>,
    bytes: usize,
}

impl Runs {
    pub(super) fn new(keys: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self {
            keys,
            open: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds rows, at least one, and returns those of runs that have ended.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let ranges = ranges(&self.values(batch)?, batch.num_rows())?;
        let start = ranges.last().map_or(0, |range| range.start);
        let mut ended = Vec::new();
        if start > 0 || self.begins_another(batch)? {
            ended = self.rest();
        }
        if start > 0 {
            ended.push(batch.slice(0, start));
        }
        let rest = batch.slice(start, batch.num_rows() - start);
        self.bytes += bytes_of(&rest);
        self.open.push(rest);
        Ok(ended)
    }

    /// Takes the rows of the last run.
    pub(super) fn rest(&mut self) -> Vec<RecordBatch> {
        self.bytes = 0;
        std::mem::take(&mut self.open)
    }

    /// The bytes of the last run.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The values of the keys.
    pub(super) fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        evaluate_expressions_to_arrays(&self.keys, batch)
    }

    /// Whether the first row of a batch is not in the run of the rows before.
    fn begins_another(&self, batch: &RecordBatch) -> Result<bool> {
        let Some(last) = self.open.last() else {
            return Ok(false);
        };
        let last = self.values(&last.slice(last.num_rows() - 1, 1))?;
        differ(&last, &self.values(&batch.slice(0, 1))?)
    }
}

/// Whether two rows, given as arrays of one value each, differ. The batches they are from may differ in whether a column
/// can be NULL.
pub(super) fn differ(one: &[ArrayRef], other: &[ArrayRef]) -> Result<bool> {
    let both = one.iter().zip(other);
    let both = both.map(|(one, other)| Ok(concat(&[one.as_ref(), other.as_ref()])?));
    Ok(ranges(&both.collect::<Result<Vec<_>>>()?, 2)?.len() > 1)
}

/// The runs of rows with equal values.
pub(super) fn ranges(values: &[ArrayRef], rows: usize) -> Result<Vec<Range<usize>>> {
    let columns: Vec<SortColumn> = values
        .iter()
        .map(|values| SortColumn {
            values: Arc::clone(values),
            options: None,
        })
        .collect();
    evaluate_partition_ranges(rows, &columns)
}
