//! A statement that is being planned, for callers without an async runtime.

use std::time::Duration;

use datafusion::physical_plan::SendableRecordBatchStream;
use ostrakon_cell::Result;
use tokio::task::JoinHandle;

use super::rows::{end, ended, within};
use super::workers::Lease;
use super::{SqlRows, SqlSession, SqlStatement};

/// How long a statement that creates a table may take to undo it when it is ended. The table is gone
/// then before the caller goes on, and perhaps closes the store.
const UNDO: Duration = Duration::from_secs(10);

/// A statement that is being planned on the threads of its session, which takes long for some.
/// Dropping it ends the planning; a statement without rows, such as `DROP TABLE`, may have had its
/// effect by then.
pub struct SqlStart {
    /// `None` once it has ended.
    work: Option<JoinHandle<Result<SendableRecordBatchStream>>>,
    /// How long its end is waited for.
    undo: Duration,
    lease: Lease,
}

impl SqlStart {
    pub(super) fn new(session: SqlSession, statement: SqlStatement) -> Result<Self> {
        let lease = session.workers.lease()?;
        let undo = match statement.creates_tables() {
            true => UNDO,
            false => Duration::ZERO,
        };
        let work = lease
            .handle()
            .spawn(async move { session.execute(statement).await });
        Ok(Self {
            work: Some(work),
            undo,
            lease,
        })
    }

    /// The rows of the statement, if it is planned within `wait`.
    ///
    /// # Errors
    /// Those of [`SqlSession::execute`]. After an error, or once the rows were returned, it returns `None`.
    pub fn within(&mut self, wait: Duration) -> Result<Option<SqlRows>> {
        let Some(work) = &mut self.work else {
            return Ok(None);
        };
        let Some(outcome) = within(wait, work) else {
            return Ok(None);
        };
        self.work = None;
        let stream = outcome.map_err(ended)??;
        Ok(Some(SqlRows::new(stream, self.undo, self.lease.clone())))
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
        if let Some(work) = self.work.take() {
            end(work, self.undo, &self.lease);
        }
    }
}

impl std::fmt::Debug for SqlStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlStart").finish_non_exhaustive()
    }
}
