//! How often situations came up that a test is about: a generator that avoids one finds nothing there.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

use ostrakon_cell::{Key, KeyPart};

use super::content::{Content, first_of_column};

/// Situations and how often each came up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<String, u64>);

/// Where an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Written,
    Imported,
}

impl Coverage {
    /// It came up once more.
    pub fn add(&mut self, situation: impl Into<String>) {
        self.add_many(situation, 1);
    }

    /// It came up so many times more.
    pub fn add_many(&mut self, situation: impl Into<String>, times: u64) {
        *self.0.entry(situation.into()).or_default() += times;
    }

    /// Takes another's counts over.
    pub fn merge(&mut self, other: &Self) {
        for (situation, times) in &other.0 {
            self.add_many(situation.as_str(), *times);
        }
    }

    /// Those of `wanted` that never came up.
    #[must_use]
    pub fn missing<'a>(&self, wanted: &[&'a str]) -> Vec<&'a str> {
        let times = |situation: &str| self.0.get(situation).copied().unwrap_or(0);
        let mut missing = wanted.to_vec();
        missing.retain(|situation| times(situation) == 0);
        missing
    }

    /// Counts how an entry stands to those that its column has already.
    pub(super) fn note(&mut self, content: &Content, key: &Key, origin: Origin) {
        let from = Bound::Included((first_of_column(key), Reverse(u64::MAX)));
        let column = content
            .range((from, Bound::Unbounded))
            .take_while(|((other, _), _)| other.as_ref().same(key.as_ref(), KeyPart::Visibility));
        let what = if key.deleted { "deletes" } else { "puts" };
        for ((other, _), _) in column {
            let place = match key.timestamp.cmp(&other.timestamp) {
                Ordering::Less => "below",
                Ordering::Equal => "at the time of",
                Ordering::Greater => "above",
            };
            let whose = if other.deleted { "a delete" } else { "a put" };
            let origin = match origin {
                Origin::Written => "",
                Origin::Imported => "imported ",
            };
            self.add(format!("{origin}{what} {place} {whose}"));
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (situation, times) in &self.0 {
            writeln!(f, "{times:>9}  {situation}")?;
        }
        Ok(())
    }
}
