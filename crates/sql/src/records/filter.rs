//! Conditions on records, evaluated on encoded values before a record is decoded.

use datafusion::logical_expr::Expr;

use super::key::Plain;
use super::{ColumnType, RecordSchema};
use crate::scan::{ByteSet, encoded};

/// The columns of the relation by place: name and type.
pub(super) fn columns(schema: &RecordSchema) -> Vec<(&str, ColumnType)> {
    let keys = schema
        .keys
        .iter()
        .map(|(name, kind)| (name.as_str(), *kind));
    let columns = schema
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.kind));
    let label = schema
        .label
        .iter()
        .map(|name| (name.as_str(), ColumnType::Text));
    keys.chain(columns).chain(label).collect()
}

/// The column that a condition is about, the values for which it may hold, and whether it holds for exactly these.
/// It never holds for a null.
pub(super) fn understood(
    columns: &[(&str, ColumnType)],
    condition: &Expr,
) -> Option<(usize, ByteSet, bool)> {
    if let Expr::IsNotNull(of) = condition
        && let Expr::Column(column) = &**of
    {
        let at = columns.iter().position(|(name, _)| *name == column.name)?;
        return Some((at, ByteSet::all(), true));
    }
    columns.iter().enumerate().find_map(|(at, (name, kind))| {
        let (set, exact) = encoded(condition, name, &Plain(*kind))?;
        Some((at, set, exact))
    })
}

/// By column of the relation: the encoded values for which all conditions may hold; `None` if nulls are wanted too.
pub(super) fn wanted(columns: &[(&str, ColumnType)], conditions: &[Expr]) -> Vec<Option<ByteSet>> {
    let mut wanted = vec![None; columns.len()];
    for condition in conditions {
        if let Some((at, set, _)) = understood(columns, condition)
            && let Some(before) = wanted.get_mut(at)
        {
            *before = Some(match before.take() {
                Some(before) => set.intersect(&before),
                None => set,
            });
        }
    }
    wanted
}
