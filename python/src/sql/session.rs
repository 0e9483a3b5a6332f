//! A session of SQL.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use ostrakon_cell::{Error, Result, VisibilityExpression};
use ostrakon_sql::{
    SqlOptions, SqlRows, SqlSession, SqlStatement, SqlValue, Step, parse_statements,
};
use ostrakon_store::StoreOptions;
use pyo3::prelude::*;

use crate::errors::IntoPython;
use crate::rows::{NativeRows, RowSource};
use crate::signals::run;
use crate::tables::{Gate, NativeStore, Text};

/// A session of SQL, used by `ostrakon.SqlSession`. Its authorizations are those of every statement.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeSql {
    session: Arc<SqlSession>,
    gate: Gate,
}

/// A value for a parameter, in the order in which Python's types are tried.
#[derive(FromPyObject)]
pub(super) enum Argument {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Text),
    /// `date` and days, or `timestamp` and microseconds, since 1970.
    Time(String, i64),
}

impl From<Argument> for SqlValue {
    fn from(argument: Argument) -> Self {
        match argument {
            Argument::Bool(value) => Self::Bool(value),
            Argument::Int(value) => Self::Int(value),
            Argument::Float(value) => Self::Float(value),
            Argument::Text(Text::Text(text)) => Self::Text(text),
            Argument::Text(bytes) => Self::Bytes(bytes.into_bytes()),
            Argument::Time(kind, number) => match (kind.as_str(), i32::try_from(number)) {
                ("date", Ok(days)) => Self::Date(days),
                _ => Self::Timestamp(number),
            },
        }
    }
}

#[pymethods]
impl NativeSql {
    /// A session on a store.
    #[new]
    fn new(
        py: Python<'_>,
        store: &NativeStore,
        auths: Option<Vec<Text>>,
        label: Text,
        files: bool,
        memory_bytes: Option<usize>,
    ) -> PyResult<Self> {
        // With authorizations of its own, a session reads for somebody who may see less than the program.
        let sees_layout = auths.is_none();
        let authorizations = store.authorizations(auths)?;
        let source = store.lend_store().into_python()?;
        let usual = StoreOptions::default().memory_budget_bytes / 2;
        let usual = usize::try_from(usual.max(256 << 20)).unwrap_or(usize::MAX);
        let options = SqlOptions {
            files,
            label: checked(label.into_bytes()).into_python()?,
            memory_bytes: memory_bytes.unwrap_or(usual),
            sees_layout,
            ..SqlOptions::default()
        };
        let session = py
            .detach(|| SqlSession::new(source, authorizations, options))
            .into_python()?;
        Ok(Self {
            session: Arc::new(session),
            gate: store.gate().clone(),
        })
    }

    /// Runs the only statement of a text: its rows if it asks for rows, otherwise the number of records that it changed,
    /// if it changes records.
    fn execute(
        &self,
        py: Python<'_>,
        text: String,
        values: Vec<Option<Argument>>,
    ) -> PyResult<(Option<NativeRows>, Option<u64>)> {
        self.gate.check().into_python()?;
        let values: Vec<SqlValue> = values
            .into_iter()
            .map(|value| value.map_or(SqlValue::Null, Into::into))
            .collect();
        let session = self.session.clone();
        let start = move || -> Result<(SqlRows, bool)> {
            let statement = only(&text)?.bind(&values)?;
            let asks = statement.returns_rows();
            Ok((session.execute_blocking(statement)?, asks))
        };
        let (rows, asks) = run(py, || {}, start)?.into_python()?;
        let schema = rows.schema();
        let source = Box::new(Started {
            rows,
            _session: self.session.clone(),
        });
        let rows = NativeRows::new(source, schema, self.gate.clone());
        if asks {
            return Ok((Some(rows), None));
        }
        let mut count = None;
        while let Some(batch) = rows.read(py)? {
            let counts = batch.columns().first();
            let counts = counts.and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
            for changed in counts.into_iter().flatten().flatten() {
                *count.get_or_insert(0) += changed;
            }
        }
        Ok((None, count))
    }
}

/// A statement that runs.
struct Started {
    rows: SqlRows,
    /// Its threads do the work.
    _session: Arc<SqlSession>,
}

impl RowSource for Started {
    fn next_within(&mut self, wait: Duration) -> Result<Step> {
        self.rows.next_within(wait)
    }
}

fn only(text: &str) -> Result<SqlStatement> {
    let mut statements = parse_statements(text)?;
    let count = statements.len();
    match (statements.pop(), count) {
        (Some(statement), 1) => Ok(statement),
        _ => Err(
            Error::invalid("the text is not one statement: run its statements one by one")
                .with("statements", count),
        ),
    }
}

/// A label that is an expression, or none.
fn checked(label: Vec<u8>) -> Result<Vec<u8>> {
    if !label.is_empty() {
        VisibilityExpression::parse(&label).map_err(|error| {
            Error::invalid("`label` is not an expression of labels")
                .with("argument", "label")
                .with("label", String::from_utf8_lossy(&label))
                .with_source(error)
        })?;
    }
    Ok(label)
}
