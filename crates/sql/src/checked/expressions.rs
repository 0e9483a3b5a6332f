//! Rules that replace expressions wherever a plan has them. The columns that they make keep their names.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

/// Replaces expressions by others of the same type, from the leaves up. The schema is that of the inputs.
#[derive(Debug)]
pub(super) struct ExpressionRule {
    pub(super) name: &'static str,
    pub(super) replace: fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
}

impl AnalyzerRule for ExpressionRule {
    fn name(&self) -> &str {
        self.name
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            replace_in(plan, |expr| (self.replace)(expr, &schema))
        })?;
        Ok(changed.data)
    }
}

/// Writes `E IS TRUE` in place of some of the conditions E that a filter joins with AND. The filter takes both for the same;
/// the engine's rules do not.
pub(super) fn hide_from_rules(
    filter: Filter,
    which: impl Fn(&Expr) -> bool,
) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let parts = split_conjunction_owned(filter.predicate);
    let parts = parts.into_iter().map(|part| match which(&part) {
        true => {
            changed = true;
            part.is_true()
        }
        false => part,
    });
    let all = conjunction(parts.collect::<Vec<_>>()).unwrap_or_else(|| lit(true));
    let filter = LogicalPlan::Filter(Filter::try_new(all, filter.input)?);
    Ok(Transformed::new_transformed(filter, changed))
}

/// Replaces expressions of one node, from the leaves up.
pub(super) fn replace_in(
    plan: LogicalPlan,
    mut replace: impl FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    change_each(plan, |expr| expr.transform_up(&mut replace))
}

/// Changes the expressions of one node, each as a whole.
pub(super) fn change_each(
    plan: LogicalPlan,
    mut change: impl FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = change(expr)?;
        Ok(match changed.transformed {
            true => changed.update_data(|expr| name.restore(expr)),
            false => changed,
        })
    })
}

/// Computes the schemas of a changed plan again: what is above a column that has become nullable may have it, too.
pub(super) fn with_new_schemas(changed: Transformed<LogicalPlan>) -> Result<LogicalPlan> {
    match changed.transformed {
        true => changed
            .data
            .transform_up_with_subqueries(|plan| plan.recompute_schema().map(Transformed::yes))
            .map(|plan| plan.data),
        false => Ok(changed.data),
    }
}

/// Whether an operator compares two values of one type.
pub(super) fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}
