//! Statements that change the records of a table.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result as QueryResult, TableReference, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, WriteOp};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::sql::parser::Statement;
use futures_util::StreamExt;
use ostrakon_cell::{Error, ErrorKind, Result, Table};

use super::open::Prepared;
use super::selected::Selected;
use super::{SqlSession, insertion, is_unfinished};
use crate::catalog::{TableName, missing};
use crate::error::of_query;
use crate::files::Called;
use crate::records::{RecordSchema, RecordWriter};
use crate::scan::EndsScans;

/// Record batches that wait to be written.
const WAITING: usize = 2;

/// INSERT
pub(super) async fn insert(
    session: &SqlSession,
    statement: Statement,
) -> QueryResult<SendableRecordBatchStream> {
    let plan = insertion::plan(&session.context.state(), statement).await?;
    let LogicalPlan::Dml(DmlStatement {
        table_name,
        op: WriteOp::Insert(op),
        input,
        ..
    }) = plan
    else {
        return plan_err!("the statement does not insert into a table");
    };
    // Both replace a record with the same key.
    if op == InsertOp::Overwrite {
        return plan_err!("INSERT OVERWRITE is not supported: delete the rows first");
    }
    let writer = writer(session, &table_name).map_err(external)?;
    let rows = session.run_in_order(LogicalPlan::clone(&input)).await?;
    Ok(counted(rows, writer, RecordWriter::write))
}

/// DELETE
pub(super) async fn delete(
    session: &SqlSession,
    statement: Statement,
) -> QueryResult<SendableRecordBatchStream> {
    let selected = Selected::by_deletion(statement)?;
    let (table, schema) = changed(session, &selected.table()?).map_err(external)?;
    let plan = selected.plan(session, &table, &schema).await?;
    let writer = RecordWriter::new(
        table,
        Arc::new(schema),
        session.authorizations.clone(),
        Vec::new(),
    );
    let plan = session.prepare(plan).await?;
    let rows = Rows::Reserving(plan, session.value_limit, Box::new(|_| Ok(())));
    Ok(counted(rows, writer, RecordWriter::delete))
}

/// A table with a schema that a statement changes.
pub(super) fn changed(
    session: &SqlSession,
    reference: &TableReference,
) -> Result<(Arc<dyn Table>, RecordSchema)> {
    if let Some(called) = Called::of_name(reference.table()) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a file is only read: `--output FILE` of `ostrakon sql` writes one",
        )
        .with("file", called.path));
    }
    let name = TableName::changed(reference)?;
    if is_unfinished(&*session.source, &name.full)? {
        return Err(missing(&*session.source, reference));
    }
    let exact = session.source.table(&name.full);
    let table = match exact {
        Err(error) if error.kind() == ErrorKind::TableNotFound => {
            // As when it is read: the only name that differs in case.
            let tables = session.source.tables()?;
            let mut similar = tables
                .iter()
                .filter(|table| table.name.eq_ignore_ascii_case(&name.full));
            match (similar.next(), similar.next()) {
                (Some(table), None) => session.source.table(&table.name)?,
                _ => return Err(missing(&*session.source, reference)),
            }
        }
        table => table?,
    };
    match RecordSchema::of(&*table)? {
        Some(schema) => Ok((table, schema)),
        None => Err(Error::new(
            ErrorKind::Unsupported,
            "the table has no schema, so SQL cannot change its entries: use `put`, `delete` and `import`, or store records in \
             a table of CREATE TABLE",
        )
        .with("table", &name.full)),
    }
}

fn writer(session: &SqlSession, name: &TableReference) -> Result<RecordWriter> {
    let (table, schema) = changed(session, name)?;
    Ok(RecordWriter::new(
        table,
        Arc::new(schema),
        session.authorizations.clone(),
        session.label(),
    ))
}

/// Where the records of a statement come from.
pub(super) enum Rows {
    Started(SendableRecordBatchStream),
    /// They are chosen by what is in the table that is changed, so the table is reserved before they are read. So many
    /// bytes are collected and checked before any is changed.
    Reserving(Prepared, usize, Check),
}

/// Whether a batch can be written.
pub(super) type Check = Box<dyn Fn(&RecordBatch) -> Result<()> + Send>;

impl From<SendableRecordBatchStream> for Rows {
    fn from(rows: SendableRecordBatchStream) -> Self {
        Self::Started(rows)
    }
}

