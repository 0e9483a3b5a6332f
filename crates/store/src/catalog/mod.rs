//! What a store knows about its tables, tablets and files: kept by redb in one file and its mirror,
//! changed by atomic transactions.
//!
//! This module decides nothing. Splitting, merging, cloning and deleting rows are changes of records
//! here, since a reference to a file carries the rows it stands for; no file is rewritten.

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
