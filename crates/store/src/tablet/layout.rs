//! The tablets of a table at one moment.

use std::sync::Arc;

use ostrakon_cell::Range;

use super::files::{FileRegistry, TableFile};
use crate::catalog::{CatalogView, Fence, FileReference, TableId};
use crate::error::{Error, ErrorKind, StoreResult};

/// A tablet's share in one file.
#[derive(Clone)]
pub struct TabletFile {
    /// As the catalog has it.
    pub reference: FileReference,
    /// The file.
    pub file: Arc<TableFile>,
}

/// One tablet at one moment.
#[derive(Clone)]
pub struct TabletView {
    /// Its rows.
    pub extent: Fence,
    /// Its files, newest first.
    pub files: Vec<TabletFile>,
}

/// All tablets of a table, in row order; they cover every row.
#[derive(Default)]
pub struct Layout {
    tablets: Vec<Arc<TabletView>>,
}

impl TabletView {
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

impl Layout {
    /// Reads the tablets of `table` from the catalog.
    pub fn load(view: &CatalogView, table: TableId, registry: &FileRegistry) -> StoreResult<Self> {
        let mut tablets = Vec::new();
        for tablet in view.tablets(table)? {
            let mut files = Vec::with_capacity(tablet.files.len());
            for reference in tablet.files {
                let record = view.file(reference.file)?.ok_or_else(|| {
                    Error::corruption("a tablet refers to a file that the catalog does not have")
                        .with("table", table)
                        .with("file", reference.file)
                })?;
                files.push(TabletFile {
                    file: registry.file(&record)?,
                    reference,
                });
            }
            // Newest first: of two entries with equal keys the one in the earlier file wins.
            files.sort_by_key(|file| {
                let record = file.file.record();
                std::cmp::Reverse((record.sequence, record.id))
            });
            tablets.push(Arc::new(TabletView {
                extent: tablet.extent,
                files,
            }));
        }
        if tablets
            .last()
            .is_none_or(|last| last.extent.through.is_some())
        {
            return Err(Error::new(
                ErrorKind::Corruption,
                "the catalog's tablets do not cover the table",
            )
            .with("table", table));
        }
        Ok(Self { tablets })
    }

    /// The tablets.
    #[must_use]
    pub fn tablets(&self) -> &[Arc<TabletView>] {
        &self.tablets
    }

    /// Position of the tablet that holds `row`.
    #[must_use]
    pub fn position(&self, row: &[u8]) -> usize {
        self.tablets.partition_point(|tablet| {
            tablet
                .extent
                .through
                .as_deref()
                .is_some_and(|through| through < row)
        })
    }

    /// The tablet with the last of these rows.
    #[must_use]
    pub fn with_end_of(&self, rows: &Fence) -> Option<&Arc<TabletView>> {
        match &rows.through {
            Some(row) => self.tablets.get(self.position(row)),
            None => self.tablets.last(),
        }
    }
}
