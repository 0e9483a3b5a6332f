//! `SELECT *` of joins with USING. Of the two columns of one name, the engine keeps the one whose relation comes first
//! in the alphabet. That of the right relation is NULL for rows that are only in the left one, and the order of the
//! columns depends on names. So `*` becomes `a.*, b.* EXCLUDE (k)`: here as far as the syntax tells, and in
//! `spelling/stars.rs` with options and for joins in parentheses, where all columns have to be known. What is left is
//! refused unless it means the same.

use std::collections::HashMap;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, JoinConstraint, JoinOperator, ObjectName, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, WildcardAdditionalOptions,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::names::name_repetitions;
use super::using::{constraint_of, is_by_name, last, name_of};

/// Writes `*` as the columns of the relations, whose common columns have these owners.
///
/// # Errors
/// The columns are not known, and the engine would take wrong ones.
pub(super) fn spell_out(select: &mut Select, owners: &HashMap<String, String>) -> Result<()> {
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
    let mut joins = select.from.iter().flat_map(|tables| &tables.joins);
    if !select.projection.iter().any(is_star)
        || !joins.any(|join| constraint_of(&join.join_operator).is_some_and(is_by_name))
    {
        return Ok(());
    }
    let Some(columns) = columns(select, owners) else {
        return match keeps_order(select) {
            true => Ok(()),
            false => Err(refused()),
        };
    };
    name_repetitions(select);
    let mut spelled = Vec::new();
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::Wildcard(options) if options == WildcardAdditionalOptions::default() => {
                spelled.extend(columns.iter().cloned());
            }
            SelectItem::Wildcard(_) if !keeps_order(select) => return Err(refused()),
            item => spelled.push(item),
        }
    }
    select.projection = spelled;
    Ok(())
}

fn refused() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "this `*` of a join with NATURAL or USING is not supported here: name the columns, or give the relations aliases in \
         the order of the alphabet",
    )
}

/// All columns, each common one once.
fn columns(select: &Select, owners: &HashMap<String, String>) -> Option<Vec<SelectItem>> {
    let mut items = Vec::new();
    for tables in &select.from {
        items.push(all_of(&tables.relation, Vec::new())?);
        for join in &tables.joins {
            let common = match &join.join_operator {
                JoinOperator::CrossJoin(_) => Vec::new(),
                operator => match constraint_of(operator)? {
                    JoinConstraint::Natural => return None,
                    JoinConstraint::Using(columns) => columns.clone(),
                    _ => Vec::new(),
                },
            };
            // The rows of other joins have those of the left relations.
            let is_owned = |column: &ObjectName| {
                keeps_left(&join.join_operator)
                    || last(column).is_some_and(|column| owners.contains_key(&column))
            };
            if !common.iter().all(is_owned) {
                return None;
            }
            items.push(all_of(&join.relation, common)?);
        }
    }
    Some(items)
}

/// The columns of a relation but some.
fn all_of(factor: &TableFactor, without: Vec<ObjectName>) -> Option<SelectItem> {
    name_of(factor)?;
    let name = match factor {
        TableFactor::Table {
            name, alias: None, ..
        } => name.clone(),
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => ObjectName::from(vec![alias.clone()?.name]),
        _ => return None,
    };
    let exclude = (!without.is_empty()).then_some(ExcludeSelectItem::Multiple(without));
    let options = WildcardAdditionalOptions {
        opt_exclude: exclude,
        ..WildcardAdditionalOptions::default()
    };
    Some(SelectItem::QualifiedWildcard(
        SelectItemQualifiedWildcardKind::ObjectName(name),
        options,
    ))
}

/// Whether the common columns of a join are those of the left relation.
pub(super) fn keeps_left(operator: &JoinOperator) -> bool {
    matches!(
        operator,
        JoinOperator::Join(_)
            | JoinOperator::Inner(_)
            | JoinOperator::Left(_)
            | JoinOperator::LeftOuter(_)
    )
}

/// Whether the engine keeps the columns of the left relations, in their place: of two relations, if the left one comes
/// first in the alphabet.
fn keeps_order(select: &Select) -> bool {
    select.from.iter().all(|tables| {
        let by_name = |operator| constraint_of(operator).is_some_and(is_by_name);
        match tables.joins.as_slice() {
            [join] if by_name(&join.join_operator) => {
                let names = [&tables.relation, &join.relation].map(sorted_name);
                matches!(names, [Some(left), Some(right)] if left < right)
            }
            joins => !joins.iter().any(|join| by_name(&join.join_operator)),
        }
    })
}

/// The name by which the engine sorts a relation: also that of a file.
fn sorted_name(factor: &TableFactor) -> Option<String> {
    name_of(factor).or_else(|| match factor {
        TableFactor::Table {
            name, alias: None, ..
        } => match name.0.as_slice() {
            [path] => path.as_ident().map(|path| path.value.clone()),
            _ => None,
        },
        _ => None,
    })
}
