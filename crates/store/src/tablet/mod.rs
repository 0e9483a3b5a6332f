//! Flushes, and the iterators that a tablet is read through.

mod chain;
mod flush;
mod sources;

pub use crate::version::{
    FileRegistry, Spread, TableFile, TableVersion, TabletFile, TabletView, split_points,
};
pub use flush::{Flush, FlushedFile, file_record};
pub use sources::{IteratorStackBuilder, file_sources, tablet_sources, writer_options};
