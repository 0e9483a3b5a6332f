//! Chooses between the index and a scan.

use ostrakon_cell::{Error, Result};

use super::access::form_ranges;
use super::densities::Totals;
use super::prepare::Prepared;
use super::{Path, Query};
use crate::condition::{Condition, Forms};
use crate::store::EventStore;
use crate::time::show_time;

/// What is looked up in the index.
#[derive(Debug, Clone)]
pub(super) enum Lookup {
    Values(u16, Forms),
    /// Events that all of them find.
    All(Vec<Lookup>),
    /// Events that one of them finds.
    Any(Vec<Lookup>),
}

impl Lookup {
    /// The ranges of the index that are read for a window of time.
    fn ranges(&self) -> u64 {
        match self {
            Self::Values(field, forms) => form_ranges(*field, forms, 0, 1).len() as u64,
            Self::All(parts) | Self::Any(parts) => parts.iter().map(Self::ranges).sum(),
        }
    }
}

/// The estimate of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestDensity {
    /// The test.
    pub test: String,
    /// How many events of the time fulfil it, in whole bins; `None` if there are too many values to count.
    pub events: Option<u64>,
    /// Whether it is looked up in the index.
    pub used: bool,
}

/// How a query is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// `index` or `scan`.
    pub path: &'static str,
    /// Why.
    pub reason: String,
    /// The events of the time, in whole bins.
    pub total: u64,
    /// How many events are fetched, estimated.
    pub estimate: u64,
    /// The share below which the index is used.
    pub threshold: f64,
    /// The tests of fields with an index.
    pub tests: Vec<TestDensity>,
    /// What is evaluated next to the data.
    pub condition: String,
    /// The first time, and the first that is not wanted.
    pub times: (String, String),
    /// The ranges that a window of time reads: in the event table, one for each shard, or in the index.
    pub ranges: u64,
}

pub(super) struct Plan {
    pub(super) lookup: Option<Lookup>,
    pub(super) totals: Totals,
    pub(super) explanation: Explanation,
}

impl EventStore {
    /// Says how a query would be answered.
    ///
    /// # Errors
    /// An unknown type or field, a value of another type; `Path::Index` for a condition that no index answers.
    pub fn explain(&self, query: &Query) -> Result<Explanation> {
        Ok(self.prepare(query)?.plan()?.explanation)
    }
}

/// A share as percents, with two digits that count.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = match percent {
        0.0 => 0,
        percent => (1.0 - percent.log10().floor()).clamp(1.0, 9.0) as usize,
    };
    format!("{percent:.decimals$}")
}

impl Prepared<'_> {
    pub(super) fn plan(&self) -> Result<Plan> {
        let totals = self.totals()?;
        let total = totals.sum();
        let mut tests = Vec::new();
        let found = match self.query.path {
            Path::Scan => None,
            Path::Auto | Path::Index => self.lookup(&self.condition, total, &mut tests)?,
        };
        let (lookup, reason) = match (self.query.path, found) {
            (Path::Scan, _) => (None, "a scan was asked for".to_owned()),
            (Path::Index, None) => {
                return Err(Error::invalid(
                    "no index answers this condition: some part that must be looked up tests no indexed field, is \
                     negated, or is a regular expression, `contains` or `endswith`",
                )
                .with("condition", &self.condition));
            }
            (Path::Index, Some(found)) => (Some(found), "the index was asked for".to_owned()),
            (Path::Auto, None) => (None, "no index answers this condition".to_owned()),
            (Path::Auto, Some((lookup, estimate))) => {
                let share = estimate as f64 / (total as f64).max(1.0);
                let reason = format!(
                    "about {} % of the events match; the index is used below {} %",
                    percent(share),
                    percent(self.threshold)
                );
                (
                    (share < self.threshold).then_some((lookup, estimate)),
                    reason,
                )
            }
        };
        if lookup.is_none() {
            for test in &mut tests {
                test.used = false;
            }
        }
        let bound = |moment: i64| match moment {
            i64::MIN | i64::MAX => "unbounded".to_owned(),
            moment => show_time(moment),
        };
        let explanation = Explanation {
            path: if lookup.is_some() { "index" } else { "scan" },
            reason,
            total,
            estimate: lookup.as_ref().map_or(total, |(_, estimate)| *estimate),
            threshold: self.threshold,
            tests,
            condition: self.condition.to_string(),
            times: (bound(self.from), bound(self.to)),
            ranges: match &lookup {
                Some((lookup, _)) => lookup.ranges(),
                None => u64::from(self.tables.definition.shard_count()),
            },
        };
        Ok(Plan {
            lookup: lookup.map(|(lookup, _)| lookup),
            totals,
            explanation,
        })
    }

    /// What to look up for a condition, and how many events that finds.
    fn lookup(
        &self,
        condition: &Condition,
        total: u64,
        tests: &mut Vec<TestDensity>,
    ) -> Result<Option<(Lookup, u64)>> {
        match condition {
            Condition::All | Condition::Not(_) => Ok(None),
            Condition::Test { .. } => {
                let Some((field, forms)) = self.indexed(condition)? else {
                    return Ok(None);
                };
                let events = self.density(field, &forms)?;
                tests.push(TestDensity {
                    test: condition.to_string(),
                    events,
                    used: true,
                });
                Ok(Some((
                    Lookup::Values(field, forms),
                    events.unwrap_or(total),
                )))
            }
            Condition::And(parts) => {
                let mut found = Vec::new();
                for part in parts {
                    let before = tests.len();
                    if let Some((lookup, events)) = self.lookup(part, total, tests)? {
                        found.push((lookup, events, before..tests.len()));
                    }
                }
                let Some(least) = found.iter().map(|(_, events, _)| *events).min() else {
                    return Ok(None);
                };
                let most = least as f64 * self.query.settings.factor;
                // The events of the first are held in memory, the others are compared with them.
                found.sort_by_key(|(_, events, _)| *events);
                let mut used = Vec::new();
                for (lookup, events, range) in found {
                    let is_used = events == least || events as f64 <= most;
                    for test in tests.get_mut(range).unwrap_or_default() {
                        test.used = is_used;
                    }
                    if is_used {
                        used.push(lookup);
                    }
                }
                Ok(Some((Lookup::All(used), least)))
            }
            Condition::Or(parts) => {
                let (mut found, mut sum) = (Vec::new(), 0_u64);
                for part in parts {
                    let Some((lookup, events)) = self.lookup(part, total, tests)? else {
                        return Ok(None);
                    };
                    found.push(lookup);
                    sum = sum.saturating_add(events);
                }
                Ok((!found.is_empty()).then_some((Lookup::Any(found), sum)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_the_digits_that_count() {
        for (share, text) in [
            (0.0, "0"),
            (0.02134, "2.1"),
            (0.01, "1.0"),
            (1.0, "100.0"),
            (0.000_056_7, "0.0057"),
        ] {
            assert_eq!(percent(share), text);
        }
    }
}
