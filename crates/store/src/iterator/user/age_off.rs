//! `AgeOffFilter`: drops entries above an age.

use ostrakon_cell::{Batch, Error, IteratorEnvironment, IteratorOptions, IteratorSetting, Slot};

use super::filter::{EntryFilter, FilterClass, NEGATE};
use super::options;
use crate::error::StoreResult;

/// Drops entries whose timestamp is more than `ttl` milliseconds before `now`.
#[derive(Debug, Clone, Copy)]
pub struct AgeOffFilter {
    now: i64,
    ttl: i64,
}

impl AgeOffFilter {
    /// Both in milliseconds, `now` since 1970.
    #[must_use]
    pub fn new(now: i64, ttl: i64) -> Self {
        Self { now, ttl }
    }
}

/// The shortest time to live, in milliseconds, among the filters of this class in `settings` that
/// use the present time.
#[must_use]
pub fn time_to_live(settings: &[IteratorSetting]) -> Option<i64> {
    let filters = settings.iter().filter_map(|setting| {
        let short = |class: &str| class.rsplit('.').next().map(str::to_owned);
        let mut names = AgeOffFilter::NAMES.iter();
        let is_age_off = names.any(|known| short(known) == short(&setting.class));
        let keeps_the_old = options::flag(&setting.options, NEGATE, false).ok()?;
        // With a fixed time nothing ages off later.
        let is_fixed = options::text(&setting.options, "currentTime").is_some();
        if !is_age_off || keeps_the_old || is_fixed {
            return None;
        }
        options::number(&setting.options, "ttl").ok().flatten()
    });
    filters.min()
}

impl EntryFilter for AgeOffFilter {
    fn accept(&mut self, _: &Batch, slot: &Slot) -> bool {
        self.now.saturating_sub(slot.timestamp) <= self.ttl
    }
}

impl FilterClass for AgeOffFilter {
    const NAMES: &'static [&'static str] =
        &["org.apache.accumulo.core.iterators.user.AgeOffFilter"];
    const DESCRIPTION: &'static str = "Drops entries older than a time to live. Options: ttl \
         (required): the time to live in milliseconds; currentTime (the time at which the scan or \
         compaction began): the present, in milliseconds since 1970; negate (false): keep the old \
         entries instead.";
    const OPTIONS: &'static [&'static str] = &["ttl", "currentTime", NEGATE];

    fn from_options(
        options: &IteratorOptions,
        environment: Option<&IteratorEnvironment>,
    ) -> StoreResult<Self> {
        options::required(options, "ttl")?;
        let ttl = options::number(options, "ttl")?.unwrap_or(0);
        if ttl < 0 {
            return Err(
                Error::invalid("a time to live is 0 or more milliseconds").with("given", ttl)
            );
        }
        let now = options::number(options, "currentTime")?
            .or(environment.map(|environment| environment.now_millis));
        Ok(Self::new(now.unwrap_or(0), ttl))
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::Filter;
    use super::*;
    use crate::iterator::testing::{MemorySource, delete, init, put, read_all};

    #[test]
    fn entries_age_off_one_millisecond_after_their_time() {
        let entries = vec![
            put("a", 91, ""),
            put("a", 90, ""),
            put("a", 89, ""),
            delete("b", 1),
        ];
        let source = || MemorySource::boxed(entries.clone(), 2);
        let filter = AgeOffFilter::new(100, 10);
        assert_eq!(
            read_all(&mut Filter::new(source(), filter, false)),
            ["a@91=", "a@90=", "b@1-"]
        );
        assert_eq!(
            read_all(&mut Filter::new(source(), filter, true)),
            ["a@89=", "b@1-"]
        );
    }

    #[test]
    fn the_shortest_time_to_live_counts() {
        let filter = |options: &[(&str, &str)]| {
            let setting = IteratorSetting::new(10, "age", AgeOffFilter::NAMES[0]);
            let with = |setting: IteratorSetting, (name, value): &(&str, &str)| {
                setting.with(*name, *value)
            };
            options.iter().fold(setting, with)
        };
        let short_name = IteratorSetting::new(9, "old", "AgeOffFilter").with("ttl", "30");
        let other = IteratorSetting::new(8, "x", "GrepIterator").with("ttl", "1");
        assert_eq!(time_to_live(&[]), None);
        assert_eq!(time_to_live(&[other.clone(), filter(&[])]), None);
        assert_eq!(
            time_to_live(&[short_name, filter(&[("ttl", "40")]), other]),
            Some(30)
        );
        assert_eq!(
            time_to_live(&[filter(&[("ttl", "40"), ("negate", "true")])]),
            None
        );
        assert_eq!(
            time_to_live(&[filter(&[("ttl", "40"), ("currentTime", "9")])]),
            None
        );
    }

    #[test]
    fn time_comes_from_the_environment_unless_given() {
        let entries = vec![put("a", 5, "")];
        let left = |options: &[(&str, &str)]| {
            let source = MemorySource::boxed(entries.clone(), 2);
            read_all(&mut *init("AgeOffFilter", options, source).expect("sound")).len()
        };
        assert_eq!(left(&[("ttl", "1")]), 1, "the test's time is 0");
        assert_eq!(left(&[("ttl", "1"), ("currentTime", "7")]), 0);
        let refused = |options: &[(&str, &str)]| {
            init("AgeOffFilter", options, MemorySource::boxed(vec![], 1)).is_err()
        };
        assert!(refused(&[]) && refused(&[("ttl", "soon")]) && refused(&[("ttl", "-1")]));
    }
}
