//! Divides the rows of a scan among the partitions of a plan.

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryLimit;
use ostrakon_cell::{Range, Table};

use super::ByteSet;
use super::exec::WAITING;

/// The least and the most bytes of a batch, beside its last record.
const BATCH_BYTES: (usize, usize) = (64 << 10, 16 << 20);

/// Which share of a query's memory the batches of a scan may take beside it: a quarter.
const SHARE: usize = 4;

/// The ranges of each partition, in row order. There is at least one partition, and only one if the
/// reader must not see the layout of the table: the number of its parts tells how much is hidden.
///
/// # Errors
/// Those of the table.
pub(crate) fn partitions(
    table: &dyn Table,
    rows: &ByteSet,
    state: &dyn Session,
    sees_layout: bool,
) -> Result<Vec<Vec<Range>>> {
    let most = match sees_layout {
        true => state.config_options().execution.target_partitions,
        false => 1,
    };
    let parts = table.divide(&rows.ranges(), most);
    let parts = parts.map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(match parts.is_empty() {
        true => vec![Vec::new()],
        false => parts,
    })
}

/// The bytes of a batch of one of several partitions. Each partition has one that is being made, some
/// that wait, and one that is used.
pub(crate) fn batch_bytes(state: &dyn Session, partitions: usize) -> usize {
    let (least, most) = BATCH_BYTES;
    let batches = partitions.max(1).saturating_mul(WAITING + 2);
    match state.runtime_env().memory_pool.memory_limit() {
        MemoryLimit::Finite(bytes) => (bytes / SHARE / batches).clamp(least, most),
        _ => most,
    }
}
