//! Equalities and lists that are joined with OR, as one list: `x = 1 OR x IN (2, 3) OR x = 4` is `x IN (1, 2, 3, 4)`,
//! also where `x` is NULL and if an item is.

use std::collections::HashMap;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::disjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, lit};
use datafusion::optimizer::simplify_expressions::THRESHOLD_INLINE_INLIST;

use crate::checked::floats::with_both_zeros;

/// Joins lists. The engine makes equalities of short lists, which are left alone.
pub(super) fn with_lists(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_down(|part| {
        let Expr::BinaryExpr(BinaryExpr {
            op: Operator::Or, ..
        }) = part
        else {
            return Ok(Transformed::no(part));
        };
        let mut is_changed = false;
        let mut parts = Vec::new();
        for part in parts_of(part) {
            let part = with_lists(part)?;
            is_changed |= part.transformed;
            parts.push(part.data);
        }
        let count = parts.len();
        let joined = joined(parts);
        is_changed |= joined.len() < count;
        let all = disjunction(joined).unwrap_or_else(|| lit(false));
        Ok(Transformed::new(all, is_changed, TreeNodeRecursion::Jump))
    })
}

fn parts_of(condition: Expr) -> Vec<Expr> {
    let mut parts = Vec::new();
    let mut rest = vec![condition];
    while let Some(next) = rest.pop() {
        match next {
            Expr::BinaryExpr(BinaryExpr {
                left,
                op: Operator::Or,
                right,
            }) => rest.extend([*right, *left]),
            part => parts.push(part),
        }
    }
    parts
}

fn joined(parts: Vec<Expr>) -> Vec<Expr> {
    let mut counts: HashMap<Column, (usize, usize)> = HashMap::new();
    for (column, items) in parts.iter().filter_map(list_of) {
        let (lists, all) = counts.entry(column.clone()).or_default();
        *lists += 1;
        *all += items;
    }
    counts.retain(|_, (lists, items)| *lists > 1 && *items > THRESHOLD_INLINE_INLIST);
    if counts.is_empty() {
        return parts;
    }
    let mut places: HashMap<Column, usize> = HashMap::new();
    let mut kept: Vec<Expr> = Vec::new();
    for part in parts {
        let column = list_of(&part).map(|(column, _)| column.clone());
        let Some(column) = column.filter(|column| counts.contains_key(column)) else {
            kept.push(part);
            continue;
        };
        let items = items_of(part);
        match places.get(&column).and_then(|place| kept.get_mut(*place)) {
            Some(Expr::InList(list)) => list.list.extend(items),
            _ => {
                places.insert(column.clone(), kept.len());
                let subject = Box::new(Expr::Column(column));
                kept.push(Expr::InList(InList::new(subject, items, false)));
            }
        }
    }
    for part in &mut kept {
        if let Expr::InList(list) = part {
            // An equality finds both zeros, and a list finds those that it has.
            with_both_zeros(&mut list.list);
        }
    }
    kept
}

/// The column that a list, or an equality that counts as one, is about, and the number of its items.
fn list_of(expr: &Expr) -> Option<(&Column, usize)> {
    match expr {
        Expr::InList(list) if !list.negated => match &*list.expr {
            Expr::Column(column) if list.list.iter().all(is_literal) => {
                Some((column, list.list.len()))
            }
            _ => None,
        },
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => match (&**left, &**right) {
            (Expr::Column(column), Expr::Literal(..))
            | (Expr::Literal(..), Expr::Column(column)) => Some((column, 1)),
            _ => None,
        },
        _ => None,
    }
}

fn items_of(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::InList(list) => list.list,
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => {
            let sides = [*left, *right].into_iter();
            sides.filter(is_literal).collect()
        }
        _ => Vec::new(),
    }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..))
}
