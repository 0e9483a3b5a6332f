//! The store's record of its tables, tablets and files: stored by redb in one file and its mirror,
//! changed by atomic transactions.
//!
//! This module takes no decisions. Splits, merges, clones and deletions of rows are changes of
//! records here, since a reference to a file carries the rows it is read for; no file is rewritten.

mod accounts;
mod age;
mod backend;
mod check;
mod copies;
mod fence;
pub mod format;
mod namespaces;
mod open;
mod records;
mod tables;
mod tablets;
mod transaction;
mod view;

pub use age::AgeRange;
pub use fence::Fence;
pub use format::LogEnd;
pub use open::{Catalog, CatalogIdentity};
pub use records::{
    FileId, FileRecord, FileReference, GrantScope, ModuleRecord, NamespaceId, NamespaceRecord,
    NewTable, ProblemRecord, PropertiesRecord, TableId, TableRecord, TableState, Tablet,
    TabletChange, UserRecord, namespace_of,
};
pub use transaction::{CatalogTransaction, Committed};
pub use view::CatalogView;

#[cfg(test)]
mod copies_tests;
#[cfg(test)]
mod tests;
