//! The trait every iterator implements, and what it may know of its surroundings.

use std::sync::Arc;

use super::IteratorScope;
use crate::{Authorizations, Batch, BatchLimit, ColumnSelection, Range, Result};

/// An iterator on the heap, as the stack holds it.
pub type BoxedIterator = Box<dyn SortedKeyValueIterator>;

/// A source of entries in key order that can be sought.
///
/// # What an implementer owes
/// * Entries come in key order and lie inside the range sought; equal keys may repeat.
/// * After `seek` nothing of the earlier position is left; an iterator may be sought at any moment,
///   also in the middle of a row, and must then give what a scan from the start would have given
///   from there on.
/// * [`next_batch`](Self::next_batch) appends to `out` and never touches what stands there.
///   It may append nothing and still return `true`; callers call again.
/// * An iterator never shows a label's content in errors or logs.
pub trait SortedKeyValueIterator: Send {
    /// Goes to the first entry of `range`; only `columns` are wanted, and families outside of
    /// them may be left out already here.
    ///
    /// # Errors
    /// Those of the source underneath.
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()>;

    /// Appends entries to `out` until `limit` is reached or the range ends. `Ok(false)` means
    /// that the range is exhausted.
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
        }
    }
}
