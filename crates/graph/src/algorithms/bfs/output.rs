//! Output of the edges of a search.

use ostrakon_cell::Result;

use super::BfsOptions;
use crate::Plus;
use crate::matrix::{Interner, SparseMatrix, Triples};
use crate::number::parse_number;
use crate::tables::{GraphContext, RowSink, TableWriter, WriteCount};

pub(super) struct Output<'a> {
    context: &'a GraphContext,
    result: Option<RowSink>,
    transpose: Option<RowSink>,
    rows: Interner,
    columns: Interner,
    triples: Option<Triples>,
    /// Whether the step under way is put out at all.
    wanted: bool,
}

impl<'a> Output<'a> {
    pub(super) fn new(context: &'a GraphContext, options: &BfsOptions) -> Result<Self> {
        let sink = |table: &Option<crate::ResultTable>| {
            let table = table.as_ref();
            let open =
                |table| TableWriter::open_for_copies(context, table, Plus::Sum)?.sink(false, 0);
            table.map(open).transpose()
        };
        Ok(Self {
            context,
            result: sink(&options.result)?,
            transpose: sink(&options.result_transpose)?,
            rows: Interner::default(),
            columns: Interner::default(),
            triples: options.collect.then(Triples::default),
            wanted: false,
        })
    }

    /// Whether edges go anywhere.
    pub(super) fn is_used(&self) -> bool {
        self.result.is_some() || self.transpose.is_some() || self.triples.is_some()
    }

    pub(super) fn begin_step(&mut self, wanted: bool) {
        self.wanted = wanted && self.is_used();
    }

    /// Whether [`put`](Self::put) would do anything.
    #[inline]
    pub(super) fn wanted(&self) -> bool {
        self.wanted
    }

    pub(super) fn put(
        &mut self,
        row: &[u8],
        column: &[u8],
        label: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if let Some(sink) = &mut self.result {
            sink.put_labelled(row, column, label, value)?;
        }
        if let Some(sink) = &mut self.transpose {
            sink.put_labelled(column, row, label, value)?;
        }
        if let Some(triples) = &mut self.triples {
            let value = parse_number(value).unwrap_or(1.0);
            triples.push(self.rows.intern(row)?, self.columns.intern(column)?, value);
            if triples.rows.len() % 4096 == 0 {
                self.context
                    .check_memory(32 * triples.rows.len(), "the edges asked for")?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(WriteCount, Option<SparseMatrix>)> {
        let mut io = WriteCount::default();
        for sink in self.result.into_iter().chain(self.transpose) {
            io.entries_written += sink.finish()?;
        }
        io.result_entries = io.entries_written;
        let matrix = self
            .triples
            .map(|triples| triples.into_matrix(self.rows.keys(), self.columns.keys(), Plus::Sum));
        Ok((io, matrix))
    }
}
