//! The records of the catalog.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use ostrakon_cell::{Properties, TimeType};

use super::age::AgeRange;
use super::fence::Fence;
use crate::error::{Error, ErrorKind};

/// The permanent id of a table, also when it is renamed. Written in base 36, as Accumulo does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

impl fmt::Display for TableId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 36^7 exceeds u32, so seven digits are enough.
        let mut digits = [0_u8; 7];
        let mut rest = self.0;
        let mut first = digits.len();
        for (index, digit) in digits.iter_mut().enumerate().rev() {
            let value = (rest % 36) as u8;
            *digit = if value < 10 {
                b'0' + value
            } else {
                b'a' + value - 10
            };
            rest /= 36;
            first = index;
            if rest == 0 {
                break;
            }
        }
        for &digit in digits.iter().skip(first) {
            write!(f, "{}", char::from(digit))?;
        }
        Ok(())
    }
}

impl FromStr for TableId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let lower = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase());
        match u32::from_str_radix(text, 36) {
            Ok(id) if lower => Ok(Self(id)),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                "a table id is a number in base 36, such as 2k",
            )
            .with("given", text)),
        }
    }
}

/// The permanent id of a table file; never reused after the file is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The permanent id of a namespace, also when it is renamed. Ids come from the same counter as
/// those of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespaceId(pub u32);

impl NamespaceId {
    /// The namespace of tables whose names have no dot. Always exists.
    pub const DEFAULT: Self = Self(0);
    /// The namespace `accumulo`, reserved for system tables. Always exists.
    pub const RESERVED: Self = Self(u32::MAX);
}

impl Default for NamespaceId {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for NamespaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::DEFAULT => f.write_str("+default"),
            Self::RESERVED => f.write_str("+accumulo"),
            Self(id) => TableId(id).fmt(f),
        }
    }
}

/// The properties set at a level, and the number of their changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertiesRecord {
    /// Grows by one with each change.
    pub version: u64,
    /// The properties.
    pub properties: Properties,
}

/// One namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceRecord {
    /// Its id.
    pub id: NamespaceId,
    /// Its name, unique in the store; empty for the default namespace.
    pub name: String,
    /// When it was created, milliseconds since 1970.
    pub created_millis: i64,
    /// The properties set for all its tables.
    pub own: PropertiesRecord,
}

impl NamespaceRecord {
    /// A namespace without properties.
    #[must_use]
    pub fn new(id: NamespaceId, name: &str, created_millis: i64) -> Self {
        Self {
            id,
            name: name.to_owned(),
            created_millis,
            own: PropertiesRecord::default(),
        }
    }
}

/// A user who may log in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRecord {
    /// The name, unique in the store.
    pub name: String,
    /// The credential: a password's hash, in the encoding of its kind.
    pub secret: String,
    /// When it was created, milliseconds since 1970.
    pub created_millis: i64,
    /// System permissions, one bit each by Accumulo's numbers.
    pub permissions: u64,
    /// The most that the user may see.
    pub authorizations: BTreeSet<Vec<u8>>,
}

/// The scope of a grant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GrantScope {
    /// The tables of a namespace.
    Namespace(NamespaceId),
    /// A table.
    Table(TableId),
}

/// A module with iterators that users added. Its bytes are in a separate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRecord {
    /// The name, unique in the store.
    pub name: String,
    /// How it is run: 1 WebAssembly.
    pub kind: u8,
    /// Its length.
    pub bytes: u64,
    /// XXH3 of its bytes.
    pub sum: u64,
    /// When it was added, milliseconds since 1970.
    pub created_millis: i64,
    /// What it is for.
    pub description: String,
}

/// A failure that is recorded across restarts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemRecord {
    /// The table.
    pub table: TableId,
    /// What failed, by number.
    pub activity: u8,
    /// The last row of the tablet; `None` for the last tablet of the table.
    pub end: Option<Vec<u8>>,
    /// The kind of the cause.
    pub kind: String,
    /// The cause, without data of entries.
    pub message: String,
    /// Number of consecutive failures.
    pub times: u64,
    /// Time of the first failure, milliseconds since 1970.
    pub since_millis: i64,
}

/// The namespace's part of a table's name; empty for names without a dot.
#[must_use]
pub fn namespace_of(table: &str) -> &str {
    table.split_once('.').map_or("", |(namespace, _)| namespace)
}

