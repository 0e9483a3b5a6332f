//! Tablets: one range of rows each, and the files that hold them.
//!
//! A tablet here is a value that never changes; flush, compaction and split make new ones, which the
//! table publishes. Splitting and merging touch no file.

mod files;
mod flush;
mod layout;
mod sources;
mod split;

pub use files::{FileRegistry, TableFile};
pub use flush::{Flush, file_record};
pub use layout::{Layout, TabletFile, TabletView};
pub use sources::{Stacker, file_sources, tablet_sources, writer_options};
pub use split::{Spread, split_points};
