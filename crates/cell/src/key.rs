//! Keys: the position of an entry in a table.
//!
//! Order is Accumulo's: row, family, qualifier and visibility ascending as unsigned bytes, then
//! timestamp *descending* (newest first), then deletes before puts.

use std::cmp::Ordering;
use std::fmt;

use crate::compare_bytes;

/// Largest sum of row, family, qualifier and visibility lengths of one key, in bytes (1 MiB, the
/// bound of Accumulo's default key-size constraint).
pub const MAX_KEY_BYTES: usize = 1 << 20;

/// Largest value of one entry, in bytes (256 MiB).
pub const MAX_VALUE_BYTES: usize = 256 << 20;

/// A key that owns its bytes.
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Key {
    /// Row: decides the tablet; all entries of a row lie in one tablet.
    pub row: Vec<u8>,
    /// Column family.
    pub family: Vec<u8>,
    /// Column qualifier.
    pub qualifier: Vec<u8>,
    /// Column visibility: the label, an expression over authorizations.
    pub visibility: Vec<u8>,
    /// Milliseconds or a logical counter, depending on the table's time type. Sorts newest first.
    pub timestamp: i64,
    /// Whether this entry is a delete marker.
    pub deleted: bool,
}

/// A key that borrows its bytes; used by scans and iterators.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyRef<'a> {
    /// See [`Key::row`].
    pub row: &'a [u8],
    /// See [`Key::family`].
    pub family: &'a [u8],
    /// See [`Key::qualifier`].
    pub qualifier: &'a [u8],
    /// See [`Key::visibility`].
    pub visibility: &'a [u8],
    /// See [`Key::timestamp`].
    pub timestamp: i64,
    /// See [`Key::deleted`].
    pub deleted: bool,
}

/// How many leading parts of a key an operation compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyPart {
    /// The row alone.
    Row,
    /// Row and family.
    Family,
    /// Row, family and qualifier.
    Qualifier,
    /// Row, family, qualifier and visibility: one *column of a row*, all its versions.
    Visibility,
    /// The above and the timestamp.
    Timestamp,
}

impl Clone for Key {
    fn clone(&self) -> Self {
        Self {
            row: self.row.clone(),
            family: self.family.clone(),
            qualifier: self.qualifier.clone(),
            visibility: self.visibility.clone(),
            timestamp: self.timestamp,
            deleted: self.deleted,
        }
    }

    /// Keeps the buffers.
    fn clone_from(&mut self, from: &Self) {
        self.set(from.as_ref());
    }
}

impl Key {
    /// The smallest key of `row`: empty column, newest possible timestamp.
    #[must_use]
    pub fn first_of_row(row: impl Into<Vec<u8>>) -> Self {
        Self {
            row: row.into(),
            timestamp: i64::MAX,
            deleted: true,
            ..Self::default()
        }
    }

    /// A key of the given column with timestamp 0.
    #[must_use]
    pub fn new(
        row: impl Into<Vec<u8>>,
        family: impl Into<Vec<u8>>,
        qualifier: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            row: row.into(),
            family: family.into(),
            qualifier: qualifier.into(),
            ..Self::default()
        }
    }

    /// The key as a borrow.
    #[must_use]
    pub fn as_ref(&self) -> KeyRef<'_> {
        KeyRef {
            row: &self.row,
            family: &self.family,
            qualifier: &self.qualifier,
            visibility: &self.visibility,
            timestamp: self.timestamp,
            deleted: self.deleted,
        }
    }

    /// Overwrites this key, reusing its buffers.
    pub fn set(&mut self, key: KeyRef<'_>) {
        fn put(to: &mut Vec<u8>, from: &[u8]) {
            // The bounds of ranges mostly have empty parts, in the old and the new key.
            if !(to.is_empty() && from.is_empty()) {
                to.clear();
                to.extend_from_slice(from);
            }
        }
        put(&mut self.row, key.row);
        put(&mut self.family, key.family);
        put(&mut self.qualifier, key.qualifier);
        put(&mut self.visibility, key.visibility);
        self.timestamp = key.timestamp;
        self.deleted = key.deleted;
    }

    /// The smallest key greater than every key that shares the leading parts of this one up to
    /// and including `part`.
    #[must_use]
    pub fn following(&self, part: KeyPart) -> Self {
        let mut next = Self {
            timestamp: i64::MAX,
            deleted: true,
            ..Self::default()
        };
        next.row.clone_from(&self.row);
        if part == KeyPart::Row {
            next.row.push(0);
            return next;
        }
        next.family.clone_from(&self.family);
        if part == KeyPart::Family {
            next.family.push(0);
            return next;
        }
        next.qualifier.clone_from(&self.qualifier);
        if part == KeyPart::Qualifier {
            next.qualifier.push(0);
            return next;
        }
        next.visibility.clone_from(&self.visibility);
        if part == KeyPart::Visibility || self.timestamp == i64::MIN {
            next.visibility.push(0);
            return next;
        }
        next.timestamp = self.timestamp - 1;
        next
    }
}

impl<'a> KeyRef<'a> {
    /// A copy that owns its bytes.
    #[must_use]
    pub fn to_key(self) -> Key {
        Key {
            row: self.row.to_vec(),
            family: self.family.to_vec(),
            qualifier: self.qualifier.to_vec(),
            visibility: self.visibility.to_vec(),
            timestamp: self.timestamp,
            deleted: self.deleted,
        }
    }

    /// Whether both keys agree in their leading parts up to and including `part`.
    #[must_use]
    pub fn same(self, other: KeyRef<'_>, part: KeyPart) -> bool {
        self.row == other.row
            && (part < KeyPart::Family || self.family == other.family)
            && (part < KeyPart::Qualifier || self.qualifier == other.qualifier)
            && (part < KeyPart::Visibility || self.visibility == other.visibility)
            && (part < KeyPart::Timestamp || self.timestamp == other.timestamp)
    }

    /// Sum of the lengths bounded by [`MAX_KEY_BYTES`].
    #[must_use]
    pub fn byte_len(self) -> usize {
        self.row.len() + self.family.len() + self.qualifier.len() + self.visibility.len()
    }
}

impl<'a> From<&'a Key> for KeyRef<'a> {
    fn from(key: &'a Key) -> Self {
        key.as_ref()
    }
}

impl Ord for KeyRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_bytes(self.row, other.row)
            .then_with(|| compare_bytes(self.family, other.family))
            .then_with(|| compare_bytes(self.qualifier, other.qualifier))
            .then_with(|| compare_bytes(self.visibility, other.visibility))
            .then_with(|| other.timestamp.cmp(&self.timestamp))
            .then_with(|| other.deleted.cmp(&self.deleted))
    }
}

impl PartialOrd for KeyRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Shows bytes as text with everything outside printable ASCII as `\xNN`, as Accumulo's shell
/// does; safe for terminals and logs.
#[derive(Clone, Copy)]
pub struct Escaped<'a>(pub &'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &byte in self.0 {
            match byte {
                b'\\' => f.write_str("\\\\")?,
                0x20..=0x7e => fmt::Write::write_char(f, char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}:{} [{}] {} {}",
            Escaped(self.row),
            Escaped(self.family),
            Escaped(self.qualifier),
            Escaped(self.visibility),
            self.timestamp,
            self.deleted
        )
    }
}

impl fmt::Debug for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_ref(), f)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_ref(), f)
    }
}
