//! Statements that create and drop tables.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{Field, Fields};
use datafusion::common::{
    Column as ColumnName, Constraint, Result as QueryResult, TableReference, plan_err,
};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    CreateMemoryTable, DdlStatement, Expr, LogicalPlan, LogicalPlanBuilder,
};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CreateTableOptions, Expr as AstExpr, Ident, ObjectType, SqlOption, Statement as Ast,
    TableConstraint, Value,
};
use futures_util::StreamExt;
use ostrakon_cell::{Error, ErrorKind, Result, TableOptions};

use super::change::{counted, external};
use super::letters::only_spelling;
use super::open::nothing;
use super::unfinished::Unfinished;
use super::{SqlSession, insertion};
use crate::catalog::TableName;
use crate::error::of_query;
use crate::records::{ColumnType, PROPERTY, RecordColumn, RecordSchema, RecordWriter};

/// CREATE TABLE, also with a query
pub(super) async fn create(
    session: &SqlSession,
    mut statement: Statement,
) -> QueryResult<SendableRecordBatchStream> {
    let mut label = None;
    let mut filled = false;
    let mut key = Vec::new();
    if let Statement::Statement(ast) = &mut statement
        && let Ast::CreateTable(create) = &mut **ast
    {
        label = label_option(std::mem::take(&mut create.table_options))?;
        filled = create.query.is_some();
        if filled {
            // The planner looks for unqualified names among the qualified ones of a query.
            key = primary_key(std::mem::take(&mut create.constraints))?;
        }
    }
    let plan = insertion::creation(&session.context.state(), statement).await?;
    let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)) = plan else {
        return plan_err!("the statement does not create a table");
    };
    let name = TableName::changed(&create.name).map_err(external)?;
    let schema = schema_of(&create, &key, label).map_err(external)?;
    if create.or_replace || create.temporary || !create.column_defaults.is_empty() {
        return plan_err!("CREATE TABLE supports neither OR REPLACE nor TEMPORARY nor DEFAULT");
    }
    let schema = Arc::new(schema);
    let mut options = TableOptions::default();
    options
        .properties
        .insert(PROPERTY.to_owned(), schema.to_json().map_err(external)?);
    // The query is planned and its scans are started before the table exists.
    let rows = match filled {
        true => Some(session.run_in_order(ordered(&create, &schema)?).await?),
        false => None,
    };
    let exists = |error: &Error| error.kind() == ErrorKind::AlreadyExists && create.if_not_exists;
    let Some(rows) = rows else {
        return match session.source.create_table(&name.full, &options) {
            Err(error) if exists(&error) => Ok(nothing()),
            outcome => outcome.map(|()| nothing()).map_err(external),
        };
    };
    let table = match Unfinished::create(session.source.clone(), &name.full, &options) {
        Err(error) if exists(&error) => return Ok(nothing()),
        outcome => outcome.map_err(external)?,
    };
    let writer = RecordWriter::new(
        table.table(),
        schema,
        session.authorizations.clone(),
        session.label(),
    );
    let writer = writer.of_new_table().map_err(external)?;
    let outcome = counted(rows, writer, RecordWriter::write);
    Ok(finished(outcome, table, create.if_not_exists))
}

/// DROP TABLE
pub(super) fn drop_tables(
    session: &SqlSession,
    statement: &Statement,
) -> QueryResult<SendableRecordBatchStream> {
    let Statement::Statement(ast) = statement else {
        return plan_err!("the statement does not drop a table");
    };
    let Ast::Drop {
        object_type: ObjectType::Table,
        if_exists,
        names,
        ..
    } = &**ast
    else {
        return plan_err!("only tables can be dropped");
    };
    for name in names {
        let reference = TableReference::parse_str(&name.to_string());
        let name = TableName::changed(&reference).map_err(external)?;
        check_schema(session, &name).map_err(external)?;
        match session.source.delete_table(&name.full) {
            Err(error) if error.kind() == ErrorKind::TableNotFound && *if_exists => {}
            Err(error) if error.kind() == ErrorKind::TableNotFound => {
                return Err(external(crate::catalog::missing(
                    &*session.source,
                    &reference,
                )));
            }
            outcome => outcome.map_err(external)?,
        }
    }
    Ok(nothing())
}

/// Checks that a table, if it exists, is one whose contents SQL may change.
fn check_schema(session: &SqlSession, name: &TableName) -> Result<()> {
    let Ok(table) = session.source.table(&name.full) else {
        return Ok(());
    };
    // A schema that cannot be read is one, too.
    match table.properties()?.contains_key(PROPERTY) {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Unsupported,
            "the table has no schema, so SQL does not drop it: use `ostrakon table delete`, or `Store.drop` in Python",
        )
        .with("table", &name.full)),
    }
}

