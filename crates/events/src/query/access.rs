//! Ranges of the index and the aggregate table.

use std::ops::Bound;

use ostrakon_cell::{Batch, BatchLimit, Range, Result, following_prefix};

use super::prepare::Prepared;
use crate::condition::Forms;
use crate::iterators::{EventTable, Snapshot, index_scan, total_scan};
use crate::layout::{
    EventRow, FORM_PREFIX, ValueRow, index_target, put_value, read_value_row, value_range,
};
use crate::store::Reading;

/// Whether ranges of the index hold exactly these values. Long ones are hashed, so that ranges cannot end in them.
pub(super) fn is_exact(forms: &Forms) -> bool {
    let short = |bound: &Bound<Vec<u8>>| match bound {
        Bound::Included(form) | Bound::Excluded(form) => form.len() <= FORM_PREFIX,
        Bound::Unbounded => true,
    };
    match forms {
        Forms::These(_) | Forms::Any => true,
        Forms::Between(from, to) => short(from) && short(to),
        Forms::Prefix(prefix) => prefix.len() <= FORM_PREFIX,
    }
}

/// The rows of values of a field from time `from` to before `to`; for more than single values also of other times, which
/// the iterators pass over by a seek for each value.
pub(super) fn form_ranges(field: u16, forms: &Forms, from: i64, to: i64) -> Vec<Range> {
    let part = |form: &[u8], end: bool| {
        let mut part = Vec::new();
        put_value(&mut part, field, form);
        if end {
            part.push(0);
        }
        part
    };
    match forms {
        Forms::These(forms) => forms
            .iter()
            .map(|form| value_range(field, form, from, to))
            .collect(),
        Forms::Prefix(prefix) => vec![Range::row_prefix(&part(prefix, false))],
        Forms::Any => vec![Range::row_prefix(&field.to_be_bytes())],
        Forms::Between(low, high) => {
            let start = match low {
                Bound::Included(low) => part(low, true),
                Bound::Excluded(low) => following_prefix(&part(low, true)).unwrap_or_default(),
                Bound::Unbounded => field.to_be_bytes().to_vec(),
            };
            let end = match high {
                Bound::Included(high) => following_prefix(&part(high, true)),
                Bound::Excluded(high) => Some(part(high, true)),
                Bound::Unbounded => following_prefix(&field.to_be_bytes()),
            };
            match end {
                Some(end) if start >= end => Vec::new(),
                Some(end) => vec![Range::rows(start..end)],
                None => vec![Range::rows(start..)],
            }
        }
    }
}

impl Prepared<'_> {
    /// Reads counts of bins that begin from `from` to before `to`, over all labels that the reader sees, until `visit`
    /// returns `false`; returns whether all were read.
    pub(super) fn counts(
        &self,
        ranges: &[Range],
        times: (i64, i64),
        visit: impl FnMut(&ValueRow, &[u8], i64) -> bool,
    ) -> Result<bool> {
        self.counts_of(&self.snapshot, ranges, times, usize::MAX, visit)
    }

    /// [`counts`](Self::counts) of another snapshot. At most about `wanted` are read at once.
    pub(super) fn counts_of(
        &self,
        snapshot: &Snapshot,
        ranges: &[Range],
        (from, to): (i64, i64),
        wanted: usize,
        mut visit: impl FnMut(&ValueRow, &[u8], i64) -> bool,
    ) -> Result<bool> {
        if ranges.is_empty() {
            return Ok(true);
        }
        let limit = BatchLimit::default();
        let reading = Reading {
            authorizations: &self.query.authorizations,
            iterator: total_scan(snapshot, from, to),
            columns: ostrakon_cell::ColumnSelection::all(),
            ordered: true,
            batch: BatchLimit {
                entries: wanted.min(limit.entries),
                ..limit
            },
            interrupt: self.query.interrupt.as_ref(),
        };
        let mut scan = self.tables.scan(EventTable::Aggregate, ranges, reading)?;
        let mut batch = Batch::new();
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                let count = entry
                    .value
                    .try_into()
                    .map(i64::from_be_bytes)
                    .unwrap_or_default();
                let Some(row) = read_value_row(entry.key.row) else {
                    continue;
                };
                if !visit(&row, entry.key.row, count) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Reads the events of an index range from time `from` to before `to`, until `visit` returns `false`; returns
    /// whether all were read.
    pub(super) fn index(
        &self,
        ranges: &[Range],
        from: i64,
        to: i64,
        mut visit: impl FnMut(EventRow) -> bool,
    ) -> Result<bool> {
        if ranges.is_empty() || from >= to {
            return Ok(true);
        }
        let reading = Reading {
            authorizations: &self.query.authorizations,
            iterator: index_scan(&self.snapshot, from, to),
            columns: ostrakon_cell::ColumnSelection::all(),
            ordered: true,
            batch: BatchLimit::default(),
            interrupt: self.query.interrupt.as_ref(),
        };
        let mut scan = self.tables.scan(EventTable::Index, ranges, reading)?;
        let mut batch = Batch::new();
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                if let Some(row) = index_target(entry.key.row, entry.key.qualifier)
                    && !visit(row)
                {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
