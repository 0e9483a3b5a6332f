//! A statement that is being planned, for callers without an async runtime.

use std::time::Duration;

use datafusion::physical_plan::SendableRecordBatchStream;
use ostrakon_cell::Result;
use tokio::task::JoinHandle;

use super::rows::{ended, within};
use super::workers::Lease;
use super::{SqlRows, SqlSession, SqlStatement};

/// A statement that is being planned on the threads of its session, which takes long for some. Dropping it ends the
/// statement.
pub struct SqlStart {
    /// `None` once it has ended.
    work: Option<JoinHandle<Result<SendableRecordBatchStream>>>,
    lease: Lease,
}

impl SqlStart {
    pub(super) fn new(session: SqlSession, statement: SqlStatement) -> Result<Self> {
        let lease = session.workers.lease()?;
        let work = lease
            .handle()
            .spawn(async move { session.execute(statement).await });
        Ok(Self {
            work: Some(work),
            lease,
        })
    }

    /// The rows of the statement, if it is planned within `wait`.
    ///
    /// # Errors
    /// Those of [`SqlSession::execute`]. After an error, and after the rows were returned, there are none.
    pub fn within(&mut self, wait: Duration) -> Result<Option<SqlRows>> {
        let Some(work) = &mut self.work else {
            return Ok(None);
        };
        let Some(outcome) = within(wait, work) else {
            return Ok(None);
        };
        self.work = None;
        let stream = outcome.map_err(ended)??;
        Ok(Some(SqlRows::new(stream, self.lease.clone())))
    }

    /// Waits until the statement is planned.
    pub(super) fn wait(mut self) -> Result<SqlRows> {
        /// The caller is woken when the statement is planned.
        const LONG: Duration = Duration::from_secs(3600);
        loop {
            if let Some(rows) = self.within(LONG)? {
                return Ok(rows);
            }
        }
    }
}

impl Drop for SqlStart {
    fn drop(&mut self) {
        if let Some(work) = &self.work
            && !work.is_finished()
        {
            work.abort();
            self.lease.abandon();
        }
    }
}

impl std::fmt::Debug for SqlStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlStart").finish_non_exhaustive()
    }
}
