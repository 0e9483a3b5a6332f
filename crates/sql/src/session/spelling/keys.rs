//! Keys of ORDER BY that compute with a column whose name is an alias of SELECT, too.
//!
//! In an expression of ORDER BY, SQL means the column, and the engine the alias. So the query within computes the keys,
//! among its other columns: `SELECT -v AS v FROM t ORDER BY v + 1` becomes
//! `SELECT * EXCLUDE ("#1") FROM (SELECT -v AS v, v + 1 AS "#1" FROM t) ORDER BY "#1"`.

use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, Statement as Ast,
    TableFactor, Visitor,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::order::respell_alias;
use super::scope::{Found, Scope, normal};
use crate::error::of_query;
use crate::session::walk::visit;

/// Whether the keys of a query name such a column.
pub(super) fn name_hidden_columns(query: &Query, scope: &Scope) -> bool {
    let SetExpr::Select(select) = &*query.body else {
        return false;
    };
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order| &order.kind)
    else {
        return false;
    };
    // With DISTINCT, keys have to be among the columns.
    if select.distinct.is_some() {
        return false;
    }
    let mut names = Names {
        select,
        scope,
        queries: 0,
    };
    let mut computed = keys.iter().filter(|key| !is_plain(&key.expr));
    computed.any(|key| visit(&key.expr, &mut names).is_break())
}

/// A name, or the number of a column.
fn is_plain(key: &Expr) -> bool {
    matches!(key, Expr::Identifier(_) | Expr::Value(_))
}

struct Names<'a> {
    select: &'a Select,
    scope: &'a Scope,
    /// How deep in queries of their own.
    queries: usize,
}

impl Names<'_> {
    /// Whether a name is an alias of something else than the column that has this name.
    fn hides_column(&self, relation: Option<&str>, name: &Ident) -> bool {
        let Found::Column(spelling) = self.scope.find(relation, name) else {
            return false;
        };
        let written = normal(name);
        let is_column = |column: &Ident| normal(column).to_lowercase() == spelling.to_lowercase();
        self.select.projection.iter().any(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => {
                let alias = normal(alias);
                let is_its = match expr {
                    Expr::Identifier(column) => is_column(column),
                    Expr::CompoundIdentifier(parts) => parts.last().is_some_and(is_column),
                    _ => false,
                };
                (alias == written || alias == spelling) && !is_its
            }
            _ => false,
        })
    }
}

impl Visitor for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let hides = match expr {
            _ if self.queries > 0 => false,
            Expr::Identifier(name) => self.hides_column(None, name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, name] => self.hides_column(Some(&normal(relation)), name),
                _ => false,
            },
            _ => false,
        };
        match hides {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Sorts a query by columns that the query within computes.
///
/// # Errors
/// GROUP BY ALL would group by the keys, too.
pub(super) fn compute_within(query: &mut Query, scope: &Scope) -> Result<()> {
    let SetExpr::Select(select) = &mut *query.body else {
        return Ok(());
    };
    if matches!(select.group_by, GroupByExpr::All(_)) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "with GROUP BY ALL, ORDER BY cannot compute with a column whose name is also an alias of SELECT: give the alias \
             another name, or name the columns in GROUP BY",
        ));
    }
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_mut().map(|order| &mut order.kind)
    else {
        return Ok(());
    };
    let mut added = Vec::new();
    for key in keys {
        respell_alias(&mut key.expr, scope);
        let stays = match &key.expr {
            Expr::Identifier(name) => scope.aliases.has(&normal(name)),
            key => is_plain(key),
        };
        if stays {
            continue;
        }
        let name = Ident::with_quote('"', format!("#{}", added.len() + 1));
        let expr = std::mem::replace(&mut key.expr, Expr::Identifier(name.clone()));
        select.projection.push(SelectItem::ExprWithAlias {
            expr,
            alias: name.clone(),
        });
        added.push(name.to_string());
    }
    let text = format!(
        "SELECT * EXCLUDE ({}) FROM (SELECT 1) AS \"#sorted\"",
        added.join(", ")
    );
    let parsed = DFParser::parse_sql(&text).map_err(of_query)?;
    let Some(Statement::Statement(ast)) = parsed.into_iter().next() else {
        return Ok(());
    };
    let Ast::Query(mut around) = *ast else {
        return Ok(());
    };
    if let SetExpr::Select(outer) = &mut *around.body
        && let Some(tables) = outer.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut tables.relation
    {
        std::mem::swap(&mut subquery.body, &mut query.body);
        query.body = around.body;
    }
    Ok(())
}
