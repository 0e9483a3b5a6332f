//! Conditions keep their values of three-valued logic when the query engine simplifies them.
//!
//! Its rule joins conditions on one column that stand side by side: `x IN (1) AND x IN (2)` becomes false, which is NULL
//! where `x` is NULL. It also compares list items as texts, and takes NULL in a list for a value. Such conditions meet at
//! any time: from the parts of a statement, from constants, from functions. So every condition is an argument of a
//! function while the rule runs ([`apart`]). The lists for which joining is right are joined first ([`lists`]).
//!
//! The rule that pushes filters down joins comparisons with literals, and expects them written alike ([`pushed`]).

mod apart;
mod kept;
mod lists;
mod negation;
mod pushed;
mod same;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::OptimizerConfig;

use super::rules::Rule;

pub(super) use pushed::push_down;

/// The engine's rule that simplifies expressions, with the conditions of each set apart.
pub(super) fn simplify(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    same::keep(simplified(rule, plan, config)?)
}

fn simplified(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let is_aggregate = matches!(plan, LogicalPlan::Aggregate(_));
    let plan = changed(plan, apart::set_apart)?;
    let simplified = rule.rewrite(plan.data, config)?;
    if !plan.transformed {
        return Ok(simplified);
    }
    let mut back = changed(simplified.data, apart::put_back)?.data;
    // The rule may have put a projection above an aggregate.
    if is_aggregate && !matches!(back, LogicalPlan::Aggregate(_)) {
        back = back
            .map_children(|input| changed(input, apart::put_back))?
            .data;
    }
    Ok(Transformed::yes(back))
}

/// Changes the expressions of a plan node; their names stay.
fn changed(
    plan: LogicalPlan,
    change: impl Fn(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    let named = |expr: Expr| {
        if !apart::concerns(&expr)? {
            return Ok(Transformed::no(expr));
        }
        let name = names.save(&expr);
        Ok(change(expr)?.update_data(|expr| name.restore(without_alias(expr))))
    };
    plan.map_expressions(|expr| match expr {
        Expr::GroupingSet(_) => expr.map_children(named),
        expr => named(expr),
    })
}

/// The expression without an alias that is its name.
fn without_alias(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias)
            if alias.relation.is_none()
                && alias.metadata.is_none()
                && alias.name == alias.expr.schema_name().to_string() =>
        {
            *alias.expr
        }
        other => other,
    }
}
