//! A mutation that owns its bytes.

use super::format::{
    DELETE, FIRST, Facts, TIMESTAMP, VISIBILITY, put_run, put_varint, read_update,
};
use crate::key::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::{Error, Escaped, Result, UpdateRef};

/// One column update to write: a put of a value, or a delete if `value` is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnUpdate<'a> {
    /// The column family.
    pub family: &'a [u8],
    /// The column qualifier.
    pub qualifier: &'a [u8],
    /// The label; empty for none.
    pub visibility: &'a [u8],
    /// A timestamp chosen by the writer, or `None` to let the table set it.
    pub timestamp: Option<i64>,
    /// The value, or `None` to delete.
    pub value: Option<&'a [u8]>,
}

/// Changes to one row, applied as a whole or not at all.
///
/// ```
/// use ostrakon_cell::Mutation;
/// let mut mutation = Mutation::new("alice");
/// mutation.put("edge", "bob", "cited")?.delete("edge", "carl")?;
/// assert_eq!(mutation.len(), 2);
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Mutation {
    row: Vec<u8>,
    /// Encoded as in a batch; empty until the first update.
    bytes: Vec<u8>,
    updates: u32,
    facts: Facts,
}

impl Mutation {
    /// A mutation of `row` without updates yet.
    #[must_use]
    pub fn new(row: impl Into<Vec<u8>>) -> Self {
        Self {
            row: row.into(),
            bytes: Vec::new(),
            updates: 0,
            facts: Facts::default(),
        }
    }

    /// Clears the updates and sets another row, keeping the memory.
    pub fn reset(&mut self, row: &[u8]) {
        self.row.clear();
        self.row.extend_from_slice(row);
        self.bytes.clear();
        self.updates = 0;
        self.facts = Facts::default();
    }

    /// The row.
    #[must_use]
    pub fn row(&self) -> &[u8] {
        &self.row
    }

    /// Number of updates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.updates as usize
    }

    /// Whether there is no update.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.updates == 0
    }

    /// Encoded size in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Puts a value without a label; the table sets the timestamp.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when key or value are too large.
    pub fn put(
        &mut self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<&mut Self> {
        self.update(ColumnUpdate {
            family: family.as_ref(),
            qualifier: qualifier.as_ref(),
            value: Some(value.as_ref()),
            ..ColumnUpdate::default()
        })
    }

    /// Deletes a column without a label.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn delete(
        &mut self,
        family: impl AsRef<[u8]>,
        qualifier: impl AsRef<[u8]>,
    ) -> Result<&mut Self> {
        self.update(ColumnUpdate {
            family: family.as_ref(),
            qualifier: qualifier.as_ref(),
            ..ColumnUpdate::default()
        })
    }

    /// Adds any column update.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn update(&mut self, update: ColumnUpdate<'_>) -> Result<&mut Self> {
        check_sizes(&self.row, &update)?;
        let head = if self.updates == 0 {
            Head::Row(&self.row)
        } else {
            Head::Back(self.bytes.len())
        };
        let facts = append(&mut self.bytes, head, &update);
        self.facts.add(facts);
        self.updates += 1;
        Ok(self)
    }

    /// The updates in order.
    pub fn updates(&self) -> impl Iterator<Item = UpdateRef<'_>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (update, next) = read_update(&self.bytes, at)?;
            at = next;
            Some(update)
        })
    }

    pub(super) fn encoded(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn facts(&self) -> Facts {
        self.facts
    }
}

impl std::fmt::Debug for Mutation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Mutation of row {} with {} updates",
            Escaped(&self.row),
            self.updates
        )
    }
}

/// How an update refers to its row.
pub(super) enum Head<'a> {
    Row(&'a [u8]),
    Back(usize),
}

/// Encodes an update; returns its facts.
#[inline]
pub(super) fn append(out: &mut Vec<u8>, head: Head<'_>, update: &ColumnUpdate<'_>) -> Facts {
    let mut flags = 0;
    if matches!(head, Head::Row(_)) {
        flags |= FIRST;
    }
    if update.value.is_none() {
        flags |= DELETE;
    }
    if update.timestamp.is_some() {
        flags |= TIMESTAMP;
    }
    if !update.visibility.is_empty() {
        flags |= VISIBILITY;
    }
    out.push(flags);
    match head {
        Head::Row(row) => put_run(out, row),
        Head::Back(distance) => put_varint(out, distance as u32),
    }
    put_run(out, update.family);
    put_run(out, update.qualifier);
    if !update.visibility.is_empty() {
        put_run(out, update.visibility);
    }
    if let Some(timestamp) = update.timestamp {
        out.extend_from_slice(&timestamp.to_le_bytes());
    }
    if let Some(value) = update.value {
        put_run(out, value);
    }
    Facts::of_flags(flags)
}

pub(super) fn check_sizes(row: &[u8], update: &ColumnUpdate<'_>) -> Result<()> {
    let key = row.len() + update.family.len() + update.qualifier.len() + update.visibility.len();
    check_key_and_value(row, key, update.value.map_or(0, <[u8]>::len))
}

#[inline]
pub(super) fn check_key_and_value(row: &[u8], key: usize, value: usize) -> Result<()> {
    if key > MAX_KEY_BYTES {
        return Err(Error::invalid(format!(
            "the key has {key} bytes and a key holds at most {MAX_KEY_BYTES}: shorten the row or \
             the column"
        ))
        .with("row", Escaped(row.get(..64).unwrap_or(row))));
    }
    if value > MAX_VALUE_BYTES {
        return Err(Error::invalid(format!(
            "the value has {value} bytes and a value holds at most {MAX_VALUE_BYTES}: cut it into \
             several entries"
        ))
        .with("row", Escaped(row.get(..64).unwrap_or(row))));
    }
    Ok(())
}
