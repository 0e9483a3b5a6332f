//! `SELECT *` of joins with USING. Of the two columns of one name, the engine keeps the one whose relation comes first
//! in the alphabet. That of the right relation is NULL for rows that are only in the left one, and the order of the
//! columns depends on names. So `*` becomes `a.*, b.* EXCLUDE (k)`.

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
        return match keeps_left(select) {
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
            SelectItem::Wildcard(_) if !keeps_left(select) => return Err(refused()),
            item => spelled.push(item),
        }
    }
    select.projection = spelled;
    Ok(())
}

fn refused() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "`*` of an outer join with NATURAL or USING is not supported here: name the columns, or give the relations \
         aliases in the order of the alphabet",
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
            let is_owned = |column: &ObjectName| {
                last(column).is_some_and(|column| owners.contains_key(&column))
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

/// Whether the engine keeps columns that are right: all common ones are equal, or it keeps those of the left relation.
fn keeps_left(select: &Select) -> bool {
    let inner = |operator: &JoinOperator| {
        matches!(operator, JoinOperator::Join(_) | JoinOperator::Inner(_))
    };
    select.from.iter().all(|tables| {
        let mut joins = tables.joins.iter();
        let by_name = |operator| constraint_of(operator).is_some_and(is_by_name);
        let is_first = match (tables.joins.as_slice(), name_of(&tables.relation)) {
            ([join], Some(left)) => name_of(&join.relation).is_some_and(|right| left < right),
            _ => false,
        };
        is_first || joins.all(|join| !by_name(&join.join_operator) || inner(&join.join_operator))
    })
}
