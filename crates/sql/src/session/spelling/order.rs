//! Names in ORDER BY, where an alias of SELECT comes before a column.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Expr, OrderByKind, Query, Select, SelectItem, SetExpr, VisitMut, VisitorMut,
};
use ostrakon_cell::{Error, Result};

use super::scope::{Relation, Scope, normal};
use super::{Level, Speller, flow};

impl Speller<'_> {
    /// Respells what ORDER BY names. An alias of SELECT comes first there.
    pub(super) fn respell_order(&mut self, query: &mut Query) -> Result<()> {
        let Some(order) = &mut query.order_by else {
            return Ok(());
        };
        let OrderByKind::Expressions(items) = &mut order.kind else {
            return Ok(());
        };
        let scope = match &*query.body {
            SetExpr::Select(select) => {
                let mut scope = self.scope(&select.from);
                scope.aliases = aliases(select);
                scope
            }
            body => Scope::of(Relation {
                name: None,
                columns: self
                    .output_of(body)
                    .map(|names| Arc::new(names.into_iter().collect())),
            }),
        };
        let aliases = scope.aliases.clone();
        self.levels.push(Level::Select(scope));
        let mut found = Ok(());
        for item in items {
            let mut visitor = OfOrder {
                speller: &*self,
                aliases: &aliases,
                queries: 0,
            };
            if let ControlFlow::Break(error) = VisitMut::visit(&mut item.expr, &mut visitor) {
                found = Err(error);
                break;
            }
        }
        self.levels.pop();
        found
    }
}

/// Respells an item of ORDER BY, outside of its subqueries.
struct OfOrder<'a> {
    speller: &'a Speller<'a>,
    aliases: &'a HashSet<String>,
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
        let is_alias =
            matches!(expr, Expr::Identifier(name) if self.aliases.contains(&normal(name)));
        match self.queries == 0 && !is_alias {
            true => flow(self.speller.respell_expr(expr)),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The names that a SELECT gives to its columns.
pub(super) fn aliases(select: &Select) -> HashSet<String> {
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    };
    select.projection.iter().filter_map(alias).collect()
}
