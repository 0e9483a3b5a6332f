//! Columns of a subquery that could be meant in two ways.
//!
//! A column without a relation before it belongs to the innermost query that has it, as in standard SQL. The engine looks
//! for names without quotes in lower case: it takes `code` for the outer query's if the subquery's own file calls the column
//! `Code`, which the writer most likely means. Such a statement would answer another question, or delete other records, so
//! it is refused.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, TableFactor, Visit, Visitor};

use super::letters::ast_of;

/// Plans a statement.
///
/// # Errors
/// Those of the engine, and a column of a subquery that could be one of its own or of the outer query.
pub(super) async fn plan(state: &SessionState, mut statement: Statement) -> Result<LogicalPlan> {
    let names = ast_of(&mut statement).map(|ast| inner_names(ast));
    let plan = state.statement_to_plan(statement).await?;
    if let Some(names) = names.filter(|names| !names.is_empty()) {
        check(&plan, &names)?;
    }
    Ok(plan)
}

/// The names, in small letters, that stand alone and without quotes in subqueries.
fn inner_names(statement: &ast::Statement) -> BTreeSet<String> {
    let mut names = InnerNames::default();
    let _: ControlFlow<()> = statement.visit(&mut names);
    names.found
}

#[derive(Default)]
struct InnerNames {
    depth: usize,
    found: BTreeSet<String>,
}

impl Visitor for InnerNames {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        self.depth += usize::from(is_subquery(expr));
        if let ast::Expr::Identifier(ident) = expr
            && self.depth > 0
            && ident.quote_style.is_none()
        {
            self.found.insert(ident.value.to_ascii_lowercase());
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        self.depth -= usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.depth += usize::from(is_lateral(factor));
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.depth -= usize::from(is_lateral(factor));
        ControlFlow::Continue(())
    }
}

fn is_subquery(expr: &ast::Expr) -> bool {
    matches!(
        expr,
        ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. }
    )
}

fn is_lateral(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Derived { lateral: true, .. })
}

fn check(plan: &LogicalPlan, names: &BTreeSet<String>) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Subquery(subquery) = node {
            check_subquery(subquery, names)?;
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::ScalarSubquery(subquery) => check_subquery(subquery, names)?,
                    Expr::Exists(exists) => check_subquery(&exists.subquery, names)?,
                    Expr::InSubquery(inside) => check_subquery(&inside.subquery, names)?,
                    Expr::SetComparison(compared) => check_subquery(&compared.subquery, names)?,
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

/// Whether an outer column has the name of one of the subquery's own, but for upper and lower case.
fn check_subquery(subquery: &Subquery, names: &BTreeSet<String>) -> Result<()> {
    for outer in &subquery.outer_ref_columns {
        let Expr::OuterReferenceColumn(_, column) = outer else {
            continue;
        };
        if !names.contains(&column.name) {
            continue;
        }
        let mut own = None;
        subquery.subquery.apply(|node| {
            let mut fields = node.schema().fields().iter().map(|field| field.name());
            own = fields
                .find(|name| **name != column.name && name.to_lowercase() == column.name)
                .cloned();
            Ok(match own {
                Some(_) => TreeNodeRecursion::Stop,
                None => TreeNodeRecursion::Continue,
            })
        })?;
        if let Some(own) = own {
            return Err(DataFusionError::Plan(format!(
                "the column {name} of a subquery may be that of the outer query, or \"{own}\" of the subquery's own: write \
                 {column} for the first, and \"{own}\" with the quotes for the second",
                name = column.name
            )));
        }
    }
    Ok(())
}
