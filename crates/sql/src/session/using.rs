//! `RIGHT JOIN … USING`, `FULL JOIN … USING` and those with NATURAL. The engine has one column for `k`, the common
//! column, and for `a.k`, the column of the left relation, which differ here. A rule makes it the common column
//! (`checked/using.rs`). So a query that names only columns of the relations is written with ON, and one that names both
//! is refused.
//!
//! In WHERE, the engine takes a common column for ambiguous, and in a subquery for a column of the outer query that has
//! its name. So it gets the name of the left relation, where that is known, and no other relation may have a column of
//! this name. Elsewhere the engine says that it is ambiguous, or the query is refused.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, TableWithJoins,
    Visit, Visitor, VisitorMut,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::spelling::normal;
use super::star::spell_out;
use super::syntax::is_query;
use super::walk::{visit, visit_expressions, visit_mut};

/// Separates the common columns of a statement's queries from those of their relations, once names are spelled as the
/// relations do.
///
/// # Errors
/// A query names both; a subquery may name a common column whose relation is not known.
pub(super) fn separate(statement: &mut Statement) -> Result<()> {
    match visit_mut(statement, &mut Separation { subqueries: 0 }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Separation {
    /// Expressions around that are queries.
    subqueries: usize,
}

impl VisitorMut for Separation {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        match separate_query(query, self.subqueries > 0) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.subqueries += usize::from(is_query(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.subqueries -= usize::from(is_query(expr));
        ControlFlow::Continue(())
    }
}

fn separate_query(query: &mut Query, is_subquery: bool) -> Result<()> {
    let sorted = match &query.order_by {
        Some(order) => Named::of(order),
        None => Named::default(),
    };
    separate_body(&mut query.body, &sorted, is_subquery)
}

fn separate_body(body: &mut SetExpr, sorted: &Named, is_subquery: bool) -> Result<()> {
    match body {
        SetExpr::Select(select) => separate_select(select, sorted, is_subquery),
        SetExpr::SetOperation { left, right, .. } => {
            separate_body(left, &Named::default(), is_subquery)?;
            separate_body(right, &Named::default(), is_subquery)
        }
        _ => Ok(()),
    }
}

fn is_common(operator: &JoinOperator) -> bool {
    matches!(
        operator,
        JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)
            if matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
    )
}

fn separate_select(select: &mut Select, sorted: &Named, is_subquery: bool) -> Result<()> {
    let joined = select.from.iter().flat_map(|tables| &tables.joins);
    let mut joined = joined.map(|join| constraint_of(&join.join_operator));
    let nested = select.from.iter().any(has_nested);
    if !nested && !joined.any(|constraint| constraint.is_some_and(is_by_name)) {
        return Ok(());
    }
    let mut named = Named::outside_of_relations(select);
    named.plain.extend(sorted.plain.iter().cloned());
    named.qualified.extend(sorted.qualified.iter().cloned());
    for item in &select.projection {
        match item {
            SelectItem::Wildcard(_) => named.all = true,
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                named.relations.extend(last(name));
            }
            _ => {}
        }
    }
    for tables in &mut select.from {
        separate_joins(tables, &named)?;
    }
    let owners = owners(select);
    let known = known(select, &owners);
    if is_subquery && names_unowned(select, &named, &known) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a subquery may name a common column of NATURAL or USING that could also be a column of the outer query: \
             name all of its columns with a relation, as in `a.k`",
        ));
    }
    spell_out(select, &owners)?;
    qualify(select, known);
    Ok(())
}

/// Whether a query names a column that may be common and whose relation is not known.
fn names_unowned(select: &Select, named: &Named, owners: &HashMap<String, String>) -> bool {
    let mut constraints = Vec::new();
    select
        .from
        .iter()
        .for_each(|tables| add_constraints(tables, &mut constraints));
    constraints.into_iter().any(|constraint| match constraint {
        JoinConstraint::Natural => !named.plain.is_empty(),
        JoinConstraint::Using(columns) => {
            let mut unowned = columns.iter().filter_map(last);
            unowned.any(|column| !owners.contains_key(&column) && named.plain.contains(&column))
        }
        _ => false,
    })
}

