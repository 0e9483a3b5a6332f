//! The cells that records have before they are written.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ostrakon_cell::visibility::evaluate;
use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, BatchWriter, Interrupt, Properties, Range, Result,
    ScanOptions, Table,
};

use super::required::required;
use super::{ColumnType, key};
use crate::scan::ByteSet;

/// Rows that are remembered until they are flushed.
const UNFLUSHED_MAX: usize = 1 << 16;

/// Labels that are remembered.
const LABELS_MAX: usize = 1 << 10;

/// The label that counts for cells without one.
const DEFAULT_LABEL: &str = "table.security.scan.visibility.default";

/// The visible cells of rows.
pub(super) type Cells = HashMap<Vec<u8>, Vec<Cell>>;

/// By row: the rows in other encodings as they are stored, with their visible cells.
pub(super) type Alike = HashMap<Vec<u8>, Vec<(Vec<u8>, Vec<Cell>)>>;

/// A cell of a row.
pub(super) struct Cell {
    pub(super) family: Vec<u8>,
    pub(super) qualifier: Vec<u8>,
    pub(super) visibility: Vec<u8>,
    pub(super) timestamp: i64,
}

impl Cell {
    /// A cell that was just written, whose time is not known.
    pub(super) fn unread(family: &[u8], qualifier: &[u8], visibility: &[u8]) -> Self {
        Self {
            family: family.to_vec(),
            qualifier: qualifier.to_vec(),
            visibility: visibility.to_vec(),
            timestamp: i64::MAX,
        }
    }

    /// Whether it stands for a record without values.
    pub(super) fn is_marker(&self) -> bool {
        self.family.is_empty() && self.qualifier.is_empty()
    }
}

/// Finds the cells that the writer may see, including those of records it has just written.
pub(super) struct Present {
    table: Arc<dyn Table>,
    authorizations: Arc<Authorizations>,
    /// Labels and whether the writer sees cells with them.
    visible: HashMap<Vec<u8>, bool>,
    interrupt: Interrupt,
    /// The greatest row so far. Rows after it were not written by this statement.
    greatest: Option<Vec<u8>>,
    /// Whether rows were written since the last flush that are not among `unflushed`.
    appended: bool,
    unflushed: HashSet<Vec<u8>>,
}

impl Present {
    pub(super) fn new(table: Arc<dyn Table>, authorizations: Arc<Authorizations>) -> Self {
        Self {
            table,
            authorizations,
            visible: HashMap::new(),
            interrupt: Interrupt::default(),
            greatest: None,
            appended: false,
            unflushed: HashSet::new(),
        }
    }

    /// Ends the search, which passes over any number of cells that the writer does not see.
    pub(super) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// The cells of rows that `writer` is about to write.
    pub(super) fn find(&mut self, writer: &mut BatchWriter, rows: &[Vec<u8>]) -> Result<Cells> {
        let (Some(least), Some(greatest)) = (rows.iter().min(), rows.iter().max()) else {
            return Ok(HashMap::new());
        };
        let is_after_all = self.greatest.as_ref().is_none_or(|before| before < least);
        if self
            .greatest
            .as_ref()
            .is_none_or(|before| before < greatest)
        {
            self.greatest = Some(greatest.clone());
        }
        if is_after_all {
            // Most loads are in the order of the key, and find nothing there.
            self.appended = true;
            let between = Range::rows(least.as_slice()..=greatest.as_slice());
            return match self.is_empty(between)? {
                true => Ok(HashMap::new()),
                false => self.cells(rows),
            };
        }
        let repeated = self.appended || rows.iter().any(|row| self.unflushed.contains(row));
        if repeated || self.unflushed.len() > UNFLUSHED_MAX {
            writer.flush()?;
            self.unflushed.clear();
            self.appended = false;
        }
        self.unflushed.extend(rows.iter().cloned());
        self.cells(rows)
    }

