//! Reading both tables, collecting, multiplying, writing.

use std::cmp::Ordering;

use ostrakon_cell::{Error, Result};

use super::chunk::{Ready, Side};
use super::kernel::{Receiver, Rows};
use super::{TableMultOptions, TableMultResult};
use crate::algorithms::one_table::count_entries;
use crate::matrix::{Interner, Triples};
use crate::tables::{GraphContext, Interrupt, RowSink, TableWriter};

/// Bytes an entry of the left takes: collected and transposed.
const LEFT_BYTES: usize = 24;
/// Bytes an entry of the right takes.
const RIGHT_BYTES: usize = 12;

/// Multiplies two tables: `C += leftᵀ right`; see [`TableMultOptions`].
///
/// Held in memory: the column keys of both tables, for each thread a value per column of the right,
/// and matching rows up to `memory_bytes`. When these are more, partial sums are written to the
/// result table and combined there; such a product cannot be returned.
///
/// # Errors
/// A missing table, values that are no numbers, a result that is not finite, a result table without
/// combiner where one is needed; then partial sums may be written already.
pub fn table_mult(context: &GraphContext, options: &TableMultOptions) -> Result<TableMultResult> {
    let mut left = options.left.stream(context)?;
    let mut right = options.right.stream(context)?;
    let mut product = Product::new(context, options)?;
    let (mut more_left, mut more_right) = (left.advance()?, right.advance()?);
    while more_left && more_right {
        match left.row().cmp(right.row()) {
            Ordering::Less => {
                left.skip()?;
                more_left = left.advance()?;
            }
            Ordering::Greater => {
                right.skip()?;
                more_right = right.advance()?;
            }
            Ordering::Equal => {
                left.visit(|key, value| product.left(key, value))?;
                right.visit(|key, value| product.right(key, value))?;
                product.meet()?;
                more_left = left.advance()?;
                more_right = right.advance()?;
            }
        }
    }
    product.finish(left.entries() + right.entries())
}

struct Product<'a> {
    context: &'a GraphContext,
    options: &'a TableMultOptions,
    rows: Interner,
    columns: Interner,
    left: Side,
    right: Side,
    result: Option<TableWriter>,
    transpose: Option<TableWriter>,
    collected: Option<Triples>,
    outcome: TableMultResult,
}

impl<'a> Product<'a> {
    fn new(context: &'a GraphContext, options: &'a TableMultOptions) -> Result<Self> {
        let open = |table| TableWriter::open(context, table, options.plus());
        Ok(Self {
            context,
            options,
            rows: Interner::default(),
            columns: Interner::default(),
            left: Side::default(),
            right: Side::default(),
            result: options.result.as_ref().map(open).transpose()?,
            transpose: options.result_transpose.as_ref().map(open).transpose()?,
            collected: options.collect.then(Triples::default),
            outcome: TableMultResult::default(),
        })
    }

    fn left(&mut self, key: &[u8], value: f64) -> Result<()> {
        self.left.push(self.rows.intern(key)?, value);
        Ok(())
    }

    fn right(&mut self, key: &[u8], value: f64) -> Result<()> {
        self.right.push(self.columns.intern(key)?, value);
        Ok(())
    }

    /// Ends a meeting.
    fn meet(&mut self) -> Result<()> {
        self.left.close();
        self.right.close();
        self.outcome.rows_matched += 1;
        let held = LEFT_BYTES * self.left.ids.len() + RIGHT_BYTES * self.right.ids.len();
        if held >= self.context.memory_bytes {
            for writer in self.result.iter().chain(&self.transpose) {
                if !writer.combines()? {
                    return Err(Error::invalid(
                        "the product needs several collections and its table has no combiner to \
                         add them up: raise memory_bytes, or let a new table be made",
                    )
                    .with("table", writer.table().name()));
                }
            }
            self.multiply()?;
        }
        Ok(())
    }

