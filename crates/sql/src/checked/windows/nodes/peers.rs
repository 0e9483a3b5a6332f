//! Rows that wait for others with the same keys, whose results they have.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::logical_expr::{WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use datafusion::physical_plan::windows::WindowExpr;

use super::budget::uses_frame;
use super::runs::{Runs, differ};
use crate::checked::windows::memory::bytes_of;

/// What is held back of the rows of windows.
pub(super) enum Peers {
    Nothing,
    /// The rows of the last key. Frames of a range that end before the row have other rows with the key of the row if that
    /// is NULL, NaN or infinite, and the engine takes such a frame for known when it comes to the row.
    Rows(Runs),
    /// Batches of one key. Frames that end with the last row of a key are known when another key comes. The engine would
    /// copy the rows of the partition for each batch, and look through them for the end of the frame.
    Batches(Batches),
}

impl Peers {
    pub(super) fn of(windows: &[Arc<dyn WindowExpr>]) -> Self {
        let ends = |is_end: fn(WindowFrameUnits, &WindowFrameBound) -> bool| {
            let mut windows = windows.iter();
            windows.any(|window| {
                let frame = window.get_window_frame();
                uses_frame(&**window) && is_end(frame.units, &frame.end_bound)
            })
        };
        let before = |units: WindowFrameUnits, end: &WindowFrameBound| {
            units == WindowFrameUnits::Range && matches!(end, WindowFrameBound::Preceding(_))
        };
        let with_key = |units: WindowFrameUnits, end: &WindowFrameBound| {
            units != WindowFrameUnits::Rows && matches!(end, WindowFrameBound::CurrentRow)
        };
        if ends(before) {
            Self::Rows(Runs::new(keys_of(windows)))
        } else if ends(with_key) {
            Self::Batches(Batches::new(keys_of(windows)))
        } else {
            Self::Nothing
        }
    }

    /// Adds rows, at least one, and returns those that wait no longer.
    pub(super) fn add(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        match self {
            Self::Nothing => Ok(vec![batch]),
            Self::Rows(runs) => runs.add(&batch),
            Self::Batches(batches) => batches.add(batch),
        }
    }

    /// Takes the rows that wait.
    pub(super) fn rest(&mut self) -> Vec<RecordBatch> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Rows(runs) => runs.rest(),
            Self::Batches(batches) => batches.rest(),
        }
    }

    /// The bytes of the rows that wait.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Rows(runs) => runs.bytes(),
            Self::Batches(batches) => batches.bytes,
        }
    }
}

/// The partition and order of a node, by which its rows are sorted.
fn keys_of(windows: &[Arc<dyn WindowExpr>]) -> Vec<Arc<dyn PhysicalExpr>> {
    let keys = windows.first().map(|window| {
        let order = window.order_by().iter().map(|key| Arc::clone(&key.expr));
        window.partition_by().iter().cloned().chain(order).collect()
    });
    keys.unwrap_or_default()
}

/// Holds batches back all of whose rows have the key of the row before. Others pass, with all that wait: so rows are copied
/// only if there are many with one key.
pub(super) struct Batches {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// The key of the last row.
    last: Option<Vec<ArrayRef>>,
    held: Vec<RecordBatch>,
    bytes: usize,
}

impl Batches {
    fn new(keys: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self {
            keys,
            last: None,
            held: Vec::new(),
            bytes: 0,
        }
    }

    fn add(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let key_at = |row| evaluate_expressions_to_arrays(&self.keys, &batch.slice(row, 1));
        let end = key_at(batch.num_rows() - 1)?;
        // Of sorted rows, all have one key if the first and the last have.
        let goes_on = match &self.last {
            Some(last) => !differ(last, &end)? && !differ(last, &key_at(0)?)?,
            None => false,
        };
        if goes_on {
            self.bytes += bytes_of(&batch);
            self.held.push(batch);
            return Ok(Vec::new());
        }
        self.last = Some(end);
        let mut passed = self.rest();
        passed.push(batch);
        Ok(passed)
    }

    fn rest(&mut self) -> Vec<RecordBatch> {
        self.bytes = 0;
        std::mem::take(&mut self.held)
    }
}
