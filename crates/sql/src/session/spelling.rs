//! Names of columns in the letters of their relations, before a statement is planned.
//!
//! Names without quotes are found in any letters: `code` is the column `Code` of a file's header. The engine compares names
//! exactly. So each name without quotes that no relation of its query has, and that differs from one column in case alone,
//! is written as that column, in quotes. A column comes before an alias of SELECT, except in ORDER BY, and the innermost
//! query that has the column before those around it.
//!
//! That needs the columns of the relations in FROM. Those of a query in FROM or WITH are known only when it is planned; what
//! names them is respelled when the engine misses it (`letters.rs`).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::execution::context::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Delete, Distinct, ExcludeSelectItem, Expr, FromTable, Ident, JoinConstraint,
    ObjectName, ObjectNamePart, OrderByKind, Query, Select, SelectItem, SetExpr, Statement as Ast,
    TableFactor, TableWithJoins, Update, VisitMut, VisitorMut, WildcardAdditionalOptions,
    visit_relations,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::letters::ast_of;
use super::using::constraint_of;

/// The names of columns of each relation that a statement reads.
type Columns = HashMap<ObjectName, Arc<[String]>>;

/// The statement with names of columns as their relations spell them.
///
/// # Errors
/// `* REPLACE` names a column that no relation has, or NATURAL joins relations with columns that differ in case alone.
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
        queries_of_with: HashSet::new(),
        levels: Vec::new(),
    };
    match VisitMut::visit(ast, &mut speller) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(statement),
    }
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
            columns.insert(name, fields.collect());
        }
    }
    columns
}

/// A relation in FROM.
struct Relation {
    /// How columns name it; `None` if they cannot.
    name: Option<String>,
    /// `None` if they are not known.
    columns: Option<Arc<[String]>>,
}

/// The relations of one SELECT, and the aliases that it gives.
#[derive(Default)]
struct Scope(Vec<Relation>, HashSet<String>);

/// What a name is in a scope.
enum Found {
    /// A column with these letters.
    Exact,
    /// The only column that differs in case.
    Spelled(String),
    /// Not known, or several could be meant.
    Unclear,
    Absent,
}

impl Scope {
    /// Looks for a column, of one relation or of all.
    fn find(&self, relation: Option<&str>, name: &str) -> Found {
        let lower = name.to_ascii_lowercase();
        let mut others = BTreeSet::new();
        let mut is_known = true;
        for one in &self.0 {
            if relation.is_some() && one.name.as_deref() != relation {
                continue;
            }
            let Some(columns) = &one.columns else {
                is_known = false;
                continue;
            };
            if columns.contains(&lower) {
                return Found::Exact;
            }
            let folded = name.to_lowercase();
            let same = columns.iter().filter(|one| one.to_lowercase() == folded);
            others.extend(same.cloned());
        }
        if !is_known {
            return Found::Unclear;
        }
        match (others.pop_first(), others.is_empty()) {
            (Some(one), true) => Found::Spelled(one),
            (Some(_), false) => Found::Unclear,
            (None, _) => Found::Absent,
        }
    }

    fn has_relation(&self, name: &str) -> bool {
        self.0.iter().any(|one| one.name.as_deref() == Some(name))
    }
}

/// Where names stand.
enum Level {
    /// In a query, but in none of its SELECTs: in ORDER BY, which is treated by itself, or LIMIT.
    Query,
    Select(Scope),
}

struct Speller<'a> {
    columns: &'a Columns,
    /// Names of queries in WITH, anywhere in the statement.
    queries_of_with: HashSet<String>,
    levels: Vec<Level>,
}

