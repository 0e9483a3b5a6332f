//! The plans of INSERT and of CREATE TABLE with columns and a query.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::Field;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column as ColumnName, DFSchema, Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{
    CreateMemoryTable, DdlStatement, DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder, Values,
};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    CastKind, CreateTable, Expr as Written, Insert, Query, SelectItem, SetExpr, Statement as Ast,
    Visitor,
};

use super::walk::visit;
use crate::checked::stored;

/// The plan of an INSERT.
///
/// In an INSERT the engine gives all VALUES the types of the table's columns, also those inside of a
/// query, whose columns may be others. So the query is planned by itself. A query of NULLs stands in
/// for it while the engine checks the columns of the table, and completes and converts them.
///
/// # Errors
/// Those of the engine.
pub(super) async fn plan(state: &SessionState, mut statement: Statement) -> Result<LogicalPlan> {
    let query = match insert_of(&mut statement) {
        Some(insert) => insert.source.take(),
        None => None,
    };
    let Some(mut query) = query else {
        return state.statement_to_plan(statement).await;
    };
    if matches!(*query.body, SetExpr::Values(_)) && has_queries(&query.body) {
        select_values(&mut query)?;
    }
    let written = casts_of_values(&query.body);
    let (source, rows) = match written {
        Some(_) => (query, None),
        None => {
            let (source, rows) = alone(state, query).await?;
            (source, Some(rows))
        }
    };
    if let Some(insert) = insert_of(&mut statement) {
        insert.source = Some(source);
    }
    let plan = state.statement_to_plan(statement).await?;
    match (plan, rows) {
        (LogicalPlan::Dml(dml), rows) => {
            let input = Arc::new(match rows {
                Some(rows) => in_place_of_nulls(&dml.input, rows)?,
                None => {
                    let written = written.unwrap_or_default();
                    with_nulls(with_checks(LogicalPlan::clone(&dml.input), &written)?)?
                }
            });
            Ok(LogicalPlan::Dml(DmlStatement { input, ..dml }))
        }
        (plan, _) => Ok(plan),
    }
}

/// The value of a column of the table, without which it would be converted with an error that does not name the column.
///
/// # Errors
/// A text of the statement is not a value of the column.
fn with_check(expr: Expr) -> Result<Expr> {
    match expr {
        Expr::Alias(mut alias) => {
            alias.expr = Box::new(stored(*alias.expr, &alias.name)?);
            Ok(Expr::Alias(alias))
        }
        expr => Ok(expr),
    }
}

/// The number of casts around each of VALUES that the statement itself has.
fn casts_of_values(rows: &SetExpr) -> Option<Vec<Vec<usize>>> {
    let SetExpr::Values(values) = rows else {
        return None;
    };
    let casts = |mut value: &Written| {
        let mut casts = 0;
        loop {
            match value {
                Written::Nested(inner) => value = inner,
                Written::Cast {
                    kind: CastKind::Cast | CastKind::DoubleColon,
                    expr,
                    ..
                } => {
                    casts += 1;
                    value = expr;
                }
                // `DATE '2026-07-01'` is planned as a cast. Alone, it is a value, and must be one of the column.
                Written::TypedString(_) if casts > 0 => return casts + 1,
                _ => return casts,
            }
        }
    };
    let rows = values.rows.iter();
    Some(
        rows.map(|row| row.content.iter().map(casts).collect())
            .collect(),
    )
}

/// The number of casts around a value in a plan.
fn casts_around(mut value: &Expr) -> usize {
    let mut casts = 0;
    while let Expr::Cast(cast) = value {
        casts += 1;
        value = &cast.expr;
    }
    casts
}

/// The projection of an INSERT of VALUES, which are converted among themselves. `written` has the number of casts of each
/// value that the statement has: one more is the conversion to the column's type, and only that one is checked.
fn with_checks(plan: LogicalPlan, written: &[Vec<usize>]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(mut projection) = plan else {
        return Ok(plan);
    };
    let names = projection.expr.iter().filter_map(|expr| match expr {
        Expr::Alias(alias) => match &*alias.expr {
            Expr::Column(column) => Some((column.name.clone(), alias.name.clone())),
            _ => None,
        },
        _ => None,
    });
    let names: HashMap<String, String> = names.collect();
    if let LogicalPlan::Values(values) = &*projection.input {
        let mut values = values.clone();
        for (row, written) in values.values.iter_mut().zip(written) {
            let columns = row.iter_mut().zip(written).zip(values.schema.fields());
            for ((value, written), field) in columns {
                if let Some(name) = names.get(field.name())
                    && casts_around(value) > *written
                {
                    *value = stored(std::mem::take(value), name)?;
                }
            }
        }
        projection.input = Arc::new(LogicalPlan::Values(values));
    }
    let columns = projection.expr.into_iter().map(with_check);
    projection.expr = columns.collect::<Result<_>>()?;
    LogicalPlan::Projection(projection).recompute_schema()
}

