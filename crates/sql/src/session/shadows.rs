//! Queries in WITH that have the name of another one around them. The inner name is the one that counts, and the engine
//! refuses it. So the inner query is renamed, and the relations that name it get its name as their alias.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, Statement as Ast, TableAlias, TableFactor,
    VisitorMut, With,
};

use super::spelling::normal;
use super::walk::visit_mut;

/// Renames the inner ones of queries in WITH that have one name.
pub(super) fn rename(ast: &mut Ast) {
    let _: ControlFlow<()> = visit_mut(ast, &mut Shadows::default());
}

#[derive(Default)]
struct Shadows {
    /// For each query around, the names of the queries in its WITH so far, and what those are called that were renamed.
    names: Vec<HashMap<String, Option<String>>>,
    /// The clauses, while their queries are visited.
    clauses: Vec<Option<With>>,
    renamed: usize,
}

impl Shadows {
    /// What the query of a name is called; `None` if there is no such query.
    fn find(&self, name: &str) -> Option<&Option<String>> {
        self.names.iter().rev().find_map(|names| names.get(name))
    }

    fn add(&mut self, name: String, renamed: Option<String>) {
        if let Some(names) = self.names.last_mut() {
            names.insert(name, renamed);
        }
    }

    fn in_clause(&mut self, with: &mut With) -> ControlFlow<()> {
        for one in &mut with.cte_tables {
            let name = normal(&one.alias.name);
            let around = self
                .names
                .split_last()
                .map_or(&[][..], |(_, around)| around);
            let is_hidden = around.iter().any(|names| names.contains_key(&name));
            let new = is_hidden.then(|| {
                self.renamed += 1;
                format!("{name}__{}", self.renamed)
            });
            if with.recursive {
                self.add(name.clone(), new.clone());
            }
            visit_mut(&mut one.query, self)?;
            self.add(name, new.clone());
            if let Some(new) = new {
                one.alias.name = Ident::with_quote('"', new);
            }
        }
        ControlFlow::Continue(())
    }
}

impl VisitorMut for Shadows {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.names.push(HashMap::new());
        let mut with = query.with.take();
        if let Some(with) = &mut with {
            self.in_clause(with)?;
        }
        self.clauses.push(with);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        query.with = self.clauses.pop().flatten();
        self.names.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
            && let [ObjectNamePart::Identifier(ident)] = name.0.as_slice()
            && let Some(Some(new)) = self.find(&normal(ident))
        {
            let new = Ident::with_quote('"', new.clone());
            alias.get_or_insert_with(|| TableAlias {
                explicit: true,
                name: ident.clone(),
                columns: Vec::new(),
                at: None,
            });
            *name = ObjectName::from(new);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn only_queries_that_hide_others_are_renamed() {
        for (text, expected) in [
            (
                "WITH w AS (SELECT 1 AS a) SELECT a FROM (WITH w AS (SELECT a FROM w) SELECT a FROM w) AS q, w",
                "WITH w AS (SELECT 1 AS a) SELECT a FROM (WITH \"w__1\" AS (SELECT a FROM w) SELECT a FROM \"w__1\" AS w) AS q, w",
            ),
            (
                "SELECT a FROM (WITH w AS (SELECT 1 AS a) SELECT a FROM w) AS p, (WITH w AS (SELECT 2 AS a) SELECT a FROM w) AS q",
                "SELECT a FROM (WITH w AS (SELECT 1 AS a) SELECT a FROM w) AS p, (WITH w AS (SELECT 2 AS a) SELECT a FROM w) AS q",
            ),
        ] {
            let parsed = parse_statements(text).expect(text);
            let shown = parsed.first().expect(text).statement.to_string();
            assert_eq!(shown, expected);
        }
    }
}
