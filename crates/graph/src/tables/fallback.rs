//! Scans with iterators of this crate: inside the source where it can run them, else around a
//! plain scan.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, ErrorKind, IteratorEnvironment,
    IteratorScope, IteratorSetting, LabelMap, Range, Result, Scan, ScanOptions,
    SortedKeyValueIterator, Table,
};

use super::{GraphContext, Interrupt};
use crate::iterators::graph_iterators;

impl GraphContext {
    /// Scans with `options`, its iterators being of this crate.
    pub(crate) fn scan(
        &self,
        table: &Arc<dyn Table>,
        ranges: &[Range],
        options: ScanOptions,
    ) -> Result<Box<dyn Scan>> {
        let scan = self.start_scan(table, ranges, options)?;
        let interrupt = self.interrupt.clone();
        Ok(Box::new(WatchedScan { scan, interrupt }))
    }

    fn start_scan(
        &self,
        table: &Arc<dyn Table>,
        ranges: &[Range],
        mut options: ScanOptions,
    ) -> Result<Box<dyn Scan>> {
        options.authorizations = self.authorizations.clone();
        if options.iterators.is_empty() {
            return table.scan(ranges, &options);
        }
        if self.runs_iterators() {
            match table.scan(ranges, &options) {
                Err(error)
                    if error.kind() == ErrorKind::ClassNotFound
                        && error.context().iter().any(|(name, _)| *name == "class") => {}
                outcome => return outcome,
            }
        }
        let iterators = std::mem::take(&mut options.iterators);
        StackedScan::start(table, ranges, &options, &iterators)
    }
}

/// A scan that can be interrupted.
struct WatchedScan {
    scan: Box<dyn Scan>,
    interrupt: Interrupt,
}

impl Scan for WatchedScan {
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool> {
        self.interrupt.check()?;
        self.scan.next_batch(out)
    }

    fn restart(&mut self, ranges: &[Range]) -> Result<()> {
        self.scan.restart(ranges)
    }
}

/// Iterators on this side of a scan.
struct StackedScan {
    stack: BoxedIterator,
    ranges: Vec<Range>,
    /// The range under way, and whether it was sought.
    at: usize,
    sought: bool,
    columns: ColumnSelection,
    limit: BatchLimit,
}

impl StackedScan {
    fn start(
        table: &Arc<dyn Table>,
        ranges: &[Range],
        options: &ScanOptions,
        iterators: &[IteratorSetting],
    ) -> Result<Box<dyn Scan>> {
        // Iterators expect sorted entries.
        let plain = ScanOptions {
            ordered: true,
            ..options.clone()
        };
        let source = ScanSource::new(table.clone(), plain);
        let environment = IteratorEnvironment {
            authorizations: Arc::new(options.authorizations.clone()),
            table: table.name().into(),
            ..IteratorEnvironment::new(IteratorScope::Scan)
        };
        let stack = graph_iterators().stack(Box::new(source), iterators, &environment)?;
        Ok(Box::new(Self {
            stack,
            ranges: Range::merge(ranges.to_vec()),
            at: 0,
            sought: false,
            columns: options.columns.clone(),
            limit: options.batch.at_least_one(),
        }))
    }
}

impl Scan for StackedScan {
    fn next_batch(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        while let Some(range) = self.ranges.get(self.at) {
            if !self.sought {
                self.stack.seek(range, &self.columns)?;
                self.sought = true;
            }
            if !self.stack.next_batch(out, self.limit)? {
                self.at += 1;
                self.sought = false;
            }
            if out.is_full(self.limit) {
                break;
            }
        }
        Ok(!out.is_empty())
    }

    fn restart(&mut self, ranges: &[Range]) -> Result<()> {
        self.ranges = Range::merge(ranges.to_vec());
        self.at = 0;
        self.sought = false;
        Ok(())
    }
}

/// A plain scan as the lowest iterator of a stack.
struct ScanSource {
    table: Arc<dyn Table>,
    options: ScanOptions,
    scan: Option<Box<dyn Scan>>,
    batch: Batch,
    labels: LabelMap,
    at: usize,
}

impl ScanSource {
    fn new(table: Arc<dyn Table>, options: ScanOptions) -> Self {
        Self {
            table,
            options,
            scan: None,
            batch: Batch::new(),
            labels: LabelMap::default(),
            at: 0,
        }
    }
}

impl SortedKeyValueIterator for ScanSource {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.batch.clear();
        self.at = 0;
        match &mut self.scan {
            Some(scan) if self.options.columns == *columns => {
                scan.restart(std::slice::from_ref(range))
            }
            _ => {
                self.options.columns = columns.clone();
                let scan = self
                    .table
                    .scan(std::slice::from_ref(range), &self.options)?;
                self.scan = Some(scan);
                Ok(())
            }
        }
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let Some(scan) = &mut self.scan else {
            return Ok(false);
        };
        self.labels.clear();
        while !out.is_full(limit) {
            if self.at >= self.batch.len() {
                self.at = 0;
                self.labels.clear();
                if !scan.next_batch(&mut self.batch)? {
                    return Ok(false);
                }
            }
            out.push_from(&self.batch, self.at, &mut self.labels)?;
            self.at += 1;
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(self.table.clone(), self.options.clone()))
    }
}