/// The constraints of joins, also of those in parentheses.
fn add_constraints<'a>(tables: &'a TableWithJoins, constraints: &mut Vec<&'a JoinConstraint>) {
    let joins = &tables.joins;
    constraints.extend(
        joins
            .iter()
            .filter_map(|join| constraint_of(&join.join_operator)),
    );
    let joined = joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&tables.relation).chain(joined) {
        if let TableFactor::NestedJoin {
            table_with_joins,
            alias: None,
        } = factor
        {
            add_constraints(table_with_joins, constraints);
        }
    }
}

/// Whether a column is a common one of a join of a statement, or may be.
pub(super) fn is_common_column(statement: &Statement, column: &str) -> bool {
    struct Joins<'a>(&'a str);
    impl Visitor for Joins<'_> {
        type Break = ();

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let mut constraints = Vec::new();
            let add = |tables| add_constraints(tables, &mut constraints);
            select.from.iter().for_each(add);
            let is_common = constraints.into_iter().any(|constraint| match constraint {
                JoinConstraint::Using(columns) => {
                    columns.iter().filter_map(last).any(|name| name == self.0)
                }
                other => is_by_name(other),
            });
            match is_common {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    visit(statement, &mut Joins(column)).is_break()
}

/// Whether an expression of a statement is a query.
pub(super) fn has_inner_query(statement: &Statement) -> bool {
    let inner = |expr: &Expr| match is_query(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    visit_expressions(statement, inner).is_break()
}

macro_rules! constraint_of {
    ($operator:expr) => {
        match $operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint) => Some(constraint),
            _ => None,
        }
    };
}

/// The constraint of a join whose rows have the columns of both relations.
pub(super) fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    constraint_of!(operator)
}

/// The same, to change it.
pub(super) fn constraint_of_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    constraint_of!(operator)
}

pub(super) fn is_by_name(constraint: &JoinConstraint) -> bool {
    matches!(
        constraint,
        JoinConstraint::Using(_) | JoinConstraint::Natural
    )
}

/// Whether some of the joined relations are joins in parentheses.
pub(super) fn has_nested(tables: &TableWithJoins) -> bool {
    let is_nested = |factor: &TableFactor| matches!(factor, TableFactor::NestedJoin { .. });
    is_nested(&tables.relation) || tables.joins.iter().any(|join| is_nested(&join.relation))
}

/// The left relations of common columns.
fn owners(select: &Select) -> HashMap<String, String> {
    let mut owners: HashMap<String, String> = HashMap::new();
    for tables in &select.from {
        let mut left = vec![name_of(&tables.relation)];
        for join in &tables.joins {
            if let Some(JoinConstraint::Using(columns)) = constraint_of(&join.join_operator)
                && let [Some(only)] = left.as_slice()
            {
                for column in columns.iter().filter_map(last) {
                    owners.insert(column, only.clone());
                }
            }
            left.push(name_of(&join.relation));
        }
    }
    owners
}

/// Those of the owners whose common column is that of all relations, so that the name is not ambiguous.
fn known(select: &Select, owners: &HashMap<String, String>) -> HashMap<String, String> {
    let [tables] = select.from.as_slice() else {
        return HashMap::new();
    };
    let joins_by = |column: &String| {
        tables
            .joins
            .iter()
            .all(|join| match constraint_of(&join.join_operator) {
                Some(JoinConstraint::Using(columns)) => {
                    columns.iter().filter_map(last).any(|name| name == *column)
                }
                _ => false,
            })
    };
    let known = owners.iter().filter(|(column, _)| joins_by(column));
    known
        .map(|(column, owner)| (column.clone(), owner.clone()))
        .collect()
}

/// Gives the common columns in SELECT and WHERE the names of their left relations.
fn qualify(select: &mut Select, owners: HashMap<String, String>) {
    if owners.is_empty() {
        return;
    }
    let mut qualified = Qualified { owners, depth: 0 };
    for item in &mut select.projection {
        let _ = visit_mut(item, &mut qualified);
    }
    if let Some(condition) = &mut select.selection {
        let _ = visit_mut(condition, &mut qualified);
    }
}

struct Qualified {
    /// The relations of common columns.
    owners: HashMap<String, String>,
    /// How deep in queries of their own.
    depth: usize,
}