/// Whether a table accepts reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableState {
    /// It does.
    #[default]
    Online,
    /// It does not, until it is brought online.
    Offline,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRecord {
    /// Its id.
    pub id: TableId,
    /// Its name, unique in the store.
    pub name: String,
    /// Source of its timestamps.
    pub time_type: TimeType,
    /// Whether it is on-line.
    pub state: TableState,
    /// The namespace it belongs to; its name is the prefix of the table's name.
    pub namespace: NamespaceId,
    /// The properties set for this table.
    pub own: PropertiesRecord,
    /// Every write with this sequence number or a lower one is in the files; recovery replays the
    /// later ones.
    pub flushed_sequence: u64,
    /// The greatest timestamp that the store set on an entry in the files; the next one must not be
    /// lower.
    pub flushed_time: i64,
    /// When it was created, milliseconds since 1970.
    pub created_millis: i64,
}

/// The initial state of a table.
#[derive(Clone, Debug, Default)]
pub struct NewTable {
    /// Source of its timestamps.
    pub time_type: TimeType,
    /// Whether it is on-line.
    pub state: TableState,
    /// The namespace it belongs to.
    pub namespace: NamespaceId,
    /// The properties set for this table.
    pub properties: Properties,
    /// End rows of tablets, in any order; duplicates are skipped.
    pub splits: Vec<Vec<u8>>,
    /// Writes up to this sequence number are not replayed for it.
    pub flushed_sequence: u64,
    /// Now, milliseconds since 1970.
    pub created_millis: i64,
}

/// One tablet: a range of rows and the files that hold them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tablet {
    /// Its rows: those after the end of the tablet before it, up to its own end.
    pub extent: Fence,
    /// The files to read, unordered. A file may occur twice, for different rows.
    pub files: Vec<FileReference>,
}

/// The change of a transaction to the tablet with one end row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabletChange {
    /// Its last row; `None` for the last tablet of a table.
    pub end: Option<Vec<u8>>,
    /// Its present files; `None` if no tablet has this end any more.
    pub files: Option<Vec<FileReference>>,
}

/// A tablet's share in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReference {
    /// The file.
    pub file: FileId,
    /// Only these rows of it are read, and of them only those inside the tablet's extent.
    pub fence: Fence,
    /// Bytes of the file attributed to this reference; an estimate unless the file is not shared.
    pub bytes: u64,
    /// Entries of the file attributed to this reference; an estimate unless the file is not shared.
    pub entries: u64,
}

impl FileReference {
    /// A reference to all of `file`.
    #[must_use]
    pub fn whole(file: &FileRecord) -> Self {
        Self {
            file: file.id,
            fence: Fence::ALL,
            bytes: file.bytes,
            entries: file.entries,
        }
    }
}

/// One table file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Its id.
    pub id: FileId,
    /// Its length.
    pub bytes: u64,
    /// Its entries, deletes included.
    pub entries: u64,
    /// The deletes among them.
    pub deletes: u64,
    /// The first row in it.
    pub first_row: Vec<u8>,
    /// The last row in it.
    pub last_row: Vec<u8>,
    /// How often its entries were compacted: 0 for a flush or a bulk import, else one more than the
    /// highest input.
    pub generation: u32,
    /// The identity in the file, so that no other file is read in its place; 0 for files of the
    /// first version, which have none.
    pub identity: u64,
    /// Its position in the order of the table's data.
    pub ages: AgeRange,
    /// When it was written, milliseconds since 1970.
    pub created_millis: i64,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;

    #[test]
    fn namespaces_have_ids_as_in_accumulo() {
        let ids = [NamespaceId::DEFAULT, NamespaceId::RESERVED, NamespaceId(36)];
        assert_eq!(
            ids.map(|id| id.to_string()),
            ["+default", "+accumulo", "10"]
        );
        assert_eq!(["t", "n.t"].map(namespace_of), ["", "n"]);
    }

    #[test]
    fn table_ids_are_base_36() {
        for (id, text) in [
            (0, "0"),
            (9, "9"),
            (10, "a"),
            (35, "z"),
            (36, "10"),
            (92, "2k"),
            (u32::MAX, "1z141z3"),
        ] {
            assert_eq!(TableId(id).to_string(), text);
            assert_eq!(text.parse::<TableId>().unwrap(), TableId(id));
        }
        for wrong in ["", "-1", "+1", "A", "1z141z4", "!0", "1 "] {
            let error = wrong.parse::<TableId>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong:?}");
        }
    }
}
