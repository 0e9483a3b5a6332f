//! What is read of each record, and the columns of its entries.

use std::cmp::Ordering;

use datafusion::arrow::datatypes::SchemaRef;
use ostrakon_cell::{compare_bytes, same_bytes};

use super::{ColumnType, RecordSchema};
use crate::scan::ByteSet;

/// A column of the table.
#[derive(Debug)]
struct Column {
    family: Vec<u8>,
    qualifier: Vec<u8>,
    place: usize,
}

impl Column {
    fn is(&self, family: &[u8], qualifier: &[u8]) -> bool {
        same_bytes(&self.qualifier, qualifier) && same_bytes(&self.family, family)
    }

    fn cmp(&self, family: &[u8], qualifier: &[u8]) -> Ordering {
        compare_bytes(&self.family, family).then_with(|| compare_bytes(&self.qualifier, qualifier))
    }
}

/// What is read of each record.
#[derive(Debug)]
pub(super) struct Layout {
    /// Types by place in the relation.
    pub(super) kinds: Vec<ColumnType>,
    pub(super) keys: usize,
    /// Columns and their places, sorted as the entries of a row are.
    columns: Vec<Column>,
    /// The place of the label, if it is returned or tested.
    pub(super) label: Option<usize>,
    wanted: Vec<Option<ByteSet>>,
    /// Places with a condition.
    pub(super) tested: Vec<usize>,
    /// By place: whether the value is returned or tested.
    needed: Vec<bool>,
    /// The places that are returned.
    pub(super) returned: Vec<usize>,
    pub(super) schema: SchemaRef,
}

impl Layout {
    pub(super) fn new(
        schema: &RecordSchema,
        wanted: Vec<Option<ByteSet>>,
        returned: Vec<usize>,
        projected: SchemaRef,
    ) -> Self {
        let keys = schema.keys.len();
        let kinds: Vec<ColumnType> = super::filter::columns(schema)
            .into_iter()
            .map(|(_, kind)| kind)
            .collect();
        let mut needed: Vec<bool> = wanted.iter().map(Option::is_some).collect();
        for at in &returned {
            if let Some(needed) = needed.get_mut(*at) {
                *needed = true;
            }
        }
        let columns = schema.columns.iter().enumerate();
        let columns = columns.map(|(at, column)| Column {
            family: column.family.clone(),
            qualifier: column.qualifier.clone(),
            place: keys + at,
        });
        let mut columns: Vec<Column> = columns.collect();
        columns.sort_unstable_by(|a, b| a.cmp(&b.family, &b.qualifier));
        let tested = wanted.iter().enumerate();
        let tested = tested.filter_map(|(place, wanted)| wanted.is_some().then_some(place));
        let tested = tested.collect();
        // It comes last.
        let label = schema.label.as_ref().map(|_| kinds.len() - 1);
        let label = label.filter(|place| needed.get(*place) == Some(&true));
        Self {
            label,
            kinds,
            keys,
            columns,
            wanted,
            tested,
            needed,
            returned,
            schema: projected,
        }
    }

    /// The place of the column of an entry. `next` is the first column that may come, since the entries of a row are sorted.
    pub(super) fn place(&self, next: &mut usize, family: &[u8], qualifier: &[u8]) -> Option<usize> {
        // Most records have a value for each column.
        if let Some(column) = self.columns.get(*next + 1)
            && column.is(family, qualifier)
        {
            *next += 1;
            return Some(column.place);
        }
        loop {
            let column = self.columns.get(*next)?;
            match column.cmp(family, qualifier) {
                Ordering::Less => *next += 1,
                Ordering::Equal => return Some(column.place),
                Ordering::Greater => return None,
            }
        }
    }

    pub(super) fn is_needed(&self, place: usize) -> bool {
        self.needed.get(place).copied().unwrap_or_default()
    }

    pub(super) fn wanted(&self, place: usize) -> Option<&ByteSet> {
        self.wanted.get(place)?.as_ref()
    }

    /// Whether a record is returned only if it has a certain column. Then other columns need not be read.
    pub(super) fn needs_a_column(&self) -> bool {
        let columns = self.keys..self.kinds.len();
        self.label.is_none()
            && columns
                .into_iter()
                .any(|place| self.wanted(place).is_some())
    }
}
