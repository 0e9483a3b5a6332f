//! Names of columns in the letters of their relations, before a statement is planned.
//!
//! Names without quotes are found in any letters: `code` is the column `Code` of a file's header. The engine compares names
//! exactly. So each name without quotes that no relation of its query has, and that differs from one column in case alone,
//! is written as that column, in quotes. A column comes before an alias of SELECT, except in ORDER BY, and the innermost
//! query that has the column before those around it.
//!
//! That needs the columns of the relations in FROM: of tables and files, and of queries in FROM and WITH, which `output.rs`
//! finds. Where they are not known, as those of a table function, a column is respelled when the engine misses it
//! (`letters.rs`).
//!
//! For a name in a subquery, the engine looks further outside instead of reporting an error if several of the subquery's
//! relations have the column, or if a relation of the subquery hides an outer one. The statement would answer another
//! question, or delete other records. So it is refused here.

mod joins;
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
    Select, Statement as Ast, TableFactor, TableWithJoins, Update, VisitMut, VisitorMut,
    visit_relations,
};
use ostrakon_cell::{Error, Result};

use super::letters::ast_of;
use super::using;
use output::given;
use scope::{Found, Names, Relation, Scope};

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
    };
    match VisitMut::visit(ast, &mut speller) {
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
    /// In a query, but in none of its SELECTs: in ORDER BY, which is treated by itself, or LIMIT. With the columns of its
    /// queries in WITH.
    Query(HashMap<String, Option<Arc<Names>>>),
    Select(Scope),
}

struct Speller<'a> {
    columns: &'a Columns,
    levels: Vec<Level>,
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
                name,
                alias,
                args: None,
                ..
            } => {
                let last = name.0.last().and_then(ObjectNamePart::as_ident).map(normal);
                let columns = match alias.as_ref().and_then(given) {
                    None => self.columns_of(name),
                    given => given,
                };
                let named = alias.as_ref().map(|alias| normal(&alias.name));
                (named.or(last), columns)
            }
            TableFactor::Derived {
                subquery,
                alias,
                lateral,
                ..
            } => {
                let columns = match alias.as_ref().and_then(given) {
                    // With LATERAL, it reads relations beside it.
                    None if !lateral => self.output(subquery),
                    given => given,
                };
                (alias.as_ref().map(|alias| normal(&alias.name)), columns)
            }
            TableFactor::Table { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => (
                alias.as_ref().map(|alias| normal(&alias.name)),
                alias.as_ref().and_then(given),
            ),
            _ => (None, None),
        };
        Scope::of(Relation { name, columns })
    }

    /// The columns of a query in WITH, or of a table or file.
    fn columns_of(&self, name: &ObjectName) -> Option<Arc<Names>> {
        if let [ObjectNamePart::Identifier(name)] = name.0.as_slice() {
            let name = normal(name);
            let queries = self.levels.iter().rev().filter_map(|level| match level {
                Level::Query(queries) => queries.get(&name),
                Level::Select(_) => None,
            });
            if let Some(columns) = queries.into_iter().next() {
                return columns.clone();
            }
        }
        self.columns.get(name).cloned()
    }

    /// How a name without quotes is spelled, if it is not as it is written.
    fn spelling(&self, relation: Option<&str>, name: &Ident) -> Result<Option<String>> {
        if name.quote_style.is_some() || !matches!(self.levels.last(), Some(Level::Select(_))) {
            return Ok(None);
        }
        let lower = normal(name);
        let mut scopes = self.levels.iter().rev().filter_map(|level| match level {
            Level::Select(scope) => Some(scope),
            Level::Query(_) => None,
        });
        while let Some(scope) = scopes.next() {
            if relation.is_some_and(|relation| !scope.has_relation(relation)) {
                continue;
            }
            match scope.find(relation, &name.value) {
                Found::Spelled(name) => return Ok(Some(name)),
                Found::Exact | Found::Unclear => return Ok(None),
                Found::Absent if relation.is_none() && !scope.aliases.contains(&lower) => {}
                Found::Absent if relation.is_none() => return Ok(None),
                found => {
                    let is_outer = scopes.any(|outer| {
                        relation.is_none_or(|relation| outer.has_relation(relation))
                            && outer.may_have(relation, &lower)
                    });
                    return match (is_outer, found) {
                        (false, _) => Ok(None),
                        // The engine takes an alias.
                        (_, Found::Ambiguous) if scope.aliases.contains(&lower) => Ok(None),
                        (true, found) => Err(mistaken(relation, &lower, &found)),
                    };
                }
            }
        }
        Ok(None)
    }

    fn is_relation(&self, name: &str) -> bool {
        self.levels
            .iter()
            .any(|level| matches!(level, Level::Select(scope) if scope.has_relation(name)))
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
                let written = normal(relation);
                match self.is_relation(&written) {
                    true => self.respell(Some(&written), name),
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
        let relation = Some(normal(root)).filter(|root| self.is_relation(root));
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

    fn enter_query(&mut self, query: &mut Query) -> Result<()> {
        self.levels.push(Level::Query(HashMap::new()));
        if let Some(with) = &query.with {
            self.add_queries(with);
        }
        self.respell_order(query)
    }

    fn enter_select(&mut self, select: &mut Select) -> Result<()> {
        for tables in &mut select.from {
            self.spell_joins(tables)?;
        }
        let mut scope = self.scope(&select.from);
        scope.aliases = order::aliases(select);
        if let Some(Distinct::On(items)) = &mut select.distinct {
            // As in ORDER BY.
            for item in items {
                if let Expr::Identifier(name) = item
                    && scope.aliases.contains(&normal(name))
                {
                    keep(name);
                }
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

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.levels.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        flow(self.enter_select(select))
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.levels.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        flow(self.respell_expr(expr))
    }
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
        (Some(_), Found::Ambiguous) => {
            "two relations of a subquery have one name: give one of them another name with AS"
        }
        (Some(_), _) => {
            "the relation of a subquery has no such column, but one of the same name around it has: give one of the two another \
             name with AS"
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