impl Speller<'_> {
    fn scope<'t>(&self, tables: impl IntoIterator<Item = &'t TableWithJoins>) -> Scope {
        let mut scope = Scope::default();
        for table in tables {
            self.add(&table.relation, &mut scope);
            for join in &table.joins {
                self.add(&join.relation, &mut scope);
            }
        }
        scope
    }

    fn add(&self, factor: &TableFactor, scope: &mut Scope) {
        let alias = match factor {
            TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.as_ref(),
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                let inner = self.scope([&**table_with_joins]);
                scope.0.extend(inner.0);
                return;
            }
            _ => None,
        };
        let named = alias.map(|alias| normal(&alias.name));
        let relation = match factor {
            TableFactor::Table {
                name, args: None, ..
            } => {
                let last = name.0.last().and_then(ObjectNamePart::as_ident).map(normal);
                let is_of_with = last
                    .as_ref()
                    .is_some_and(|last| self.queries_of_with.contains(last));
                let has_names = alias.is_some_and(|alias| !alias.columns.is_empty());
                Relation {
                    columns: self
                        .columns
                        .get(name)
                        .filter(|_| !is_of_with && !has_names)
                        .cloned(),
                    name: named.or(last),
                }
            }
            _ => Relation {
                name: named,
                columns: None,
            },
        };
        scope.0.push(relation);
    }

    /// How a name without quotes is spelled, if it is not as it is written.
    fn spelling(&self, relation: Option<&str>, name: &Ident) -> Option<String> {
        if name.quote_style.is_some() || !matches!(self.levels.last(), Some(Level::Select(_))) {
            return None;
        }
        for level in self.levels.iter().rev() {
            let Level::Select(scope) = level else {
                continue;
            };
            if relation.is_some_and(|relation| !scope.has_relation(relation)) {
                continue;
            }
            match scope.find(relation, &name.value) {
                Found::Spelled(name) => return Some(name),
                Found::Exact | Found::Unclear => return None,
                // A relation hides one of the same name outside, and an alias a column.
                Found::Absent if relation.is_some() || scope.1.contains(&normal(name)) => {
                    return None;
                }
                Found::Absent => {}
            }
        }
        None
    }

    fn is_relation(&self, name: &str) -> bool {
        self.levels
            .iter()
            .any(|level| matches!(level, Level::Select(scope) if scope.has_relation(name)))
    }

    fn respell(&self, relation: Option<&str>, name: &mut Ident) {
        if let Some(spelling) = self.spelling(relation, name) {
            name.value = spelling;
            name.quote_style = Some('"');
        }
    }

    fn respell_expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Identifier(name) => self.respell(None, name),
            Expr::CompoundIdentifier(names) => {
                let is_long = names.len() > 2;
                if let [relation, name, ..] = names.as_mut_slice() {
                    let written = normal(relation);
                    match self.is_relation(&written) {
                        true => self.respell(Some(&written), name),
                        // A namespace, or a field within a field.
                        false if is_long => {}
                        // A field of a struct.
                        false => self.respell(None, relation),
                    }
                }
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.respell_access(root, access_chain);
            }
            _ => {}
        }
    }

    /// Respells `t.a['f']`: of its parts, which are expressions, only one may be a column.
    fn respell_access(&self, root: &mut Expr, chain: &mut [AccessExpr]) {
        let Expr::Identifier(root) = root else {
            return;
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
            self.respell(Some(&relation), column);
            keep(column);
        }
        fields.for_each(keep);
    }

    /// Respells what ORDER BY names. An alias of SELECT comes first there.
    fn respell_order(&mut self, query: &mut Query) {
        let Some(order) = &mut query.order_by else {
            return;
        };
        let (OrderByKind::Expressions(items), SetExpr::Select(select)) =
            (&mut order.kind, &*query.body)
        else {
            return;
        };
        let aliases = aliases(select);
        self.levels.push(Level::Select(self.scope(&select.from)));
        for item in items {
            let mut visitor = OfOrder {
                speller: &*self,
                aliases: &aliases,
                queries: 0,
            };
            let _: ControlFlow<()> = VisitMut::visit(&mut item.expr, &mut visitor);
        }
        self.levels.pop();
    }

    fn respell_star(&self, options: &mut WildcardAdditionalOptions) -> Result<()> {
        match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => self.respell_object(name),
            Some(ExcludeSelectItem::Multiple(names)) => {
                for name in names {
                    self.respell_object(name);
                }
            }
            None => {}
        }
        if let Some(except) = &mut options.opt_except {
            self.respell(None, &mut except.first_element);
            for name in &mut except.additional_elements {
                self.respell(None, name);
            }
        }
        for item in options
            .opt_replace
            .iter_mut()
            .flat_map(|all| &mut all.items)
        {
            self.respell(None, &mut item.column_name);
            let name = &item.column_name;
            // The engine ignores one that there is not.
            if let Some(Level::Select(scope)) = self.levels.last()
                && scope.has_not(name)
            {
                return Err(Error::new(
                    ErrorKind::InvalidArgument,
                    "REPLACE names a column that the relations do not have",
                )
                .with("column", &name.value));
            }
        }
        Ok(())
    }

    /// NATURAL joins by the columns that are spelled alike.
    fn check_natural(&self, select: &Select) -> Result<()> {
        for tables in &select.from {
            let mut scope = Scope::default();
            self.add(&tables.relation, &mut scope);
            for join in &tables.joins {
                self.add(&join.relation, &mut scope);
                let constraint = constraint_of(&join.join_operator);
                if matches!(constraint, Some(JoinConstraint::Natural))
                    && let Some((left, right)) = scope.almost_common()
                {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "NATURAL does not join columns that differ in upper and lower case: join them with ON",
                    )
                    .with("columns", format!("\"{left}\" and \"{right}\"")));
                }
            }
        }
        Ok(())
    }

    fn respell_object(&self, name: &mut ObjectName) {
        if let Some(ObjectNamePart::Identifier(name)) = name.0.last_mut() {
            self.respell(None, name);
        }
    }
}

