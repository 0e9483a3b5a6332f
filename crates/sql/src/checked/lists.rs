//! Conditions with several lists for one column, such as `x NOT IN (1) OR x NOT IN (2)`. The query engine joins the
//! lists as if `x` were never NULL: it takes this condition for true, and it is NULL where `x` is NULL. A rule separates
//! the two cases first.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// Replaces a condition `E` with several lists for `x` by
/// `x IS NOT NULL AND E OR x IS NULL AND E'`, where `E'` has NULL in the place of each list.
#[derive(Debug)]
pub(super) struct ListsOfNulls;

impl AnalyzerRule for ListsOfNulls {
    fn name(&self) -> &'static str {
        "lists_of_nulls"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(replaced)?.data)
    }
}

fn replaced(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    let is_filter = matches!(plan, LogicalPlan::Filter(_));
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = match is_filter {
            true => of_filter(expr, &schema)?,
            false => expr.transform_down(|expr| separated(expr, &schema))?,
        };
        Ok(changed.update_data(|expr| name.restore(expr)))
    })
}

/// A filter keeps a row only if its condition is true: where nothing is negated, NULL and false are the same.
fn of_filter(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if !has_negation(&expr)? {
        return Ok(Transformed::no(expr));
    }
    let mut changed = false;
    let mut parts = Vec::new();
    for part in split_conjunction_owned(expr) {
        let part = match has_negation(&part)? {
            true => part.transform_down(|expr| separated(expr, schema))?,
            false => Transformed::no(part),
        };
        changed |= part.transformed;
        parts.push(part.data);
    }
    let all = conjunction(parts).unwrap_or_else(|| Expr::Literal(ScalarValue::from(true), None));
    Ok(Transformed::new_transformed(all, changed))
}

/// Whether a part of the condition being false may make the condition true.
fn has_negation(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(match part {
            Expr::InList(list) => list.negated,
            Expr::BinaryExpr(BinaryExpr { op, .. }) => {
                !matches!(op, Operator::And | Operator::Or) && is_condition_of_conditions(part)
            }
            Expr::Column(_) | Expr::Literal(..) | Expr::Like(_) | Expr::Between(_) => false,
            _ => true,
        })
    })
}

/// Whether a comparison compares conditions, as in `(x IN (1)) = false`.
fn is_condition_of_conditions(expr: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, right, .. }) = expr else {
        return false;
    };
    [left, right]
        .into_iter()
        .any(|side| matches!(**side, Expr::InList(_) | Expr::BinaryExpr(_) | Expr::Not(_)))
}

/// Separates the cases of a condition in which the engine would join lists.
fn separated(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_root = matches!(
        &expr,
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::And | Operator::Or,
            ..
        }) | Expr::Not(_)
    );
    if !is_root {
        return Ok(Transformed::no(expr));
    }
    let subjects = subjects_of_several_lists(&expr)?;
    let mut condition = expr;
    let mut changed = false;
    for subject in subjects {
        // Of a column of an outer query nothing is known here.
        if !subject.nullable(schema).unwrap_or(true) {
            continue;
        }
        let of_null = with_null(condition.clone(), &subject)?;
        let of_values = subject.clone().is_not_null().and(condition);
        condition = of_values.or(subject.is_null().and(of_null));
        changed = true;
    }
    let recursion = match changed {
        true => TreeNodeRecursion::Jump,
        false => TreeNodeRecursion::Continue,
    };
    Ok(Transformed::new(condition, changed, recursion))
}

/// The expressions for which a condition has several lists, or several comparisons of which the engine makes lists.
fn subjects_of_several_lists(expr: &Expr) -> Result<Vec<Expr>> {
    let mut found: Vec<(Expr, usize, bool)> = Vec::new();
    expr.apply(|part| {
        if let Some((subject, is_list)) = list_of(part) {
            match found.iter_mut().find(|(other, ..)| other == subject) {
                Some((_, count, lists)) => {
                    *count += 1;
                    *lists |= is_list;
                }
                None => found.push((subject.clone(), 1, is_list)),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let several = found
        .into_iter()
        .filter(|(_, count, lists)| *count > 2 || (*count == 2 && *lists));
    Ok(several.map(|(subject, ..)| subject).collect())
}

/// What a list, or a comparison with a literal that counts as a list of one, is about.
fn list_of(expr: &Expr) -> Option<(&Expr, bool)> {
    match expr {
        Expr::InList(InList { expr, .. }) => Some((expr, true)),
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq | Operator::NotEq,
            right,
        }) => match (&**left, &**right) {
            (Expr::Column(_), Expr::Literal(..)) => Some((left, false)),
            (Expr::Literal(..), Expr::Column(_)) => Some((right, false)),
            _ => None,
        },
        _ => None,
    }
}

/// The condition with NULL in the place of each list of `subject`.
fn with_null(condition: Expr, subject: &Expr) -> Result<Expr> {
    let replaced = condition.transform_down(|part| {
        let is_of_subject = list_of(&part).is_some_and(|(other, _)| other == subject);
        Ok(match is_of_subject {
            true => Transformed::new(
                Expr::Literal(ScalarValue::Boolean(None), None),
                true,
                TreeNodeRecursion::Jump,
            ),
            false => Transformed::no(part),
        })
    })?;
    Ok(replaced.data)
}
