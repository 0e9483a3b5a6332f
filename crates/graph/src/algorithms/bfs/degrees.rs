//! Degrees from a degree table, looked up once for each vertex.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, Column, ColumnSelection, Error, Escaped, Range, Result, ScanOptions, Table,
};

use super::DegreeLimit;
use super::walk::{Size, ranges_of};
use crate::matrix::Interner;
use crate::number::parse_number;
use crate::tables::GraphContext;

pub(super) struct Degrees {
    table: Arc<dyn Table>,
    limit: DegreeLimit,
    size: Size,
    /// Degrees by number of the vertex; not-a-number where not looked up yet.
    known: Vec<f64>,
    entries_read: u64,
}

impl Degrees {
    pub(super) fn new(context: &GraphContext, limit: &DegreeLimit) -> Result<Self> {
        let table = context.table(&limit.table)?;
        Ok(Self {
            size: Size::of(&table),
            table,
            limit: limit.clone(),
            known: Vec::new(),
            entries_read: 0,
        })
    }

    pub(super) fn take_entries_read(&mut self) -> u64 {
        std::mem::take(&mut self.entries_read)
    }

    /// Drops the vertices whose degree lies outside of the limits.
    pub(super) fn keep(
        &mut self,
        context: &GraphContext,
        names: &Interner,
        vertices: &mut Vec<u32>,
    ) -> Result<()> {
        self.known.resize(names.len(), f64::NAN);
        let unknown: Vec<u32> = vertices
            .iter()
            .copied()
            .filter(|&vertex| self.known[vertex as usize].is_nan())
            .collect();
        if !unknown.is_empty() {
            self.look_up(context, names, &unknown)?;
        }
        let (least, most) = (self.limit.least, self.limit.most);
        vertices.retain(|&vertex| (least..=most).contains(&self.known[vertex as usize]));
        Ok(())
    }

    fn look_up(
        &mut self,
        context: &GraphContext,
        names: &Interner,
        vertices: &[u32],
    ) -> Result<()> {
        for &vertex in vertices {
            self.known[vertex as usize] = 0.0;
        }
        let whole = self.size.prefers_scan(vertices.len());
        let prefix = &self.limit.prefix;
        let ranges = if whole {
            vec![Range::row_prefix(prefix)]
        } else {
            ranges_of(names, vertices, |vertex| {
                Range::row([prefix.as_slice(), vertex].concat())
            })
        };
        let options = ScanOptions {
            columns: ColumnSelection::new([Column::new("", self.limit.column.clone())]),
            ordered: false,
            ..ScanOptions::default()
        };
        let mut scan = context.scan(&self.table, &ranges, options)?;
        let mut batch = Batch::new();
        // A vertex may have several entries, one for each label: their sum is its degree. A scan
        // also finds vertices that were looked up before: they keep their values.
        let mut wanted = vec![!whole; if whole { names.len() } else { 0 }];
        if whole {
            for &vertex in vertices {
                wanted[vertex as usize] = true;
            }
        }
        let mut read = 0;
        while scan.next_batch(&mut batch)? {
            read += batch.len() as u64;
            for entry in batch.iter() {
                let row = entry.key.row;
                let vertex = row
                    .strip_prefix(prefix.as_slice())
                    .and_then(|row| names.find(row));
                let Some(vertex) = vertex.map(|vertex| vertex as usize) else {
                    continue;
                };
                if whole && !wanted[vertex] {
                    continue;
                }
                let degree = parse_number(entry.value).ok_or_else(|| {
                    Error::invalid("a degree is not a number: name the column that holds numbers")
                        .with("row", Escaped(row))
                        .with("column", Escaped(entry.key.qualifier))
                })?;
                self.known[vertex] += degree;
            }
        }
        self.entries_read += read;
        if whole {
            self.size.learn(read);
        }
        Ok(())
    }
}
