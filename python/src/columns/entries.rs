//! The entries of one call, as columns of one length, checked as a whole before any is written.

use std::collections::HashSet;

use ostrakon_cell::{
    ColumnUpdate, EntryRef, Error, KeyRef, MAX_KEY_BYTES, MAX_VALUE_BYTES, Result,
    VisibilityExpression,
};

use super::column::Column;
use super::stamps::Stamps;

/// The entries of one call.
pub(crate) struct Entries {
    /// Rows.
    row: Column,
    /// Column families.
    family: Column,
    /// Column qualifiers.
    qualifier: Column,
    /// Labels.
    visibility: Column,
    /// Timestamps.
    timestamp: Stamps,
    /// Values; `None` deletes.
    value: Option<Column>,
    len: usize,
}

impl Entries {
    /// Combines the columns.
    ///
    /// # Errors
    /// Columns of different lengths, malformed labels, keys or values that are too long: each named.
    pub(crate) fn new(
        row: Column,
        family: Column,
        qualifier: Column,
        visibility: Column,
        timestamp: Stamps,
        value: Option<Column>,
    ) -> Result<Self> {
        let mut entries = Self {
            row,
            family,
            qualifier,
            visibility,
            timestamp,
            value,
            len: 1,
        };
        entries.len = entries.check_lengths()?;
        if entries.len > 0 {
            entries.check_labels()?;
            entries.check_sizes()?;
        }
        Ok(entries)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn check_lengths(&self) -> Result<usize> {
        let named = [
            ("row", self.row.len()),
            ("family", self.family.len()),
            ("qualifier", self.qualifier.len()),
            ("visibility", self.visibility.len()),
            ("timestamp", self.timestamp.len()),
            ("value", self.value.as_ref().and_then(Column::len)),
        ];
        let mut first: Option<(&str, usize)> = None;
        for (name, len) in named {
            let Some(len) = len else { continue };
            match first {
                None => first = Some((name, len)),
                Some((_, known)) if known == len => {}
                Some((other, known)) => {
                    return Err(Error::invalid(format!(
                        "`{name}` has {len} entries and `{other}` has {known}: give every column \
                         the same length, or one value for all"
                    ))
                    .with("argument", name));
                }
            }
        }
        Ok(first.map_or(1, |(_, len)| len))
    }

    fn check_labels(&self) -> Result<()> {
        let mut known: HashSet<Vec<u8>> = HashSet::new();
        self.visibility.try_each_candidate(|label| {
            if label.is_empty() || known.contains(label) {
                return Ok(());
            }
            VisibilityExpression::parse(label).map_err(|error| {
                Error::invalid("`visibility` has an invalid label; nothing was written")
                    .with("argument", "visibility")
                    .with("label", String::from_utf8_lossy(label))
                    .with_source(error)
            })?;
            // Bounded: with a label each, checking twice costs less than remembering all.
            if known.len() < 1 << 16 {
                known.insert(label.to_vec());
            }
            Ok(())
        })
    }

    fn check_sizes(&self) -> Result<()> {
        let key: usize = [&self.row, &self.family, &self.qualifier, &self.visibility]
            .iter()
            .map(|column| column.longest())
            .sum();
        let value = self.value.as_ref().map_or(0, Column::longest);
        if key <= MAX_KEY_BYTES && value <= MAX_VALUE_BYTES {
            return Ok(());
        }
        // Rare: find out whether one entry is too long, and which.
        let mut at = 0;
        self.for_each(0..self.len, |row, update| {
            let key =
                row.len() + update.family.len() + update.qualifier.len() + update.visibility.len();
            if key > MAX_KEY_BYTES {
                return Err(Error::invalid(format!(
                    "entry {at}: the key has {key} bytes and a key holds at most {MAX_KEY_BYTES}; \
                     nothing was written"
                ))
                .with("argument", "row"));
            }
            let value = update.value.map_or(0, <[u8]>::len);
            if value > MAX_VALUE_BYTES {
                return Err(Error::invalid(format!(
                    "entry {at}: the value has {value} bytes and a value holds at most \
                     {MAX_VALUE_BYTES}; nothing was written"
                ))
                .with("argument", "value"));
            }
            at += 1;
            Ok(())
        })
    }

    /// The row of entry `at`; panics past the end.
    #[inline]
    pub(crate) fn row(&self, at: usize) -> &[u8] {
        self.row.get(at)
    }

    /// The key and value of entry `at`, with `now` for a timestamp the table would set; panics past
    /// the end.
    #[inline]
    pub(crate) fn entry(&self, at: usize, now: i64) -> EntryRef<'_> {
        EntryRef {
            key: KeyRef {
                row: self.row.get(at),
                family: self.family.get(at),
                qualifier: self.qualifier.get(at),
                visibility: self.visibility.get(at),
                timestamp: self.timestamp.get(at).unwrap_or(now),
                deleted: self.value.is_none(),
            },
            value: self.value.as_ref().map_or(&[], |value| value.get(at)),
        }
    }

    /// Calls `visit` on the row and update of each entry of `range`, in order.
    ///
    /// # Errors
    /// Those of `visit`, which end the walk.
    pub(crate) fn for_each(
        &self,
        range: std::ops::Range<usize>,
        mut visit: impl FnMut(&[u8], ColumnUpdate<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut at = range.start;
        let end = range.end.min(self.len);
        while at < end {
            let (row, row_left) = self.row.segment(at);
            let (family, family_left) = self.family.segment(at);
            let (qualifier, qualifier_left) = self.qualifier.segment(at);
            let (visibility, visibility_left) = self.visibility.segment(at);
            let value = self.value.as_ref().map(|column| column.segment(at));
            let value_left = value.as_ref().map_or(usize::MAX, |(_, left)| *left);
            let count = (end - at)
                .min(row_left)
                .min(family_left)
                .min(qualifier_left)
                .min(visibility_left)
                .min(value_left);
            for offset in 0..count {
                let update = ColumnUpdate {
                    family: family.get(offset),
                    qualifier: qualifier.get(offset),
                    visibility: visibility.get(offset),
                    timestamp: self.timestamp.get(at + offset),
                    value: value.as_ref().map(|(segment, _)| segment.get(offset)),
                };
                visit(row.get(offset), update)?;
            }
            at += count;
        }
        Ok(())
    }
}
