//! A step in an adjacency table, or in a single table whose rows join both ends.

use std::sync::Arc;

use ostrakon_cell::{Batch, Column, ColumnSelection, Range, Result, ScanOptions, Span, Table};

use super::walk::{Size, Walk, ranges_of};
use crate::tables::GraphContext;

/// What a row names.
pub(super) enum RowForm {
    /// A vertex; the qualifier names the other.
    Vertex,
    /// Both vertices, joined.
    Joined { column: Vec<u8>, separator: u8 },
}

pub(super) struct Pairs {
    table: Arc<dyn Table>,
    form: RowForm,
    size: Size,
}

impl Pairs {
    pub(super) fn new(context: &GraphContext, table: &str, form: RowForm) -> Result<Self> {
        let table = context.table(table)?;
        Ok(Self {
            size: Size::of(&table),
            table,
            form,
        })
    }

    pub(super) fn expand(
        &mut self,
        context: &GraphContext,
        walk: &mut Walk<'_>,
        frontier: &[u32],
    ) -> Result<()> {
        let whole = self.size.prefers_scan(frontier.len());
        let ranges = if whole {
            vec![Range::all()]
        } else {
            ranges_of(&walk.names, frontier, |vertex| match &self.form {
                RowForm::Vertex => Range::row(vertex),
                RowForm::Joined { separator, .. } => {
                    let mut prefix = vertex.to_vec();
                    prefix.push(*separator);
                    Range::row_prefix(&prefix)
                }
            })
        };
        let columns = match &self.form {
            RowForm::Vertex => ColumnSelection::all(),
            RowForm::Joined { column, .. } => {
                ColumnSelection::new([Column::new("", column.clone())])
            }
        };
        let options = ScanOptions {
            columns,
            ordered: false,
            ..ScanOptions::default()
        };
        let mut scan = context.scan(&self.table, &ranges, options)?;
        let mut batch = Batch::new();
        let mut read = 0;
        while scan.next_batch(&mut batch)? {
            read += batch.len() as u64;
            match self.form {
                RowForm::Vertex => vertex_rows(walk, &batch)?,
                RowForm::Joined { separator, .. } => joined_rows(walk, &batch, separator)?,
            }
        }
        walk.entries_read += read;
        if whole {
            self.size.learn(read);
        }
        Ok(())
    }
}

fn vertex_rows(walk: &mut Walk<'_>, batch: &Batch) -> Result<()> {
    // Entries of one row often share its bytes: one look-up serves them all.
    let mut row: Option<(Span, bool)> = None;
    let put_out = walk.output.wanted();
    for (at, slot) in batch.slots().iter().enumerate() {
        let expanded = match row {
            Some((span, expanded)) if span == slot.row => expanded,
            _ => {
                let expanded = walk.in_frontier(batch.bytes(slot.row)).is_some();
                row = Some((slot.row, expanded));
                expanded
            }
        };
        if !expanded {
            continue;
        }
        walk.edges += 1;
        walk.reach(batch.bytes(slot.qualifier))?;
        if put_out {
            put(walk, batch, at)?;
        }
    }
    Ok(())
}

fn joined_rows(walk: &mut Walk<'_>, batch: &Batch, separator: u8) -> Result<()> {
    let put_out = walk.output.wanted();
    for at in 0..batch.len() {
        let row = batch.row(at);
        let Some(border) = row.iter().position(|&byte| byte == separator) else {
            continue;
        };
        if walk.in_frontier(&row[..border]).is_none() {
            continue;
        }
        walk.edges += 1;
        walk.reach(&row[border + 1..])?;
        if put_out {
            put(walk, batch, at)?;
        }
    }
    Ok(())
}

fn put(walk: &mut Walk<'_>, batch: &Batch, at: usize) -> Result<()> {
    let entry = batch.entry(at);
    let key = entry.key;
    walk.output
        .put(key.row, key.qualifier, key.visibility, entry.value)
}
