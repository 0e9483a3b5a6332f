//! The trait every iterator implements, and what it may know of its surroundings.

use std::sync::Arc;

use super::{Interrupt, IteratorScope};
use crate::source::Properties;
use crate::{Authorizations, Batch, BatchLimit, ColumnSelection, Range, Result};

/// An iterator on the heap, as the stack holds it.
pub type BoxedIterator = Box<dyn SortedKeyValueIterator>;

/// A source of entries in key order that can be sought.
///
/// # What an implementer owes
/// * **Order.** Entries come in key order and lie inside the range sought; equal keys may repeat.
/// * **Seeks.** After `seek` nothing of the earlier position is left; an iterator may be sought at any
///   moment, also in the middle of a row, and must then give what a scan from the start would have
///   given from there on.
/// * **Batches.** [`next_batch`](Self::next_batch) appends to `out` and never touches what stands
///   there. It may append nothing and still return `true`: an empty batch is not the end, and callers
///   call again until `false`. After `false` it appends nothing until it is sought again.
/// * **Limits** count the entries that are in `out` ([`Batch::is_full`]), never what was dropped from it
///   ([`Batch::retain_from`] and its neighbours give the bytes back). The entry that reaches the limit
///   of bytes is the last one, however large it is; the limit of entries is never passed.
/// * **Arenas.** Between two calls the arena of `out` may be rebuilt or be another one: positions of
///   entries are all that may be remembered, not spans or label ids.
/// * **Errors** of the source are handed on. What was appended before is a part of what would have come:
///   entries to be dropped or changed never go out as they were. Then the iterator is sought again or
///   dropped, and nothing of the failed batch is used. The message of an error holds nothing of an entry:
///   where it was goes into the context pairs `row`, `family` and `qualifier`, and only while a scan
///   reads; background work drops every pair that may hold data before it reports a failure.
/// * **Interrupts.** An iterator that may compute for long without a call of its source polls
///   [`IteratorEnvironment::interrupt`] and returns its error, so that scans and compactions can be
///   cancelled and the store can close.
/// * **Panics** end the scan or compaction with an error.
/// * **Copies** share nothing with their original but the snapshot.
///
/// A consumer of an iterator loops until `false`, and clears the batch between calls if it wants single
/// batches. The conformance suite in `testkit` tries all this on any iterator.
pub trait SortedKeyValueIterator: Send {
    /// Goes to the first entry of `range`; only `columns` are wanted, and families outside of
    /// them may be left out already here.
    ///
    /// # Errors
    /// Those of the source underneath.
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()>;

    /// Appends entries to `out`, perhaps none, at most until `limit` is reached. `Ok(false)` means that
    /// the range is exhausted; nothing else does.
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
    /// What is set, at whatever level, over defaults.
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

/// What an iterator may know of where it runs.
#[derive(Debug, Clone)]
pub struct IteratorEnvironment {
    /// Scan, minor or major compaction.
    pub scope: IteratorScope,
    /// Whether a major compaction reads every file of its tablet, so that nothing older can be
    /// hidden elsewhere. Always `false` in the other scopes.
    pub full_major_compaction: bool,
    /// Whether a user asked for this compaction.
    pub user_compaction: bool,
    /// The scan's authorizations; empty in compactions, which see every entry.
    pub authorizations: Arc<Authorizations>,
    /// Milliseconds since 1970 when the stack was made; the same for all its iterators.
    pub now_millis: i64,
    /// The table's name, for messages.
    pub table: Arc<str>,
    /// The table's id; empty where the source did not say.
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
