//! One table: copied with filters and a function, transposed, reduced, counted.

use std::sync::Arc;

use ostrakon_cell::{Batch, Range, Result, ScanOptions, Table};

use crate::Plus;
use crate::iterators::{RowReduction, row_reduce};
use crate::matrix::{Interner, Keys, SparseMatrix, Triples};
use crate::number::parse_number;
use crate::tables::{GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount};

/// What to do with a table.
#[derive(Debug, Clone, Default)]
pub struct TransformOptions {
    /// The table, its part, and the function of its values.
    pub from: MatrixTable,
    /// Where the entries are added.
    pub result: Option<ResultTable>,
    /// Where they are added transposed.
    pub result_transpose: Option<ResultTable>,
    /// What becomes of entries of one place in result tables made for this. Default: their sum.
    pub plus: Plus,
    /// Returns them as a matrix. Default: no.
    pub collect: bool,
}

/// What a transformation did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransformResult {
    /// Entries read, after filtering.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
    /// The matrix, if asked for.
    pub matrix: Option<SparseMatrix>,
}

/// Applies a function and filters to a table, where the table is, and writes or returns the rest.
///
/// Held in memory: a batch; the matrix, if asked for.
///
/// # Errors
/// A missing table, values that are no numbers, a matrix larger than `memory_bytes`.
pub fn transform(context: &GraphContext, options: &TransformOptions) -> Result<TransformResult> {
    let mut stream = options.from.stream(context)?;
    let sink = |table: &Option<ResultTable>, sorted| {
        let table = table.as_ref();
        let open = |table| TableWriter::open(context, table, options.plus)?.sink(sorted, 0);
        table.map(open).transpose()
    };
    let mut result = sink(&options.result, true)?;
    let mut transpose = sink(&options.result_transpose, false)?;
    let (mut rows, mut columns) = (Interner::default(), Interner::default());
    let mut triples = options.collect.then(Triples::default);
    let mut row = Vec::new();
    while stream.advance()? {
        row.clear();
        row.extend_from_slice(stream.row());
        stream.visit(|column, value| {
            if let Some(sink) = &mut result {
                sink.put(&row, column, value)?;
            }
            if let Some(sink) = &mut transpose {
                sink.put(column, &row, value)?;
            }
            if let Some(triples) = &mut triples {
                triples.push(rows.intern(&row)?, columns.intern(column)?, value);
            }
            Ok(())
        })?;
        if let Some(triples) = &triples {
            context.check_memory(32 * triples.rows.len(), "the matrix asked for")?;
        }
    }
    let mut io = WriteCount::default();
    for sink in result.into_iter().chain(transpose) {
        io.entries_written += sink.finish()?;
    }
    io.result_entries = io.entries_written;
    let matrix =
        triples.map(|triples| triples.into_matrix(rows.keys(), columns.keys(), options.plus));
    Ok(TransformResult {
        entries_read: stream.entries(),
        io,
        matrix,
    })
}

/// Rows and one number for each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReduceResult {
    /// The rows, sorted.
    pub rows: Keys,
    /// Their numbers.
    pub values: Vec<f64>,
}

/// Reduces every row to one number, where the table is: one entry a row leaves it.
///
/// Held in memory: the result.
///
/// # Errors
/// A missing table, values that are no numbers.
pub fn reduce_rows(
    context: &GraphContext,
    from: &MatrixTable,
    reduction: RowReduction,
) -> Result<ReduceResult> {
    let mut options = from.scan_options()?;
    options.iterators.push(row_reduce(45, reduction, ""));
    let table = context.table(&from.table)?;
    let mut scan = context.scan(&table, &from.rows.to_ranges(), options)?;
    let mut reduced = ReduceResult::default();
    let mut batch = Batch::new();
    while scan.next_batch(&mut batch)? {
        for entry in batch.iter() {
            reduced.rows.push(entry.key.row);
            reduced
                .values
                .push(parse_number(entry.value).unwrap_or_default());
        }
    }
    Ok(reduced)
}

/// Entries of a table that the context may see, counted where the table is.
pub(crate) fn count_entries(context: &GraphContext, table: &Arc<dyn Table>) -> Result<u64> {
    let options = ScanOptions {
        iterators: vec![row_reduce(45, RowReduction::Count, "")],
        ..ScanOptions::default()
    };
    let mut scan = context.scan(table, &[Range::all()], options)?;
    let mut batch = Batch::new();
    let mut count = 0;
    while scan.next_batch(&mut batch)? {
        count += batch
            .iter()
            .filter_map(|entry| parse_number(entry.value))
            .map(|number| number as u64)
            .sum::<u64>();
    }
    Ok(count)
}