impl Scope {
    /// A column of one of the relations, and one of the last relation that differs from it in case alone.
    fn almost_common(&self) -> Option<(&str, &str)> {
        let (last, others) = self.0.split_last()?;
        let own = last.columns.as_ref()?;
        let known = others.iter().filter_map(|one| one.columns.as_ref());
        known.flat_map(|columns| columns.iter()).find_map(|left| {
            let is_almost =
                |right: &&String| *right != left && right.to_lowercase() == left.to_lowercase();
            Some((left.as_str(), own.iter().find(is_almost)?.as_str()))
        })
    }

    /// Whether certainly no relation has this column.
    fn has_not(&self, name: &Ident) -> bool {
        let wanted = normal(name);
        self.0.iter().all(|one| {
            let columns = one.columns.as_ref();
            columns.is_some_and(|columns| !columns.contains(&wanted))
        })
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
        for one in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.queries_of_with.insert(normal(&one.alias.name));
        }
        self.respell_order(query);
        self.levels.push(Level::Query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.levels.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        if let Err(error) = self.check_natural(select) {
            return ControlFlow::Break(error);
        }
        let mut scope = self.scope(&select.from);
        scope.1 = aliases(select);
        if let Some(Distinct::On(items)) = &mut select.distinct {
            // As in ORDER BY.
            for item in items {
                if let Expr::Identifier(name) = item
                    && scope.1.contains(&normal(name))
                {
                    keep(name);
                }
            }
        }
        self.levels.push(Level::Select(scope));
        for item in &mut select.projection {
            if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item
                && let Err(error) = self.respell_star(options)
            {
                return ControlFlow::Break(error);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Error> {
        self.levels.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.respell_expr(expr);
        ControlFlow::Continue(())
    }
}

/// Respells an item of ORDER BY, outside of its subqueries.
struct OfOrder<'a> {
    speller: &'a Speller<'a>,
    aliases: &'a HashSet<String>,
    queries: usize,
}

impl VisitorMut for OfOrder<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let is_alias =
            matches!(expr, Expr::Identifier(name) if self.aliases.contains(&normal(name)));
        if self.queries == 0 && !is_alias {
            self.speller.respell_expr(expr);
        }
        ControlFlow::Continue(())
    }
}

fn aliases(select: &Select) -> HashSet<String> {
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        _ => None,
    };
    select.projection.iter().filter_map(alias).collect()
}

/// Writes a name in quotes as the engine reads it, so that it is not respelled.
fn keep(name: &mut Ident) {
    name.value = normal(name);
    name.quote_style = Some('"');
}

/// A name as the engine reads it.
fn normal(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}
