//! `RowReduce`: a row becomes one entry.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Error, IteratorClass, IteratorEnvironment,
    IteratorOptions, IteratorSetting, Key, Range, Result, SortedKeyValueIterator,
};

use super::apply::not_a_number;
use super::options;
use crate::number::{format_number, parse_number};
use crate::semiring::Plus;

const CLASS: &[&str] = &["ostrakon.graph.RowReduce"];

/// What [`row_reduce`] makes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowReduction {
    /// The number of its entries.
    Count,
    /// Its values combined.
    Values(Plus),
}

impl std::str::FromStr for RowReduction {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "count" => Ok(Self::Count),
            plus => plus.parse().map(Self::Values).map_err(|_| {
                Error::invalid("the operation is one of count, sum, min, max").with("given", text)
            }),
        }
    }
}

/// The setting that makes one entry of each row: empty family, `qualifier`, the reduced value, the
/// newest of the timestamps. Only for scans.
#[must_use]
pub fn row_reduce(priority: u32, reduction: RowReduction, qualifier: &str) -> IteratorSetting {
    let operation = match reduction {
        RowReduction::Count => "count",
        RowReduction::Values(plus) => plus.as_str(),
    };
    IteratorSetting::new(priority, format!("reduce{priority}"), CLASS[0])
        .with("operation", operation)
        .with("qualifier", qualifier)
}

pub(super) struct RowReduceClass;

impl RowReduceClass {
    fn read(options: &IteratorOptions) -> Result<(RowReduction, Vec<u8>)> {
        options::only(options, &["operation", "qualifier"])?;
        let qualifier = options.get("qualifier").cloned().unwrap_or_default();
        Ok((options::parsed(options, "operation")?, qualifier.into()))
    }
}

impl IteratorClass for RowReduceClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Combines each row into one entry with an empty family and an empty label. For scans only, \
         because the labels are lost. Options: operation (required): count, sum, min or max; \
         qualifier (empty): the qualifier of the new entry."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Self::read(options).map(|_| ())
    }

    fn scans_only(&self) -> bool {
        true
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let (reduction, qualifier) = Self::read(options)?;
        Ok(Box::new(RowReduceIterator::new(
            source, reduction, qualifier,
        )))
    }
}

struct RowReduceIterator {
    source: BoxedIterator,
    reduction: RowReduction,
    qualifier: Vec<u8>,
    look_ahead: Batch,
    at: usize,
    exhausted: bool,
    wanted: Range,
    /// The row under way: its new key and value so far.
    key: Key,
    so_far: Option<f64>,
}

impl RowReduceIterator {
    fn new(source: BoxedIterator, reduction: RowReduction, qualifier: Vec<u8>) -> Self {
        Self {
            source,
            reduction,
            key: Key {
                qualifier: qualifier.clone(),
                ..Key::default()
            },
            qualifier,
            look_ahead: Batch::new(),
            at: 0,
            exhausted: true,
            wanted: Range::all(),
            so_far: None,
        }
    }

    /// Puts the row that ends here into `out`.
    fn finish(&mut self, out: &mut Batch) -> Result<()> {
        if let Some(value) = self.so_far.take()
            && self.wanted.contains(self.key.as_ref())
        {
            let mut text = Vec::new();
            format_number(value, &mut text)?;
            out.push(self.key.as_ref(), &text)?;
        }
        Ok(())
    }

    /// Adds the entry at `self.at`, which is of the row under way or begins one.
    fn add(&mut self) -> Result<()> {
        let slot = &self.look_ahead.slots()[self.at];
        let value = match self.reduction {
            RowReduction::Count => 1.0,
            RowReduction::Values(_) => {
                parse_number(self.look_ahead.bytes(slot.value)).ok_or_else(not_a_number)?
            }
        };
        self.so_far = Some(match (self.so_far, self.reduction) {
            (None, _) => {
                self.key.row.clear();
                self.key
                    .row
                    .extend_from_slice(self.look_ahead.bytes(slot.row));
                self.key.timestamp = slot.timestamp;
                value
            }
            (Some(so_far), RowReduction::Count) => so_far + value,
            (Some(so_far), RowReduction::Values(plus)) => plus.apply(so_far, value),
        });
        self.key.timestamp = self.key.timestamp.max(slot.timestamp);
        Ok(())
    }
}

impl SortedKeyValueIterator for RowReduceIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        self.look_ahead.clear();
        self.at = 0;
        self.so_far = None;
        self.exhausted = true;
        // Whole rows are reduced, whatever part of them the range holds; the new entry is then
        // inside the range or not by its own key.
        let rows = Range::rows::<&[u8]>((
            range
                .start()
                .map_or(Unbounded, |key| Included(key.row.as_slice())),
            match range.end() {
                None => Unbounded,
                // The end may be the very first key of its row: then the row is outside.
                Some(key) if !range.contains_row(&key.row) => Excluded(key.row.as_slice()),
                Some(key) => Included(key.row.as_slice()),
            },
        ));
        self.source.seek(&rows, columns)?;
        self.wanted.clone_from(range);
        self.exhausted = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        while !out.is_full(limit) {
            if self.at >= self.look_ahead.len() {
                if self.exhausted {
                    self.finish(out)?;
                    return Ok(false);
                }
                self.look_ahead.clear();
                self.at = 0;
                let more = self
                    .source
                    .next_batch(&mut self.look_ahead, BatchLimit::default())?;
                self.exhausted = !more;
                continue;
            }
            if self.so_far.is_some() && self.look_ahead.row(self.at) != self.key.row {
                self.finish(out)?;
                continue;
            }
            let row = self.look_ahead.slots()[self.at].row;
            // Entries of one row often share its bytes: then nothing is compared.
            while let Some(slot) = self.look_ahead.slots().get(self.at)
                && slot.row == row
            {
                if !slot.deleted {
                    self.add()?;
                }
                self.at += 1;
            }
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(
            self.source.deep_copy(),
            self.reduction,
            self.qualifier.clone(),
        ))
    }
}
