//! One tablet at one moment.

use std::cmp::Reverse;
use std::sync::Arc;

use ostrakon_cell::Range;

use super::files::TableFile;
use crate::catalog::{AgeRange, Fence, FileReference};

/// A tablet's share in one file.
#[derive(Clone)]
pub struct TabletFile {
    /// The reference as stored in the catalog.
    pub reference: FileReference,
    /// The file.
    pub file: Arc<TableFile>,
}

/// One tablet at one moment.
#[derive(Clone)]
pub struct TabletView {
    /// Its rows.
    pub extent: Fence,
    /// Its files, newest first: of two entries with equal keys the one in the earlier file wins.
    pub files: Vec<TabletFile>,
}

impl TabletFile {
    /// The file's position in the order of the table's data.
    #[must_use]
    pub fn ages(&self) -> AgeRange {
        self.file.record().ages
    }
}

impl TabletView {
    /// A tablet with these files, given in any order.
    #[must_use]
    pub fn new(extent: Fence, mut files: Vec<TabletFile>) -> Self {
        // Files that share keys share no age, so the newest age alone decides between them. The
        // remaining criteria make the order the same on every run. (Files of catalog format 2 may
        // tie; their ids decide, as they did then.)
        files.sort_by_key(|file| {
            let ages = file.ages();
            Reverse((ages.newest, ages.oldest, file.reference.file))
        });
        Self { extent, files }
    }

    /// The rows as a range of keys.
    #[must_use]
    pub fn range(&self) -> Range {
        Range::tablet(self.extent.after.as_deref(), self.extent.through.as_deref())
    }

    /// Bytes of its files; an estimate where files are shared.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.reference.bytes).sum()
    }

    /// Entries in its files; an estimate where files are shared.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.files.iter().map(|file| file.reference.entries).sum()
    }
}
