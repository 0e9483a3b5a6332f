//! Sorted files: written by flushes, compactions and bulk imports, read by all scans.
//!
//! ```
//! use std::{path::Path, sync::Arc};
//! use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Key, Range, SortedKeyValueIterator};
//! use ostrakon_store::cache::{BlockCache, CacheOptions};
//! use ostrakon_store::catalog::Fence;
//! use ostrakon_store::metrics::Metrics;
//! use ostrakon_store::sorted_file::{SortedFile, SortedFileWriter, WriterOptions};
//! use ostrakon_store::vfs::{MemoryVfs, Vfs};
//!
//! let disk: Arc<dyn Vfs> = Arc::new(MemoryVfs::new());
//! disk.create_dir_all(Path::new("/t"))?;
//! let path = Path::new("/t/1.sf");
//! let mut batch = Batch::new();
//! batch.push(Key::new("alice", "edge", "bob").as_ref(), b"cited")?;
//! batch.push(Key::new("carol", "edge", "bob").as_ref(), b"liked")?;
//! let mut writer = SortedFileWriter::create(&disk, path, WriterOptions::default())?;
//! writer.append(&batch, 0..batch.len())?;
//! assert_eq!(writer.finish()?.entries, 2);
//!
//! let metrics = Arc::new(Metrics::default());
//! let cache = BlockCache::new(CacheOptions::default(), metrics.clone())?;
//! let file = SortedFile::open(&disk, path, 1, &cache, &metrics)?;
//! let mut iterator = file.iterator(&[Fence::ALL]);
//! iterator.seek(&Range::row("carol"), &ColumnSelection::all())?;
//! let mut found = Batch::new();
//! while iterator.next_batch(&mut found, BatchLimit::default())? {}
//! assert_eq!(found.value(0), b"liked");
//! # Ok::<(), ostrakon_store::error::Error>(())
//! ```
//!
//! * [`SortedFileWriter`] takes runs of sorted [`Batch`](ostrakon_cell::Batch)es; [`SortedFileWriter::finish`] makes
//!   the file durable, its name included. A writer dropped before that removes the file.
//! * [`SortedFile::open`] only remembers the path: description, indexes and filters are read when first needed and
//!   live in the [`BlockCache`](crate::cache::BlockCache), as blocks do. A file must stay where it is while its
//!   `SortedFile` lives; [`SortedFile::remove_when_unused`] removes it after the last user.
//! * [`SortedFile::iterator`] reads the rows inside some fences (none given: nothing):
//!   [`FileIterator::with_label_filter`] skips blocks, [`FileIterator::without_cache_fill`] is for compactions.
//! * The format is described in `docs/format/sorted-file.md`.

mod ahead;
mod block;
mod bound;
mod filter;
pub mod format;
mod identity;
mod index;
mod iterator;
mod labels;
mod options;
mod outline;
mod reader;
mod standalone;
mod stream;
mod verify;
mod warm;
mod writer;

pub(crate) use block::Block;
pub(crate) use filter::Bloom;
pub use filter::FilterFunctor;
pub(crate) use index::IndexPartition;
pub use iterator::{FileIterator, LabelFilter};
pub(crate) use labels::KnownLabels;
pub use options::{FilterOptions, LocalityGroup, Origin, WriterOptions};
pub use reader::{RowCut, SortedFile};
pub use standalone::{BulkFileWriter, ENDING};
pub use warm::Warmer;
pub use writer::{FileSummary, SortedFileWriter};

#[cfg(test)]
mod ahead_tests;
#[cfg(test)]
mod column_tests;
#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod tests;