/// The label column of `WITH (label = 'column')`.
fn label_option(options: CreateTableOptions) -> QueryResult<Option<String>> {
    let options = match options {
        CreateTableOptions::None => return Ok(None),
        CreateTableOptions::With(options) => options,
        _ => return plan_err!("CREATE TABLE has only the option WITH (label = 'COLUMN')"),
    };
    match options.as_slice() {
        [
            SqlOption::KeyValue {
                key,
                value: AstExpr::Value(value),
            },
        ] if key.value.eq_ignore_ascii_case("label") => match &value.value {
            Value::SingleQuotedString(name) => Ok(Some(name.clone())),
            _ => plan_err!("the option `label` is the name of a column, in quotes"),
        },
        _ => plan_err!("CREATE TABLE has only the option WITH (label = 'COLUMN')"),
    }
}

/// The columns of the primary key of a table that a query fills.
fn primary_key(constraints: Vec<TableConstraint>) -> QueryResult<Vec<Ident>> {
    let mut key = Vec::new();
    for constraint in constraints {
        let TableConstraint::PrimaryKey(primary) = constraint else {
            return plan_err!("a table has no constraint but its primary key");
        };
        for column in primary.columns {
            let AstExpr::Identifier(name) = column.column.expr else {
                return plan_err!("the primary key consists of columns");
            };
            key.push(name);
        }
    }
    Ok(key)
}

/// The column with this name: without quotes, in small letters, or else the only one that differs in case.
fn place_of(fields: &Fields, name: &Ident) -> Option<usize> {
    let place = |name: &str| fields.iter().position(|field| field.name() == name);
    match name.quote_style {
        Some(_) => place(&name.value),
        None => place(&name.value.to_ascii_lowercase()).or_else(|| {
            let names = fields.iter().map(|field| field.name().as_str());
            place(&only_spelling(names, &name.value)?)
        }),
    }
}

/// The schema of a new table.
fn schema_of(
    create: &CreateMemoryTable,
    key: &[Ident],
    label: Option<String>,
) -> Result<RecordSchema> {
    let fields = create.input.schema().fields();
    let mut keys = Vec::new();
    for name in key {
        keys.push(place_of(fields, name).ok_or_else(|| {
            Error::invalid("the primary key names a column that the query does not return")
                .with("column", name)
        })?);
    }
    for constraint in create.constraints.iter() {
        match constraint {
            Constraint::PrimaryKey(places) => keys.extend(places.iter().copied()),
            Constraint::Unique(_) => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "a table has no constraint but its primary key",
                ));
            }
        }
    }
    if keys.is_empty() {
        return Err(Error::invalid(
            "a table needs a primary key: add PRIMARY KEY (COLUMN, …)",
        ));
    }
    let kind = |field: &Field| {
        ColumnType::keeping(field.data_type()).ok_or_else(|| {
            Error::invalid(
                "no column can keep this type: use BIGINT, BIGINT UNSIGNED, DOUBLE, BOOLEAN, DATE, TIMESTAMP, VARCHAR or \
                 BYTEA",
            )
            .with("column", field.name())
            .with("type", field.data_type())
        })
    };
    let mut schema = RecordSchema {
        keys: Vec::new(),
        columns: Vec::new(),
        label,
        order: Vec::new(),
    };
    for place in &keys {
        let field = fields
            .get(*place)
            .ok_or_else(|| Error::invalid("the primary key names no column"))?;
        schema.keys.push((field.name().clone(), kind(field)?));
    }
    let mut labelled = false;
    for (place, field) in fields.iter().enumerate() {
        if schema.label.as_deref() == Some(field.name()) {
            labelled = kind(field)? == ColumnType::Text && !keys.contains(&place);
        } else if !keys.contains(&place) {
            schema
                .columns
                .push(RecordColumn::new(field.name(), kind(field)?));
        }
    }
    if schema.label.is_some() && !labelled {
        return Err(Error::invalid(
            "the label is a column of type VARCHAR that is not in the primary key",
        ));
    }
    schema.check()?;
    let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    schema.order = schema.places(&names)?;
    Ok(schema)
}

/// The rows of a query that fills a new table, in the order of the table's columns.
fn ordered(create: &CreateMemoryTable, schema: &RecordSchema) -> QueryResult<LogicalPlan> {
    let found = create.input.schema();
    let columns = schema.ordered().map(|name| {
        let place = found.fields().iter().position(|field| field.name() == name);
        let column =
            place.map(|place| Expr::Column(ColumnName::from(found.qualified_field(place))));
        column.ok_or_else(|| DataFusionError::Plan(format!("the query has no column {name}")))
    });
    let columns: Vec<Expr> = columns.collect::<QueryResult<_>>()?;
    LogicalPlanBuilder::from(LogicalPlan::clone(&create.input))
        .project(columns)?
        .build()
}

/// Gives a new table its name once it is filled, or deletes it again.
fn finished(
    rows: SendableRecordBatchStream,
    mut table: Unfinished,
    if_not_exists: bool,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let shown = schema.clone();
    let rows = rows.map(move |outcome| {
        let rows = match outcome {
            Ok(rows) => rows,
            Err(error) => return Err(external(table.undo(of_query(error)))),
        };
        match table.finish() {
            Ok(()) => Ok(rows),
            // Another statement has created it meanwhile.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && if_not_exists => {
                let count: ArrayRef = Arc::new(UInt64Array::from(vec![0]));
                Ok(RecordBatch::try_new(shown.clone(), vec![count])?)
            }
            Err(error) => Err(external(error)),
        }
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}
