//! Names in ORDER BY, where an alias of SELECT may come before a column.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, VisitorMut,
};
use ostrakon_cell::{Error, Result};

use super::scope::{Names, Scope, normal};
use super::{Level, Speller, flow, keys};
use crate::session::walk::visit_mut;

impl Speller<'_> {
    /// Respells what ORDER BY names. A key that is nothing but an alias of SELECT is that.
    pub(super) fn respell_order(&mut self, query: &mut Query) -> Result<()> {
        if query.order_by.is_none() {
            return Ok(());
        }
        let scope = match &*query.body {
            SetExpr::Select(select) => {
                let mut scope = self.scope(&select.from);
                scope.aliases = aliases(select);
                scope
            }
            body => Scope::of(None, Arc::new(self.output_of(body))),
        };
        // A subquery may name columns of the queries around it, which a query in FROM cannot always. Its order matters if
        // some of its rows are taken.
        let takes_some = query.limit_clause.is_some() || query.fetch.is_some();
        if (self.subqueries == 0 || takes_some) && keys::name_hidden_columns(query, &scope) {
            return keys::compute_within(query, &scope);
        }
        let Some(OrderByKind::Expressions(items)) =
            query.order_by.as_mut().map(|order| &mut order.kind)
        else {
            return Ok(());
        };
        for item in items.iter_mut() {
            respell_alias(&mut item.expr, &scope);
        }
        let aliases = scope.aliases.clone();
        self.levels.push(Level::Select(scope));
        let mut found = Ok(());
        for item in items {
            let mut visitor = OfOrder {
                speller: &*self,
                aliases: &aliases,
                queries: 0,
            };
            if let ControlFlow::Break(error) = visit_mut(&mut item.expr, &mut visitor) {
                found = Err(error);
                break;
            }
        }
        self.levels.pop();
        found
    }
}

/// Writes a key that is nothing but an alias as the alias is spelled.
pub(super) fn respell_alias(key: &mut Expr, scope: &Scope) {
    if let Expr::Identifier(name) = key
        && let Some(alias) = scope.alias(name)
    {
        *name = Ident::with_quote('"', alias);
    }
}

/// Respells an item of ORDER BY, outside of its subqueries.
struct OfOrder<'a> {
    speller: &'a Speller<'a>,
    aliases: &'a Names,
    queries: usize,
}

impl VisitorMut for OfOrder<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let is_alias = matches!(expr, Expr::Identifier(name) if self.aliases.has(&normal(name)));
        match self.queries == 0 && !is_alias {
            true => flow(self.speller.respell_expr(expr)),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The names that a SELECT gives to its columns.
pub(super) fn aliases(select: &Select) -> Names {
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    };
    select.projection.iter().filter_map(alias).collect()
}
