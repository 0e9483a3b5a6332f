//! Negation moved into a condition, so that what reads conditions need not know NOT.

use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// The negation of a condition.
pub(super) fn negated(condition: Expr) -> Expr {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (op, op.negate()) {
            (Operator::And, _) => negated(*left).or(negated(*right)),
            (Operator::Or, _) => negated(*left).and(negated(*right)),
            (_, Some(op)) => Expr::BinaryExpr(BinaryExpr { left, op, right }),
            (op, None) => !Expr::BinaryExpr(BinaryExpr { left, op, right }),
        },
        Expr::Not(inner) => *inner,
        Expr::InList(mut list) => {
            list.negated = !list.negated;
            Expr::InList(list)
        }
        Expr::Between(mut between) => {
            between.negated = !between.negated;
            Expr::Between(between)
        }
        Expr::Like(mut like) => {
            like.negated = !like.negated;
            Expr::Like(like)
        }
        Expr::Exists(Exists { subquery, negated }) => Expr::Exists(Exists {
            subquery,
            negated: !negated,
        }),
        Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated,
        }) => Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated: !negated,
        }),
        Expr::IsNull(inner) => Expr::IsNotNull(inner),
        Expr::IsNotNull(inner) => Expr::IsNull(inner),
        Expr::IsTrue(inner) => Expr::IsNotTrue(inner),
        Expr::IsNotTrue(inner) => Expr::IsTrue(inner),
        Expr::IsFalse(inner) => Expr::IsNotFalse(inner),
        Expr::IsNotFalse(inner) => Expr::IsFalse(inner),
        other => !other,
    }
}
