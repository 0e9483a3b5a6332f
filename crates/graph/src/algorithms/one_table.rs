//! One table: copied with filters and a function, transposed, reduced, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{Batch, Error, ErrorKind, Range, Result, ScanOptions, Table};

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
/// A missing table, values that are not numbers, a matrix larger than `memory_bytes`.
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
/// A missing table, values that are not numbers.
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

/// Pieces per thread when counting, enough to share rows of very different length evenly.
const PIECES_A_THREAD: usize = 16;

/// Entries of a table that the context may see, counted where the table is. `rows` are row keys
/// likely to be in it, sorted: they say where it is cut, each thread counting some pieces.
pub(crate) fn count_entries(
    context: &GraphContext,
    table: &Arc<dyn Table>,
    rows: &Keys,
) -> Result<u64> {
    let threads = context.threads.max(1);
    let pieces = cut(rows, threads * PIECES_A_THREAD);
    let next = AtomicUsize::new(0);
    let count = || {
        let mut count = 0;
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            count += count_piece(context, table, piece)?;
        }
        Ok(count)
    };
    let counts: Vec<Result<u64>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(pieces.len()))
            .map(|_| scope.spawn(count))
            .collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker
                .join()
                .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "a worker panicked")))
        };
        workers.into_iter().map(join).collect()
    });
    counts.into_iter().sum()
}

/// All possible rows, cut at some of these rows into at most this number of ranges.
fn cut(rows: &Keys, pieces: usize) -> Vec<Range> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let mut ranges = Vec::with_capacity(pieces);
    let mut start = Unbounded;
    for piece in 1..pieces.min(rows.len() + 1) {
        let row = rows.get(piece * rows.len() / pieces.min(rows.len() + 1));
        ranges.push(Range::rows::<&[u8]>((start, Included(row))));
        start = Excluded(row);
    }
    ranges.push(Range::rows::<&[u8]>((start, Unbounded)));
    ranges
}

fn count_piece(context: &GraphContext, table: &Arc<dyn Table>, piece: &Range) -> Result<u64> {
    let options = ScanOptions {
        iterators: vec![row_reduce(45, RowReduction::Count, "")],
        ..ScanOptions::default()
    };
    let mut scan = context.scan(table, std::slice::from_ref(piece), options)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::testing::{context, fill};

    #[test]
    fn counts_do_not_depend_on_where_the_table_is_cut() {
        let mut context = context();
        context.threads = 3;
        fill(
            &context,
            "t",
            (0..500).map(|at| (format!("r{:02}", at % 60), format!("c{at}"), "1")),
        );
        let table = context.table("t").expect("made");
        let all: Vec<String> = (0..60).map(|at| format!("r{at:02}")).collect();
        for keys in [&all[..0], &all[..1], &all[7..9], &all[..], &all[30..]] {
            let mut rows = Keys::default();
            keys.iter().for_each(|key| rows.push(key.as_bytes()));
            let count = count_entries(&context, &table, &rows).expect("counts");
            assert_eq!(count, 500, "cut at {} rows", keys.len());
            let pieces = cut(&rows, 48);
            assert_eq!(pieces.len(), 48.min(keys.len() + 1));
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
        }
    }
}
