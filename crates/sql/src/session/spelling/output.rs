//! The names of a query's columns, before it is planned.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAlias, WildcardAdditionalOptions, With,
};

use super::scope::{Found, Names, Scope, UNNAMED, normal};
use super::{Level, Speller};

/// The names that an alias gives to the columns.
pub(super) fn given(alias: &TableAlias) -> Option<Arc<Names>> {
    let names = alias.columns.iter().map(|column| normal(&column.name));
    (!alias.columns.is_empty()).then(|| Arc::new(names.collect()))
}

/// A column as its relation spells it; `None` if that is not known.
fn written(scope: &Scope, relation: Option<&str>, name: &Ident) -> Option<String> {
    if name.quote_style.is_some() {
        return Some(name.value.clone());
    }
    match scope.find(relation, &name.value) {
        Found::Spelled(name) => Some(name),
        Found::Exact | Found::Ambiguous => Some(normal(name)),
        Found::Unclear | Found::Absent => None,
    }
}

impl Speller<'_> {
    /// Adds the queries of WITH, each of which can read those before it.
    pub(super) fn add_queries(&mut self, with: &With) {
        for one in &with.cte_tables {
            let name = normal(&one.alias.name);
            if with.recursive {
                // Its own columns, where it reads itself.
                self.add_query(name.clone(), given(&one.alias));
            }
            let columns = given(&one.alias).or_else(|| self.output(&one.query));
            self.add_query(name, columns);
        }
    }

    fn add_query(&mut self, name: String, columns: Option<Arc<Names>>) {
        if let Some(Level::Query(queries)) = self.levels.last_mut() {
            queries.insert(name, columns);
        }
    }

    /// The columns of a query; `None` if not all of them are known.
    pub(super) fn output(&mut self, query: &Query) -> Option<Arc<Names>> {
        self.levels.push(Level::Query(Default::default()));
        if let Some(with) = &query.with {
            self.add_queries(with);
        }
        let names = self.output_of(&query.body);
        self.levels.pop();
        names.map(|names| Arc::new(names.into_iter().collect()))
    }

    pub(super) fn output_of(&mut self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => self.output_of_select(select),
            // The first part names the columns.
            SetExpr::SetOperation { left, .. } => self.output_of(left),
            SetExpr::Query(query) => {
                let names = self.output(query)?;
                Some(names.iter().cloned().collect())
            }
            _ => None,
        }
    }

    fn output_of_select(&mut self, select: &Select) -> Option<Vec<String>> {
        let scope = self.scope(&select.from);
        let mut names = Vec::new();
        for item in &select.projection {
            add_item(&scope, item, &mut names)?;
        }
        Some(names)
    }
}

/// Adds the columns of an item of SELECT; `None` if they are not known.
fn add_item(scope: &Scope, item: &SelectItem, names: &mut Vec<String>) -> Option<()> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => names.push(normal(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
            names.push(written(scope, None, name)?);
        }
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            let [relation, name] = parts.as_slice() else {
                return None;
            };
            names.push(written(scope, Some(&normal(relation)), name)?);
        }
        SelectItem::UnnamedExpr(
            Expr::Function(_)
            | Expr::BinaryOp { .. }
            | Expr::UnaryOp { .. }
            | Expr::Value(_)
            | Expr::Case { .. },
        ) => names.push(UNNAMED.to_owned()),
        SelectItem::Wildcard(options) => add_all(scope, None, options, names)?,
        SelectItem::QualifiedWildcard(kind, options) => {
            let SelectItemQualifiedWildcardKind::ObjectName(name) = kind else {
                return None;
            };
            let relation = normal(name.0.last()?.as_ident()?);
            add_all(scope, Some(&relation), options, names)?;
        }
        _ => return None,
    }
    Some(())
}

/// Adds the columns of `*`.
fn add_all(
    scope: &Scope,
    relation: Option<&str>,
    options: &WildcardAdditionalOptions,
    names: &mut Vec<String>,
) -> Option<()> {
    if options.opt_rename.is_some() || options.opt_ilike.is_some() {
        return None;
    }
    let mut left_out = Vec::new();
    match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => left_out.push(name.0.last()?.as_ident()?),
        Some(ExcludeSelectItem::Multiple(all)) => {
            for name in all {
                left_out.push(name.0.last()?.as_ident()?);
            }
        }
        None => {}
    }
    if let Some(except) = &options.opt_except {
        left_out.push(&except.first_element);
        left_out.extend(&except.additional_elements);
    }
    let mut without = Vec::new();
    for name in left_out {
        without.push(written(scope, relation, name)?);
    }
    let mut is_any = false;
    for one in &scope.relations {
        if relation.is_some() && one.name.as_deref() != relation {
            continue;
        }
        is_any = true;
        let columns = one.columns.as_ref()?;
        let kept = columns.iter().filter(|name| !without.contains(name));
        names.extend(kept.cloned());
    }
    is_any.then_some(())
}
