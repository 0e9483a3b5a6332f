//! The iterator of the guide's page on iterators, as printed there: it shortens values.
//!
//! ```text
//! buy bread
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use ostrakon::cell::{
    BatchCursor, BatchLimit, BoxedIterator, ColumnSelection, EntryAdapter, EntryIterator,
    IteratorClass, IteratorEnvironment, IteratorOptions,
};
use ostrakon::{EntryRef, Error, IteratorSetting, Range, Result, Store};

struct Shorten {
    source: BatchCursor<BoxedIterator>,
    bytes: usize,
}

impl EntryIterator for Shorten {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.source.seek(range, columns)
    }

    fn top(&self) -> Option<EntryRef<'_>> {
        let entry = self.source.top()?;
        let value = &entry.value[..entry.value.len().min(self.bytes)];
        Some(EntryRef { value, ..entry })
    }

    fn advance(&mut self) -> Result<()> {
        self.source.advance()
    }

    fn deep_copy(&self) -> Box<dyn EntryIterator> {
        let source = BatchCursor::new(self.source.source().deep_copy(), BatchLimit::default());
        let bytes = self.bytes;
        Box::new(Shorten { source, bytes })
    }
}

pub(crate) struct ShortenClass;

impl ShortenClass {
    fn bytes(options: &IteratorOptions) -> Result<usize> {
        let bytes = options.get("bytes").and_then(|text| text.parse().ok());
        bytes.ok_or_else(|| Error::invalid("the option bytes takes a whole number"))
    }
}

impl IteratorClass for ShortenClass {
    fn names(&self) -> &[&str] {
        &["org.example.Shorten"]
    }

    fn describe(&self) -> &str {
        "Cuts values short. Option: bytes (required), how many to keep."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        Self::bytes(options).map(|_| ())
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let source = BatchCursor::new(source, BatchLimit::default());
        let bytes = Self::bytes(options)?;
        let shorten = Shorten { source, bytes };
        Ok(Box::new(EntryAdapter::new(Box::new(shorten))))
    }
}

#[rustfmt::skip] // As the guide prints it.
pub(crate) fn main() -> Result<()> {
    let store = Store::builder().iterator_class(ShortenClass).in_memory()?;
    let notes = store.create_table("notes")?;
    notes.put("monday", ("note", "text"), "buy bread and milk").commit()?;
    let shorten = IteratorSetting::new(30, "shorten", "Shorten").with("bytes", "9");
    for entry in notes.scan().iterator(shorten) {
        println!("{}", entry?.value_str()?);
    }
    Ok(())
}
