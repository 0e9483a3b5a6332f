//! Several queries that a query is grouped by, as in `GROUP BY EXISTS (…), EXISTS (…)`. The engine names them by what they
//! begin with, or by what they select, and refuses two groups of one name. So each becomes a call with a name of its own,
//! wherever the query shows the group (`casts.rs` has the function).

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Statement as Ast,
    Value, VisitorMut,
};

use super::casts::{call, named_by, parts};
use super::syntax::is_query;
use super::walk::{visit_expressions, visit_expressions_mut, visit_mut};

/// Names the queries of groups.
pub(super) fn tell_apart(statement: &mut Ast) {
    let _: ControlFlow<()> = visit_mut(statement, &mut GroupQueries);
}

struct GroupQueries;

impl VisitorMut for GroupQueries {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = &mut *query.body
            && let Some(names) = names_of(select)
        {
            name_in(select, &names);
            if let Some(order) = &mut query.order_by
                && let OrderByKind::Expressions(keys) = &mut order.kind
            {
                keys.iter_mut()
                    .for_each(|key| name_parts(&mut key.expr, &names));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The texts of groups with queries and a name for each, if there are several.
fn names_of(select: &Select) -> Option<HashMap<String, String>> {
    let GroupByExpr::Expressions(keys, _) = &select.group_by else {
        return None;
    };
    let mut names = HashMap::new();
    for key in keys.iter().flat_map(parts) {
        let key = named_by(key, &select.projection)?;
        if has_query(key) {
            let name = format!("query {}", names.len() + 1);
            names.entry(key.to_string()).or_insert(name);
        }
    }
    (names.len() > 1).then_some(names)
}

fn has_query(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| {
        let is_query = is_query(part) || matches!(part, Expr::AnyOp { .. } | Expr::AllOp { .. });
        match is_query {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    found.is_break()
}

fn name_in(select: &mut Select, names: &HashMap<String, String>) {
    for item in &mut select.projection {
        match item {
            SelectItem::ExprWithAlias { expr, .. } => name_parts(expr, names),
            SelectItem::UnnamedExpr(expr) => {
                let written = expr.to_string();
                name_parts(expr, names);
                if names.contains_key(&written) {
                    let expr = std::mem::replace(expr, Expr::value(Value::Null));
                    let alias = Ident::with_quote('"', written);
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
            _ => {}
        }
    }
    if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
        keys.iter_mut().for_each(|key| name_parts(key, names));
    }
    let others = select.having.iter_mut().chain(&mut select.qualify);
    others.for_each(|expr| name_parts(expr, names));
}

fn name_parts(expr: &mut Expr, names: &HashMap<String, String>) {
    let _: ControlFlow<()> = visit_expressions_mut(expr, |part| {
        if let Some(name) = names.get(&part.to_string()) {
            let query = std::mem::replace(part, Expr::value(Value::Null));
            *part = call(query, name.clone());
        }
        ControlFlow::Continue(())
    });
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn only_several_queries_are_named() {
        for (text, shown) in [
            (
                "SELECT EXISTS (SELECT 1) AS e, a IN (SELECT 1) AS f FROM t GROUP BY 1, f ORDER BY a IN (SELECT 1)",
                "SELECT cast_of(EXISTS (SELECT 1), 'query 1') AS e, cast_of(a IN (SELECT 1), 'query 2') AS f FROM t \
                 GROUP BY 1, f ORDER BY cast_of(a IN (SELECT 1), 'query 2')",
            ),
            (
                "SELECT EXISTS (SELECT 1) AS e FROM t GROUP BY EXISTS (SELECT 1), a",
                "SELECT EXISTS (SELECT 1) AS e FROM t GROUP BY EXISTS (SELECT 1), a",
            ),
        ] {
            let parsed = parse_statements(text).expect(text);
            let found = parsed.first().expect("one").statement.to_string();
            assert_eq!(found, shown);
        }
    }
}
