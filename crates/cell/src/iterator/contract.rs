//! The trait that every iterator implements, and the environment it runs in.

use std::sync::Arc;

use super::{Interrupt, IteratorScope};
use crate::source::Properties;
use crate::{Authorizations, Batch, BatchLimit, ColumnSelection, Range, Result};

/// An iterator on the heap, as the stack holds it.
pub type BoxedIterator = Box<dyn SortedKeyValueIterator>;

/// A source of entries in key order that can be sought.
///
/// # Requirements on an implementation
/// * **Order.** Entries come in key order and lie inside the range sought; equal keys may repeat.
/// * **Seeks.** After `seek` nothing of the earlier position remains. An iterator may be sought at any
///   moment, also to the middle of a row, and must then return what a scan from the start would have
///   returned from there on.
/// * **Batches.** [`next_batch`](Self::next_batch) appends to `out` and never changes the entries in it.
///   It may append nothing and still return `true`: an empty batch is not the end, and callers
///   call again until `false`. After `false` it appends nothing until it is sought again.
/// * **Limits** count the entries that are in `out` ([`Batch::is_full`]), not entries that were removed
///   from it ([`Batch::retain_from`] and similar methods return their bytes to the limit). The entry that
///   reaches the limit of bytes is the last one, however large it is. The limit of entries is never exceeded.
/// * **Arenas.** Between two calls the arena of `out` may be rebuilt or replaced: only positions of
///   entries may be kept, not spans or label ids.
/// * **Errors** of the source are returned. The entries appended before are part of the result:
///   entries to be dropped or changed must never be left in `out` unprocessed. After an error the iterator
///   is sought again or dropped, and nothing of the failed batch is used. The message of an error holds no
///   data of entries: the position goes into the context pairs `row`, `family` and `qualifier`, and only
///   in scans; background work drops every pair that may hold data before it reports a failure.
/// * **Interrupts.** An iterator that may compute for long without a call of its source polls
///   [`IteratorEnvironment::interrupt`] and returns its error, so that scans and compactions can be
///   cancelled and the store can close.
/// * **Panics** end the scan or compaction with an error.
/// * **Copies** share only the snapshot with their original.
///
/// A consumer of an iterator loops until `false`, and clears the batch between calls if it wants
/// separate batches. The conformance suite in `testkit` checks all of this on any iterator.
pub trait SortedKeyValueIterator: Send {
    /// Moves to the first entry of `range`. Only `columns` are wanted; the iterator may leave out
    /// families outside of them.
    ///
    /// # Errors
    /// Those of the source underneath.
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()>;

    /// Appends entries to `out`, perhaps none, at most until `limit` is reached. Only `Ok(false)`
    /// means that the range is exhausted.
    ///
    /// # Errors
    /// Those of the source underneath. `out` may then hold some entries already.
    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool>;

    /// An independent copy with the same settings over the same snapshot, not yet sought.
    fn deep_copy(&self) -> BoxedIterator;
}

impl<I: SortedKeyValueIterator + ?Sized> SortedKeyValueIterator for Box<I> {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        (**self).seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        (**self).next_batch(out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        (**self).deep_copy()
    }
}

/// The properties in force of a table, by name.
#[derive(Debug, Clone)]
pub struct TableConfiguration {
    set: Arc<Properties>,
    default: fn(&str) -> Option<&'static str>,
}

impl TableConfiguration {
    /// The values set at any level, and the defaults for the others.
    #[must_use]
    pub fn new(set: Arc<Properties>, default: fn(&str) -> Option<&'static str>) -> Self {
        Self { set, default }
    }

    /// The value of a property; `None` if it is not set and has no default.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let set = self.set.get(name).map(String::as_str);
        set.or_else(|| (self.default)(name))
    }
}

impl Default for TableConfiguration {
    fn default() -> Self {
        Self::new(Arc::default(), |_| None)
    }
}

/// The environment in which an iterator runs.
#[derive(Debug, Clone)]
pub struct IteratorEnvironment {
    /// Scan, minor or major compaction.
    pub scope: IteratorScope,
    /// Whether a major compaction reads every file of its tablet, so that no other file can hold
    /// older entries. Always `false` in the other scopes.
    pub full_major_compaction: bool,
    /// Whether a user requested this compaction.
    pub user_compaction: bool,
    /// The scan's authorizations; empty in compactions, which see every entry.
    pub authorizations: Arc<Authorizations>,
    /// Milliseconds since 1970 when the stack was built; the same for all its iterators.
    pub now_millis: i64,
    /// The table's name, for messages.
    pub table: Arc<str>,
    /// The table's id; empty if the source does not provide it.
    pub table_id: Arc<str>,
    /// The properties in force of the table.
    pub configuration: TableConfiguration,
    /// Set when the iterator should stop.
    pub interrupt: Interrupt,
}

impl IteratorEnvironment {
    /// An environment for `scope` with no authorizations at time 0.
    #[must_use]
    pub fn new(scope: IteratorScope) -> Self {
        Self {
            scope,
            full_major_compaction: false,
            user_compaction: false,
            authorizations: Arc::new(Authorizations::default()),
            now_millis: 0,
            table: "".into(),
            table_id: "".into(),
            configuration: TableConfiguration::default(),
            interrupt: Interrupt::default(),
        }
    }
}
