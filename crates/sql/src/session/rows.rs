//! The rows of a statement, for callers without an async runtime.

use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures_util::StreamExt;
use ostrakon_cell::Result;
use tokio::runtime::Handle;

use crate::error::of_query;

/// The rows of a statement, as record batches. Dropping them ends the query and its scans.
pub struct SqlRows {
    stream: SendableRecordBatchStream,
    runtime: Handle,
}

/// What waiting for rows led to.
#[derive(Debug)]
pub enum Step {
    /// Rows.
    Rows(RecordBatch),
    /// The time is over, and there are no rows yet.
    Waiting,
    /// There are no more rows.
    End,
}

impl SqlRows {
    pub(super) fn new(stream: SendableRecordBatchStream, runtime: Handle) -> Self {
        Self { stream, runtime }
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.stream.schema()
    }

    /// Waits for rows, for at most `wait`.
    ///
    /// # Errors
    /// Those of the query.
    pub fn next_within(&mut self, wait: Duration) -> Result<Step> {
        let runtime = self.runtime.clone();
        let next = runtime.block_on(async { tokio::time::timeout(wait, self.stream.next()).await });
        match next {
            Err(_) => Ok(Step::Waiting),
            Ok(None) => Ok(Step::End),
            Ok(Some(rows)) => rows.map(Step::Rows).map_err(of_query),
        }
    }
}

impl Iterator for SqlRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let runtime = self.runtime.clone();
        let next = runtime.block_on(self.stream.next());
        next.map(|rows| rows.map_err(of_query))
    }
}

impl std::fmt::Debug for SqlRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqlRows").field(&self.schema()).finish()
    }
}
