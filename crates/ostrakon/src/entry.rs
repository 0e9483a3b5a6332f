//! An entry that was read.

use std::sync::Arc;

use ostrakon_cell::Batch;

use crate::{EntryRef, Error, KeyRef, Result};

/// An entry that a scan has read. It shares the memory of the batch in which it was read, and so is cheap to clone and
/// to keep for a while; [`detach`](Self::detach) one that is kept for long.
///
/// ```
/// # let people = ostrakon::Store::in_memory()?.create_table("people")?;
/// people.put("alice", ("contact", "mail"), "a@b.c").label("hr|self").timestamp(7).commit()?;
/// let entry = people.scan().auths(["hr"]).first()?.expect("visible");
/// assert_eq!(entry.row(), b"alice");
/// assert_eq!((entry.family_str()?, entry.qualifier_str()?), ("contact", "mail"));
/// assert_eq!((entry.label_str()?, entry.timestamp()), ("hr|self", 7));
/// assert_eq!(entry.value_str()?, "a@b.c");
/// # Ok::<(), ostrakon::Error>(())
/// ```
#[derive(Clone)]
pub struct Entry {
    batch: Arc<Batch>,
    at: usize,
}

impl Entry {
    #[inline]
    pub(crate) fn new(batch: Arc<Batch>, at: usize) -> Self {
        Self { batch, at }
    }

    /// The row.
    #[must_use]
    #[inline]
    pub fn row(&self) -> &[u8] {
        self.batch.row(self.at)
    }

    /// The column family.
    #[must_use]
    #[inline]
    pub fn family(&self) -> &[u8] {
        self.key().family
    }

    /// The column qualifier.
    #[must_use]
    #[inline]
    pub fn qualifier(&self) -> &[u8] {
        self.key().qualifier
    }

    /// The label: the column visibility.
    #[must_use]
    #[inline]
    pub fn label(&self) -> &[u8] {
        self.key().visibility
    }

    /// Milliseconds since 1970, or the table's own counter.
    #[must_use]
    #[inline]
    pub fn timestamp(&self) -> i64 {
        self.key().timestamp
    }

    /// The value.
    #[must_use]
    #[inline]
    pub fn value(&self) -> &[u8] {
        self.batch.value(self.at)
    }

    /// The row as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn row_str(&self) -> Result<&str> {
        text("row", self.row())
    }

    /// The column family as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn family_str(&self) -> Result<&str> {
        text("family", self.family())
    }

    /// The column qualifier as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn qualifier_str(&self) -> Result<&str> {
        text("qualifier", self.qualifier())
    }

    /// The label as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn label_str(&self) -> Result<&str> {
        text("label", self.label())
    }

    /// The value as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn value_str(&self) -> Result<&str> {
        text("value", self.value())
    }

    /// The whole key.
    #[must_use]
    #[inline]
    pub fn key(&self) -> KeyRef<'_> {
        self.batch.key(self.at)
    }

    /// The entry as a borrow.
    #[must_use]
    #[inline]
    pub fn as_ref(&self) -> EntryRef<'_> {
        self.batch.entry(self.at)
    }

    /// The entry with memory of its own, so that the batch in which it was read can be freed.
    #[must_use]
    pub fn detach(self) -> Self {
        let mut batch = Batch::new();
        let entry = self.as_ref();
        match batch.push(entry.key, entry.value) {
            Ok(()) => Self::new(Arc::new(batch), 0),
            // It does not fit in a batch of its own: then it is most of the one it is in.
            Err(_) => self,
        }
    }
}

fn text<'a>(part: &'static str, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid(format!("the {part} is not UTF-8: read its bytes")).with_source(error)
    })
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Entry {}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The value may be secret and long.
        f.debug_struct("Entry")
            .field("key", &self.key())
            .field("value_bytes", &self.value().len())
            .finish()
    }
}
