//! A step in an incidence table: from vertices to edges, from edges to vertices.

use std::sync::Arc;

use ostrakon_cell::{Batch, Range, Result, ScanOptions, Table};

use super::walk::{Size, Walk, ranges_of};
use crate::matrix::Interner;
use crate::tables::GraphContext;

pub(super) struct Edges {
    edges: Arc<dyn Table>,
    transpose: Option<Arc<dyn Table>>,
    start_prefixes: Vec<Vec<u8>>,
    end_prefixes: Vec<Vec<u8>>,
    size: Size,
}

/// Columns of one edge: qualifier, label, value.
#[derive(Default)]
struct Row {
    key: Vec<u8>,
    bytes: Vec<u8>,
    columns: Vec<[usize; 3]>,
}

impl Edges {
    pub(super) fn new(
        context: &GraphContext,
        edges: &str,
        transpose: Option<&str>,
        start_prefixes: &[Vec<u8>],
        end_prefixes: &[Vec<u8>],
    ) -> Result<Self> {
        let edges = context.table(edges)?;
        Ok(Self {
            size: Size::of(&edges),
            edges,
            transpose: transpose.map(|name| context.table(name)).transpose()?,
            start_prefixes: start_prefixes.to_vec(),
            end_prefixes: end_prefixes.to_vec(),
        })
    }

    pub(super) fn expand(
        &mut self,
        context: &GraphContext,
        walk: &mut Walk<'_>,
        frontier: &[u32],
    ) -> Result<()> {
        // An edge takes two point reads: to find its key, and its other end.
        let whole = self.transpose.is_none() || self.size.prefers_scan(2 * frontier.len());
        let ranges = match &self.transpose {
            Some(transpose) if !whole => {
                let found = self.find_edges(context, transpose, walk, frontier)?;
                let all: Vec<u32> = (0..found.len() as u32).collect();
                ranges_of(&found, &all, |edge| Range::row(edge))
            }
            _ => vec![Range::all()],
        };
        if ranges.is_empty() {
            return Ok(());
        }
        let mut scan = context.scan(&self.edges, &ranges, ScanOptions::default())?;
        let mut batch = Batch::new();
        let mut row = Row::default();
        let mut read = 0;
        while scan.next_batch(&mut batch)? {
            read += batch.len() as u64;
            for entry in batch.iter() {
                if entry.key.row != row.key {
                    self.take(walk, &row)?;
                    row.begin(entry.key.row);
                }
                row.push(entry.key.qualifier, entry.key.visibility, entry.value);
            }
        }
        self.take(walk, &row)?;
        walk.entries_read += read;
        if whole {
            self.size.learn(read);
        }
        Ok(())
    }

    /// The edges that begin at the vertices.
    fn find_edges(
        &self,
        context: &GraphContext,
        transpose: &Arc<dyn Table>,
        walk: &mut Walk<'_>,
        frontier: &[u32],
    ) -> Result<Interner> {
        let mut found = Interner::default();
        let options = ScanOptions {
            ordered: false,
            ..ScanOptions::default()
        };
        let mut batch = Batch::new();
        for prefix in &self.start_prefixes {
            let ranges = ranges_of(&walk.names, frontier, |vertex| {
                Range::row([prefix.as_slice(), vertex].concat())
            });
            let mut scan = context.scan(transpose, &ranges, options.clone())?;
            while scan.next_batch(&mut batch)? {
                walk.entries_read += batch.len() as u64;
                for slot in batch.slots() {
                    found.intern(batch.bytes(slot.qualifier))?;
                }
            }
            context.check_memory(found.memory(), "the edges of a step")?;
        }
        Ok(found)
    }

    /// Takes one edge, if it begins in the frontier.
    fn take(&self, walk: &mut Walk<'_>, row: &Row) -> Result<()> {
        let starts = |walk: &Walk<'_>, column: &[u8]| {
            self.start_prefixes.iter().any(|prefix| {
                let vertex = column.strip_prefix(prefix.as_slice());
                vertex.is_some_and(|vertex| walk.in_frontier(vertex).is_some())
            })
        };
        if !row.iter().any(|(column, _, _)| starts(walk, column)) {
            return Ok(());
        }
        for (column, label, value) in row.iter() {
            let end = self
                .end_prefixes
                .iter()
                .find_map(|prefix| column.strip_prefix(prefix.as_slice()));
            if let Some(end) = end {
                walk.edges += 1;
                walk.reach(end)?;
            }
            if walk.output.wanted() && (end.is_some() || starts(walk, column)) {
                walk.output.put(&row.key, column, label, value)?;
            }
        }
        Ok(())
    }
}

impl Row {
    fn begin(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.bytes.clear();
        self.columns.clear();
    }

    fn push(&mut self, qualifier: &[u8], label: &[u8], value: &[u8]) {
        let mut ends = [0; 3];
        for (end, part) in ends.iter_mut().zip([qualifier, label, value]) {
            self.bytes.extend_from_slice(part);
            *end = self.bytes.len();
        }
        self.columns.push(ends);
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8], &[u8])> {
        self.columns.iter().enumerate().map(|(at, ends)| {
            let start = if at == 0 { 0 } else { self.columns[at - 1][2] };
            (
                &self.bytes[start..ends[0]],
                &self.bytes[ends[0]..ends[1]],
                &self.bytes[ends[1]..ends[2]],
            )
        })
    }
}