    /// The cells of records that have the keys of rows in other encodings: by row, the rows as they are
    /// stored. This statement writes none of them.
    pub(super) fn alike(&self, keys: &[(String, ColumnType)], rows: &[Vec<u8>]) -> Result<Alike> {
        let mut alike = Alike::new();
        if !key::has_floats(keys) {
            return Ok(alike);
        }
        let mut sought = ByteSet::none();
        for row in rows {
            sought = sought.union(key::alike(keys, row)?);
        }
        if sought.intervals().is_empty() {
            return Ok(alike);
        }
        for (stored, cells) in self.cells_in(&sought.ranges())? {
            // What is not the row of a record has no key.
            match key::normalised(keys, &stored) {
                Ok(row) if row != stored => alike.entry(row).or_default().push((stored, cells)),
                _ => {}
            }
        }
        Ok(alike)
    }

    /// Whether the writer sees cells with a label.
    pub(super) fn is_visible(&mut self, label: &[u8]) -> Result<bool> {
        if let Some(is_visible) = self.visible.get(label) {
            return Ok(*is_visible);
        }
        let is_visible = self.sees(label)?;
        if self.visible.len() == LABELS_MAX {
            self.visible.clear();
        }
        self.visible.insert(label.to_vec(), is_visible);
        Ok(is_visible)
    }

    fn sees(&self, label: &[u8]) -> Result<bool> {
        let default = self.default_label(label)?;
        // A label that is not valid was refused when it was written.
        let label = default.as_deref().unwrap_or(label);
        Ok(evaluate(label, &self.authorizations).unwrap_or_default())
    }

    /// What counts for a label if it is empty, and something else does.
    fn default_label(&self, label: &[u8]) -> Result<Option<Vec<u8>>> {
        let properties = match label.is_empty() {
            true => self.table.properties()?,
            false => Properties::new(),
        };
        let default = properties.get(DEFAULT_LABEL);
        Ok(default.map(|default| default.as_bytes().to_vec()))
    }

    /// A label that requires all labels of some cells, and another one.
    pub(super) fn required(&self, cells: &[Cell], also: &[u8]) -> Result<Vec<u8>> {
        let has_none = cells.iter().any(|cell| cell.visibility.is_empty());
        let default = match has_none {
            true => self.default_label(&[])?.unwrap_or_default(),
            false => Vec::new(),
        };
        let labels: BTreeSet<&[u8]> = cells.iter().map(|cell| &*cell.visibility).collect();
        // Beside others, an empty label would require nothing.
        let others = labels.iter().any(|label| !label.is_empty()) || !also.is_empty();
        let default = Some(&*default).filter(|_| others);
        Ok(required(labels.into_iter().chain(default).chain([also])))
    }

    fn is_empty(&self, range: Range) -> Result<bool> {
        let options = ScanOptions {
            batch: BatchLimit {
                entries: 1,
                ..BatchLimit::default()
            },
            ..self.options()
        };
        let mut scan = self.table.scan(&[range], &options)?;
        let mut batch = Batch::new();
        while scan.next_batch(&mut batch)? {
            if !batch.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn cells(&self, rows: &[Vec<u8>]) -> Result<Cells> {
        let ranges: Vec<Range> = rows.iter().map(|row| Range::row(row.as_slice())).collect();
        self.cells_in(&ranges)
    }

    fn cells_in(&self, ranges: &[Range]) -> Result<Cells> {
        let mut scan = self.table.scan(ranges, &self.options())?;
        let mut batch = Batch::new();
        let mut present = Cells::new();
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                let key = entry.key;
                let cell = Cell {
                    family: key.family.to_vec(),
                    qualifier: key.qualifier.to_vec(),
                    visibility: key.visibility.to_vec(),
                    timestamp: key.timestamp,
                };
                match present.get_mut(key.row) {
                    Some(cells) => cells.push(cell),
                    None => {
                        present.insert(key.row.to_vec(), vec![cell]);
                    }
                }
            }
        }
        Ok(present)
    }

    fn options(&self) -> ScanOptions {
        ScanOptions {
            authorizations: Authorizations::clone(&self.authorizations),
            interrupt: Some(self.interrupt.clone()),
            ..ScanOptions::default()
        }
    }
}
