//! Elementwise operations on two tables: the product where both have an entry, the sum where either has.

use std::cmp::Ordering;

use ostrakon_cell::Result;

use crate::matrix::{Interner, SparseMatrix, Triples};
use crate::tables::{
    GraphContext, MatrixTable, ResultTable, RowSink, RowStream, TableWriter, WriteCount,
};
use crate::{Plus, Times};

/// Which entries, and what of them.
#[derive(Debug, Clone, Copy)]
pub enum Elementwise {
    /// Entries that both tables have, combined by times.
    Multiply(Times),
    /// Entries that either table has, those of both combined by plus.
    Sum(Plus),
}

/// Two tables to be combined entry by entry.
#[derive(Debug, Clone)]
pub struct ElementwiseOptions {
    /// The left table.
    pub left: MatrixTable,
    /// The right table.
    pub right: MatrixTable,
    /// Which entries, and what of them.
    pub operation: Elementwise,
    /// Where the result is added; made with a summing combiner where it is missing.
    pub result: Option<ResultTable>,
    /// Where its transpose is added.
    pub result_transpose: Option<ResultTable>,
    /// Returns it as a matrix. Default: no.
    pub collect: bool,
}

impl ElementwiseOptions {
    /// `operation` of two tables, written nowhere yet.
    #[must_use]
    pub fn new(
        left: impl Into<MatrixTable>,
        right: impl Into<MatrixTable>,
        operation: Elementwise,
    ) -> Self {
        Self {
            left: left.into(),
            right: right.into(),
            operation,
            result: None,
            result_transpose: None,
            collect: false,
        }
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ElementwiseResult {
    /// Entries read of both tables.
    pub entries_read: u64,
    /// Entries of the result.
    pub entries: u64,
    /// Entries written.
    pub io: WriteCount,
    /// The result, if asked for.
    pub matrix: Option<SparseMatrix>,
}

/// Combines two tables entry by entry. Several entries of one place in a table (of several families
/// or labels) are added up first.
///
/// Held in memory: a row of each table; the matrix, if asked for.
///
/// # Errors
/// A missing table, values that are not numbers, a matrix larger than `memory_bytes`.
pub fn elementwise(
    context: &GraphContext,
    options: &ElementwiseOptions,
) -> Result<ElementwiseResult> {
    let mut left = options.left.stream(context)?;
    let mut right = options.right.stream(context)?;
    let mut out = Out::new(context, options)?;
    let (mut a, mut b) = (Row::default(), Row::default());
    let (mut more_left, mut more_right) = (left.advance()?, right.advance()?);
    while more_left || more_right {
        let order = match (more_left, more_right) {
            (true, true) => left.row().cmp(right.row()),
            (true, false) => Ordering::Less,
            _ => Ordering::Greater,
        };
        a.clear();
        b.clear();
        let row = if order == Ordering::Greater {
            right.row().to_vec()
        } else {
            left.row().to_vec()
        };
        if order != Ordering::Greater {
            a.read(&mut left)?;
            more_left = left.advance()?;
        }
        if order != Ordering::Less {
            b.read(&mut right)?;
            more_right = right.advance()?;
        }
        out.row(&row, &a, &b)?;
    }
    out.finish(left.entries() + right.entries())
}

/// Sorted columns and values of one row.
#[derive(Default)]
struct Row(Vec<(Vec<u8>, f64)>);

impl Row {
    fn clear(&mut self) {
        self.0.clear();
    }

    fn read(&mut self, stream: &mut RowStream) -> Result<()> {
        stream.visit(|column, value| {
            self.0.push((column.to_vec(), value));
            Ok(())
        })?;
        self.0.sort_by(|a, b| a.0.cmp(&b.0));
        self.0.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Ok(())
    }
}

struct Out<'a> {
    context: &'a GraphContext,
    operation: Elementwise,
    result: Option<RowSink>,
    transpose: Option<RowSink>,
    rows: Interner,
    columns: Interner,
    triples: Option<Triples>,
    outcome: ElementwiseResult,
}

impl<'a> Out<'a> {
    fn new(context: &'a GraphContext, options: &ElementwiseOptions) -> Result<Self> {
        let plus = match options.operation {
            Elementwise::Sum(plus) => plus,
            Elementwise::Multiply(_) => Plus::Sum,
        };
        let sink = |table: &Option<ResultTable>, sorted| {
            let table = table.as_ref();
            let open = |table| TableWriter::open(context, table, plus)?.sink(sorted, 0);
            table.map(open).transpose()
        };
        Ok(Self {
            context,
            operation: options.operation,
            result: sink(&options.result, true)?,
            transpose: sink(&options.result_transpose, false)?,
            rows: Interner::default(),
            columns: Interner::default(),
            triples: options.collect.then(Triples::default),
            outcome: ElementwiseResult::default(),
        })
    }

    fn row(&mut self, row: &[u8], a: &Row, b: &Row) -> Result<()> {
        let (mut at, mut to) = (0, 0);
        while at < a.0.len() || to < b.0.len() {
            let order = match (a.0.get(at), b.0.get(to)) {
                (Some(a), Some(b)) => a.0.cmp(&b.0),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            match order {
                Ordering::Less => {
                    if let Elementwise::Sum(_) = self.operation {
                        self.put(row, &a.0[at].0, a.0[at].1)?;
                    }
                    at += 1;
                }
                Ordering::Greater => {
                    if let Elementwise::Sum(_) = self.operation {
                        self.put(row, &b.0[to].0, b.0[to].1)?;
                    }
                    to += 1;
                }
                Ordering::Equal => {
                    let value = match self.operation {
                        Elementwise::Sum(plus) => plus.apply(a.0[at].1, b.0[to].1),
                        Elementwise::Multiply(times) => times.apply(a.0[at].1, b.0[to].1),
                    };
                    self.put(row, &a.0[at].0, value)?;
                    at += 1;
                    to += 1;
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, row: &[u8], column: &[u8], value: f64) -> Result<()> {
        self.outcome.entries += 1;
        if let Some(sink) = &mut self.result {
            sink.put(row, column, value)?;
        }
        if let Some(sink) = &mut self.transpose {
            sink.put(column, row, value)?;
        }
        if let Some(triples) = &mut self.triples {
            triples.push(self.rows.intern(row)?, self.columns.intern(column)?, value);
            self.context
                .check_memory(32 * triples.rows.len(), "the matrix asked for")?;
        }
        Ok(())
    }

    fn finish(self, entries_read: u64) -> Result<ElementwiseResult> {
        let mut outcome = self.outcome;
        outcome.entries_read = entries_read;
        for sink in self.result.into_iter().chain(self.transpose) {
            outcome.io.entries_written += sink.finish()?;
        }
        outcome.io.result_entries = outcome.io.entries_written;
        outcome.matrix = self
            .triples
            .map(|triples| triples.into_matrix(self.rows.keys(), self.columns.keys(), Plus::Sum));
        Ok(outcome)
    }
}
