//! The names of a query's columns, before it is planned.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Cte, ExcludeSelectItem, Expr, Ident, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, SetQuantifier, TableAlias, UnaryOperator,
    WildcardAdditionalOptions,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::scope::{Found, Names, Scope, UNNAMED, normal};
use super::{Level, Speller};

/// The names that an alias gives to the columns.
pub(super) fn given(alias: &TableAlias) -> Option<Arc<Names>> {
    let names = alias.columns.iter().map(|column| normal(&column.name));
    (!alias.columns.is_empty()).then(|| Arc::new(names.collect()))
}

/// The names of columns, the first of which an alias gives.
pub(super) fn with_given(alias: Option<&TableAlias>, own: Arc<Names>) -> Arc<Names> {
    match alias.and_then(given) {
        None => own,
        Some(given) => match own.after(alias.map_or(0, |alias| alias.columns.len())) {
            None => given,
            Some(rest) => {
                let mut names = (*given).clone();
                names.is_partial = rest.is_partial;
                rest.iter().for_each(|name| names.add(name.clone()));
                Arc::new(names)
            }
        },
    }
}

impl Speller<'_> {
    /// Lets the queries that follow read one of WITH.
    pub(super) fn add_query(&mut self, one: &Cte) {
        let columns = given(&one.alias).unwrap_or_else(|| self.output(&one.query));
        self.set_query(one, columns);
    }

    /// The same while the query is not known, which may read itself.
    pub(super) fn add_recursive_query(&mut self, one: &Cte) {
        self.set_query(one, Arc::new(Names::unknown()));
        self.add_query(one);
    }

    fn set_query(&mut self, one: &Cte, columns: Arc<Names>) {
        if let Some(Level::Query { queries, .. }) = self.levels.last_mut() {
            queries.insert(normal(&one.alias.name), columns);
        }
    }

    /// The columns of a query.
    pub(super) fn output(&mut self, query: &Query) -> Arc<Names> {
        self.levels.push(Level::query());
        if let Some(with) = &query.with {
            for one in &with.cte_tables {
                match with.recursive {
                    true => self.add_recursive_query(one),
                    false => self.add_query(one),
                }
            }
        }
        let names = self.output_of(&query.body);
        self.levels.pop();
        Arc::new(names)
    }

    pub(super) fn output_of(&mut self, body: &SetExpr) -> Names {
        match body {
            SetExpr::Select(select) => self.output_of_select(select),
            SetExpr::SetOperation {
                left,
                right,
                set_quantifier,
                ..
            } => {
                // The first part names the columns.
                let mut names = self.output_of(left);
                if is_by_name(*set_quantifier) {
                    let others = self.output_of(right);
                    names.is_partial |= others.is_partial;
                    others.iter().for_each(|name| names.add(name.clone()));
                }
                names
            }
            SetExpr::Query(query) => (*self.output(query)).clone(),
            SetExpr::Values(values) => {
                let width = values.rows.first().map_or(0, |row| row.len());
                (1..=width).map(|at| format!("column{at}")).collect()
            }
            _ => Names::unknown(),
        }
    }

    /// Checks that UNION BY NAME finds the columns of both sides under the same names.
    ///
    /// # Errors
    /// Two columns differ in case alone: they would be two columns of the result.
    pub(super) fn check_set_operations(&mut self, body: &SetExpr) -> Result<()> {
        let SetExpr::SetOperation {
            left,
            right,
            set_quantifier,
            ..
        } = body
        else {
            return Ok(());
        };
        self.check_set_operations(left)?;
        self.check_set_operations(right)?;
        if !is_by_name(*set_quantifier) {
            return Ok(());
        }
        let (left, right) = (self.output_of(left), self.output_of(right));
        let mut pairs = right.iter().filter_map(|name| {
            let mut spellings = left.spellings(name).iter();
            match left.has(name) {
                true => None,
                false => Some((spellings.next()?, name)),
            }
        });
        match pairs.next() {
            None => Ok(()),
            Some((one, other)) => Err(Error::new(
                ErrorKind::Unsupported,
                "UNION BY NAME does not pair columns that differ in upper and lower case: give them the same name with AS",
            )
            .with("columns", format!("\"{one}\" and \"{other}\""))),
        }
    }

    fn output_of_select(&mut self, select: &Select) -> Names {
        let scope = self.scope(&select.from);
        let mut names = Names::default();
        for item in &select.projection {
            add_item(&scope, item, &mut names);
        }
        names
    }
}

