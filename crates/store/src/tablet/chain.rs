//! Files of disjoint rows as one source.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Range, Result, SortedKeyValueIterator,
};

use crate::catalog::Fence;
use crate::sorted_file::{FileIterator, LabelFilter, SortedFile};

/// One file of a chain, with its first and last row.
pub(super) struct Link {
    pub(super) file: Arc<SortedFile>,
    pub(super) fences: Vec<Fence>,
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
}

/// How its files are read.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) fill_cache: bool,
    pub(super) labels: Option<LabelFilter>,
}

impl Reading {
    /// An iterator over one file.
    pub(super) fn iterator(&self, file: &Arc<SortedFile>, fences: &[Fence]) -> FileIterator {
        let mut iterator = file.iterator(fences);
        if let Some(labels) = &self.labels {
            iterator = iterator.with_label_filter(labels.clone());
        }
        match self.fill_cache {
            true => iterator,
            false => iterator.without_cache_fill(),
        }
    }
}

/// Entries of files that share no row, in row order. One of them is open at a time, so that a merge of
/// many holds one block of them, and compares one source.
pub(super) struct FileChain {
    /// In row order.
    links: Arc<[Link]>,
    reading: Reading,
    range: Range,
    columns: ColumnSelection,
    /// The links that may have entries of the range and are not open yet.
    left: std::ops::Range<usize>,
    open: Option<FileIterator>,
}

impl FileChain {
    /// `links` are in row order, and no two share a row.
    pub(super) fn new(links: Vec<Link>, reading: Reading) -> Self {
        Self::of(links.into(), reading)
    }

    fn of(links: Arc<[Link]>, reading: Reading) -> Self {
        Self {
            links,
            reading,
            range: Range::all(),
            columns: ColumnSelection::all(),
            left: 0..0,
            open: None,
        }
    }

    /// Opens the next file; `false` if there is none.
    fn advance(&mut self) -> Result<bool> {
        self.open = None;
        let Some(link) = self.left.next().and_then(|at| self.links.get(at)) else {
            return Ok(false);
        };
        let iterator = self.reading.iterator(&link.file, &link.fences);
        let sought = self.open.insert(iterator).seek(&self.range, &self.columns);
        if sought.is_err() {
            // As an iterator over one file: at its end, and not at the next file.
            self.open = None;
            self.left = 0..0;
        }
        sought.map(|()| true)
    }
}

impl SortedKeyValueIterator for FileChain {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.range.clone_from(range);
        self.columns.clone_from(columns);
        let begin = match range.start() {
            Some(key) => self.links.partition_point(|link| link.last < key.row),
            None => 0,
        };
        let end = match range.end() {
            Some(key) => self.links.partition_point(|link| link.first <= key.row),
            None => self.links.len(),
        };
        self.left = begin..end.max(begin);
        self.advance().map(drop)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        loop {
            let Some(open) = &mut self.open else {
                return Ok(false);
            };
            if open.next_batch(out, limit)? {
                return Ok(true);
            }
            if !self.advance()? {
                return Ok(false);
            }
            if out.is_full(limit) {
                return Ok(true);
            }
        }
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::of(self.links.clone(), self.reading.clone()))
    }
}
