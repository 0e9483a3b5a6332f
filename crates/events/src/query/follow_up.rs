//! Queries in several steps: the values that one finds are what the next looks for.

use std::collections::BTreeSet;

use ostrakon_cell::{Error, ErrorKind, Result};

use super::{Event, Outcome, Path, Query};
use crate::condition::{Condition, Operator};
use crate::store::EventStore;
use crate::time::{parse_time, show_time};
use crate::value::{FieldType, typed};

/// A step from events to those of another type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUp {
    /// The type of the events that are looked for.
    pub event_type: String,
    /// Their field,
    pub field: String,
    /// which has a value that this field has in some event of the step before.
    pub of_field: String,
}

impl FollowUp {
    /// Reads `TYPE.field=of_field`.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument).
    pub fn parse(text: &str) -> Result<Self> {
        let parts = || {
            let (event_type, rest) = text.split_once('.')?;
            let (field, of_field) = rest.split_once('=')?;
            let all = [event_type, field, of_field];
            (!all.contains(&"")).then_some(all.map(str::to_owned))
        };
        let [event_type, field, of_field] = parts().ok_or_else(|| {
            Error::invalid(
                "a follow-up is written TYPE.field=field: the type to look in, its field, and the field of the events \
                 found before",
            )
            .with("given", text)
        })?;
        Ok(Self {
            event_type,
            field,
            of_field,
        })
    }
}

impl EventStore {
    /// Runs a query, and for each step another one, of the same time and reader, for events that share a value with those
    /// found before. `visit` gets the events of the last step; the query's limit, fields and token are about those.
    ///
    /// # Errors
    /// As [`query`](Self::query); the different values of a step are too many for a condition.
    pub fn query_then(
        &self,
        query: &Query,
        steps: &[FollowUp],
        visit: impl FnMut(&Event) -> Result<bool>,
    ) -> Result<Outcome> {
        let mut now = query.clone();
        for step in steps {
            let values = self.values_of(&now, step)?;
            now = match values.is_empty() {
                // There is nothing to share, so no index can be asked for it, and no time is searched.
                true => Query {
                    event_type: step.event_type.clone(),
                    condition: Condition::Not(Box::new(Condition::All)),
                    path: Path::Scan,
                    from: query.to.or(Some(i64::MAX)),
                    ..query.clone()
                },
                false => Query {
                    event_type: step.event_type.clone(),
                    condition: Condition::test(&step.field, Operator::In(values)),
                    ..query.clone()
                },
            };
        }
        self.query(&now, visit)
    }

    /// The values of a step's field among the events of a query, as far as the other field can have them.
    fn values_of(&self, query: &Query, step: &FollowUp) -> Result<Vec<Vec<u8>>> {
        let definition = self.get(&query.event_type)?;
        let of_field = definition.own_name(&step.of_field);
        let query = Query {
            fields: Some(vec![of_field.to_owned()]),
            limit: None,
            resume: None,
            ..query.clone()
        };
        let other = Query {
            event_type: step.event_type.clone(),
            ..Query::default()
        };
        let kind = self.prepare(&other)?.kind_of(&step.field)?;
        // The time of an event is rounded down, and its field as it is in the record.
        let target = self.get(&step.event_type)?;
        let is_time = of_field == definition.time && target.own_name(&step.field) == target.time;
        let (mut values, mut bytes, mut scratch) = (BTreeSet::new(), 0, Vec::new());
        let limit = query.settings.memory_bytes;
        self.query(&query, |event| {
            let Some(value) = event.get(of_field) else {
                return Ok(true);
            };
            // What is a moment in a record need not be one in a condition.
            let literal = match kind {
                FieldType::Time if is_time => Some(show_time(event.time).into_bytes()),
                FieldType::Time => parse_time(value).map(|moment| show_time(moment).into_bytes()),
                _ => typed(kind, value, &mut scratch).map(|_| value.to_vec()),
            };
            if let Some(literal) = literal {
                let held = literal.len() + 64;
                bytes += if values.insert(literal) { held } else { 0 };
            }
            if bytes > limit {
                return Err(Error::new(
                    ErrorKind::OutOfSpace,
                    "the values for the next step need more memory than is allowed: restrict the time or the condition",
                )
                .with("field", &step.of_field)
                .with("bytes allowed", limit));
            }
            Ok(true)
        })?;
        Ok(values.into_iter().collect())
    }
}
