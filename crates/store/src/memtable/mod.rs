//! The memtable: batches as they were written, and sorted runs of the positions of their updates.
//!
//! A batch is kept as the bytes its writer encoded. A [`Run`] points into it: one 16-byte mark per
//! update, sorted by key. Marks begin with eight bytes of the row, so that sorting and merging
//! rarely read the batch itself. Runs are merged sixteen at a time, so that a reader has to merge
//! few of them. There is no allocation per entry, and entries are never moved.

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
