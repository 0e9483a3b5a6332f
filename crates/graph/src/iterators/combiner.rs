//! `NumberCombiner`: the versions of a column become their sum, least or largest.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, IteratorClass, IteratorEnvironment,
    IteratorOptions, IteratorSetting, Key, KeyPart, LabelMap, Range, Result,
    SortedKeyValueIterator, Span, same_bytes,
};

use super::apply::not_a_number;
use super::options;
use crate::number::{format_number, parse_number};
use crate::semiring::Plus;

pub(crate) const CLASS: &[&str] = &["ostrakon.graph.NumberCombiner"];

/// The setting that combines all versions of every column by `plus`, numbers being decimal text
/// with or without fraction. Stock `SummingCombiner`s support whole numbers only.
#[must_use]
pub fn number_combiner(priority: u32, plus: Plus) -> IteratorSetting {
    IteratorSetting::new(priority, "plus", CLASS[0]).with("operation", plus.as_str())
}

pub(super) struct NumberCombinerClass;

impl NumberCombinerClass {
    fn read(options: &IteratorOptions) -> Result<Plus> {
        options::only(options, &["operation"])?;
        options::parsed(options, "operation")
    }
}

impl IteratorClass for NumberCombinerClass {
    fn names(&self) -> &[&str] {
        CLASS
    }

    fn describe(&self) -> &str {
        "Combines the versions of each cell. The values are numbers in decimal text, with or without \
         a fraction. Option: operation (required): sum, min or max."
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
        Ok(Box::new(NumberCombiner::new(source, Self::read(options)?)))
    }
}

struct NumberCombiner {
    source: BoxedIterator,
    plus: Plus,
    look_ahead: Batch,
    labels: LabelMap,
    at: usize,
    exhausted: bool,
    /// All entries at hand lie in the range asked for.
    inside: bool,
    key: Key,
    text: Vec<u8>,
    /// The range asked for: the source reads whole columns.
    wanted: Range,
}

impl NumberCombiner {
    fn new(source: BoxedIterator, plus: Plus) -> Self {
        Self {
            source,
            plus,
            look_ahead: Batch::new(),
            labels: LabelMap::default(),
            at: 0,
            exhausted: true,
            inside: false,
            key: Key::default(),
            text: Vec::new(),
            wanted: Range::all(),
        }
    }

    /// Makes sure that there is an entry at `self.at`; `false` at the end.
    fn fill(&mut self, limit: BatchLimit) -> Result<bool> {
        while self.at >= self.look_ahead.len() {
            if self.exhausted {
                return Ok(false);
            }
            self.look_ahead.clear();
            self.labels.clear();
            self.at = 0;
            self.exhausted = !self.source.next_batch(&mut self.look_ahead, limit)?;
            // Sorted, so the ends speak for all.
            let inside = |at| self.wanted.contains(self.look_ahead.key(at));
            self.inside = match self.look_ahead.len() {
                0 => false,
                entries => inside(0) && inside(entries - 1),
            };
        }
        Ok(true)
    }

    /// Whether the entry is in the range asked for.
    fn is_wanted(&self, at: usize) -> bool {
        self.inside || self.wanted.contains(self.look_ahead.key(at))
    }

    /// Whether the entry at `at` is of the same column as the one before it, and no delete marker.
    fn is_version(&self, at: usize) -> bool {
        let batch = &self.look_ahead;
        let (this, before) = (&batch.slots()[at], &batch.slots()[at - 1]);
        // Neighbours differ in their qualifier most often, and share the bytes of their row.
        let same = |a: Span, b: Span| a == b || same_bytes(batch.bytes(a), batch.bytes(b));
        !this.deleted
            && this.visibility == before.visibility
            && same(this.qualifier, before.qualifier)
            && same(this.family, before.family)
            && same(this.row, before.row)
    }

    /// The value of the entry at `self.at`, which is passed.
    fn take(&mut self) -> Result<f64> {
        let value = parse_number(self.look_ahead.value(self.at)).ok_or_else(not_a_number)?;
        self.at += 1;
        Ok(value)
    }

    fn combine(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<()> {
        let first = self.at;
        let mut so_far = self.take()?;
        while self.at < self.look_ahead.len() && self.is_version(self.at) {
            so_far = self.plus.apply(so_far, self.take()?);
        }
        if self.at < self.look_ahead.len() {
            if self.is_wanted(first) {
                self.text.clear();
                format_number(so_far, &mut self.text)?;
                out.push(self.look_ahead.key(first), &self.text)?;
            }
            return Ok(());
        }
        // More versions may come with the next entries, which take the place of these.
        self.key.set(self.look_ahead.key(first));
        while self.fill(limit)? {
            let next = self.look_ahead.key(self.at);
            if next.deleted || !next.same(self.key.as_ref(), KeyPart::Visibility) {
                break;
            }
            so_far = self.plus.apply(so_far, self.take()?);
        }
        if self.wanted.contains(self.key.as_ref()) {
            self.text.clear();
            format_number(so_far, &mut self.text)?;
            out.push(self.key.as_ref(), &self.text)?;
        }
        Ok(())
    }
}

impl SortedKeyValueIterator for NumberCombiner {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.look_ahead.clear();
        self.at = 0;
        self.exhausted = true;
        // A value must not lack a part: begin with the newest version, end with the oldest.
        let start = range.start().map(|key| Key {
            timestamp: i64::MAX,
            deleted: true,
            ..key.clone()
        });
        let end = match range.end() {
            // Between columns already: nothing is cut.
            Some(key) if key.deleted && key.timestamp == i64::MAX && !range.end_inclusive() => {
                Some(key.clone())
            }
            end => end.map(|key| key.following(KeyPart::Visibility)),
        };
        let wide = Range::keys(start, true, end, false)?;
        self.source.seek(&wide, columns)?;
        self.wanted.clone_from(range);
        self.exhausted = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        // The target may be another batch than last time.
        self.labels.clear();
        while !out.is_full(limit) {
            if !self.fill(limit)? {
                return Ok(false);
            }
            let next = self.at + 1;
            let alone = self.look_ahead.slots()[self.at].deleted
                || (next < self.look_ahead.len() && !self.is_version(next));
            if alone {
                if self.is_wanted(self.at) {
                    out.push_from(&self.look_ahead, self.at, &mut self.labels)?;
                }
                self.at += 1;
            } else {
                self.combine(out, limit)?;
            }
        }
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self::new(self.source.deep_copy(), self.plus))
    }
}
