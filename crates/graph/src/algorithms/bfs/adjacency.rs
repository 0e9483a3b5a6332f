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
    /// The whole graph, once a step had to read it all.
    kept: Option<KeptGraph>,
}

/// A graph in memory: the ends of every vertex' edges.
struct KeptGraph {
    offsets: Vec<usize>,
    ends: Vec<u32>,
}

/// Bytes of an edge while a graph is read to be kept.
const KEPT_BYTES: usize = 16;

impl KeptGraph {
    fn new(vertices: usize, edges: &[(u32, u32)]) -> Self {
        let mut offsets = vec![0; vertices + 1];
        for &(from, _) in edges {
            offsets[from as usize + 1] += 1;
        }
        for at in 1..offsets.len() {
            offsets[at] += offsets[at - 1];
        }
        let mut next = offsets.clone();
        let mut ends = vec![0; edges.len()];
        for &(from, to) in edges {
            let slot = &mut next[from as usize];
            ends[*slot] = to;
            *slot += 1;
        }
        Self { offsets, ends }
    }

    fn expand(&self, walk: &mut Walk<'_>, frontier: &[u32]) {
        for &vertex in frontier {
            let at = vertex as usize;
            let ends = &self.ends[self.offsets[at]..self.offsets[at + 1]];
            walk.edges += ends.len() as u64;
            for &end in ends {
                walk.reach_number(end);
            }
        }
    }
}

impl Pairs {
    pub(super) fn new(context: &GraphContext, table: &str, form: RowForm) -> Result<Self> {
        let table = context.table(table)?;
        Ok(Self {
            size: Size::of(&table),
            table,
            form,
            kept: None,
        })
    }

    pub(super) fn expand(
        &mut self,
        context: &GraphContext,
        walk: &mut Walk<'_>,
        frontier: &[u32],
    ) -> Result<()> {
        if let Some(kept) = &self.kept {
            kept.expand(walk, frontier);
            return Ok(());
        }
        let whole = self.size.prefers_scan(frontier.len());
        let mut edges = (whole && walk.goes_on_silently()).then(Vec::new);
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
            if let Some(pairs) = &mut edges {
                self.form.collect(walk, &batch, pairs)?;
                if pairs.len() * KEPT_BYTES > context.memory_bytes {
                    // It does not fit: what was read so far is expanded, the rest as it comes.
                    for (from, to) in edges.take().unwrap_or_default() {
                        if walk.expands(from) {
                            walk.edges += 1;
                            walk.reach_number(to);
                        }
                    }
                }
                continue;
            }
            match self.form {
                RowForm::Vertex => vertex_rows(walk, &batch)?,
                RowForm::Joined { separator, .. } => joined_rows(walk, &batch, separator)?,
            }
        }
        walk.entries_read += read;
        if whole {
            self.size.learn(read);
        }
        if let Some(edges) = edges {
            let kept = KeptGraph::new(walk.names.len(), &edges);
            kept.expand(walk, frontier);
            self.kept = Some(kept);
        }
        Ok(())
    }
}

impl RowForm {
    /// Takes the edges of a batch by the numbers of their ends.
    fn collect(
        &self,
        walk: &mut Walk<'_>,
        batch: &Batch,
        edges: &mut Vec<(u32, u32)>,
    ) -> Result<()> {
        let mut row: Option<(Span, u32)> = None;
        for slot in batch.slots() {
            let key = batch.bytes(slot.row);
            match self {
                Self::Vertex => {
                    let from = match row {
                        Some((span, from)) if span == slot.row => from,
                        _ => walk.number(key)?,
                    };
                    row = Some((slot.row, from));
                    edges.push((from, walk.number(batch.bytes(slot.qualifier))?));
                }
                Self::Joined { separator, .. } => {
                    if let Some(border) = key.iter().position(|byte| byte == separator) {
                        let from = walk.number(&key[..border])?;
                        edges.push((from, walk.number(&key[border + 1..])?));
                    }
                }
            }
        }
        Ok(())
    }
}

fn vertex_rows(walk: &mut Walk<'_>, batch: &Batch) -> Result<()> {
    // Entries of one row often share its bytes: one lookup serves them all.
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
