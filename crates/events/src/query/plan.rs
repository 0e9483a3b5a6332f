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
    /// As far back as the choice needed them.
    pub(super) totals: Totals,
    /// How many events the index names, estimated; 0 if it was not considered.
    pub(super) estimate: u64,
    choice: Choice,
    tests: Vec<TestDensity>,
}

/// Why the index is used, or not.
#[derive(Debug, Clone, Copy)]
enum Choice {
    ScanAsked,
    NoIndex,
    IndexAsked,
    ByShare,
}

impl Plan {
    /// `index` or `scan`.
    pub(super) fn path(&self) -> &'static str {
        if self.lookup.is_some() {
            "index"
        } else {
            "scan"
        }
    }
}

impl EventStore {
    /// Says how a query would be answered.
    ///
    /// # Errors
    /// An unknown type or field, a value of another type; `Path::Index` for a condition that no index answers.
    pub fn explain(&self, query: &Query) -> Result<Explanation> {
        self.prepare(query)?.explanation()
    }
}

/// Notes that these tests are not looked up.
fn unused(tests: &mut [TestDensity], places: std::ops::Range<usize>) {
    for test in tests.get_mut(places).unwrap_or_default() {
        test.used = false;
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
        let mut totals = self.unread_totals();
        let mut tests = Vec::new();
        let choice = match self.query.path {
            Path::Scan => Choice::ScanAsked,
            Path::Index => Choice::IndexAsked,
            Path::Auto if self.has_index(&self.condition)? => Choice::ByShare,
            Path::Auto => Choice::NoIndex,
        };
        if matches!(choice, Choice::ScanAsked | Choice::NoIndex) {
            return Ok(Plan {
                lookup: None,
                totals,
                estimate: 0,
                choice,
                tests,
            });
        }
        let found = self.lookup(&self.condition, &mut totals, &mut tests)?;
        let Some((lookup, estimate)) = found else {
            return Err(Error::invalid(
                "no index answers this condition: some part that must be looked up tests no indexed field, is negated, or \
                 is a regular expression, `contains` or `endswith`",
            )
            .with("condition", &self.condition));
        };
        let is_used = matches!(choice, Choice::IndexAsked) || {
            let is_rare =
                |totals: &Totals| estimate as f64 / (totals.sum() as f64).max(1.0) < self.threshold;
            // More events than were counted make the share smaller.
            while totals.unread.is_some() && !is_rare(&totals) {
                self.read_older(&mut totals)?;
            }
            is_rare(&totals)
        };
        if !is_used {
            let all = 0..tests.len();
            unused(&mut tests, all);
        }
        Ok(Plan {
            lookup: is_used.then_some(lookup),
            totals,
            estimate,
            choice,
            tests,
        })
    }

    /// Explains the plan; counts the events of the whole time, which the plan does not always need.
    pub(super) fn explanation(&self) -> Result<Explanation> {
        let mut plan = self.plan()?;
        self.read_rest(&mut plan.totals)?;
        if matches!(plan.choice, Choice::NoIndex) {
            // Its tests of fields with an index are shown all the same.
            self.lookup(&self.condition, &mut plan.totals, &mut plan.tests)?;
            let all = 0..plan.tests.len();
            unused(&mut plan.tests, all);
        }
        let bound = |moment: i64| match moment {
            i64::MIN | i64::MAX => "unbounded".to_owned(),
            moment => show_time(moment),
        };
        let total = plan.totals.sum();
        Ok(Explanation {
            path: plan.path(),
            reason: match plan.choice {
                Choice::ScanAsked => "a scan was asked for".to_owned(),
                Choice::NoIndex => "no index answers this condition".to_owned(),
                Choice::IndexAsked => "the index was asked for".to_owned(),
                Choice::ByShare => format!(
                    "about {} % of the events match; the index is used below {} %",
                    percent(plan.estimate as f64 / (total as f64).max(1.0)),
                    percent(self.threshold)
                ),
            },
            total,
            estimate: match plan.lookup {
                Some(_) => plan.estimate,
                None => total,
            },
            threshold: self.threshold,
            tests: plan.tests,
            condition: self.condition.to_string(),
            times: (bound(self.from), bound(self.to)),
            ranges: match &plan.lookup {
                Some(lookup) => lookup.ranges(),
                None => u64::from(self.tables.definition.shard_count()),
            },
        })
    }

    /// Whether the index can answer a condition.
    fn has_index(&self, condition: &Condition) -> Result<bool> {
        match condition {
            Condition::All | Condition::Not(_) => Ok(false),
            Condition::Test { .. } => Ok(self.indexed(condition)?.is_some()),
            Condition::And(parts) => {
                for part in parts {
                    if self.has_index(part)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::Or(parts) => {
                for part in parts {
                    if !self.has_index(part)? {
                        return Ok(false);
                    }
                }
                Ok(!parts.is_empty())
            }
        }
    }

    /// What to look up for a condition, and how many events that finds.
    fn lookup(
        &self,
        condition: &Condition,
        totals: &mut Totals,
        tests: &mut Vec<TestDensity>,
    ) -> Result<Option<(Lookup, u64)>> {
        match condition {
            Condition::All | Condition::Not(_) => Ok(None),
            Condition::Test { .. } => {
                let Some((field, forms)) = self.indexed(condition)? else {
                    return Ok(None);
                };
                let events = self.density(field, &forms)?;
                let estimate = match events {
                    Some(events) => events,
                    None => {
                        self.read_rest(totals)?;
                        totals.sum()
                    }
                };
                tests.push(TestDensity {
                    test: condition.to_string(),
                    events,
                    used: true,
                });
                Ok(Some((Lookup::Values(field, forms), estimate)))
            }
            Condition::And(parts) => {
                let mut found = Vec::new();
                for part in parts {
                    let before = tests.len();
                    let answer = self.lookup(part, totals, tests)?;
                    let range = before..tests.len();
                    match answer {
                        Some((lookup, events)) => found.push((lookup, events, range)),
                        // One side of an `or` may have an index although the other has none.
                        None => unused(tests, range),
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
                    match is_used {
                        true => used.push(lookup),
                        false => unused(tests, range),
                    }
                }
                Ok(Some((Lookup::All(used), least)))
            }
            Condition::Or(parts) => {
                let (mut found, mut sum) = (Vec::new(), 0_u64);
                for part in parts {
                    let Some((lookup, events)) = self.lookup(part, totals, tests)? else {
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
