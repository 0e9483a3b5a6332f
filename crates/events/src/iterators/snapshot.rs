//! Which batches and times a reader sees.

use ostrakon_cell::{Error, IteratorOptions, IteratorSetting, Result};

/// The state of a type at one moment: which batches are committed, and since which time events are kept.
///
/// Entries carry the number of their batch as timestamp, so that a reader tells from an entry alone whether it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The last committed batch.
    pub(crate) committed: i64,
    /// Batches that were begun and never committed, as inclusive ranges.
    pub(crate) aborted: Vec<(i64, i64)>,
    /// Events before this time are gone.
    pub(crate) since: i64,
}

impl Snapshot {
    #[inline]
    pub(crate) fn sees(&self, batch: i64) -> bool {
        batch <= self.committed && !self.is_aborted(batch)
    }

    #[inline]
    pub(crate) fn is_aborted(&self, batch: i64) -> bool {
        !self.aborted.is_empty()
            && self
                .aborted
                .iter()
                .any(|&(first, last)| first <= batch && batch <= last)
    }

    pub(crate) fn aborted_text(&self) -> String {
        let ranges: Vec<String> = self
            .aborted
            .iter()
            .map(|(first, last)| format!("{first}-{last}"))
            .collect();
        ranges.join(",")
    }

    pub(crate) fn read_aborted(text: &str) -> Option<Vec<(i64, i64)>> {
        let range = |range: &str| {
            let (first, last) = range.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        text.split(',')
            .filter(|range| !range.is_empty())
            .map(range)
            .collect()
    }

    /// Adds the options from which [`from_options`](Self::from_options) reads it.
    pub(crate) fn add_to(&self, setting: IteratorSetting) -> IteratorSetting {
        let setting = setting
            .with("committed", self.committed.to_string())
            .with("since", self.since.to_string());
        if self.aborted.is_empty() {
            return setting;
        }
        setting.with("aborted", self.aborted_text())
    }

    pub(crate) fn from_options(options: &IteratorOptions) -> Result<Self> {
        let wrong = |option: &'static str| {
            Error::invalid("the option is missing or malformed").with("option", option)
        };
        let number = |name: &'static str| {
            options
                .get(name)
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| wrong(name))
        };
        let aborted = options.get("aborted").map_or("", String::as_str);
        Ok(Self {
            committed: number("committed")?,
            aborted: Self::read_aborted(aborted).ok_or_else(|| wrong("aborted"))?,
            since: number("since")?,
        })
    }
}
