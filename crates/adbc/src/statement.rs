//! Statements and their parameters.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{OptionStatement, OptionValue};
use adbc_core::{CancelHandle, Optionable, PartitionedResult, Statement};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{
    Array, RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader, new_null_array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ostrakon_sql::{SqlSession, SqlStatement, SqlValue};

use crate::cancel::{Cancelling, Watch};
use crate::error::{IntoAdbc, no_option, not_implemented, wrong_state};
use crate::panics::{Caught, caught};
use crate::parameters;
use crate::rows::{Rows, external, only, start};

type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// A statement of a connection. It may be executed several times, with other parameters each time.
pub struct OstrakonStatement {
    session: SqlSession,
    read_only: Arc<AtomicBool>,
    query: Option<SqlStatement>,
    /// The parameters of the next execution: it runs once for each row.
    bound: Option<Reader>,
    cancelling: Cancelling,
    /// Of all statements of the connection.
    all: Cancelling,
}

impl OstrakonStatement {
    pub(crate) fn new(session: SqlSession, read_only: Arc<AtomicBool>, all: Cancelling) -> Self {
        Self {
            session,
            read_only,
            query: None,
            bound: None,
            cancelling: Cancelling::default(),
            all,
        }
    }

    fn watch(&self) -> Watch {
        Watch::new(&[&self.cancelling, &self.all])
    }

    fn query(&self) -> Result<SqlStatement> {
        let query = self.query.clone();
        query.ok_or_else(|| wrong_state("the statement has no SQL yet"))
    }

    /// The columns of the rows, with NULL for each of so many parameters.
    fn schema(&self, parameters: usize) -> Result<Schema> {
        let query = self.query()?;
        if !query.returns_rows() {
            return Ok(Schema::empty());
        }
        let nulls = vec![SqlValue::Null; parameters];
        let query = query.bind(&nulls).into_adbc()?;
        let rows = start(&self.session, query, &self.watch())?;
        Ok(Schema::clone(&rows.schema()))
    }

    /// Starts the statement; one that returns no rows has had its effect then.
    fn run(&mut self) -> Result<Reader> {
        let query = self.query()?;
        if !query.returns_rows() {
            // It has its effect whether its rows are read or not.
            self.update()?;
            return Ok(nothing(Arc::new(Schema::empty())));
        }
        let mut executions = self.executions()?;
        let watch = self.watch();
        let Some(first) = executions.next()? else {
            let columns = self.schema(executions.width())?;
            return Ok(nothing(Arc::new(columns)));
        };
        let rows = Rows::start(&self.session, first, watch.again())?;
        if executions.bound.is_none() {
            return Ok(Box::new(rows));
        }
        Ok(Box::new(Chained {
            session: self.session.clone(),
            executions,
            schema: nullable(&rows.schema()),
            rows: Some(rows),
            watch,
        }))
    }

    fn update(&mut self) -> Result<Option<i64>> {
        let mut executions = self.executions()?;
        let counts = !executions.query.returns_rows();
        let watch = self.watch();
        let mut changed: Option<u64> = None;
        while let Some(statement) = executions.next()? {
            let mut rows = Rows::start(&self.session, statement, watch.again())?;
            while let Some(batch) = rows.read()? {
                let column = batch.columns().first().filter(|_| counts);
                let column = column.and_then(|column| column.as_primitive_opt::<UInt64Type>());
                for count in column.into_iter().flatten().flatten() {
                    changed = Some(changed.unwrap_or_default().saturating_add(count));
                }
            }
        }
        Ok(changed.map(|changed| i64::try_from(changed).unwrap_or(i64::MAX)))
    }

    /// The statement with the values of its parameters, once for each row that was bound. Takes the rows.
    fn executions(&mut self) -> Result<Executions> {
        let query = self.query()?;
        if self.read_only.load(Ordering::SeqCst) && !query.is_read_only() {
            return Err(Error::with_message_and_status(
                "the connection is open for reading only",
                Status::Unauthorized,
            ));
        }
        Ok(Executions {
            query,
            bound: self.bound.take(),
            values: Vec::new().into_iter(),
            begun: false,
        })
    }
}

/// The executions of a statement.
struct Executions {
    query: SqlStatement,
    bound: Option<Reader>,
    values: std::vec::IntoIter<Vec<SqlValue>>,
    begun: bool,
}

impl Executions {
    /// How many parameters each row has.
    fn width(&self) -> usize {
        let bound = self.bound.as_ref();
        bound.map_or(0, |bound| bound.schema().fields().len())
    }

    fn next(&mut self) -> Result<Option<SqlStatement>> {
        let begun = std::mem::replace(&mut self.begun, true);
        let Some(bound) = &mut self.bound else {
            return match begun {
                true => Ok(None),
                // Parameters without values are an error.
                false => self.query.clone().bind(&[]).map(Some).into_adbc(),
            };
        };
        loop {
            if let Some(values) = self.values.next() {
                return self.query.clone().bind(&values).map(Some).into_adbc();
            }
            let Some(batch) = bound.next().transpose()? else {
                return Ok(None);
            };
            self.values = parameters::values(&batch)?.into_iter();
        }
    }
}

/// The rows of one execution after the other.
struct Chained {
    session: SqlSession,
    executions: Executions,
    schema: SchemaRef,
    rows: Option<Rows>,
    watch: Watch,
}

impl Chained {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(rows) = &mut self.rows {
                if let Some(batch) = rows.read()? {
                    return self.alike(&batch).map(Some);
                }
                self.rows = None;
            }
            let Some(statement) = self.executions.next()? else {
                return Ok(None);
            };
            self.rows = Some(Rows::start(&self.session, statement, self.watch.again())?);
        }
    }

    /// The rows of one execution, with the columns of the first one: names and nullability may come from parameters, and
    /// a NULL has no type of its own.
    fn alike(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let differs = || {
            wrong_state(
                "the types of columns differ between the rows of the parameters: execute the statement once for each, or \
                 give the parameters types, as in CAST(? AS BIGINT)",
            )
        };
        if batch.num_columns() != self.schema.fields().len() {
            return Err(differs());
        }
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| match column.data_type() {
            kind if kind == field.data_type() => Ok(Arc::clone(column)),
            DataType::Null => Ok(new_null_array(field.data_type(), column.len())),
            _ => Err(differs()),
        });
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<Result<_>>()?;
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            columns,
            &rows,
        )?)
    }
}