/// One row with the number of records that `action` has written or deleted, when that is done.
pub(super) fn counted<A>(
    rows: impl Into<Rows>,
    mut writer: RecordWriter,
    action: A,
) -> SendableRecordBatchStream
where
    A: Fn(&mut RecordWriter, &RecordBatch) -> Result<u64> + Clone + Send + Sync + 'static,
{
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new(
        "count",
        DataType::UInt64,
        false,
    )]));
    let shown = schema.clone();
    let rows = match rows.into() {
        Rows::Started(rows) => Rows::Started(ahead(rows)),
        rows => rows,
    };
    let ends = EndsScans(writer.interrupt().clone());
    let work = async move {
        // A statement that is given up drops this, while a thread may still search for present cells.
        let _ends = ends;
        let mut count = 0;
        match rows {
            Rows::Started(mut rows) => {
                while let Some(batch) = rows.next().await {
                    let _shared = writer.share().await;
                    let kept = if writer.keeps() { count } else { 0 };
                    let step = async { written_of(writer, batch?, &action).await };
                    let written;
                    (writer, written) = step.await.map_err(|error| after(error, kept))?;
                    count += written;
                }
            }
            Rows::Reserving(plan, bytes, check) => {
                let _reserved = writer.reserve().await;
                (writer, ()) = on_thread(writer, |writer| writer.read_others()).await?;
                let rows = plan.start()?;
                let schema = rows.schema();
                let rows = rows.map(move |batch| {
                    let batch = batch?;
                    check(&batch).map_err(external)?;
                    Ok(batch)
                });
                let rows = RecordBatchStreamAdapter::new(schema, rows);
                let mut rows = ahead(Box::pin(rows));
                let mut first = collected(&mut rows, bytes).await?.into_iter();
                while let Some(batch) = next_of(&mut first, &mut rows).await {
                    let step = async { written_of(writer, batch?, &action).await };
                    let written;
                    (writer, written) = step.await.map_err(|error| after(error, count))?;
                    count += written;
                }
            }
        }
        let finished = tokio::task::spawn_blocking(move || writer.finish())
            .await
            .map_err(stopped)?;
        finished.map_err(external)?;
        Ok(RecordBatch::try_new(
            shown,
            vec![Arc::new(UInt64Array::from(vec![count]))],
        )?)
    };
    Box::pin(RecordBatchStreamAdapter::new(
        schema,
        futures_util::stream::once(work),
    ))
}

/// Writes a batch.
async fn written_of<A>(
    writer: RecordWriter,
    batch: RecordBatch,
    action: &A,
) -> QueryResult<(RecordWriter, u64)>
where
    A: Fn(&mut RecordWriter, &RecordBatch) -> Result<u64> + Clone + Send + Sync + 'static,
{
    let action = action.clone();
    on_thread(writer, move |writer: &mut RecordWriter| {
        action(writer, &batch)
    })
    .await
}

/// The first batches of a statement, about so many bytes: of a statement that fails, nothing is written as long as its
/// rows are collected.
async fn collected(
    rows: &mut SendableRecordBatchStream,
    bytes: usize,
) -> QueryResult<Vec<RecordBatch>> {
    let (mut first, mut size) = (Vec::new(), 0);
    while size < bytes
        && let Some(batch) = rows.next().await
    {
        let batch = batch?;
        size += batch.get_array_memory_size();
        first.push(batch);
    }
    Ok(first)
}

/// The next batch, of those that were collected or of the others.
async fn next_of(
    first: &mut std::vec::IntoIter<RecordBatch>,
    rows: &mut SendableRecordBatchStream,
) -> Option<QueryResult<RecordBatch>> {
    match first.next() {
        Some(batch) => Some(Ok(batch)),
        None => rows.next().await,
    }
}

/// The error of a statement that has changed so many records before.
fn after(error: DataFusionError, count: u64) -> DataFusionError {
    match count {
        0 => error,
        count => {
            external(of_query(error).with("changed", format!("{count} records before, or more")))
        }
    }
}

/// A step of a writer, which may wait for others and for the disk.
async fn on_thread<T: Send + 'static>(
    mut writer: RecordWriter,
    step: impl FnOnce(&mut RecordWriter) -> Result<T> + Send + 'static,
) -> QueryResult<(RecordWriter, T)> {
    let step = move || {
        let done = step(&mut writer);
        done.map(|done| (writer, done))
    };
    let done = tokio::task::spawn_blocking(step).await.map_err(stopped)?;
    done.map_err(external)
}

/// The rows, read by a task of their own while earlier ones are written.
fn ahead(mut rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let mut builder = RecordBatchReceiverStream::builder(rows.schema(), WAITING);
    let sender = builder.tx();
    builder.spawn(async move {
        while let Some(batch) = rows.next().await {
            if sender.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    });
    builder.build()
}

fn stopped(error: tokio::task::JoinError) -> DataFusionError {
    DataFusionError::Execution(format!("the work was stopped: {error}"))
}

pub(super) fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
