//! An iterator of one's own: a class with an option, which masks values inside the store.
//!
//! ```text
//! alice ************1234
//! bob ************9876
//! stored: 5500000000001234
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use ostrakon::cell::{
    BatchLimit, BoxedIterator, ColumnSelection, IteratorClass, IteratorEnvironment,
    IteratorOptions, SortedKeyValueIterator,
};
use ostrakon::{Batch, Error, IteratorSetting, Range, Result, Store};

/// The class: checks options and puts iterators on top of others.
struct Mask;

impl IteratorClass for Mask {
    fn names(&self) -> &[&str] {
        &["com.example.Mask"]
    }

    fn describe(&self) -> &str {
        "Replaces the bytes of a value by stars. Options: keep (0), bytes at the end that stay."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        keep(options).map(drop)
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(Masked {
            source,
            keep: keep(options)?,
        }))
    }
}

fn keep(options: &IteratorOptions) -> Result<usize> {
    let Some(text) = options.get("keep") else {
        return Ok(0);
    };
    let not_a_number = |error| Error::invalid("keep is a number of bytes").with_source(error);
    text.parse().map_err(not_a_number)
}

/// The iterator: a step in the stack of a scan, which moves batches.
struct Masked {
    source: BoxedIterator,
    keep: usize,
}

impl SortedKeyValueIterator for Masked {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let first = out.len();
        let more = self.source.next_batch(out, limit);
        // Also of what came before an error: nothing goes out as it was.
        for at in first..out.len() {
            let mut value = out.value(at).to_vec();
            let masked = value.len().saturating_sub(self.keep);
            value.iter_mut().take(masked).for_each(|byte| *byte = b'*');
            out.set_value(at, &value)?;
        }
        more
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            keep: self.keep,
        })
    }
}

pub(crate) fn main() -> Result<()> {
    let store = Store::builder().iterator_class(Mask).in_memory()?;
    let cards = store.create_table("cards")?;
    cards
        .put("alice", ("card", "number"), "5500000000001234")
        .commit()?;
    cards
        .put("bob", ("card", "number"), "5500000000009876")
        .commit()?;

    let mask = IteratorSetting::new(30, "mask", "com.example.Mask").with("keep", "4");
    for entry in cards.scan().iterator(mask) {
        let entry = entry?;
        println!("{} {}", entry.row_str()?, entry.value_str()?);
    }
    if let Some(entry) = cards.scan().row("alice").first()? {
        println!("stored: {}", entry.value_str()?);
    }
    Ok(())
}
