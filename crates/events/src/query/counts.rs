//! Counts of events by bins of time.

use std::collections::BTreeMap;

use ostrakon_cell::{Error, Result};

use super::access::form_ranges;
use super::prepare::Prepared;
use super::{Path, Query};
use crate::condition::{Condition, Forms};
use crate::layout::{ALL_EVENTS, event_time};
use crate::store::EventStore;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CountPath {
    /// The cheapest that can answer.
    #[default]
    Auto,
    /// The counts that were kept at ingest; times that are not whole bins are counted in the index or by a scan.
    Aggregates,
    /// The entries of the index.
    Index,
    /// The events.
    Scan,
}

impl EventStore {
    /// The number of events of a query, whatever its limit.
    ///
    /// # Errors
    /// As [`histogram`](Self::histogram).
    pub fn count(&self, query: &Query, path: CountPath) -> Result<u64> {
        let bin = self.get(&query.event_type)?.bin_micros()?;
        Ok(self.histogram(query, bin, path)?.values().sum())
    }

    /// The number of events of a query in each span of time that has some, by its start. Every path gives the same
    /// answer.
    ///
    /// # Errors
    /// Those of [`query`](Self::query); the path cannot answer this condition.
    pub fn histogram(
        &self,
        query: &Query,
        span: i64,
        path: CountPath,
    ) -> Result<BTreeMap<i64, u64>> {
        if span <= 0 {
            return Err(Error::invalid(
                "the bins of a histogram are longer than nothing",
            ));
        }
        let query = Query {
            limit: None,
            resume: None,
            ..query.clone()
        };
        self.answer(&query, |prepared| prepared.histogram(span, path))
    }
}

/// What kept counts and the index can count.
#[derive(Debug, Clone)]
pub(super) enum Counted {
    Everything,
    Values(u16, Forms),
}

/// The start of the bin of `moment`.
pub(super) fn start_of(moment: i64, span: i64) -> i64 {
    moment.saturating_sub(moment.rem_euclid(span))
}

impl Prepared<'_> {
    fn histogram(&self, span: i64, path: CountPath) -> Result<BTreeMap<i64, u64>> {
        let source = self.counted()?;
        let whole = span % self.bin == 0;
        let mut bins = BTreeMap::new();
        match (path, source) {
            (CountPath::Auto | CountPath::Aggregates, Some(source)) if whole => {
                self.by_aggregates(&source, span, &mut bins)?;
            }
            (CountPath::Aggregates, _) => {
                return Err(Error::invalid(
                    "the kept counts cannot answer: the condition must test one indexed field or nothing, and the span \
                     must be a multiple of the type's bin",
                )
                .with("bin", &self.tables.definition.bin));
            }
            (CountPath::Index | CountPath::Auto, Some(Counted::Values(field, forms))) => {
                self.by_index(field, &forms, span, &mut bins)?;
            }
            (CountPath::Index, _) => {
                return Err(Error::invalid(
                    "the index cannot answer: the condition must test one indexed field",
                ));
            }
            (CountPath::Auto, _) => self.by_events(Path::Auto, span, &mut bins)?,
            (CountPath::Scan, _) => self.by_events(Path::Scan, span, &mut bins)?,
        }
        bins.retain(|_, count| *count > 0);
        Ok(bins)
    }

    /// Counts events.
    fn by_events(&self, path: Path, span: i64, bins: &mut BTreeMap<i64, u64>) -> Result<()> {
        let query = Query {
            path,
            fields: Some(Vec::new()),
            ..self.query.clone()
        };
        let part = self.part(&query, self.from, self.to);
        let mut plan = part.plan()?;
        if plan.lookup.is_none() {
            part.read_rest(&mut plan.totals)?;
            return part.count_events(&plan.totals, span, bins);
        }
        part.run(|event| {
            *bins.entry(start_of(event.time, span)).or_default() += 1;
            Ok(true)
        })?;
        Ok(())
    }

    /// What is to be counted, if it needs no event.
    pub(super) fn counted(&self) -> Result<Option<Counted>> {
        match &self.condition {
            Condition::All => Ok(Some(Counted::Everything)),
            Condition::Test { .. } => {
                let found = self.indexed(&self.condition)?;
                Ok(found.map(|(field, forms)| Counted::Values(field, forms)))
            }
            _ => Ok(None),
        }
    }

    /// The first and the last whole bin of the time, and what is left of it before and after.
    pub(super) fn whole_bins(&self) -> (i64, i64) {
        let up = match self.from.rem_euclid(self.bin) {
            0 => self.from,
            rest => self.from.saturating_add(self.bin - rest),
        };
        let down = if self.to == i64::MAX {
            i64::MAX
        } else {
            self.floor(self.to)
        };
        // Nothing is before the first bin that can be told.
        let up = if self.from == i64::MIN { i64::MIN } else { up };
        if up >= down {
            (self.to, self.to)
        } else {
            (up, down)
        }
    }

    fn by_aggregates(
        &self,
        counted: &Counted,
        span: i64,
        bins: &mut BTreeMap<i64, u64>,
    ) -> Result<()> {
        if self.from >= self.to {
            return Ok(());
        }
        let (first, last) = self.whole_bins();
        let ranges = match counted {
            Counted::Everything => {
                form_ranges(ALL_EVENTS, &Forms::These(vec![Vec::new()]), first, last)
            }
            Counted::Values(field, forms) => form_ranges(*field, forms, first, last),
        };
        if first < last {
            self.counts(&ranges, (first, last), |row, _, count| {
                let sum = bins.entry(start_of(row.time, span)).or_default();
                *sum = sum.saturating_add_signed(count);
                true
            })?;
        }
        for (from, to) in [
            (self.from, first.min(self.to)),
            (last.max(self.from), self.to),
        ] {
            if from >= to {
                continue;
            }
            // Of the same snapshot as the counts between the edges.
            let edge = self.part(self.query, from, to);
            match counted {
                Counted::Values(field, forms) => edge.by_index(*field, forms, span, bins)?,
                Counted::Everything => edge.by_events(Path::Scan, span, bins)?,
            }
            if first == last {
                // There is no whole bin: the first part was all of it.
                break;
            }
        }
        Ok(())
    }

    fn by_index(
        &self,
        field: u16,
        forms: &Forms,
        span: i64,
        bins: &mut BTreeMap<i64, u64>,
    ) -> Result<()> {
        let ranges = form_ranges(field, forms, self.from, self.to);
        self.index(&ranges, self.from, self.to, |row| {
            if let Some(time) = event_time(&row) {
                *bins.entry(start_of(time, span)).or_default() += 1;
            }
            true
        })?;
        Ok(())
    }
}
