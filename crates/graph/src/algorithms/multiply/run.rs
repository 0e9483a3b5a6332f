//! Reading both tables, collecting, multiplying, writing.

use std::cmp::Ordering;

use ostrakon_cell::{Error, Result};

use super::blocks::{Block, Blocks, Sizes};
use super::chunk::{Ready, Side};
use super::kernel::{Receiver, Rows};
use super::{TableMultOptions, TableMultResult};
use crate::algorithms::one_table::count_entries;
use crate::matrix::{Interner, Triples};
use crate::tables::{GraphContext, Interrupt, RowSink, TableWriter};

/// Bytes per entry of the left: collected and transposed.
const LEFT_BYTES: usize = 24;
/// Bytes per entry of the right.
const RIGHT_BYTES: usize = 12;

/// Multiplies two tables: `C += leftᵀ right`; see [`TableMultOptions`].
///
/// Held in memory: the column keys of both tables with a few numbers for each, for each thread a
/// value per column of the right, and matching rows up to `memory_bytes`. When these are more, the
/// product is made in blocks, for each of which both tables are read again: what others write to
/// them meanwhile may count in one block and not in another. Where that would take too long, or a
/// result goes to a table that is read, partial sums are written and combined in the result table.
///
/// # Errors
/// A missing table, values that are not numbers, a result that is not finite, a result table without
/// combiner where one is needed; then a part may be written already.
pub fn table_mult(context: &GraphContext, options: &TableMultOptions) -> Result<TableMultResult> {
    let mut product = Product::new(context, options)?;
    product.read()?;
    if let Some(sizes) = product.sizes.take() {
        product.may_read_again = false;
        let keys = (product.rows.keys(), product.columns.keys());
        let bytes = (LEFT_BYTES, RIGHT_BYTES);
        if let Some(blocks) = Blocks::plan(&sizes, keys, bytes, context.memory_bytes) {
            product.in_blocks(&blocks, &sizes)?;
        } else {
            product.outcome.rows_matched = 0;
            product.read()?;
        }
    }
    product.finish()
}

