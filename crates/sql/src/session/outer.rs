//! Columns of a subquery that the engine takes for the outer query's, against the standard.
//!
//! A column belongs to the innermost query that has it, and a relation hides one of the same name outside. The engine looks
//! further outside instead of reporting an error in three cases:
//!
//! | the subquery's own relations | a column that it names |
//! |---|---|
//! | have the column in other letters: `Code`, where `spelling.rs` does not know it | `code` |
//! | have it twice | `code` |
//! | include one that is called as an outer one, without this column | `t.code` |
//!
//! If the outer query has such a column, the statement would answer another question, or delete other records. So it is
//! refused.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Ident, Query, TableFactor, Visit, Visitor};

use super::letters::ast_of;

/// Plans a statement.
///
/// # Errors
/// Those of the engine, and a column of a subquery that could be one of its own or of the outer query.
pub(super) async fn plan(state: &SessionState, mut statement: Statement) -> Result<LogicalPlan> {
    let written = ast_of(&mut statement).map(|ast| Written::in_subqueries_of(ast));
    let plan = state.statement_to_plan(statement).await?;
    if let Some(written) = written.filter(|written| !written.names.is_empty()) {
        check(&plan, &written)?;
    }
    Ok(plan)
}

/// The columns that are written in subqueries.
#[derive(Default)]
struct Written {
    /// The relation, if there is one, and the name, as the engine reads them. `true` if the name stands without quotes.
    names: BTreeMap<(Option<String>, String), bool>,
    /// Subquery expressions around the present place, and how many of their queries it is in: the left side of IN is in
    /// none.
    expressions: usize,
    entered: Vec<bool>,
    queries: usize,
}

impl Written {
    fn in_subqueries_of(statement: &ast::Statement) -> Self {
        let mut written = Self::default();
        let _: ControlFlow<()> = statement.visit(&mut written);
        written
    }

    fn add(&mut self, relation: Option<&Ident>, name: &Ident) {
        let key = (relation.map(normal), normal(name));
        *self.names.entry(key).or_default() |= name.quote_style.is_none();
    }

    /// Whether the column is written, and if so, whether it is without quotes.
    fn find(&self, relation: Option<&str>, name: &str) -> Option<bool> {
        let key = (relation.map(str::to_owned), name.to_owned());
        self.names.get(&key).copied()
    }
}

impl Visitor for Written {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        let is_of_expression = self.expressions > self.queries;
        self.queries += usize::from(is_of_expression);
        self.entered.push(is_of_expression);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries -= usize::from(self.entered.pop() == Some(true));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        self.expressions += usize::from(is_subquery(expr));
        // Queries in FROM and WITH have relations of their own.
        if self.queries == 0 || self.entered.last() != Some(&true) {
            return ControlFlow::Continue(());
        }
        match expr {
            ast::Expr::Identifier(name) => self.add(None, name),
            // With a namespace, the relation is named in full.
            ast::Expr::CompoundIdentifier(idents) => {
                if let [relation, name] = idents.as_slice() {
                    self.add(Some(relation), name);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        self.expressions -= usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.expressions += usize::from(is_lateral(factor));
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.expressions -= usize::from(is_lateral(factor));
        ControlFlow::Continue(())
    }
}

fn normal(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
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

fn check(plan: &LogicalPlan, written: &Written) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Subquery(subquery) = node {
            check_subquery(subquery, written)?;
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    Expr::ScalarSubquery(subquery) => check_subquery(subquery, written)?,
                    Expr::Exists(exists) => check_subquery(&exists.subquery, written)?,
                    Expr::InSubquery(inside) => check_subquery(&inside.subquery, written)?,
                    Expr::SetComparison(compared) => check_subquery(&compared.subquery, written)?,
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

fn check_subquery(subquery: &Subquery, written: &Written) -> Result<()> {
    for outer in &subquery.outer_ref_columns {
        let Expr::OuterReferenceColumn(_, outer) = outer else {
            continue;
        };
        let mut relations = Vec::new();
        put_relations(&subquery.subquery, &mut relations);
        let own: Vec<Column> = relations.iter().flat_map(|one| one.columns()).collect();
        if let Some(reason) = mistaken(outer, &own, written) {
            return Err(DataFusionError::Plan(reason));
        }
    }
    Ok(())
}

/// Why a column of the outer query may be meant to be one of the subquery's own.
fn mistaken(outer: &Column, own: &[Column], written: &Written) -> Option<String> {
    let name = quoted(&outer.name);
    let alone = |own: String| {
        format!(
            "the column {name} of a subquery {own}, and the outer query has a column {name}: give the relations names with \
             AS, and write the name before the column, as in a.{name}, wherever a subquery has {name} alone"
        )
    };
    if let Some(is_unquoted) = written.find(None, &outer.name) {
        let lower = outer.name.to_lowercase();
        let mut others = own.iter().filter(|one| one.name.to_lowercase() == lower);
        match own.iter().filter(|one| one.name == outer.name).count() {
            // The engine has found it there.
            1 => {}
            0 => {
                if let Some(other) = others.next().filter(|_| is_unquoted) {
                    return Some(alone(format!("may be its own {}", quoted(&other.name))));
                }
            }
            _ => return Some(alone("may be that of several relations".to_owned())),
        }
    }
    let table = outer.relation.as_ref()?.table();
    written.find(Some(table), &outer.name)?;
    let is_hidden = own.iter().any(|one| {
        let relation = one.relation.as_ref();
        relation.is_some_and(|relation| relation.table() == table)
    });
    is_hidden.then(|| {
        format!(
            "{table} has no column {name} in a subquery, but around it: give one of the two relations another name with AS",
            table = quoted(table)
        )
    })
}

fn quoted(name: &str) -> String {
    Column::new_unqualified(name).quoted_flat_name()
}

/// The relations of a query's FROM clause.
fn put_relations(plan: &LogicalPlan, relations: &mut Vec<DFSchemaRef>) {
    match plan {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Union(_)
        | LogicalPlan::Join(_)
        | LogicalPlan::Unnest(_) => {
            for input in plan.inputs() {
                put_relations(input, relations);
            }
        }
        relation => relations.push(relation.schema().clone()),
    }
}
