//! `*`: the names of EXCLUDE, EXCEPT and REPLACE, and the columns of joins by name.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, JoinOperator, ObjectName, ObjectNamePart, ReplaceSelectElement,
    ReplaceSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    TableWithJoins, WildcardAdditionalOptions,
};
use ostrakon_cell::{Error, Result};

use super::output::excluded;
use super::scope::{Relation, Scope, normal};
use super::{Level, Speller, keep};
use crate::session::star::keeps_left;
use crate::session::using::{constraint_of, has_nested, is_by_name};

impl Speller<'_> {
    fn respell_star(
        &self,
        relation: Option<&str>,
        options: &mut WildcardAdditionalOptions,
    ) -> Result<()> {
        let mut names = Vec::new();
        match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => names.extend(last(name)),
            Some(ExcludeSelectItem::Multiple(all)) => names.extend(all.iter_mut().filter_map(last)),
            None => {}
        }
        if let Some(except) = &mut options.opt_except {
            names.push(&mut except.first_element);
            names.extend(&mut except.additional_elements);
        }
        for name in names {
            self.respell(relation, name)?;
            keep(name);
        }
        let replaced = options
            .opt_replace
            .iter_mut()
            .flat_map(|all| &mut all.items);
        let mut seen = HashSet::new();
        for item in replaced {
            let name = &mut item.column_name;
            self.respell(relation, name)?;
            keep(name);
            if !seen.insert(name.value.clone()) {
                return Err(
                    Error::invalid("REPLACE names a column twice").with("column", &name.value)
                );
            }
            let Some(Level::Select(scope)) = self.levels.last() else {
                continue;
            };
            // The engine ignores a column that there is not.
            let reason = match scope.has(relation, &name.value) {
                Some(true) => continue,
                Some(false) => "REPLACE names a column that the relations do not have",
                None => {
                    "REPLACE is not supported here, because not all columns of the relations are known: give them names with \
                     AS, or name the columns instead of *"
                }
            };
            return Err(Error::invalid(reason).with("column", &name.value));
        }
        Ok(())
    }

    pub(super) fn respell_stars(&self, select: &mut Select) -> Result<()> {
        for item in &mut select.projection {
            match item {
                SelectItem::Wildcard(options) => self.respell_star(None, options)?,
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let relation = name.0.last().and_then(ObjectNamePart::as_ident).map(normal);
                    self.respell_star(relation.as_deref(), options)?;
                }
                _ => {}
            }
        }
        if let Some(Level::Select(scope)) = self.levels.last()
            && joins_by_name(&select.from)
        {
            let is_nested = select.from.iter().any(has_nested);
            let items = std::mem::take(&mut select.projection).into_iter();
            let spelled = items.flat_map(|item| match &item {
                SelectItem::Wildcard(options)
                    if is_nested || *options != WildcardAdditionalOptions::default() =>
                {
                    of_relations(scope, options).unwrap_or_else(|| vec![item])
                }
                _ => vec![item],
            });
            select.projection = spelled.collect();
        }
        Ok(())
    }
}

/// Whether some join is by name, and the common columns of all of these are those of their left relations.
fn joins_by_name(from: &[TableWithJoins]) -> bool {
    let mut joins = Vec::new();
    from.iter().for_each(|tables| add_joins(tables, &mut joins));
    joins.retain(|join| constraint_of(join).is_some_and(is_by_name));
    !joins.is_empty() && joins.into_iter().all(keeps_left)
}

fn add_joins<'a>(tables: &'a TableWithJoins, joins: &mut Vec<&'a JoinOperator>) {
    joins.extend(tables.joins.iter().map(|join| &join.join_operator));
    let joined = tables.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&tables.relation).chain(joined) {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            add_joins(table_with_joins, joins);
        }
    }
}

/// `*` as the columns of each relation, of which common ones are those of the first; `None` if they are not known.
fn of_relations(scope: &Scope, options: &WildcardAdditionalOptions) -> Option<Vec<SelectItem>> {
    let is_known = options.opt_rename.is_none() && options.opt_ilike.is_none();
    if !is_known || !scope.is_complete() {
        return None;
    }
    let unwanted = excluded(options).into_iter();
    let unwanted: HashSet<String> = unwanted
        .map(|name| name.map(normal))
        .collect::<Option<_>>()?;
    let replaced = options.opt_replace.iter().flat_map(|all| &all.items);
    let replaced: Vec<_> = replaced.collect();
    let (mut items, mut relations, mut columns) = (Vec::new(), HashSet::new(), HashSet::new());
    for relation in scope.named(None) {
        let name = relation.name.as_ref()?;
        let mut left_out = Vec::new();
        let mut own: Vec<ReplaceSelectElement> = Vec::new();
        for column in relation.columns.iter() {
            let is_new = columns.insert(column.clone());
            if unwanted.contains(column) || relation.taken.contains(column) {
                left_out.push(quoted(column));
            } else {
                let mut its = replaced
                    .iter()
                    .filter(|item| item.column_name.value == *column)
                    .peekable();
                // Which of several columns is replaced is not said.
                if its.peek().is_some() && !is_new {
                    return None;
                }
                own.extend(its.map(|item| item.as_ref().clone()));
            }
        }
        if !relations.insert(name) {
            return None;
        }
        if left_out.len() < relation.columns.iter().count() {
            items.push(all_of(relation, left_out, own)?);
        }
    }
    let unknown = unwanted.iter().any(|name| !columns.contains(name));
    (!unknown && !items.is_empty()).then_some(items)
}

fn quoted(name: &str) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', name)])
}

/// `relation.*` with EXCLUDE and REPLACE.
fn all_of(
    relation: &Relation,
    left_out: Vec<ObjectName>,
    replaced: Vec<ReplaceSelectElement>,
) -> Option<SelectItem> {
    let replaced: Vec<_> = replaced.into_iter().map(Box::new).collect();
    let options = WildcardAdditionalOptions {
        opt_exclude: (!left_out.is_empty()).then_some(ExcludeSelectItem::Multiple(left_out)),
        opt_replace: (!replaced.is_empty()).then_some(ReplaceSelectItem { items: replaced }),
        ..WildcardAdditionalOptions::default()
    };
    let name = match &relation.path {
        Some(path) => path.clone(),
        None => quoted(relation.name.as_ref()?),
    };
    let name = SelectItemQualifiedWildcardKind::ObjectName(name);
    Some(SelectItem::QualifiedWildcard(name, options))
}

fn last(name: &mut ObjectName) -> Option<&mut Ident> {
    match name.0.last_mut() {
        Some(ObjectNamePart::Identifier(name)) => Some(name),
        _ => None,
    }
}