    /// Multiplies and writes what is collected.
    fn multiply(&mut self) -> Result<()> {
        let left = std::mem::take(&mut self.left);
        let right = std::mem::take(&mut self.right);
        if left.ids.is_empty() || right.ids.is_empty() {
            return Ok(());
        }
        self.outcome.collections += 1;
        let ready = Ready::new(&left, right, self.rows.keys(), self.columns.keys());
        drop(left);
        let mut outputs = Vec::new();
        for range in ready.split(self.context.threads.max(1)) {
            let expected = ready.products_before[range.end] - ready.products_before[range.start];
            let sink = |writer: &Option<TableWriter>, sorted| {
                let writer = writer.as_ref();
                writer
                    .map(|writer| writer.sink(sorted, expected))
                    .transpose()
            };
            let output = Output {
                ready: &ready,
                interrupt: &self.context.interrupt,
                result: sink(&self.result, true)?,
                transpose: sink(&self.transpose, false)?,
                collected: self.collected.is_some().then(Triples::default),
                entries: 0,
                most_bytes: self.context.memory_bytes / self.context.threads.max(1),
            };
            outputs.push((range, output));
        }
        let (semiring, part) = (self.options.semiring, self.options.part);
        let ready = &ready;
        let done: Vec<Result<(u64, Output<'_>)>> = std::thread::scope(|scope| {
            let workers: Vec<_> = outputs
                .into_iter()
                .map(|(rows, mut output)| {
                    scope.spawn(move || {
                        let receiver = &mut output;
                        let products = semiring.dispatch(Rows {
                            ready,
                            rows,
                            part,
                            receiver,
                        })?;
                        Ok((products, output))
                    })
                })
                .collect();
            let panicked = || Error::new(ostrakon_cell::ErrorKind::Internal, "a worker panicked");
            let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
                worker.join().unwrap_or_else(|_| Err(panicked()))
            };
            workers.into_iter().map(join).collect()
        });
        // Nothing is made visible before everything is multiplied.
        let done = done.into_iter().collect::<Result<Vec<_>>>()?;
        for (products, output) in done {
            self.outcome.partial_products += products;
            self.outcome.io.result_entries += output.entries;
            for sink in output.result.into_iter().chain(output.transpose) {
                self.outcome.io.entries_written += sink.finish()?;
            }
            if let (Some(all), Some(part)) = (&mut self.collected, output.collected) {
                all.append(part);
            }
        }
        Ok(())
    }

    fn finish(mut self, entries_read: u64) -> Result<TableMultResult> {
        self.multiply()?;
        let mut outcome = self.outcome;
        outcome.entries_read = entries_read;
        outcome.matrix = self.collected.map(|triples| {
            triples.into_matrix(self.rows.keys(), self.columns.keys(), self.options.plus())
        });
        let mut entries = 0;
        let written = [(&self.result, &self.rows), (&self.transpose, &self.columns)];
        for (writer, rows) in written {
            let Some(writer) = writer else { continue };
            entries += if writer.fresh && outcome.collections <= 1 {
                outcome.io.result_entries
            } else {
                let rows = rows.keys().pick(&rows.keys().sorted_positions());
                count_entries(self.context, writer.table(), &rows)?
            };
        }
        if self.result.is_some() || self.transpose.is_some() {
            outcome.io.result_entries = entries;
        } else if let Some(matrix) = &outcome.matrix {
            outcome.io.result_entries = matrix.len() as u64;
        }
        Ok(outcome)
    }
}

/// What one thread makes.
struct Output<'a> {
    ready: &'a Ready,
    interrupt: &'a Interrupt,
    result: Option<RowSink>,
    transpose: Option<RowSink>,
    collected: Option<Triples>,
    entries: u64,
    most_bytes: usize,
}

impl Receiver for Output<'_> {
    fn row(&mut self, row: usize, entries: &[(u32, f64)]) -> Result<()> {
        self.interrupt.check()?;
        self.entries += entries.len() as u64;
        let ready = self.ready;
        let key = ready.rows.get(row);
        if let Some(sink) = &mut self.result {
            for &(column, value) in entries {
                sink.put(key, ready.columns.get(column as usize), value)?;
            }
        }
        if let Some(sink) = &mut self.transpose {
            for &(column, value) in entries {
                sink.put(ready.columns.get(column as usize), key, value)?;
            }
        }
        if let Some(triples) = &mut self.collected {
            let number = ready.row_order[row];
            for &(column, value) in entries {
                triples.push(number, ready.column_order[column as usize], value);
            }
            if triples.rows.len() * 16 > self.most_bytes {
                return Err(Error::new(
                    ostrakon_cell::ErrorKind::OutOfSpace,
                    "the product does not fit the memory allowed: raise memory_bytes, or write it \
                     to a table instead of returning it",
                )
                .with("bytes allowed per thread", self.most_bytes));
            }
        }
        Ok(())
    }
}
