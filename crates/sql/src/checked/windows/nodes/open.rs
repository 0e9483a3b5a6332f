//! The partitions of windows that may go on, with the rows that frames may still need.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, UInt64Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::utils::get_row_at_idx;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::window_state::{PartitionBatchState, WindowFrameContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::{PartitionBatches, PartitionKey, PartitionWindowAggStates};
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use datafusion::physical_plan::windows::WindowExpr;

use super::pending::Run;
use super::runs::ranges;
use crate::checked::windows::memory::{bytes_of, bytes_of_unused, with_own_texts};

/// The keys of rows, and the runs with one key.
pub(super) struct Parts {
    keys: Vec<ArrayRef>,
    ranges: Vec<Range<usize>>,
}

/// The partition of the last row, and those before it whose results were not taken.
pub(super) struct Open {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) partitions: PartitionBatches,
    /// The state of each function in each partition.
    pub(super) states: Vec<PartitionWindowAggStates>,
}

impl Open {
    pub(super) fn new(windows: &[Arc<dyn WindowExpr>]) -> Self {
        let keys = windows.first().map(|window| window.partition_by().to_vec());
        let states = windows.iter().map(|_| PartitionWindowAggStates::default());
        Self {
            keys: keys.unwrap_or_default(),
            partitions: PartitionBatches::default(),
            states: states.collect(),
        }
    }

    /// The partitions of rows.
    pub(super) fn parts(&self, batch: &RecordBatch) -> Result<Parts> {
        let keys = evaluate_expressions_to_arrays(&self.keys, batch)?;
        let ranges = ranges(&keys, batch.num_rows())?;
        Ok(Parts { keys, ranges })
    }

    /// The bytes of the partition that goes on: its rows are copied when others are added.
    pub(super) fn bytes_to_copy(&self, parts: &Parts) -> Result<usize> {
        let Some(first) = parts.ranges.first() else {
            return Ok(0);
        };
        let key = get_row_at_idx(&parts.keys, first.start)?;
        let partition = self.partitions.get(&key);
        Ok(partition.map_or(0, |partition| bytes_of(&partition.record_batch)))
    }

    /// Adds rows, and returns to which partitions they belong. The rows of a partition follow each other.
    pub(super) fn add(&mut self, batch: &RecordBatch, parts: &Parts) -> Result<Vec<Run>> {
        let mut runs = Vec::with_capacity(parts.ranges.len());
        self.end();
        for range in &parts.ranges {
            let key = get_row_at_idx(&parts.keys, range.start)?;
            let rows = batch.slice(range.start, range.len());
            match self.partitions.get_mut(&key) {
                Some(partition) => {
                    partition.is_end = true;
                    partition.extend(&rows)?;
                }
                None => {
                    let mut partition = PartitionBatchState::new_with_batch(rows);
                    partition.is_end = true;
                    self.partitions.insert(key.clone(), partition);
                }
            }
            runs.push(Run {
                key,
                rows: range.len(),
            });
        }
        if let Some(last) = runs.last()
            && let Some(partition) = self.partitions.get_mut(&last.key)
        {
            partition.is_end = false;
        }
        Ok(runs)
    }

    /// Ends all partitions.
    pub(super) fn end(&mut self) {
        for partition in self.partitions.values_mut() {
            partition.is_end = true;
        }
    }

    /// Drops rows that no frame needs any more, and partitions that have ended.
    pub(super) fn prune(&mut self) -> Result<()> {
        for (key, mut partition) in std::mem::take(&mut self.partitions) {
            let (mut unneeded, mut is_done) = (usize::MAX, partition.is_end);
            for state in self.states.iter().filter_map(|states| states.get(&key)) {
                let state = &state.state;
                unneeded = unneeded
                    .min(state.window_frame_range.start)
                    .min(state.last_calculated_index);
                is_done &= state.n_row_result_missing == 0 && state.out_col.is_empty();
            }
            if is_done {
                for states in &mut self.states {
                    states.swap_remove(&key);
                }
                continue;
            }
            self.drop_rows(&key, &mut partition, unneeded)?;
            partition.record_batch = free_texts(&partition.record_batch)?;
            for state in self.states.iter_mut().filter_map(|all| all.get_mut(&key)) {
                let results = &mut state.state.out_col;
                *results = with_own_texts(results);
            }
            self.partitions.insert(key, partition);
        }
        Ok(())
    }

    /// Drops the first rows of a partition.
    fn drop_rows(
        &mut self,
        key: &PartitionKey,
        partition: &mut PartitionBatchState,
        count: usize,
    ) -> Result<()> {
        let rows = partition.record_batch.num_rows();
        let count = count.min(rows);
        if count == 0 {
            return Ok(());
        }
        let kept = partition.record_batch.slice(count, rows - count);
        // A few rows would keep the memory of all of them.
        partition.record_batch = match count > rows / 2 {
            true => copied(&kept)?,
            false => kept,
        };
        for states in &mut self.states {
            if let Some(state) = states.get_mut(key) {
                state.state.prune_state(count);
            }
        }
        Ok(())
    }

    /// What is kept. Aggregates count what they keep themselves.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.partitions.values().map(|rows| &rows.record_batch);
        let rows = rows.map(|rows| bytes_of(rows) + bytes_of_unused(rows));
        let states = self
            .states
            .iter()
            .flat_map(PartitionWindowAggStates::values);
        let groups = states.map(|state| bytes_of_groups(state.state.window_frame_ctx.as_ref()));
        rows.sum::<usize>() + groups.sum::<usize>() + self.bytes_of_results()
    }

    /// What of that are results.
    pub(super) fn bytes_of_results(&self) -> usize {
        let states = self
            .states
            .iter()
            .flat_map(PartitionWindowAggStates::values);
        let results = states.map(|state| state.state.out_col.get_array_memory_size());
        results.sum()
    }
}

/// The bytes of the groups of a frame, each of which has a key.
fn bytes_of_groups(frame: Option<&WindowFrameContext>) -> usize {
    let Some(WindowFrameContext::Groups { state, .. }) = frame else {
        return 0;
    };
    let groups = &state.group_end_indices;
    let of_one = groups.front().map_or(0, |(key, _)| {
        size_of::<(Vec<ScalarValue>, usize)>() + key.len() * size_of::<ScalarValue>()
    });
    groups.len() * of_one
}

/// The rows without the texts of others.
fn free_texts(rows: &RecordBatch) -> Result<RecordBatch> {
    let columns = rows.columns().iter().map(with_own_texts).collect();
    let count = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        rows.schema(),
        columns,
        &count,
    )?)
}

/// The rows in memory of their own.
fn copied(rows: &RecordBatch) -> Result<RecordBatch> {
    if rows.num_columns() == 0 {
        return Ok(rows.clone());
    }
    let places = (0..rows.num_rows()).map(|at| u64::try_from(at).ok());
    Ok(take_record_batch(rows, &places.collect::<UInt64Array>())?)
}
