//! The plan of INSERT.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column as ColumnName, Result, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{Insert, Query, SetExpr, Statement as Ast};

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
    let Some(query) = query else {
        return state.statement_to_plan(statement).await;
    };
    let is_values = matches!(*query.body, SetExpr::Values(_));
    let (source, rows) = match is_values {
        true => (query, None),
        false => {
            let query = Statement::Statement(Box::new(Ast::Query(query)));
            let rows = state.statement_to_plan(query).await?;
            (nulls(rows.schema().fields().len())?, Some(rows))
        }
    };
    if let Some(insert) = insert_of(&mut statement) {
        insert.source = Some(source);
    }
    let plan = state.statement_to_plan(statement).await?;
    match (plan, rows) {
        (LogicalPlan::Dml(dml), Some(rows)) => {
            let input = Arc::new(in_place_of_nulls(&dml.input, rows)?);
            Ok(LogicalPlan::Dml(DmlStatement { input, ..dml }))
        }
        (plan, _) => Ok(plan),
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
    let columns = columns.map(|expr| Ok(expr.transform(in_place)?.data));
    let columns: Vec<Expr> = columns.collect::<Result<_>>()?;
    LogicalPlanBuilder::from(rows).project(columns)?.build()
}
