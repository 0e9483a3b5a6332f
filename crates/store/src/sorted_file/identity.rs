//! Verifies a file's identity: compares what the catalog knows about it with the file's own
//! metadata.

use super::bound::Bound;
use super::format::{Description, FOOTER_BYTES, Footer, FormatError, read_footer};
use super::options::Origin;
use super::reader::SortedFile;
use crate::catalog::FileRecord;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::vfs::ReadableFile;

/// What the catalog knows about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    identity: u64,
    bytes: u64,
    entries: u64,
    deletes: u64,
    first_row: Box<[u8]>,
    last_row: Box<[u8]>,
}

impl Expected {
    pub(super) fn of(record: &FileRecord) -> Self {
        Self {
            identity: record.identity,
            bytes: record.bytes,
            entries: record.entries,
            deletes: record.deletes,
            first_row: record.first_row.as_slice().into(),
            last_row: record.last_row.as_slice().into(),
        }
    }

    fn is(&self, footer: &Footer, bytes: u64) -> bool {
        self.identity == footer.identity && (self.identity != 0 || self.bytes == bytes)
    }

    fn describes(&self, description: &Description) -> bool {
        self.entries == description.entries
            && self.deletes == description.deletes
            && *self.first_row == *description.first_row
            && *self.last_row == *description.last_row
    }

    /// Whether some entry may lie between two places; `None` is infinite.
    fn meets(&self, start: Option<Bound<'_>>, end: Option<Bound<'_>>) -> bool {
        let begins_behind = start.is_some_and(|start| start.key.row > &*self.last_row);
        let ends_before = end.is_some_and(|end| end.ends_before_row(&self.first_row));
        !begins_behind && !ends_before
    }
}

impl SortedFile {
    /// Whether entries may lie between two places, as far as the catalog knows. If none do, the
    /// file need not be opened, and a scan of other rows does not fail with it.
    pub(super) fn meets(&self, start: Option<Bound<'_>>, end: Option<Bound<'_>>) -> bool {
        let expected = self.expected.as_ref();
        expected.is_none_or(|expected| expected.meets(start, end))
    }

    /// Returns the footer of a file that was just opened, which must be the file that the catalog
    /// means.
    pub(super) fn recognize(&self, file: &dyn ReadableFile) -> StoreResult<Footer> {
        let len = file.len()?;
        let Some(offset) = len.checked_sub(FOOTER_BYTES as u64) else {
            return Err(self
                .corrupt(0, "the file is too short to be a sorted file")
                .with("bytes", len));
        };
        let mut footer = [0; FOOTER_BYTES];
        file.read_at(offset, &mut footer)?;
        let footer = read_footer(&footer).map_err(|error| self.format_error(offset, error))?;
        let place = footer.description;
        if place.offset.checked_add(place.bytes) != Some(offset) {
            return Err(self.corrupt(offset, "the footer does not follow the description"));
        }
        match &self.expected {
            Some(expected) if !expected.is(&footer, len) => {
                Err(self.is_another(file, &footer, len))
            }
            _ => {
                self.identity.get_or_init(|| footer.identity);
                Ok(footer)
            }
        }
    }

    /// Compares a description with what the catalog knows, after the file's identity was checked.
    /// For a file without identity this is the only check.
    pub(super) fn recognize_description(
        &self,
        footer: &Footer,
        description: &Description,
    ) -> StoreResult<()> {
        match &self.expected {
            Some(expected) if !expected.describes(description) => {
                let offset = footer.description.offset;
                Err(self.another(offset, description.origin))
            }
            _ => Ok(()),
        }
    }

    /// Explains damage of a part: the name may refer to another file by now.
    #[cold]
    pub(super) fn explain(&self, damage: Error) -> Error {
        let now = self.handle_of_its_own();
        match now.and_then(|file| self.recognize(&*file)) {
            Err(error) if error.kind() == ErrorKind::Corruption => error,
            _ => damage,
        }
    }

    #[cold]
    fn is_another(&self, file: &dyn ReadableFile, footer: &Footer, len: u64) -> Error {
        let place = footer.description;
        let description = self.part_of(file, place, footer.identity).ok();
        let description = description.and_then(|bytes| Description::decode(&bytes, footer.version));
        let origin = description.and_then(|description| description.origin);
        let error = self.another(len.saturating_sub(FOOTER_BYTES as u64), origin);
        match &self.expected {
            Some(expected) if expected.bytes != len => error
                .with("bytes", len)
                .with("expected bytes", expected.bytes),
            _ => error,
        }
    }

    fn another(&self, offset: u64, origin: Option<Origin>) -> Error {
        let error = self.corrupt(
            offset,
            "this is another table file than the catalog names here; perhaps files changed places",
        );
        let Some(origin) = origin else {
            return error.with("written as", "a file for an import");
        };
        let table = crate::catalog::TableId(origin.table);
        error
            .with("written as", format_args!("file {}", origin.number))
            .with("for the table with the id", table)
    }

    pub(super) fn format_error(&self, offset: u64, error: FormatError) -> Error {
        match error {
            FormatError::Corrupt(what) => self.corrupt(offset, what),
            FormatError::Newer(version) => Error::new(
                ErrorKind::NewerFormat,
                "the file was written by a newer version; use that one to read it",
            )
            .with("file", self.path().display())
            .with("version", version),
        }
    }
}
