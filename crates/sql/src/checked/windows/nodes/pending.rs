//! Rows that wait for the results of windows, in the order in which they came.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::{concat, concat_batches};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::window::{PartitionKey, PartitionWindowAggStates};

use crate::checked::windows::memory::bytes_of;

/// Rows of one partition that follow each other.
pub(super) struct Run {
    pub(super) key: PartitionKey,
    pub(super) rows: usize,
}

#[derive(Default)]
pub(super) struct Pending {
    runs: VecDeque<Run>,
    /// The rows of all runs, and the bytes of each batch as it came.
    batches: VecDeque<(RecordBatch, usize)>,
    bytes: usize,
}

impl Pending {
    pub(super) fn add(&mut self, batch: RecordBatch, runs: Vec<Run>) {
        let bytes = bytes_of(&batch);
        self.bytes += bytes;
        self.batches.push_back((batch, bytes));
        self.runs.extend(runs);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many rows wait.
    pub(super) fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.rows).sum()
    }

    /// The most bytes of rows that are copied when they are taken.
    pub(super) fn bytes_to_copy(&self) -> usize {
        match self.batches.len() {
            0 | 1 => 0,
            _ => self.bytes,
        }
    }

    /// Takes the first rows, as far as there are results of all windows for them.
    pub(super) fn take(
        &mut self,
        states: &mut [PartitionWindowAggStates],
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>> {
        let mut results: Vec<Vec<ArrayRef>> = vec![Vec::new(); states.len()];
        let mut count = 0;
        while let Some(run) = self.runs.front_mut() {
            let known = states.iter().map(|states| {
                let state = states.get(&run.key);
                state.map_or(0, |state| state.state.out_col.len())
            });
            let rows = known.min().unwrap_or(0).min(run.rows);
            if rows > 0 {
                for (states, results) in states.iter_mut().zip(&mut results) {
                    if let Some(state) = states.get_mut(&run.key) {
                        let all = &mut state.state.out_col;
                        results.push(all.slice(0, rows));
                        *all = all.slice(rows, all.len() - rows);
                    }
                }
                count += rows;
                run.rows -= rows;
            }
            if run.rows > 0 {
                break;
            }
            self.runs.pop_front();
        }
        if count == 0 {
            return Ok(None);
        }
        let mut columns = self.first(count)?;
        for results in results {
            let results: Vec<&dyn Array> = results.iter().map(AsRef::as_ref).collect();
            columns.push(concat(&results)?);
        }
        Ok(Some(RecordBatch::try_new(Arc::clone(schema), columns)?))
    }

    /// Takes the columns of the first rows.
    fn first(&mut self, mut count: usize) -> Result<Vec<ArrayRef>> {
        let mut taken = Vec::new();
        while count > 0 {
            let Some((batch, bytes)) = self.batches.pop_front() else {
                return internal_err!("there are more results of windows than rows");
            };
            let rows = batch.num_rows().min(count);
            taken.push(batch.slice(0, rows));
            count -= rows;
            if rows < batch.num_rows() {
                let rest = batch.slice(rows, batch.num_rows() - rows);
                self.batches.push_front((rest, bytes));
            } else {
                self.bytes -= bytes;
            }
        }
        Ok(match taken.as_slice() {
            [one] => one.columns().to_vec(),
            [first, ..] => concat_batches(&first.schema(), &taken)?.columns().to_vec(),
            [] => Vec::new(),
        })
    }
}
