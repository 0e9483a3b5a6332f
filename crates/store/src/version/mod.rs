//! The immutable view of a table: its tablets, their files, and the order of the files.
//!
//! A [`TableVersion`] never changes. A change of the catalog yields edits of single tablets;
//! [`TableVersion::apply`] makes the next version from them, shares everything else, and rejects an
//! edit that breaks an invariant. `docs/decisions/0020-one-order-of-data.md` states the invariants.

mod apply;
mod files;
mod merging;
mod rows;
mod split;
mod table_version;
mod tablet;

pub use files::{FileRegistry, TableFile};
pub use merging::may_merge;
pub use split::{Spread, split_points};
pub use table_version::{TableVersion, Tablets};
pub use tablet::{TabletFile, TabletView};

#[cfg(test)]
mod tests;
