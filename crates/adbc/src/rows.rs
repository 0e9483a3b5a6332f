//! The rows of statements as readers of Arrow data.

use std::time::Duration;

use adbc_core::error::{Error, Result};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use ostrakon_sql::{SqlRows, SqlSession, SqlStatement, Step, parse_statements};

use crate::cancel::Watch;
use crate::error::{IntoAdbc, invalid};

/// How soon a cancelled statement ends.
const LOOK_UP: Duration = Duration::from_millis(20);

/// The only statement of a text.
///
/// # Errors
/// Not SQL, or not one statement.
pub(crate) fn only(text: &str) -> Result<SqlStatement> {
    let mut statements = parse_statements(text).into_adbc()?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(invalid(
            "the text is not one statement: run its statements one by one",
        )),
    }
}

/// Plans a statement and starts it.
///
/// # Errors
/// Those of the statement, or that it was cancelled.
pub(crate) fn start(
    session: &SqlSession,
    statement: SqlStatement,
    watch: &Watch,
) -> Result<SqlRows> {
    let mut start = session.start(statement).into_adbc()?;
    loop {
        if let Some(rows) = start.within(LOOK_UP).into_adbc()? {
            return Ok(rows);
        }
        watch.check()?;
    }
}

/// The rows of a statement that runs. Dropping them ends it.
pub(crate) struct Rows {
    /// `None` once they have ended.
    rows: Option<SqlRows>,
    schema: SchemaRef,
    watch: Watch,
    /// Its threads do the work.
    _session: SqlSession,
}

impl Rows {
    pub(crate) fn start(
        session: &SqlSession,
        statement: SqlStatement,
        watch: Watch,
    ) -> Result<Self> {
        let rows = start(session, statement, &watch)?;
        Ok(Self {
            schema: rows.schema(),
            rows: Some(rows),
            watch,
            _session: session.clone(),
        })
    }

    /// The next rows.
    ///
    /// # Errors
    /// Those of the statement, or that it was cancelled. They end it.
    pub(crate) fn read(&mut self) -> Result<Option<RecordBatch>> {
        let Some(rows) = &mut self.rows else {
            return Ok(None);
        };
        let outcome = loop {
            // Also when there are always rows.
            if let Err(cancelled) = self.watch.check() {
                break Err(cancelled);
            }
            match rows.next_within(LOOK_UP).into_adbc() {
                Ok(Step::Rows(batch)) => return Ok(Some(batch)),
                Ok(Step::End) => break Ok(None),
                Ok(Step::Waiting) => {}
                Err(error) => break Err(error),
            }
        };
        self.rows = None;
        outcome
    }
}

impl Iterator for Rows {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(external).transpose()
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

pub(crate) fn external(error: Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
