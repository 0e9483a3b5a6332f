//! The memtable: batches as they came, and sorted runs of where their updates stand.
//!
//! A batch is kept as the bytes its writer encoded. Beside it lies a [`Run`]: one 16-byte mark an
//! update, sorted by key. Marks begin with eight bytes of the row, so that sorting and merging
//! rarely look at the batch itself. Runs are merged sixteen at a time, so that a reader meets few of
//! them. Nothing is allocated per entry and nothing is ever moved.

mod buffers;
mod iterator;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod ties;

pub use buffers::BufferPool;
pub use iterator::MemtableIterator;
pub use run::{Chunk, RowPrefix, Run};
pub use table::{Memtable, MemtableSnapshot, entry_bytes};
