//! DISTINCT in subqueries of which it makes no difference how often a row is there.
//!
//! `x IN (SELECT DISTINCT …)` is the same without DISTINCT, which the engine does not support in a correlated subquery.

use datafusion::sql::sqlparser::ast::{Distinct, Expr, Query, SetExpr};

/// Leaves DISTINCT out of the subquery of IN, EXISTS, ANY or ALL.
pub(super) fn leave_out(expr: &mut Expr) {
    match expr {
        Expr::Exists { subquery, .. } | Expr::InSubquery { subquery, .. } => of_query(subquery),
        Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => {
            if let Expr::Subquery(query) = &mut **right {
                of_query(query);
            }
        }
        _ => {}
    }
}

fn of_query(query: &mut Query) {
    let is_whole = query.limit_clause.is_none() && query.fetch.is_none();
    if let (true, SetExpr::Select(select)) = (is_whole, &mut *query.body)
        && select.top.is_none()
        && matches!(select.distinct, Some(Distinct::Distinct))
    {
        select.distinct = None;
    }
}