impl Iterator for Chained {
    type Item = std::result::Result<RecordBatch, arrow_schema::ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().map_err(external).transpose()
    }
}

impl RecordBatchReader for Chained {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The same columns, which may be NULL.
fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter();
    let fields = fields.map(|field| Field::clone(field).with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn nothing(schema: SchemaRef) -> Reader {
    let none: [std::result::Result<RecordBatch, arrow_schema::ArrowError>; 0] = [];
    Box::new(RecordBatchIterator::new(none, schema))
}

impl Statement for OstrakonStatement {
    fn bind(&mut self, batch: RecordBatch) -> Result<()> {
        let schema = batch.schema();
        self.bound = Some(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        Ok(())
    }

    fn bind_stream(&mut self, reader: Reader) -> Result<()> {
        self.bound = Some(reader);
        Ok(())
    }

    fn execute(&mut self) -> Result<Reader> {
        let rows = caught(|| self.run())?;
        Ok(Box::new(Caught::new(rows)))
    }

    fn execute_update(&mut self) -> Result<Option<i64>> {
        caught(|| self.update())
    }

    fn execute_schema(&mut self) -> Result<Schema> {
        let bound = self.bound.as_ref();
        let parameters = bound.map_or(0, |bound| bound.schema().fields().len());
        caught(|| self.schema(parameters))
    }

    fn execute_partitions(&mut self) -> Result<PartitionedResult> {
        Err(not_implemented("results are not divided into partitions"))
    }

    fn get_parameter_schema(&self) -> Result<Schema> {
        Err(not_implemented(
            "the types of parameters are those of their values",
        ))
    }

    fn prepare(&mut self) -> Result<()> {
        self.query().map(drop)
    }

    fn set_sql_query(&mut self, query: impl AsRef<str>) -> Result<()> {
        self.query = Some(caught(|| only(query.as_ref()))?);
        self.bound = None;
        Ok(())
    }

    fn set_substrait_plan(&mut self, _: impl AsRef<[u8]>) -> Result<()> {
        Err(not_implemented("there are no Substrait plans: use SQL"))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(self.cancelling.clone())
    }
}

impl Optionable for OstrakonStatement {
    type Option = OptionStatement;

    fn set_option(&mut self, key: OptionStatement, _: OptionValue) -> Result<()> {
        match key {
            OptionStatement::IngestMode | OptionStatement::TargetTable => Err(not_implemented(
                "bulk ingest is not implemented: write the rows to a Parquet file and INSERT from it",
            )),
            other => no_option(other.as_ref()),
        }
    }

    fn get_option_string(&self, key: OptionStatement) -> Result<String> {
        no_option(key.as_ref())
    }

    fn get_option_bytes(&self, key: OptionStatement) -> Result<Vec<u8>> {
        no_option(key.as_ref())
    }

    fn get_option_int(&self, key: OptionStatement) -> Result<i64> {
        no_option(key.as_ref())
    }

    fn get_option_double(&self, key: OptionStatement) -> Result<f64> {
        no_option(key.as_ref())
    }
}

impl std::fmt::Debug for OstrakonStatement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OstrakonStatement").finish_non_exhaustive()
    }
}
