//! All tablets of a table at one moment.

use std::ops::Index;
use std::sync::Arc;

use super::files::FileRegistry;
use super::tablet::{TabletFile, TabletView};
use crate::catalog::{CatalogView, Fence, TableId};
use crate::error::{Error, StoreResult};

/// Maximum number of tablets in a chunk.
const CHUNK_TABLETS: usize = 256;

/// All tablets of a table, in row order; they cover every row.
///
/// Tablets are kept in chunks, and a version shares unedited chunks with the previous one: an edit
/// of one tablet costs the same in a table of a hundred thousand.
#[derive(Clone, Default)]
pub struct TableVersion {
    pub(super) chunks: Vec<Arc<Chunk>>,
    /// The position of the first tablet of each chunk.
    starts: Vec<usize>,
    len: usize,
}

/// Neighbouring tablets, with aggregates over them.
pub(super) struct Chunk {
    pub(super) tablets: Vec<Arc<TabletView>>,
    bytes: u64,
    /// Bytes of the largest tablet.
    largest: u64,
    most_files: usize,
}

impl Chunk {
    pub(super) fn last_row(&self) -> Option<&[u8]> {
        self.tablets.last()?.extent.through.as_deref()
    }
}

impl TableVersion {
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
            tablets.push(Arc::new(TabletView::new(tablet.extent, files)));
        }
        let is_covered = tablets
            .last()
            .is_some_and(|last: &Arc<TabletView>| last.extent.through.is_none());
        if !is_covered {
            return Err(
                Error::corruption("the catalog's tablets do not cover the table")
                    .with("table", table),
            );
        }
        Ok(Self::of_chunks(chunks_of(tablets)))
    }

    pub(super) fn of_chunks(chunks: Vec<Arc<Chunk>>) -> Self {
        let mut starts = Vec::with_capacity(chunks.len());
        let mut len = 0;
        for chunk in &chunks {
            starts.push(len);
            len += chunk.tablets.len();
        }
        Self {
            chunks,
            starts,
            len,
        }
    }

    /// The tablets.
    #[must_use]
    pub fn tablets(&self) -> Tablets<'_> {
        Tablets(self)
    }

    /// Bytes of all files; an estimate where files are shared.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.bytes).sum()
    }

    /// The tablets with more bytes than this, in row order. Most chunks have none, and are skipped.
    pub fn larger_than(&self, bytes: u64) -> impl Iterator<Item = &Arc<TabletView>> {
        let chunks = self
            .chunks
            .iter()
            .filter(move |chunk| chunk.largest > bytes);
        let tablets = chunks.flat_map(|chunk| &chunk.tablets);
        tablets.filter(move |tablet| tablet.bytes() > bytes)
    }

    /// The largest number of files that a tablet has.
    #[must_use]
    pub fn most_files(&self) -> usize {
        let most = self.chunks.iter().map(|chunk| chunk.most_files);
        most.max().unwrap_or(0)
    }

    /// Position of the tablet that holds `row`.
    #[must_use]
    pub fn position(&self, row: &[u8]) -> usize {
        let ends_before = |end: Option<&[u8]>| end.is_some_and(|end| end < row);
        let chunk = self
            .chunks
            .partition_point(|chunk| ends_before(chunk.last_row()));
        let Some(found) = self.chunks.get(chunk) else {
            return self.len;
        };
        let within = found
            .tablets
            .partition_point(|tablet| ends_before(tablet.extent.through.as_deref()));
        self.starts[chunk] + within
    }

    /// The tablet with this end row; without one, the last tablet.
    #[must_use]
    pub fn with_end(&self, end: Option<&[u8]>) -> Option<&Arc<TabletView>> {
        let tablet = match end {
            Some(row) => self.tablets().get(self.position(row)),
            None => self.tablets().last(),
        };
        tablet.filter(|tablet| tablet.extent.through.as_deref() == end)
    }

    /// The tablet that contains the last of these rows.
    #[must_use]
    pub fn with_end_of(&self, rows: &Fence) -> Option<&Arc<TabletView>> {
        match &rows.through {
            Some(row) => self.tablets().get(self.position(row)),
            None => self.chunks.last()?.tablets.last(),
        }
    }
}

/// Cuts neighbouring tablets into chunks.
pub(super) fn chunks_of(tablets: Vec<Arc<TabletView>>) -> Vec<Arc<Chunk>> {
    let mut chunks = Vec::with_capacity(tablets.len().div_ceil(CHUNK_TABLETS));
    // Of equal size, so that the next edit does not split off a small last chunk again.
    let count = tablets.len().div_ceil(CHUNK_TABLETS).max(1);
    let size = tablets.len().div_ceil(count).max(1);
    let mut tablets = tablets.into_iter().peekable();
    while tablets.peek().is_some() {
        let tablets: Vec<_> = tablets.by_ref().take(size).collect();
        chunks.push(Arc::new(Chunk {
            bytes: tablets.iter().map(|tablet| tablet.bytes()).sum(),
            largest: tablets
                .iter()
                .map(|tablet| tablet.bytes())
                .max()
                .unwrap_or(0),
            most_files: tablets
                .iter()
                .map(|tablet| tablet.files.len())
                .max()
                .unwrap_or(0),
            tablets,
        }));
    }
    chunks
}

/// The tablets of a [`TableVersion`], with the interface of a slice.
#[derive(Clone, Copy)]
pub struct Tablets<'a>(&'a TableVersion);

impl<'a> Tablets<'a> {
    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.len
    }

    /// Whether there are none, which is the case only for a deleted table.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.len == 0
    }

    /// The tablet at a position.
    #[must_use]
    pub fn get(self, at: usize) -> Option<&'a Arc<TabletView>> {
        let chunk = self
            .0
            .starts
            .partition_point(|start| *start <= at)
            .checked_sub(1)?;
        let within = at - self.0.starts[chunk];
        self.0.chunks[chunk].tablets.get(within)
    }

    /// All of them, in row order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a Arc<TabletView>> + Clone {
        self.0.chunks.iter().flat_map(|chunk| &chunk.tablets)
    }

    /// The last one.
    #[must_use]
    pub fn last(self) -> Option<&'a Arc<TabletView>> {
        self.0.chunks.last()?.tablets.last()
    }
}

impl<'a> IntoIterator for Tablets<'a> {
    type Item = &'a Arc<TabletView>;
    type IntoIter = Box<dyn Iterator<Item = &'a Arc<TabletView>> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl Index<usize> for Tablets<'_> {
    type Output = Arc<TabletView>;

    fn index(&self, at: usize) -> &Self::Output {
        let chunk = self.0.starts.partition_point(|start| *start <= at) - 1;
        &self.0.chunks[chunk].tablets[at - self.0.starts[chunk]]
    }
}
