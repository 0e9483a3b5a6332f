//! Divides the rows of a scan among the partitions of a plan.

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use ostrakon_cell::{Range, Table};

use super::ByteSet;

/// The ranges of each partition, in row order. There is at least one partition.
///
/// # Errors
/// Those of the table.
pub(crate) fn partitions(
    table: &dyn Table,
    rows: &ByteSet,
    most: usize,
) -> Result<Vec<Vec<Range>>> {
    let parts = table.divide(&rows.ranges(), most);
    let parts = parts.map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(match parts.is_empty() {
        true => vec![Vec::new()],
        false => parts,
    })
}