/// Lets VALUES have NULLs in all columns: the writer says which column of the table may not be NULL. The engine says
/// which one of VALUES.
fn with_nulls(plan: LogicalPlan) -> Result<LogicalPlan> {
    let changed = plan.transform_up(|plan| match plan {
        LogicalPlan::Values(values) => {
            let fields = values.schema.iter().map(|(relation, field)| {
                let field = Field::clone(field).with_nullable(true);
                (relation.cloned(), Arc::new(field))
            });
            let metadata = values.schema.metadata().clone();
            let schema = DFSchema::new_with_metadata(fields.collect(), metadata)?;
            let schema = Arc::new(schema);
            Ok(Transformed::yes(LogicalPlan::Values(Values {
                schema,
                ..values
            })))
        }
        plan => plan.recompute_schema().map(Transformed::yes),
    })?;
    Ok(changed.data)
}

/// The plan of a CREATE TABLE, whose query is planned by itself as that of an INSERT.
///
/// # Errors
/// Those of the engine.
pub(super) async fn creation(
    state: &SessionState,
    mut statement: Statement,
) -> Result<LogicalPlan> {
    let query = match creation_of(&mut statement) {
        // Without columns, the engine gives no types either.
        Some(create) if !create.columns.is_empty() => create.query.take(),
        _ => None,
    };
    let Some(query) = query else {
        return state.statement_to_plan(statement).await;
    };
    let (source, rows) = alone(state, query).await?;
    if let Some(create) = creation_of(&mut statement) {
        create.query = Some(source);
    }
    match state.statement_to_plan(statement).await? {
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)) => {
            let input = Arc::new(in_place_of_nulls(&create.input, rows)?);
            let create = CreateMemoryTable { input, ..create };
            Ok(LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)))
        }
        plan => Ok(plan),
    }
}

/// A query of NULLs, and the plan of the query that it stands in for.
async fn alone(state: &SessionState, query: Box<Query>) -> Result<(Box<Query>, LogicalPlan)> {
    let query = Statement::Statement(Box::new(Ast::Query(query)));
    let rows = state.statement_to_plan(query).await?;
    Ok((nulls(rows.schema().fields().len())?, rows))
}

/// Whether there are queries inside of the rows of a query, such as `VALUES ((SELECT 1))`.
fn has_queries(rows: &SetExpr) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    visit(rows, &mut Queries).is_break()
}

/// `SELECT (SELECT 1)` in place of `VALUES ((SELECT 1))`, which the engine cannot execute. The rows of
/// several SELECTs would have no order.
fn select_values(query: &mut Query) -> Result<()> {
    let row = match &mut *query.body {
        SetExpr::Values(values) => match values.rows.as_mut_slice() {
            [row] => std::mem::take(&mut row.content),
            _ => {
                return plan_err!(
                    "VALUES with a query inside has one row: insert the rows one by one, or the rows of a SELECT"
                );
            }
        },
        _ => return Ok(()),
    };
    let mut select = nulls(row.len())?;
    if let SetExpr::Select(inner) = &mut *select.body {
        for (item, value) in inner.projection.iter_mut().zip(row) {
            if let SelectItem::ExprWithAlias { expr, .. } = item {
                *expr = value;
            }
        }
    }
    query.body = select.body;
    Ok(())
}

fn creation_of(statement: &mut Statement) -> Option<&mut CreateTable> {
    match statement {
        Statement::Statement(ast) => match &mut **ast {
            Ast::CreateTable(create) => Some(create),
            _ => None,
        },
        _ => None,
    }
}

fn insert_of(statement: &mut Statement) -> Option<&mut Insert> {
    match statement {
        Statement::Statement(ast) => match &mut **ast {
            Ast::Insert(insert) => Some(insert),
            _ => None,
        },
        _ => None,
    }
}

/// The name of a column of the stand-in.
fn name(at: usize) -> String {
    format!("inserted {at}")
}

/// A query of so many NULLs.
fn nulls(many: usize) -> Result<Box<Query>> {
    let items: Vec<String> = (0..many)
        .map(|at| format!("NULL AS \"{}\"", name(at)))
        .collect();
    let parsed = DFParser::parse_sql(&format!("SELECT {}", items.join(", ")))?;
    match parsed.into_iter().next() {
        Some(Statement::Statement(ast)) => match *ast {
            Ast::Query(query) => Ok(query),
            _ => plan_err!("the statement does not insert the rows of a query"),
        },
        _ => plan_err!("the statement does not insert the rows of a query"),
    }
}

/// The projection of an INSERT with its query in place of the stand-in.
fn in_place_of_nulls(input: &LogicalPlan, rows: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = input else {
        return plan_err!("the statement does not insert the rows of a query");
    };
    let found = rows.schema().clone();
    let places: HashMap<String, usize> =
        (0..found.fields().len()).map(|at| (name(at), at)).collect();
    let in_place = |inner: Expr| {
        let place = match &inner {
            Expr::Column(column) => places.get(&column.name),
            _ => None,
        };
        Ok(match place {
            Some(at) => {
                let column = ColumnName::from(found.qualified_field(*at));
                Transformed::yes(Expr::Column(column))
            }
            None => Transformed::no(inner),
        })
    };
    let columns = projection.expr.iter().cloned();
    let columns = columns.map(|expr| with_check(expr.transform(in_place)?.data));
    let columns: Vec<Expr> = columns.collect::<Result<_>>()?;
    LogicalPlanBuilder::from(rows).project(columns)?.build()
}