fn is_by_name(quantifier: SetQuantifier) -> bool {
    matches!(
        quantifier,
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
    )
}

/// Adds the columns of an item of SELECT.
fn add_item(scope: &Scope, item: &SelectItem, names: &mut Names) {
    let (relation, options) = match item {
        SelectItem::ExprWithAlias { alias, .. } => return names.add(normal(alias)),
        SelectItem::UnnamedExpr(expr) => {
            return match name_of(scope, expr) {
                Some(name) => names.add(name),
                None => names.is_partial = true,
            };
        }
        SelectItem::Wildcard(options) => (None, options),
        SelectItem::QualifiedWildcard(kind, options) => {
            let relation = match kind {
                SelectItemQualifiedWildcardKind::ObjectName(name) => {
                    name.0.last().and_then(|part| part.as_ident())
                }
                SelectItemQualifiedWildcardKind::Expr(_) => None,
            };
            match relation {
                Some(relation) => (Some(normal(relation)), options),
                None => return names.is_partial = true,
            }
        }
        SelectItem::ExprWithAliases { .. } => return names.is_partial = true,
    };
    if add_all(scope, relation.as_deref(), options, names).is_none() {
        names.is_partial = true;
    }
}

/// The name that the engine gives to a column; `None` if that is not known.
fn name_of(scope: &Scope, expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => written(scope, None, name),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [relation, name] => written(scope, Some(&normal(relation)), name),
            _ => None,
        },
        // Named by the column and its relation, as in `t.a`, if the relation has a name.
        Expr::Cast { .. } => {
            let mut relations = scope.named(None);
            let is_named = relations.all(|one| one.name.is_some());
            is_named.then(|| UNNAMED.to_owned())
        }
        // Named as what is inside.
        Expr::Nested(inner)
        | Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr: inner,
        } => name_of(scope, inner),
        // Named by their texts.
        Expr::Function(_)
        | Expr::BinaryOp { .. }
        | Expr::UnaryOp { .. }
        | Expr::Value(_)
        | Expr::TypedString(_)
        | Expr::Interval(_)
        | Expr::Case { .. }
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Exists { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::Extract { .. }
        | Expr::Ceil { .. }
        | Expr::Floor { .. }
        | Expr::Position { .. }
        | Expr::Substring { .. }
        | Expr::Trim { .. } => Some(UNNAMED.to_owned()),
        _ => None,
    }
}

/// A column as its relation spells it; `None` if that is not known.
fn written(scope: &Scope, relation: Option<&str>, name: &Ident) -> Option<String> {
    match scope.find(relation, name) {
        Found::Column(name) | Found::Ambiguous(Some(name)) => Some(name),
        _ if name.quote_style.is_some() => Some(name.value.clone()),
        _ => scope
            .has(relation, &normal(name))
            .filter(|has| *has)
            .map(|_| normal(name)),
    }
}

/// Adds the columns of `*`; `None` if they are not known.
fn add_all(
    scope: &Scope,
    relation: Option<&str>,
    options: &WildcardAdditionalOptions,
    names: &mut Names,
) -> Option<()> {
    if options.opt_rename.is_some() || options.opt_ilike.is_some() {
        return None;
    }
    let mut left_out = HashSet::new();
    for name in excluded(options) {
        left_out.insert(written(scope, relation, name?)?);
    }
    let mut is_any = false;
    for one in scope.named(relation) {
        is_any = true;
        names.is_partial |= one.columns.is_partial;
        let kept = one.columns.iter().filter(|name| !left_out.contains(*name));
        kept.for_each(|name| names.add(name.clone()));
    }
    is_any.then_some(())
}

/// The columns that EXCLUDE and EXCEPT leave out; `None` for what is not a name of one part, which the engine refuses.
pub(super) fn excluded(options: &WildcardAdditionalOptions) -> Vec<Option<&Ident>> {
    let mut names = Vec::new();
    match &options.opt_exclude {
        Some(ExcludeSelectItem::Single(name)) => {
            names.push(only_part(name));
        }
        Some(ExcludeSelectItem::Multiple(all)) => {
            names.extend(all.iter().map(only_part));
        }
        None => {}
    }
    if let Some(except) = &options.opt_except {
        names.push(Some(&except.first_element));
        names.extend(except.additional_elements.iter().map(Some));
    }
    names
}

fn only_part(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    }
}
