//! What a workload asks of a database: the interface between a workload and the systems it measures.

use ostrakon_cell::Result;

/// How an operation ended, under YCSB's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Done.
    Ok,
    /// Accepted, and done with later ones; counts as done.
    BatchedOk,
    /// Failed.
    Error,
    /// There is no such record.
    NotFound,
    /// The content is not what was written.
    UnexpectedState,
}

impl Status {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::BatchedOk => "BATCHED_OK",
            Self::Error => "ERROR",
            Self::NotFound => "NOT_FOUND",
            Self::UnexpectedState => "UNEXPECTED_STATE",
        }
    }

    /// Whether the operation was done.
    #[must_use]
    pub fn is_ok(self) -> bool {
        matches!(self, Self::Ok | Self::BatchedOk)
    }
}

/// Which fields of a record are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fields<'a> {
    /// All there are.
    All,
    /// These.
    Named(&'a [String]),
}

/// One connection of one client thread.
pub trait Database {
    /// Writes a record that is not there yet.
    ///
    /// # Errors
    /// The database failed.
    fn insert(&mut self, key: &[u8], values: &FieldValues) -> Result<Status>;

    /// Writes some fields of a record.
    ///
    /// # Errors
    /// The database failed.
    fn update(&mut self, key: &[u8], values: &FieldValues) -> Result<Status>;

    /// Reads one record into `found`, which is empty.
    ///
    /// # Errors
    /// The database failed.
    fn read(&mut self, key: &[u8], fields: Fields<'_>, found: &mut Records) -> Result<Status>;

    /// Reads up to `count` records from a key on, in the order of keys, into `found`, which is empty.
    ///
    /// # Errors
    /// The database failed.
    fn scan(
        &mut self,
        start: &[u8],
        count: usize,
        fields: Fields<'_>,
        found: &mut Records,
    ) -> Result<Status>;

    /// Ends: everything accepted is done when this returns. Inside the timer of a run.
    ///
    /// # Errors
    /// The database failed.
    fn cleanup(&mut self) -> Result<()>;
}

/// The fields of a mutation, in one buffer that is used again.
#[derive(Debug, Clone, Default)]
pub struct FieldValues {
    bytes: Vec<u8>,
    /// Where the field's name and its value end.
    ends: Vec<(usize, usize)>,
}

impl FieldValues {
    /// Removes all fields.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a field; `value` appends its bytes.
    pub fn push(&mut self, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.extend_from_slice(name.as_bytes());
        let name_end = self.bytes.len();
        value(&mut self.bytes);
        self.ends.push((name_end, self.bytes.len()));
    }

    /// Names and values, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        fields_of(&self.bytes, &self.ends, 0)
    }

    /// Number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of names and values.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }
}

fn fields_of<'a>(
    bytes: &'a [u8],
    ends: &'a [(usize, usize)],
    mut start: usize,
) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    ends.iter().map(move |&(name_end, end)| {
        let name = bytes.get(start..name_end).unwrap_or_default();
        let value = bytes.get(name_end..end).unwrap_or_default();
        start = end;
        (name, value)
    })
}

/// Records that were read: a copy of every field, in buffers that are used again.
#[derive(Debug, Clone, Default)]
pub struct Records {
    fields: FieldValues,
    /// For each record the number of fields before it.
    starts: Vec<usize>,
}

impl Records {
    /// Removes all records.
    pub fn clear(&mut self) {
        self.fields.clear();
        self.starts.clear();
    }

    /// Begins a record; the fields that follow are its fields.
    pub fn begin(&mut self) {
        self.starts.push(self.fields.len());
    }

    /// Adds a field to the last record.
    #[inline]
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        let bytes = &mut self.fields.bytes;
        bytes.extend_from_slice(name);
        let name_end = bytes.len();
        bytes.extend_from_slice(value);
        self.fields.ends.push((name_end, bytes.len()));
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The fields of all records, one record after another.
    pub fn all_fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields.iter()
    }

    /// Number of fields of all records.
    #[must_use]
    pub fn field_count(&self) -> usize {
        self.fields.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_names_and_values() {
        let mut values = FieldValues::default();
        values.push("a", |bytes| bytes.extend_from_slice(b"one"));
        values.push("bc", |_| ());
        let all: Vec<_> = values.iter().collect();
        assert_eq!(all, [(&b"a"[..], &b"one"[..]), (b"bc", b"")]);
        let mut records = Records::default();
        records.begin();
        records.field(b"x", b"1");
        records.begin();
        records.field(b"x", b"2");
        assert_eq!((records.len(), records.field_count()), (2, 2));
        assert_eq!(records.all_fields().last(), Some((&b"x"[..], &b"2"[..])));
        records.clear();
        assert!(records.is_empty());
    }
}
