//! `KeyFilter`: entries whose row, column and value lie in given ranges.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, IteratorClass, IteratorEnvironment,
    IteratorOptions, IteratorSetting, Range, Result, Slot, SortedKeyValueIterator, Span,
};

use super::options;
use crate::KeyRanges;
use crate::number::{format_number, parse_number};

const CLASS: &[&str] = &["ostrakon.graph.KeyFilter"];

/// The setting that keeps entries whose row and qualifier belong to the sets and whose value, if
/// bounds are given, is a number between them (both included).
///
/// # Errors
/// Bounds that are not finite.
pub fn key_filter(
    priority: u32,
    rows: &KeyRanges,
    columns: &KeyRanges,
    values: (Option<f64>, Option<f64>),
) -> Result<IteratorSetting> {
    let mut setting = IteratorSetting::new(priority, format!("keys{priority}"), CLASS[0]);
    if !rows.is_all() {
        setting = setting.with("rows", rows.encode());
    }
    if !columns.is_all() {
        setting = setting.with("columns", columns.encode());
    }
    for (name, bound) in [("least", values.0), ("most", values.1)] {
        if let Some(bound) = bound {
            let mut text = Vec::new();
            format_number(bound, &mut text)?;
            setting = setting.with(name, String::from_utf8_lossy(&text));
        }
    }
    Ok(setting)
}

#[derive(Clone)]
struct Wanted {
    rows: KeyRanges,
    columns: KeyRanges,
    least: Option<f64>,
    most: Option<f64>,
}

pub(super) struct KeyFilterClass;

impl KeyFilterClass {
    fn read(options: &IteratorOptions) -> Result<Wanted> {
        options::only(options, &["rows", "columns", "least", "most"])?;
        Ok(Wanted {
            rows: options::key_ranges(options, "rows")?,
            columns: options::key_ranges(options, "columns")?,
            least: options::number(options, "least")?,
            most: options::number(options, "most")?,
        })
    }
}

impl IteratorClass for KeyFilterClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Keeps entries whose row, qualifier and value are in given ranges. Options: rows, columns \
         (all): comma-separated ranges START:END in hexadecimal digits, END exclusive, - for no end; \
         least, most (none): inclusive bounds of the value; an entry whose value is not a number is \
         then dropped."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Self::read(options).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(KeyFilterIterator {
            source,
            wanted: Self::read(options)?,
        }))
    }
}

struct KeyFilterIterator {
    source: BoxedIterator,
    wanted: Wanted,
}

impl Wanted {
    fn keeps_value(&self, value: &[u8]) -> bool {
        if self.least.is_none() && self.most.is_none() {
            return true;
        }
        parse_number(value).is_some_and(|value| {
            self.least.is_none_or(|least| value >= least)
                && self.most.is_none_or(|most| value <= most)
        })
    }
}

impl SortedKeyValueIterator for KeyFilterIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let first = out.len();
        // Also of what came before an error only what is wanted goes out.
        let more = self.source.next_batch(out, limit);
        let wanted = &self.wanted;
        let (all_rows, all_columns) = (wanted.rows.is_all(), wanted.columns.is_all());
        // Entries of one row often share its bytes: one verdict serves them all.
        let mut row: Option<(Span, bool)> = None;
        out.retain_from(first, |batch, at| {
            let slot: &Slot = &batch.slots()[at];
            let row_kept = all_rows
                || match row {
                    Some((span, kept)) if span == slot.row => kept,
                    _ => {
                        let kept = wanted.rows.contains(batch.bytes(slot.row));
                        row = Some((slot.row, kept));
                        kept
                    }
                };
            row_kept
                && (all_columns || wanted.columns.contains(batch.bytes(slot.qualifier)))
                && (slot.deleted || wanted.keeps_value(batch.bytes(slot.value)))
        });
        more
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            wanted: self.wanted.clone(),
        })
    }
}