impl VisitorMut for Qualified {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::Identifier(name) = expr
            && let Some(owner) = self.owners.get(&normal(name))
        {
            let owner = Ident::with_quote('"', owner.clone());
            *expr = Expr::CompoundIdentifier(vec![owner, name.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// Separates the columns of joins; returns the names of their relations.
fn separate_joins(tables: &mut TableWithJoins, named: &Named) -> Result<Vec<String>> {
    let mut left = separate_factor(&mut tables.relation, named)?;
    for join in &mut tables.joins {
        let right = separate_factor(&mut join.relation, named)?;
        if is_common(&join.join_operator)
            && let JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint) = &mut join.join_operator
        {
            separate_join(constraint, &left, &right, named)?;
        }
        left.extend(right);
    }
    Ok(left)
}

fn separate_factor(factor: &mut TableFactor, named: &Named) -> Result<Vec<String>> {
    if let TableFactor::NestedJoin {
        table_with_joins,
        alias,
    } = factor
    {
        let names = separate_joins(table_with_joins, named)?;
        if alias.is_none() {
            return Ok(names);
        }
    }
    Ok(name_of(factor).into_iter().collect())
}

/// The name that columns of a relation may have before theirs.
pub(super) fn name_of(factor: &TableFactor) -> Option<String> {
    let alias = match factor {
        TableFactor::Table {
            name, alias: None, ..
        } => {
            // A file has no such name.
            let parts = name.0.as_slice();
            let [part] = parts else { return last(name) };
            return part
                .as_ident()
                .filter(|part| part.quote_style != Some('\''))
                .map(normal);
        }
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    };
    alias.map(|alias| normal(&alias.name))
}

fn separate_join(
    constraint: &mut JoinConstraint,
    left: &[String],
    right: &[String],
    named: &Named,
) -> Result<()> {
    let is_left = |relation: &String| left.contains(relation);
    let JoinConstraint::Using(columns) = constraint else {
        // Which columns are common is not known yet.
        let names_left = named.relations.iter().any(is_left)
            || named
                .qualified
                .iter()
                .any(|(relation, _)| is_left(relation));
        return match names_left {
            true => Err(refused("NATURAL")),
            false => Ok(()),
        };
    };
    let columns: Vec<String> = columns.iter().filter_map(last).collect();
    let is_qualified = named.relations.iter().any(is_left)
        || named
            .qualified
            .iter()
            .any(|(relation, column)| is_left(relation) && columns.contains(column));
    if !is_qualified {
        return Ok(());
    }
    let is_plain = named.all || columns.iter().any(|column| named.plain.contains(column));
    let ([left], [right], false) = (left, right, is_plain) else {
        return Err(refused("USING"));
    };
    let column = |relation: &str, column: &str| {
        Expr::CompoundIdentifier(
            [relation, column]
                .map(|part| Ident::with_quote('"', part))
                .to_vec(),
        )
    };
    let equal = |name: &String| Expr::BinaryOp {
        left: Box::new(column(left, name)),
        op: BinaryOperator::Eq,
        right: Box::new(column(right, name)),
    };
    let all = columns
        .iter()
        .map(equal)
        .reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        });
    if let Some(condition) = all {
        *constraint = JoinConstraint::On(condition);
    }
    Ok(())
}

fn refused(clause: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "a query of a RIGHT or FULL JOIN names common columns, and a column of the left relation with the name of this \
         relation: write the join as `a FULL JOIN b ON a.k = b.k`, and the common column as `coalesce(a.k, b.k)`",
    )
    .with("clause", clause)
}

/// What a query names.
#[derive(Default)]
struct Named {
    plain: HashSet<String>,
    /// With a relation.
    qualified: HashSet<(String, String)>,
    /// `*`
    all: bool,
    /// Relations with all their columns: `a.*`.
    relations: HashSet<String>,
}

impl Named {
    fn of(part: &impl Visit) -> Self {
        let mut named = Self::default();
        let _ = visit(part, &mut named);
        named
    }

    /// What is named outside of the relations of FROM, which do not know each other unless they are LATERAL.
    fn outside_of_relations(select: &mut Select) -> Self {
        let from = std::mem::take(&mut select.from);
        let mut named = Self::of(select);
        for tables in &from {
            for join in &tables.joins {
                let _ = visit(&join.join_operator, &mut named);
                if let TableFactor::Derived { lateral: true, .. } = &join.relation {
                    let _ = visit(&join.relation, &mut named);
                }
            }
        }
        select.from = from;
        named
    }
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => {
                self.plain.insert(normal(name));
            }
            Expr::CompoundIdentifier(parts) => {
                if let [.., relation, column] = parts.as_slice() {
                    self.qualified.insert((normal(relation), normal(column)));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn last(name: &ObjectName) -> Option<String> {
    name.0.last()?.as_ident().map(normal)
}
