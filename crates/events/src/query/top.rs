//! The most frequent values of a field.

use hashbrown::HashMap;
use ostrakon_cell::{Error, Result};

use super::access::form_ranges;
use super::counts::CountPath;
use super::prepare::Prepared;
use super::{Path, Query};
use crate::condition::{Condition, Forms};
use crate::store::EventStore;
use crate::value::{typed, untyped};

/// The values of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopValues {
    /// The most frequent values with their counts, the most frequent first, then in the order of values.
    pub values: Vec<(Vec<u8>, u64)>,
    /// The number of different values.
    pub distinct: u64,
    /// The number of events that have the field.
    pub events: u64,
}

impl EventStore {
    /// The most frequent values of a field among the events of a query. Holds all different values in memory.
    ///
    /// # Errors
    /// Those of [`query`](Self::query); the kept counts cannot answer; the values need more than
    /// [`memory_bytes`](super::PlannerSettings::memory_bytes).
    pub fn top(
        &self,
        query: &Query,
        field: &str,
        most: usize,
        path: CountPath,
    ) -> Result<TopValues> {
        let query = Query {
            limit: None,
            resume: None,
            ..query.clone()
        };
        self.answer(&query, |prepared| prepared.top(field, most, path))
    }
}

impl Prepared<'_> {
    fn top(&self, field: &str, most: usize, path: CountPath) -> Result<TopValues> {
        let kind = self.kind_of(field)?;
        let mut values = Values {
            counts: HashMap::new(),
            bytes: 0,
            limit: self.query.settings.memory_bytes,
        };
        let kept = match path {
            CountPath::Auto | CountPath::Aggregates => self.kept_values(field, &mut values)?,
            CountPath::Index | CountPath::Scan => false,
        };
        if !kept {
            if path == CountPath::Aggregates {
                return Err(Error::invalid(
                    "the kept counts cannot answer: there must be no condition but on the time, in whole bins, the \
                     field must be indexed, and its values short",
                )
                .with("field", field)
                .with("bin", &self.tables.definition.bin));
            }
            values.counts.clear();
            values.bytes = 0;
            let path = match (path, self.query.path) {
                (CountPath::Index, Path::Auto | Path::Index) => Path::Index,
                (_, path) => path,
            };
            let query = Query {
                path,
                fields: Some(vec![field.to_owned()]),
                ..self.query.clone()
            };
            let mut scratch = Vec::new();
            self.part(&query, self.from, self.to).run(|event| {
                if let Some(form) = event
                    .get(field)
                    .and_then(|value| typed(kind, value, &mut scratch))
                {
                    values.add(form, 1)?;
                }
                Ok(true)
            })?;
        }
        let mut all: Vec<(Vec<u8>, u64)> = values
            .counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        let (distinct, events) = (all.len() as u64, all.iter().map(|(_, count)| *count).sum());
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all.truncate(most);
        let values = all
            .into_iter()
            .map(|(form, count)| (untyped(kind, &form).into_owned(), count))
            .collect();
        Ok(TopValues {
            values,
            distinct,
            events,
        })
    }
}

struct Values {
    counts: HashMap<Vec<u8>, u64>,
    bytes: usize,
    limit: usize,
}

impl Values {
    fn add(&mut self, form: &[u8], count: i64) -> Result<()> {
        if let Some(sum) = self.counts.get_mut(form) {
            *sum = sum.saturating_add_signed(count);
            return Ok(());
        }
        self.bytes += form.len() + 64;
        if self.bytes > self.limit {
            return Err(Error::new(
                ostrakon_cell::ErrorKind::OutOfSpace,
                "the different values of the field need more memory than is allowed: restrict the time or the condition",
            )
            .with("bytes allowed", self.limit));
        }
        self.counts
            .insert(form.to_vec(), u64::try_from(count).unwrap_or(0));
        Ok(())
    }
}

impl Prepared<'_> {
    /// Adds up kept counts, if they answer; what was added until then does not count otherwise.
    fn kept_values(&self, field: &str, values: &mut Values) -> Result<bool> {
        let indexed = self
            .tables
            .definition
            .field(field)
            .filter(|field| field.indexed);
        let Some(id) = indexed.and_then(|field| field.id) else {
            return Ok(false);
        };
        let (first, last) = self.whole_bins();
        let is_whole = (first, last) == (self.from, self.to);
        if self.condition != Condition::All || !is_whole || self.is_time(field) {
            return Ok(false);
        }
        let (mut short, mut added) = (true, Ok(()));
        self.counts(
            &form_ranges(id, &Forms::Any, first, last),
            first,
            last,
            |row, _, count| {
                match &row.form {
                    Some(form) => added = values.add(form, count),
                    None => short = false,
                }
                short && added.is_ok()
            },
        )?;
        added?;
        Ok(short)
    }
}
