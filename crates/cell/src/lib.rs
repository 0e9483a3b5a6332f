//! The data types of Ostrakon, and the two contracts everything else is built against.
//!
//! * **Data**: [`Key`], [`Entry`], [`Mutation`], [`Range`], [`ColumnSelection`], and their batches
//!   [`Batch`] (entries out) and [`MutationBatch`] (changes in).
//! * **Visibility**: [`VisibilityExpression`], [`Authorizations`], [`VisibilityEvaluator`].
//! * **Encodings** that sort as the values do ([`lexicoder`]).
//! * **The iterator contract** ([`iterator`]): how code runs inside a scan or a compaction.
//! * **The constraint contract** ([`constraint`]): the checks a mutation must pass to be accepted.
//! * **The source contract** ([`source`]): how any table is created, written, scanned and
//!   administered, whichever engine stores it.
//!
//! This crate does no I/O, reads no clock, generates no random numbers and starts no threads.
//!
//! With the feature `serde`, keys, entries, ranges, mutations, authorizations and visibility
//! expressions implement `Serialize` and `Deserialize`.
//!
//! ```
//! use ostrakon_cell::{Key, Mutation, Range};
//! let mut mutation = Mutation::new("alice");
//! mutation.put("edge", "bob", "cited")?;
//! assert!(Range::row("alice").contains(Key::new("alice", "edge", "bob").as_ref()));
//! # Ok::<(), ostrakon_cell::Error>(())
//! ```

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]
#![warn(missing_debug_implementations)]

pub mod batch;
mod bytes;
mod classes;
mod columns;
pub mod constraint;
mod durability;
mod entry;
mod error;
pub mod iterator;
mod key;
pub mod lexicoder;
pub mod mutation;
mod range;
#[cfg(feature = "serde")]
mod serde;
pub mod source;
pub mod visibility;

pub use batch::{Batch, BatchCursor, BatchLimit, LabelMap, Mark, Slot, Span};
pub use bytes::{compare_bytes, same_bytes};
pub use columns::{Column, ColumnSelection};
pub use constraint::{Constraint, ConstraintEnvironment, ConstraintRegistry, ConstraintSet};
pub use durability::Durability;
pub use entry::{Entry, EntryRef};
pub use error::{Error, ErrorKind, Result};
pub use iterator::{
    BoxedIterator, EntryAdapter, EntryIterator, Interrupt, IteratorClass, IteratorEnvironment,
    IteratorOptions, IteratorRegistry, IteratorScope, IteratorSetting, SortedKeyValueIterator,
    TableConfiguration,
};
pub use key::{Escaped, Key, KeyPart, KeyRef, MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use mutation::{ColumnUpdate, Mutation, MutationBatch, MutationRef, UpdateRef};
pub use range::{Range, following_prefix};
pub use source::{
    Activity, BatchWriter, BatchWriterConfig, BulkWriter, CallContext, Capabilities, Capability,
    ClassInfo, ClassKind, CloneOptions, CompactOptions, Condition, ConditionalMutation,
    ConditionalStatus, ImportDirectoryOptions, ImportReport, ImportTransfer, NamespaceInfo,
    PendingWrite, Principal, Problem, Properties, PropertyChange, PropertyEffect, PropertyInfo,
    PropertyLevel, PropertyOwner, ReaderSource, Reserved, Scan, ScanOptions, Scanner, Source,
    Table, TableInfo, TableOptions, TabletInfo, TabletLocation, TimeType, VersionedProperties,
};
pub use visibility::{Authorizations, Verdict, VisibilityEvaluator, VisibilityExpression};
