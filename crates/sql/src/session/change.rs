//! Statements that change the records of a table.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Column as ColumnName, Result as QueryResult, TableReference, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{
    DmlStatement, Expr, Filter, Limit, LogicalPlan, LogicalPlanBuilder, TableSource, WriteOp,
};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{FromTable, Statement as Ast, TableFactor};
use futures_util::StreamExt;
use ostrakon_cell::{Error, ErrorKind, Result, Table};

use super::{SqlSession, insertion, is_unfinished};
use crate::catalog::TableName;
use crate::records::{RecordSchema, RecordWriter, RecordsTable};
use crate::scan::EndsScans;

/// Record batches that wait to be written.
const WAITING: usize = 2;

/// What is done with the rows of a plan.
#[derive(Clone, Copy)]
pub(super) enum Action {
    Write,
    Delete,
}

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
    Ok(counted(rows, writer, Action::Write))
}

/// DELETE
pub(super) async fn delete(
    session: &SqlSession,
    statement: Statement,
) -> QueryResult<SendableRecordBatchStream> {
    if let Some(alias) = alias_of_deletion(&statement) {
        return plan_err!(
            "DELETE takes no alias for its table: leave out `{alias}`, and name columns without it"
        );
    }
    let plan = session.context.state().statement_to_plan(statement).await?;
    let LogicalPlan::Dml(DmlStatement {
        table_name,
        op: WriteOp::Delete,
        input,
        ..
    }) = plan
    else {
        return plan_err!("the statement does not delete from a table");
    };
    let (table, schema) = changed(session, &table_name).map_err(external)?;
    let mut row = "row".to_owned();
    while schema.names().any(|name| name == row) {
        row.push('_');
    }
    let relation = RecordsTable::new(
        table.clone(),
        schema.clone(),
        session.authorizations.clone(),
        session.sees_layout,
    );
    let source = provider_as_source(Arc::new(relation.with_rows(&row)));
    let input = from_source(&input, &source)?;
    let row = Expr::Column(ColumnName::new(Some(table_name), row));
    let input = LogicalPlanBuilder::from(input).project([row])?.build()?;
    let writer = RecordWriter::new(
        table,
        Arc::new(schema),
        session.authorizations.clone(),
        Vec::new(),
    );
    let rows = session.run(input).await?;
    Ok(counted(rows, writer, Action::Delete))
}

/// The alias of a table to delete from, which the engine would ignore.
fn alias_of_deletion(statement: &Statement) -> Option<String> {
    let Statement::Statement(ast) = statement else {
        return None;
    };
    let Ast::Delete(delete) = &**ast else {
        return None;
    };
    let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
    tables.iter().find_map(|table| match &table.relation {
        TableFactor::Table { alias, .. } => alias.as_ref().map(|alias| alias.name.to_string()),
        _ => None,
    })
}

/// The plan of the records to delete, with another source for them. Subqueries read their own.
fn from_source(plan: &LogicalPlan, source: &Arc<dyn TableSource>) -> QueryResult<LogicalPlan> {
    match plan {
        LogicalPlan::TableScan(scan) => {
            LogicalPlanBuilder::scan(scan.table_name.clone(), source.clone(), None)?.build()
        }
        LogicalPlan::Filter(filter) => {
            let input = from_source(&filter.input, source)?;
            let filter = Filter::try_new(filter.predicate.clone(), Arc::new(input))?;
            Ok(LogicalPlan::Filter(filter))
        }
        LogicalPlan::Limit(limit) => Ok(LogicalPlan::Limit(Limit {
            input: Arc::new(from_source(&limit.input, source)?),
            ..limit.clone()
        })),
        _ => plan_err!("the statement does not delete from a table"),
    }
}

/// A table with a schema that a statement changes.
fn changed(session: &SqlSession, name: &TableReference) -> Result<(Arc<dyn Table>, RecordSchema)> {
    let name = TableName::changed(name)?;
    if is_unfinished(&*session.source, &name.full)? {
        return Err(Error::no_table("there is no such table").with("table", &name.full));
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
                _ => return Err(error),
            }
        }
        table => table?,
    };
    match RecordSchema::of(&*table)? {
        Some(schema) => Ok((table, schema)),
        None => Err(Error::new(
            ErrorKind::Unsupported,
            "the table has no schema, so SQL only reads it: create one with CREATE TABLE, or use `put` and `import`",
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

/// One row with the number of records that were written or deleted, when that is done.
pub(super) fn counted(
    rows: SendableRecordBatchStream,
    mut writer: RecordWriter,
    action: Action,
) -> SendableRecordBatchStream {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new(
        "count",
        DataType::UInt64,
        false,
    )]));
    let shown = schema.clone();
    let mut rows = ahead(rows);
    let ends = EndsScans(writer.interrupt().clone());
    let work = async move {
        // A statement that is given up drops this, while a thread may still search for present cells.
        let _ends = ends;
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            let step = move || {
                let done = match action {
                    Action::Write => writer.write(&batch),
                    Action::Delete => writer.delete(&batch),
                };
                (writer, done)
            };
            let (back, done) = tokio::task::spawn_blocking(step).await.map_err(stopped)?;
            writer = back;
            count += done.map_err(external)?;
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
