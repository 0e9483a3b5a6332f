//! Names of columns in the letters of their relations, before a statement is planned.
//!
//! Names without quotes are found in any letters: `code` is the column `Code` of a file's header. The engine compares names
//! exactly. So each name without quotes that no relation of its query has, and that differs from one column in case alone,
//! is written as that column, in quotes. A column is preferred to an alias of SELECT, except in ORDER BY and DISTINCT ON,
//! and a column of a subquery to one of the queries around it.
//!
//! That needs the columns of the relations in FROM: of tables and files, and of queries in FROM and WITH, which `output.rs`
//! finds. Where they are not known, as those of a table function, a column is respelled when the engine misses it
//! (`letters.rs`).
//!
//! For a name in a subquery, the engine looks further outside instead of reporting an error if several of the subquery's
//! relations have the column, or if a relation of the subquery hides an outer one. The statement would answer another
//! question, or delete other records. So it is refused here, also where the subquery's columns are not known.

mod joins;
mod keys;
mod order;
mod output;
mod scope;
mod stars;

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::execution::context::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Delete, Distinct, Expr, FromTable, Ident, ObjectName, ObjectNamePart, Query,
    Select, Statement as Ast, TableFactor, TableWithJoins, Update, VisitorMut, With,
};
use ostrakon_cell::{Error, Result};

use super::letters::ast_of;
use super::names;
use super::syntax::is_query;
use super::using;
use crate::session::walk::{visit_mut, visit_relations};
use output::{given, with_given};
use scope::{Found, Names, Scope};

pub(super) use scope::normal;

/// The columns of each table and file that a statement names.
type Columns = HashMap<ObjectName, Arc<Names>>;

/// The statement with names of columns as their relations spell them.
///
/// # Errors
/// A column of a subquery that the engine would take for an outer one. `* REPLACE` of a column that no relation has. NATURAL
/// between relations with columns that differ in case alone.
pub(super) async fn spelled(
    context: &SessionContext,
    mut statement: Statement,
) -> Result<Statement> {
    let Some(ast) = ast_of(&mut statement) else {
        return Ok(statement);
    };
    let columns = columns(context, ast).await;
    let mut speller = Speller {
        columns: &columns,
        levels: Vec::new(),
        subqueries: 0,
        around: Vec::new(),
    };
    match visit_mut(ast, &mut speller) {
        ControlFlow::Break(error) => return Err(error),
        ControlFlow::Continue(()) => {}
    }
    // These rewrite names as the engine compares them.
    using::separate(ast)?;
    Ok(statement)
}

/// The columns of tables and files. What cannot be read is left to the planner, which says why.
async fn columns(context: &SessionContext, ast: &Ast) -> Columns {
    let mut names = HashSet::new();
    let _: ControlFlow<()> = visit_relations(ast, |name| {
        names.insert(name.clone());
        ControlFlow::Continue(())
    });
    let mut columns = HashMap::new();
    for name in names {
        let Ok(reference) = object_name_to_table_reference(name.clone(), true) else {
            continue;
        };
        if let Ok(table) = context.table_provider(reference).await {
            let schema = table.schema();
            let fields = schema.fields().iter().map(|field| field.name().clone());
            columns.insert(name, Arc::new(fields.collect()));
        }
    }
    columns
}

/// Where names stand.
enum Level {
    /// In a query, but in none of its SELECTs: in ORDER BY, which is treated by itself, LIMIT or VALUES.
    Query {
        /// The columns of the queries in WITH so far.
        queries: HashMap<String, Arc<Names>>,
        /// The clause, while the query is visited.
        with: Option<With>,
    },
    Select(Scope),
}

impl Level {
    fn query() -> Self {
        Self::Query {
            queries: HashMap::new(),
            with: None,
        }
    }
}

struct Speller<'a> {
    columns: &'a Columns,
    levels: Vec<Level>,
    /// Expressions around that are queries, within the innermost query in FROM that is not LATERAL.
    subqueries: usize,
    /// Their numbers around each such query.
    around: Vec<usize>,
}

