//! The rows of a statement, for callers without an async runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result as QueryResult;
use datafusion::physical_plan::SendableRecordBatchStream;
use futures_util::StreamExt;
use ostrakon_cell::{Error, ErrorKind, Result};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinError, JoinHandle};

use super::workers::Lease;
use crate::error::of_query;

/// Record batches that wait for the caller.
const WAITING: usize = 1;

/// The rows of a statement, as record batches. Dropping them ends the query and its scans.
///
/// The statement runs on the threads of its session, whose stacks are large enough for any plan, and a few batches ahead
/// of the caller.
pub struct SqlRows {
    schema: SchemaRef,
    batches: Receiver<QueryResult<RecordBatch>>,
    /// `None` once it has ended.
    work: Option<JoinHandle<()>>,
    /// How long its end is waited for.
    undo: Duration,
    lease: Lease,
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
    pub(super) fn new(mut stream: SendableRecordBatchStream, undo: Duration, lease: Lease) -> Self {
        let schema = stream.schema();
        let (sender, batches) = channel(WAITING);
        let work = lease.handle().spawn(async move {
            while let Some(batch) = stream.next().await {
                if batch.is_err() {
                    // Before the error is sent, so that a table that could not be filled is gone when
                    // the caller sees it.
                    drop(stream);
                    let _ = sender.send(batch).await;
                    return;
                }
                if sender.send(batch).await.is_err() {
                    return;
                }
            }
        });
        Self {
            schema,
            batches,
            work: Some(work),
            undo,
            lease,
        }
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Waits for rows, for at most `wait`.
    ///
    /// # Errors
    /// Those of the query.
    pub fn next_within(&mut self, wait: Duration) -> Result<Step> {
        match within(wait, self.receive()) {
            None => Ok(Step::Waiting),
            Some(rows) => Ok(rows?.map_or(Step::End, Step::Rows)),
        }
    }

    /// The next rows. May be dropped while it waits, without loss of rows.
    async fn receive(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(batch) = self.batches.recv().await {
            return batch.map(Some).map_err(of_query);
        }
        // The end of the rows, unless the work ended before it had sent all of them.
        if let Some(work) = &mut self.work {
            let outcome = work.await;
            self.work = None;
            outcome.map_err(ended)?;
        }
        Ok(None)
    }
}

/// Ends work, and waits for its end for at most `undo`.
pub(super) fn end<T>(work: JoinHandle<T>, undo: Duration, lease: &Lease) {
    if !work.is_finished() {
        work.abort();
        lease.abandon();
        // Whether it succeeded or was ended does not matter to a caller who has left.
        let _ = within(undo, work);
    }
}

/// The error of work that ended without an outcome.
pub(super) fn ended(error: JoinError) -> Error {
    let message = match error.is_panic() {
        true => "the query engine failed",
        false => "the session of the query has ended: run the statement again",
    };
    Error::new(ErrorKind::Internal, message).with_source(error)
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// What a future comes to within a time. The clock is this thread's: the runtime's stands still while all of its threads
/// are at work.
pub(super) fn within<T>(wait: Duration, future: impl Future<Output = T>) -> Option<T> {
    let deadline = Instant::now() + wait;
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            return Some(outcome);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        thread::park_timeout(left);
    }
}

impl Iterator for SqlRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let runtime = self.lease.handle().clone();
        runtime.block_on(self.receive()).transpose()
    }
}

impl Drop for SqlRows {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.batches.close();
            end(work, self.undo, &self.lease);
        }
    }
}

impl std::fmt::Debug for SqlRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqlRows").field(&self.schema()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A future that never ends, and does not even have a runtime.
    #[test]
    fn waiting_ends_without_the_clock_of_a_runtime() {
        assert_eq!(
            within(Duration::from_millis(1), std::future::pending::<()>()),
            None
        );
        assert_eq!(
            within(Duration::from_secs(60), std::future::ready(7)),
            Some(7)
        );
    }
}
