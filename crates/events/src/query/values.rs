//! Counts of the values of a field, from the kept counts.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use ostrakon_cell::{Error, Result};

use super::Query;
use super::access::form_ranges;
use super::counts::start_of;
use super::prepare::Prepared;
use crate::condition::{Condition, Forms};
use crate::layout::ALL_EVENTS;
use crate::store::EventStore;
use crate::value::{typed, untyped};

/// Memory for a count besides its value: as it is read, and as it is returned.
const HELD_COUNT_BYTES: usize = 128;

/// How many events have a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueCount {
    /// The value; `None` for events that lack the field, or whose value is not of its type.
    pub value: Option<Vec<u8>>,
    /// The start of the span of time in microseconds since 1970; 0 if there are no spans.
    pub start: i64,
    /// The number of events.
    pub count: u64,
}

/// Counts by the typed forms of values.
#[derive(Default)]
pub(super) struct FormCounts {
    /// A form and a span may be here several times.
    pub(super) forms: Vec<(Vec<u8>, i64, u64)>,
    /// Events without a value, by span. Counts are taken off when values are met, before or after the total is added.
    missing: BTreeMap<i64, i64>,
    bytes: usize,
}

impl FormCounts {
    fn add(&mut self, form: &[u8], start: i64, count: i64) {
        match self.forms.last_mut() {
            Some((last, begun, sum)) if last == form && *begun == start => {
                *sum = sum.saturating_add_signed(count);
            }
            _ => {
                self.bytes += 2 * form.len() + HELD_COUNT_BYTES;
                let count = u64::try_from(count).unwrap_or(0);
                self.forms.push((form.to_vec(), start, count));
            }
        }
    }

    fn add_missing(&mut self, start: i64, count: i64) {
        let bytes = &mut self.bytes;
        let sum = self.missing.entry(start).or_insert_with(|| {
            *bytes += HELD_COUNT_BYTES;
            0
        });
        *sum = sum.saturating_add(count);
    }
}

/// Events one by one, which come in the order of time.
#[derive(Default)]
struct Single {
    counts: HashMap<Vec<u8>, BTreeMap<i64, i64>>,
    bytes: usize,
}

impl Single {
    fn add(&mut self, form: &[u8], start: i64) {
        if !self.counts.contains_key(form) {
            self.bytes += form.len() + HELD_COUNT_BYTES;
            self.counts.insert(form.to_vec(), BTreeMap::new());
        }
        if let Some(counts) = self.counts.get_mut(form) {
            let bytes = &mut self.bytes;
            *counts.entry(start).or_insert_with(|| {
                *bytes += HELD_COUNT_BYTES;
                0
            }) += 1;
        }
    }
}

impl EventStore {
    /// The number of events with each value of a field, by spans of time if `span` is given, from the kept counts. Only
    /// events of bins that the query's time cuts are read. The same value and span may be returned several times; their
    /// counts add up. `None` if the kept counts cannot answer: the condition tests more than the time, no whole bin lies in
    /// the time, the field is the time, is not indexed, or has values of more than 128 bytes, the span is not a multiple of
    /// the type's bin, or the counts need more than [`memory_bytes`](super::PlannerSettings::memory_bytes).
    ///
    /// # Errors
    /// Those of [`query`](Self::query).
    pub fn value_counts(
        &self,
        query: &Query,
        field: &str,
        span: Option<i64>,
    ) -> Result<Option<Vec<ValueCount>>> {
        if span.is_some_and(|span| span <= 0) {
            return Err(Error::invalid("spans of time are longer than nothing"));
        }
        let query = Query {
            limit: None,
            resume: None,
            ..query.clone()
        };
        self.answer(&query, |prepared| {
            let kind = prepared.kind_of(field)?;
            let Some(counts) = prepared.form_counts(field, span)? else {
                return Ok(None);
            };
            let values = counts
                .forms
                .into_iter()
                .map(|(form, start, count)| ValueCount {
                    value: Some(untyped(kind, &form).into_owned()),
                    start,
                    count,
                });
            let missing = counts.missing.into_iter().map(|(start, count)| ValueCount {
                value: None,
                start,
                count: u64::try_from(count).unwrap_or(0),
            });
            let found = values.chain(missing).filter(|found| found.count > 0);
            Ok(Some(found.collect()))
        })
    }
}

impl Prepared<'_> {
    /// The counts of the values of a field, if the kept counts have them.
    pub(super) fn form_counts(&self, field: &str, span: Option<i64>) -> Result<Option<FormCounts>> {
        let definition = &self.tables.definition;
        let indexed = definition.field(field).filter(|field| field.indexed);
        let Some(id) = indexed.and_then(|field| field.id) else {
            return Ok(None);
        };
        let (first, last) = self.whole_bins();
        if self.condition != Condition::All
            || self.is_time(field)
            || first >= last
            || span.is_some_and(|span| span % self.bin != 0)
        {
            return Ok(None);
        }
        let start = |time| span.map_or(0, |span| start_of(time, span));
        let limit = self.query.settings.memory_bytes;
        let mut found = FormCounts::default();
        let mut fits = true;
        let of_values = form_ranges(id, &Forms::Any, first, last);
        self.counts(&of_values, (first, last), |row, _, count| {
            match &row.form {
                Some(form) => {
                    found.add(form, start(row.time), count);
                    found.add_missing(start(row.time), count.saturating_neg());
                }
                None => fits = false,
            }
            fits &= found.bytes <= limit;
            fits
        })?;
        if !fits {
            return Ok(None);
        }
        let everything = Forms::These(vec![Vec::new()]);
        let of_all = form_ranges(ALL_EVENTS, &everything, first, last);
        self.counts(&of_all, (first, last), |row, _, count| {
            found.add_missing(start(row.time), count);
            fits = found.bytes <= limit;
            fits
        })?;
        let kind = self.kind_of(field)?;
        let query = Query {
            fields: Some(vec![field.to_owned()]),
            ..self.query.clone()
        };
        let (mut scratch, mut single) = (Vec::new(), Single::default());
        // What is left of the time before the first and after the last whole bin.
        for (from, to) in [(self.from, first), (last, self.to)] {
            if from >= to || !fits {
                continue;
            }
            self.part(&query, from, to).run(|event| {
                let start = start(event.time);
                let value = event.get(field);
                match value.and_then(|value| typed(kind, value, &mut scratch)) {
                    Some(form) => single.add(form, start),
                    None => found.add_missing(start, 1),
                }
                fits = found.bytes.saturating_add(single.bytes) <= limit;
                Ok(fits)
            })?;
        }
        for (form, counts) in single.counts {
            for (start, count) in counts {
                found.add(&form, start, count);
            }
        }
        Ok(fits.then_some(found))
    }
}