impl Speller<'_> {
    fn scope<'t>(&mut self, tables: impl IntoIterator<Item = &'t TableWithJoins>) -> Scope {
        let mut scope = Scope::default();
        for table in tables {
            scope.add(self.joined(table));
        }
        scope
    }

    fn joined(&mut self, tables: &TableWithJoins) -> Scope {
        let mut scope = self.relation(&tables.relation);
        for join in &tables.joins {
            let right = self.relation(&join.relation);
            scope.join(right, &join.join_operator);
        }
        scope
    }

    fn relation(&mut self, factor: &TableFactor) -> Scope {
        let (name, columns) = match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => return self.joined(table_with_joins),
            TableFactor::Table {
                name, alias, args, ..
            } => {
                let last = name.0.last().and_then(ObjectNamePart::as_ident).map(normal);
                let columns = match (args, last.as_deref()) {
                    (None, _) => with_given(alias.as_ref(), self.columns_of(name)),
                    (Some(_), Some("generate_series" | "range"))
                        if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) =>
                    {
                        Arc::new(std::iter::once("value".to_owned()).collect())
                    }
                    _ => {
                        let columns = alias.as_ref().and_then(given);
                        columns.unwrap_or_else(|| Arc::new(Names::unknown()))
                    }
                };
                let named = alias.as_ref().map(|alias| normal(&alias.name));
                let scope = Scope::of(named.or(last.filter(|_| args.is_none())), columns);
                return match alias {
                    Some(_) => scope,
                    None => scope.with_path(name),
                };
            }
            TableFactor::Derived {
                subquery, alias, ..
            } => {
                let columns = with_given(alias.as_ref(), self.output(subquery));
                (alias.as_ref().map(|alias| normal(&alias.name)), columns)
            }
            TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => (
                alias.as_ref().map(|alias| normal(&alias.name)),
                alias
                    .as_ref()
                    .and_then(given)
                    .unwrap_or_else(|| Arc::new(Names::unknown())),
            ),
            _ => (None, Arc::new(Names::unknown())),
        };
        Scope::of(name, columns)
    }

    /// The columns of a query in WITH, or of a table or file.
    fn columns_of(&self, name: &ObjectName) -> Arc<Names> {
        if let [ObjectNamePart::Identifier(name)] = name.0.as_slice() {
            let name = normal(name);
            let mut queries = self.levels.iter().rev().filter_map(|level| match level {
                Level::Query { queries, .. } => queries.get(&name),
                Level::Select(_) => None,
            });
            if let Some(columns) = queries.next() {
                return columns.clone();
            }
        }
        let known = self.columns.get(name).cloned();
        known.unwrap_or_else(|| Arc::new(Names::unknown()))
    }

    /// The scopes around, from the innermost one.
    fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.levels.iter().rev().filter_map(|level| match level {
            Level::Select(scope) => Some(scope),
            Level::Query { .. } => None,
        })
    }

    /// How a name is spelled, if it is not as it is written.
    ///
    /// # Errors
    /// The engine would look for it in a query further outside.
    fn spelling(&self, relation: Option<&str>, name: &Ident) -> Result<Option<String>> {
        if !matches!(self.levels.last(), Some(Level::Select(_))) {
            return Ok(None);
        }
        let written = normal(name);
        let other = |spelling: String| (spelling != written).then_some(spelling);
        let mut scopes = self.scopes();
        while let Some(scope) = scopes.next() {
            if relation.is_some_and(|relation| !scope.has_relation(relation)) {
                continue;
            }
            let found = scope.find(relation, name);
            let spelling = match &found {
                Found::Column(spelling) => return Ok(other(spelling.clone())),
                Found::Absent if relation.is_none() => match scope.alias(name) {
                    Some(alias) => return Ok(other(alias)),
                    None => continue,
                },
                Found::Ambiguous(spelling) => spelling.clone().and_then(other),
                Found::Unclear | Found::Absent => None,
            };
            // The engine takes an alias.
            if relation.is_none() && scope.aliases.has(&written) {
                return Ok(None);
            }
            let is_outer = scopes.any(|outer| {
                relation.is_none_or(|relation| outer.has_relation(relation))
                    && outer.may_have(relation, spelling.as_ref().unwrap_or(&written))
            });
            return match is_outer {
                true => Err(mistaken(relation, &written, &found)),
                false => Ok(spelling),
            };
        }
        Ok(None)
    }

    /// Whether a name before a point is that of a relation, and not of a column with fields.
    fn is_relation(&self, name: &Ident) -> bool {
        let written = normal(name);
        for scope in self.scopes() {
            if scope.has_relation(&written) {
                return true;
            }
            if let Found::Column(_) | Found::Ambiguous(_) = scope.find(None, name) {
                return false;
            }
        }
        false
    }

    fn respell(&self, relation: Option<&str>, name: &mut Ident) -> Result<()> {
        if let Some(spelling) = self.spelling(relation, name)? {
            name.value = spelling;
            name.quote_style = Some('"');
        }
        Ok(())
    }

    fn respell_expr(&self, expr: &mut Expr) -> Result<()> {
        match expr {
            Expr::Identifier(name) => self.respell(None, name),
            Expr::CompoundIdentifier(names) => {
                let is_long = names.len() > 2;
                let [relation, name, ..] = names.as_mut_slice() else {
                    return Ok(());
                };
                match self.is_relation(relation) {
                    true => self.respell(Some(&normal(relation)), name),
                    // A namespace, or a field within a field.
                    false if is_long => Ok(()),
                    // A field of a struct.
                    false => self.respell(None, relation),
                }
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.respell_access(root, access_chain)
            }
            _ => Ok(()),
        }
    }

    /// Respells `t.a['f']`: of its parts, which are expressions, only one may be a column.
    fn respell_access(&self, root: &mut Expr, chain: &mut [AccessExpr]) -> Result<()> {
        let Expr::Identifier(root) = root else {
            return Ok(());
        };
        let relation = self.is_relation(root).then(|| normal(root));
        if relation.is_some() {
            keep(root);
        }
        let mut fields = chain.iter_mut().filter_map(|access| match access {
            AccessExpr::Dot(Expr::Identifier(name)) => Some(name),
            _ => None,
        });
        if let (Some(relation), Some(column)) = (relation, fields.next()) {
            self.respell(Some(&relation), column)?;
            keep(column);
        }
        fields.for_each(keep);
        Ok(())
    }

    /// Visits the queries of WITH, each of which can read those before it, and ORDER BY.
    fn enter_query(&mut self, query: &mut Query) -> Result<()> {
        self.levels.push(Level::query());
        let mut clause = query.with.take();
        if let Some(with) = &mut clause {
            for one in &mut with.cte_tables {
                if with.recursive {
                    self.add_recursive_query(one);
                }
                if let ControlFlow::Break(error) = visit_mut(&mut one.query, self) {
                    return Err(error);
                }
                self.add_query(one);
            }
        }
        if let Some(Level::Query { with, .. }) = self.levels.last_mut() {
            *with = clause;
        }
        self.check_set_operations(&query.body)?;
        self.respell_order(query)
    }

    fn enter_select(&mut self, select: &mut Select) -> Result<()> {
        let mut scope = Scope::default();
        for tables in &mut select.from {
            scope.add(self.spell_joins(tables)?);
        }
        scope.aliases = order::aliases(select);
        if let Some(Distinct::On(items)) = &mut select.distinct {
            // As in ORDER BY.
            for item in items {
                order::respell_alias(item, &scope);
            }
        }
        self.levels.push(Level::Select(scope));
        self.respell_stars(select)
    }
}

