//! The most frequent values of a field.

use hashbrown::HashMap;
use ostrakon_cell::lexicoder::encode_i64;
use ostrakon_cell::{Error, Result};

use super::counts::CountPath;
use super::prepare::Prepared;
use super::{Path, Query};
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
        let field = self.tables.definition.own_name(field);
        // The time of an event is rounded down, and its field as it is in the record.
        let is_time = field == self.tables.definition.time;
        let mut values = Values {
            counts: HashMap::new(),
            bytes: 0,
            limit: self.query.settings.memory_bytes,
        };
        let kept = match path {
            CountPath::Auto | CountPath::Aggregates if !is_time => self.form_counts(field, None)?,
            _ => None,
        };
        if let Some(kept) = kept {
            for (form, _, count) in kept.forms {
                values.add(&form, count)?;
            }
        } else {
            if path == CountPath::Aggregates {
                return Err(Error::invalid(
                    "the kept counts cannot answer: there must be no condition but on the time, which has a whole bin, \
                     the field must be indexed, and its values short and few enough for the memory of a query",
                )
                .with("field", field)
                .with("bin", &self.tables.definition.bin));
            }
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
                if is_time {
                    scratch.clear();
                    encode_i64(event.time, &mut scratch);
                    values.add(&scratch, 1)?;
                } else if let Some(form) = event
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
    fn add(&mut self, form: &[u8], count: u64) -> Result<()> {
        if let Some(sum) = self.counts.get_mut(form) {
            *sum = sum.saturating_add(count);
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
        self.counts.insert(form.to_vec(), count);
        Ok(())
    }
}