/// Where one thread writes.
struct Sinks {
    result: Option<RowSink>,
    transpose: Option<RowSink>,
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
    /// What does not fit may be read once more. Then `sizes` tells how much there is.
    may_read_again: bool,
    sizes: Option<Sizes>,
    /// Entries of one place may have been written in parts.
    in_parts: bool,
    /// Open as long as rows of C ascend: one for each thread, with the entries it may get.
    sinks: Vec<Sinks>,
    expected: u64,
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
            may_read_again: !options.writes_what_it_reads(),
            sizes: None,
            in_parts: false,
            sinks: Vec::new(),
            expected: 0,
        })
    }

    fn read(&mut self) -> Result<()> {
        self.read_those(|_| true, |_| true)
    }

    /// Reads, multiplies and writes block by block.
    fn in_blocks(&mut self, blocks: &Blocks, sizes: &Sizes) -> Result<()> {
        let sinks = blocks.columns() * self.context.threads.max(1) as u64;
        self.expected = sizes.products / sinks;
        for of_columns in blocks.all() {
            for block in of_columns {
                // Meetings are the same each time.
                self.outcome.rows_matched = 0;
                self.read_block(blocks, block)?;
                self.multiply()?;
            }
            self.close_sinks()?;
        }
        Ok(())
    }

    fn read_block(&mut self, blocks: &Blocks, block: Block) -> Result<()> {
        self.read_those(
            |id| blocks.has_row(block, id),
            |id| blocks.has_column(block, id),
        )
    }

    /// Reads both tables and collects the entries of matching rows in these columns.
    fn read_those(
        &mut self,
        left_wanted: impl Fn(u32) -> bool,
        right_wanted: impl Fn(u32) -> bool,
    ) -> Result<()> {
        let mut left = self.options.left.stream(self.context)?;
        let mut right = self.options.right.stream(self.context)?;
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
                    left.visit(|key, value| self.left(key, value, &left_wanted))?;
                    right.visit(|key, value| self.right(key, value, &right_wanted))?;
                    self.meet()?;
                    more_left = left.advance()?;
                    more_right = right.advance()?;
                }
            }
        }
        let read = left.entries() + right.entries();
        self.outcome.entries_read += read;
        if let Some(sizes) = &mut self.sizes {
            sizes.add(&mut self.left, &mut self.right);
            sizes.read = read;
        }
        Ok(())
    }

    fn left(&mut self, key: &[u8], value: f64, wanted: impl Fn(u32) -> bool) -> Result<()> {
        let id = self.rows.intern(key)?;
        if wanted(id) {
            self.left.push(id, value);
        }
        Ok(())
    }

    fn right(&mut self, key: &[u8], value: f64, wanted: impl Fn(u32) -> bool) -> Result<()> {
        let id = self.columns.intern(key)?;
        if wanted(id) {
            self.right.push(id, value);
        }
        Ok(())
    }

    /// Ends a meeting.
    fn meet(&mut self) -> Result<()> {
        self.left.close();
        self.right.close();
        self.outcome.rows_matched += 1;
        let held = LEFT_BYTES * self.left.ids.len() + RIGHT_BYTES * self.right.ids.len();
        if let Some(sizes) = &mut self.sizes {
            // Now and then, so that nothing is done for short rows.
            if held >= self.context.memory_bytes / 8 {
                sizes.add(&mut self.left, &mut self.right);
            }
        } else if held >= self.context.memory_bytes {
            if self.may_read_again {
                let mut sizes = Sizes::default();
                sizes.add(&mut self.left, &mut self.right);
                self.sizes = Some(sizes);
                return Ok(());
            }
            self.in_parts = true;
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
            // The same rows of C come again.
            self.close_sinks()?;
        }
        Ok(())
    }

    /// Makes what was written visible.
    fn close_sinks(&mut self) -> Result<()> {
        for sinks in self.sinks.drain(..) {
            for sink in sinks.result.into_iter().chain(sinks.transpose) {
                self.outcome.io.entries_written += sink.finish()?;
            }
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
            let expected = expected.max(self.expected);
            let sink = |writer: &Option<TableWriter>, sorted| {
                let writer = writer.as_ref();
                writer
                    .map(|writer| writer.sink(sorted, expected))
                    .transpose()
            };
            let sinks = match self.sinks.pop() {
                Some(open) => open,
                None => Sinks {
                    result: sink(&self.result, true)?,
                    transpose: sink(&self.transpose, false)?,
                },
            };
            let output = Output {
                ready: &ready,
                interrupt: &self.context.interrupt,
                sinks,
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
            self.sinks.push(output.sinks);
            if let (Some(all), Some(part)) = (&mut self.collected, output.collected) {
                all.append(part);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<TableMultResult> {
        self.multiply()?;
        self.close_sinks()?;
        let mut outcome = self.outcome;
        outcome.matrix = self.collected.map(|triples| {
            triples.into_matrix(self.rows.keys(), self.columns.keys(), self.options.plus())
        });
        let mut entries = 0;
        let written = [(&self.result, &self.rows), (&self.transpose, &self.columns)];
        for (writer, rows) in written {
            let Some(writer) = writer else { continue };
            entries += if writer.fresh && !self.in_parts {
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
    sinks: Sinks,
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
        if let Some(sink) = &mut self.sinks.result {
            for &(column, value) in entries {
                sink.put(key, ready.columns.get(column as usize), value)?;
            }
        }
        if let Some(sink) = &mut self.sinks.transpose {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::testing::{context, fill, read};

    #[test]
    fn a_block_that_outgrew_its_plan_is_added_up_in_the_table() {
        let mut context = context();
        let cells = (0..2000).map(|at| {
            let column = format!("c{:02}", at % 50);
            (format!("r{:02}", at / 50), column, (at % 7).to_string())
        });
        fill(&context, "a", cells);
        let mut options = TableMultOptions::new("a", "a");
        options.result = Some("c".into());
        table_mult(&context, &options).expect("multiplies");
        options.result = Some("d".into());
        context.memory_bytes = 9_000;
        let mut product = Product::new(&context, &options).expect("opens");
        product.read().expect("reads");
        let sizes = product.sizes.take().expect("too much");
        product.may_read_again = false;
        let keys = (product.rows.keys(), product.columns.keys());
        let blocks = Blocks::plan(&sizes, keys, (LEFT_BYTES, RIGHT_BYTES), 40_000);
        let blocks = blocks.expect("worth it");
        product.in_blocks(&blocks, &sizes).expect("multiplies");
        let outcome = product.finish().expect("counts");
        assert!(outcome.io.relative_io() > 1.0);
        assert_eq!(outcome.io.result_entries, 2500);
        assert_eq!(read(&context, "d"), read(&context, "c"));
    }
}