impl VisitorMut for Speller<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Ast) -> ControlFlow<Error> {
        let scope = match statement {
            Ast::Update(Update {
                table, from: None, ..
            }) => self.scope([&*table]),
            Ast::Delete(Delete {
                from: FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables),
                using: None,
                ..
            }) => self.scope(&*tables),
            _ => return ControlFlow::Continue(()),
        };
        self.levels.push(Level::Select(scope));
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        flow(self.enter_query(query))
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some(Level::Query { with, .. }) = self.levels.pop() {
            query.with = with;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow(self.enter_select(select))
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.levels.pop();
        names::name_repetitions(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if is_own_query(factor) {
            self.around.push(std::mem::take(&mut self.subqueries));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        if is_own_query(factor)
            && let Some(around) = self.around.pop()
        {
            self.subqueries = around;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.subqueries += usize::from(is_query(expr));
        flow(self.respell_expr(expr))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.subqueries -= usize::from(is_query(expr));
        ControlFlow::Continue(())
    }
}

/// Whether a relation is a query that does not see the others.
fn is_own_query(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Derived { lateral: false, .. })
}

fn flow(result: Result<()>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// A column of a subquery that the engine would take for the outer query's.
fn mistaken(relation: Option<&str>, name: &str, found: &Found) -> Error {
    let reason = match (relation, found) {
        (Some(_), Found::Ambiguous(_)) => {
            "two relations of a subquery have one name: give one of them another name with AS"
        }
        (Some(_), _) => {
            "the relation of a subquery has no such column, but one of the same name around it has: give one of the two another \
             name with AS"
        }
        (None, Found::Unclear) => {
            "a column of a subquery may be of its own relations, not all of whose columns are known, or of the query around \
             it: write the relation before the column, as in relation.column"
        }
        (None, _) => {
            "a column of a subquery belongs to several of its relations: write the relation before the column, as in \
             relation.column"
        }
    };
    let column = relation.map_or_else(|| name.to_owned(), |relation| format!("{relation}.{name}"));
    Error::invalid(reason).with("column", column)
}

/// Writes a name in quotes as the engine reads it, so that it is not respelled.
fn keep(name: &mut Ident) {
    name.value = normal(name);
    name.quote_style = Some('"');
}
