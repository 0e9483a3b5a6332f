//! Closures as classes of iterators.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, IteratorClass, IteratorEnvironment,
    IteratorOptions, Mark, Range, SortedKeyValueIterator,
};

use crate::{EntryRef, Error, Result};

/// Works on what was appended to a batch since the mark.
type Work = dyn Fn(&mut Batch, Mark) -> Result<()> + Send + Sync;

/// A class of iterators that run a closure of the program. It has one name and no options.
pub(crate) struct ClosureClass {
    names: [&'static str; 1],
    description: &'static str,
    work: Arc<Work>,
}

impl ClosureClass {
    pub(crate) fn filter(
        name: &'static str,
        keep: impl Fn(EntryRef<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            names: [name],
            description: "Keeps the entries that a closure of the program accepts. No options.",
            work: Arc::new(move |batch, since| {
                batch.retain_since(since, |batch, at| {
                    let entry = batch.entry(at);
                    // A delete marker speaks of entries in other files.
                    entry.key.deleted || keep(entry)
                })
            }),
        }
    }

    pub(crate) fn map(
        name: &'static str,
        change: impl Fn(EntryRef<'_>) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self {
            names: [name],
            description: "Replaces values by what a closure of the program returns. No options.",
            work: Arc::new(move |batch, since| {
                for at in since.entries()..batch.len() {
                    let entry = batch.entry(at);
                    if !entry.key.deleted {
                        let value = change(entry);
                        batch.set_value(at, &value)?;
                    }
                }
                Ok(())
            }),
        }
    }
}

impl IteratorClass for ClosureClass {
    fn names(&self) -> &[&str] {
        &self.names
    }

    fn describe(&self) -> &str {
        self.description
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        match options.keys().next() {
            None => Ok(()),
            Some(option) => {
                Err(Error::invalid("this class takes no options").with("option", option))
            }
        }
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        self.validate(options)?;
        let work = self.work.clone();
        Ok(Box::new(ClosureIterator { source, work }))
    }
}

struct ClosureIterator {
    source: BoxedIterator,
    work: Arc<Work>,
}

impl SortedKeyValueIterator for ClosureIterator {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.source.seek(range, columns)
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        let mark = out.mark();
        let more = self.source.next_batch(out, limit);
        // Also when the source failed half-way: what is to be dropped or changed never goes out as it was.
        if out.len() > mark.entries() {
            (self.work)(out, mark)?;
        }
        more
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            source: self.source.deep_copy(),
            work: self.work.clone(),
        })
    }
}
