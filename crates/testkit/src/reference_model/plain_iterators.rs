//! The stock iterators the reference model runs by itself, each in the plainest way: read whole columns, then
//! decide.

use std::sync::Arc;

use ostrakon_cell::iterator::{
    BoxedIterator, IteratorClass, IteratorEnvironment, IteratorOptions, IteratorRegistry,
    SortedKeyValueIterator,
};
use ostrakon_cell::{Batch, BatchLimit, ColumnSelection, Entry, Error, KeyPart, Range, Result};

use super::content::{drain, first_of_column, last_of_column, push_some};

/// The classes the reference model knows without being handed any.
pub(super) fn plain_registry() -> IteratorRegistry {
    let mut registry = IteratorRegistry::new();
    registry.register(Arc::new(Versioning));
    registry.register(Arc::new(Summing));
    registry.register(Arc::new(Grep));
    registry
}

/// Turns all live versions of one column, newest first, into what is shown of them.
type Reduce = Arc<dyn Fn(Vec<Entry>) -> Result<Vec<Entry>> + Send + Sync>;

/// Reads whole columns and reduces each.
struct ByColumn {
    source: BoxedIterator,
    reduce: Reduce,
    ready: std::vec::IntoIter<Entry>,
}

impl ByColumn {
    fn boxed(source: BoxedIterator, reduce: Reduce) -> BoxedIterator {
        Box::new(Self {
            source,
            reduce,
            ready: Vec::new().into_iter(),
        })
    }
}

impl SortedKeyValueIterator for ByColumn {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        let whole_columns = Range::keys(
            range.start().map(first_of_column),
            true,
            range.end().map(last_of_column),
            true,
        )?;
        let entries = drain(&mut *self.source, &whole_columns, columns)?;
        let mut ready = Vec::new();
        for column in
            entries.chunk_by(|a, b| a.key.as_ref().same(b.key.as_ref(), KeyPart::Visibility))
        {
            ready.extend((self.reduce)(column.to_vec())?);
        }
        ready.retain(|entry| range.contains(entry.key.as_ref()));
        self.ready = ready.into_iter();
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool> {
        push_some(&mut self.ready, out, limit)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Self::boxed(self.source.deep_copy(), self.reduce.clone())
    }
}

struct Versioning;

fn max_versions(options: &IteratorOptions) -> Result<usize> {
    if let Some(unknown) = options.keys().find(|name| *name != "maxVersions") {
        return Err(
            Error::invalid("the versioning iterator takes the option maxVersions only")
                .with("option", unknown),
        );
    }
    let given = options.get("maxVersions").map_or("1", String::as_str);
    match given.parse() {
        Ok(versions) if versions > 0 => Ok(versions),
        _ => Err(Error::invalid("maxVersions is a number of 1 or more").with("given", given)),
    }
}

impl IteratorClass for Versioning {
    fn names(&self) -> &[&str] {
        &["org.apache.accumulo.core.iterators.user.VersioningIterator"]
    }

    fn describe(&self) -> &'static str {
        "Keeps the newest versions of each column; maxVersions (1) says how many."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        max_versions(options).map(drop)
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        let keep = max_versions(options)?;
        let reduce = move |mut versions: Vec<Entry>| {
            versions.truncate(keep);
            Ok(versions)
        };
        Ok(ByColumn::boxed(source, Arc::new(reduce)))
    }
}

/// Sums of decimal text over all columns; enough to see that combiners work in every scope.
struct Summing;

impl IteratorClass for Summing {
    fn names(&self) -> &[&str] {
        &["org.apache.accumulo.core.iterators.user.SummingCombiner"]
    }

    fn describe(&self) -> &'static str {
        "Adds up the values of each column: all=true and type=STRING are the options known here."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        let expected = [("all", "true"), ("type", "STRING")];
        let same = options.len() == expected.len()
            && expected
                .iter()
                .all(|(name, value)| options.get(*name).is_some_and(|given| given == value));
        if same {
            Ok(())
        } else {
            Err(Error::invalid(
                "the reference model sums with all=true and type=STRING only",
            ))
        }
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        self.validate(options)?;
        let reduce = |versions: Vec<Entry>| {
            let mut sum = 0_i64;
            for version in &versions {
                let number = std::str::from_utf8(&version.value)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok())
                    .ok_or_else(|| {
                        Error::invalid("a value to be summed is not a decimal number")
                    })?;
                sum = sum.saturating_add(number);
            }
            Ok(versions
                .into_iter()
                .next()
                .map(|newest| Entry {
                    key: newest.key,
                    value: sum.to_string().into_bytes(),
                })
                .into_iter()
                .collect())
        };
        Ok(ByColumn::boxed(source, Arc::new(reduce)))
    }
}

/// Keeps the entries in which a term occurs, outside of the label.
struct Grep;

impl IteratorClass for Grep {
    fn names(&self) -> &[&str] {
        &["org.apache.accumulo.core.iterators.user.GrepIterator"]
    }

    fn describe(&self) -> &'static str {
        "Keeps entries with a term, or without (negate): the only options known here."
    }

    fn validate(&self, options: &IteratorOptions) -> Result<()> {
        let known = options
            .keys()
            .all(|name| name == "term" || name == "negate");
        if known && options.contains_key("term") {
            Ok(())
        } else {
            Err(Error::invalid(
                "the model takes the options term and negate only",
            ))
        }
    }

    fn init(
        &self,
        source: BoxedIterator,
        options: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        self.validate(options)?;
        let term = options
            .get("term")
            .map(|term| term.as_bytes().to_vec())
            .unwrap_or_default();
        let negate = options.get("negate").is_some_and(|negate| negate == "true");
        let reduce = move |mut versions: Vec<Entry>| {
            versions.retain(|Entry { key, value }| {
                let mut parts = [&key.row, &key.family, &key.qualifier, value].into_iter();
                negate
                    != parts.any(|part| part.windows(term.len().max(1)).any(|found| found == term))
            });
            Ok(versions)
        };
        Ok(ByColumn::boxed(source, Arc::new(reduce)))
    }
}
