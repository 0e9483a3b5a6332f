//! A degree table made from a table.

use ostrakon_cell::{Batch, Result};

use crate::Plus;
use crate::iterators::{RowReduction, row_reduce};
use crate::tables::{GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount};

/// Adds, for each row of a table, its number of entries or the sum of their values to a column of
/// a degree table. Rows are reduced where the table is: one entry a row leaves it.
///
/// Held in memory: a batch.
///
/// # Errors
/// A missing table, values that are not numbers.
pub fn degree_table(
    context: &GraphContext,
    from: &MatrixTable,
    reduction: RowReduction,
    result: &ResultTable,
    column: &[u8],
) -> Result<WriteCount> {
    let mut options = from.scan_options()?;
    options.iterators.push(row_reduce(45, reduction, ""));
    let table = context.table(&from.table)?;
    let mut scan = context.scan(&table, &from.rows.to_ranges(), options)?;
    let mut sink = TableWriter::open(context, result, Plus::Sum)?.sink(true, 0)?;
    let mut batch = Batch::new();
    while scan.next_batch(&mut batch)? {
        for entry in batch.iter() {
            sink.put_text(entry.key.row, column, entry.value)?;
        }
    }
    let entries_written = sink.finish()?;
    Ok(WriteCount {
        entries_written,
        result_entries: entries_written,
    })
}
