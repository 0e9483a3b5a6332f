//! A function that returns its argument. A condition that is its argument is simplified, but not joined with others.

use std::sync::{Arc, LazyLock};

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, Operator, ScalarUDF};

use super::lists::with_lists;
use super::negation::negated;
use crate::checked::same_type::SameType;

static APART: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::new("apart", Ok).into_function());

/// Whether an expression has conditions that could be joined, or are set apart.
pub(super) fn concerns(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(is_junction(part) || is_apart(part) || matches!(part, Expr::Case(_))))
}

/// Sets the conditions of an expression apart, after joining lists where that does not change the value.
pub(super) fn set_apart(expr: Expr) -> Result<Transformed<Expr>> {
    with_lists(expr)?.transform_data(|expr| expr.transform_up(|part| Ok(separated(part))))
}

fn separated(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.is_logic_operator() => {
            Transformed::yes(Expr::BinaryExpr(BinaryExpr {
                left: part(left),
                op,
                right: part(right),
            }))
        }
        Expr::Not(inner) => Transformed::yes(Expr::Not(part(inner))),
        Expr::Case(case) if case.expr.is_none() => {
            let branches = case.when_then_expr.into_iter();
            Transformed::yes(Expr::Case(Case {
                when_then_expr: branches.map(|(when, then)| (part(when), then)).collect(),
                ..case
            }))
        }
        comparison if is_comparison(&comparison) => Transformed::yes(apart(comparison)),
        other => Transformed::no(other),
    }
}

/// What the conditions were, simplified.
pub(super) fn put_back(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|part| {
        Ok(match part {
            Expr::ScalarFunction(mut call) if is_call(&call) => match call.args.pop() {
                Some(condition) => Transformed::yes(condition),
                None => return internal_err!("the function has one argument"),
            },
            Expr::Not(inner) => Transformed::yes(negated(*inner)),
            other => Transformed::no(other),
        })
    })
}

/// A part of a condition, set apart unless the rule needs to see what it is, and cannot join it.
fn part(expr: Box<Expr>) -> Box<Expr> {
    let is_seen = is_junction(&expr)
        || is_apart(&expr)
        || matches!(
            *expr,
            Expr::Not(_)
                | Expr::Literal(..)
                | Expr::Column(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
                | Expr::ScalarSubquery(_)
        );
    match is_seen {
        true => expr,
        false => Box::new(apart(*expr)),
    }
}

fn apart(condition: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&APART), vec![condition]))
}

fn is_apart(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if is_call(call))
}

fn is_call(call: &ScalarFunction) -> bool {
    Arc::ptr_eq(&call.func, &APART)
}

fn is_junction(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::And | Operator::Or,
            ..
        })
    )
}

fn is_comparison(expr: &Expr) -> bool {
    match expr {
        Expr::InList(_) | Expr::Between(_) | Expr::Like(_) | Expr::SimilarTo(_) => true,
        Expr::BinaryExpr(BinaryExpr { op, .. }) => op.negate().is_some(),
        _ => false,
    }
}
