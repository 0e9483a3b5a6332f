//! Lists with items that differ from row to row, as alternatives. The engine takes `CASE WHEN v = 3 THEN 1 END` in a list for the
//! constant 1: it computes the items once, without a row, to know whether they are constants.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Writes `x IN (a, b)` as `x = a OR x = b`, unless all items are constants.
#[derive(Debug)]
pub(super) struct VaryingLists;

impl AnalyzerRule for VaryingLists {
    fn name(&self) -> &'static str {
        "varying_lists"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let changed = expr.transform_up(|expr| Ok(as_alternatives(expr)))?;
                Ok(changed.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(changed.data)
    }
}

fn as_alternatives(expr: Expr) -> Transformed<Expr> {
    let Expr::InList(list) = expr else {
        return Transformed::no(expr);
    };
    // What is compared is computed once for each alternative.
    if list.list.iter().all(is_constant) || list.expr.is_volatile() {
        return Transformed::no(Expr::InList(list));
    }
    let InList {
        expr,
        list,
        negated,
    } = list;
    let equalities: Vec<Expr> = list
        .into_iter()
        .map(|item| expr.as_ref().clone().eq(item))
        .collect();
    match any_of(equalities) {
        Some(any) if negated => Transformed::yes(Expr::Not(Box::new(any))),
        Some(any) => Transformed::yes(any),
        None => Transformed::no(Expr::InList(InList::new(expr, Vec::new(), negated))),
    }
}

fn is_constant(item: &Expr) -> bool {
    match item {
        Expr::Literal(..) => true,
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Negative(inner) => is_constant(inner),
        _ => false,
    }
}

/// The alternatives joined with OR, halved again and again: plans are walked by recursion.
fn any_of(mut parts: Vec<Expr>) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let right = any_of(parts.split_off(parts.len() / 2));
    match (any_of(parts), right) {
        (Some(left), Some(right)) => Some(left.or(right)),
        (left, right) => left.or(right),
    }
}
