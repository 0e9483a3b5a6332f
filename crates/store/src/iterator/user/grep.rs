//! `GrepIterator`: entries that contain a term.

use ostrakon_cell::{Batch, IteratorEnvironment, IteratorOptions, Slot};
use regex::bytes::{Regex, RegexBuilder};

use super::filter::{EntryFilter, FilterClass, NEGATE};
use super::options;
use super::regex_filter::broken;
use crate::error::StoreResult;

/// Keeps entries in which some of the selected parts contain the term, byte for byte.
#[derive(Debug, Clone)]
pub struct GrepIterator {
    /// A literal: the library turns it into a vectorised substring search.
    term: Regex,
    row: bool,
    family: bool,
    qualifier: bool,
    visibility: bool,
    value: bool,
}

impl EntryFilter for GrepIterator {
    fn accept(&mut self, batch: &Batch, slot: &Slot) -> bool {
        let found = |wanted: bool, span| wanted && self.term.is_match(batch.bytes(span));
        found(self.value, slot.value)
            || found(self.row, slot.row)
            || found(self.family, slot.family)
            || found(self.qualifier, slot.qualifier)
            || (self.visibility && self.term.is_match(batch.visibility(slot.visibility)))
    }
}

impl FilterClass for GrepIterator {
    const NAMES: &'static [&'static str] =
        &["org.apache.accumulo.core.iterators.user.GrepIterator"];
    const DESCRIPTION: &'static str = "Keeps entries that contain a term, byte for byte. Options: \
         term (required): the bytes to find; matchRow, matchColumnFamily, matchColumnQualifier, \
         matchValue (true) and matchColumnVisibility (false): whether to search this part of an \
         entry; negate (false): keep the other entries instead.";
    const OPTIONS: &'static [&'static str] = &[
        "term",
        "matchRow",
        "matchColumnFamily",
        "matchColumnQualifier",
        "matchColumnVisibility",
        "matchValue",
        NEGATE,
    ];

    fn from_options(
        options: &IteratorOptions,
        _: Option<&IteratorEnvironment>,
    ) -> StoreResult<Self> {
        let term = options::required(options, "term")?;
        Ok(Self {
            term: RegexBuilder::new(&regex::escape(term))
                .build()
                .map_err(|error| broken(&error, "term"))?,
            row: options::flag(options, "matchRow", true)?,
            family: options::flag(options, "matchColumnFamily", true)?,
            qualifier: options::flag(options, "matchColumnQualifier", true)?,
            visibility: options::flag(options, "matchColumnVisibility", false)?,
            value: options::flag(options, "matchValue", true)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::iterator::testing::{MemorySource, entry, init, read_all};

    #[test]
    fn a_term_is_found_where_one_looks() {
        let found = |options: &[(&str, &str)]| {
            let entries = vec![
                entry("a.b", "q", "", 1, "v"),
                entry("aXb", "q", "", 1, "in a.b it"),
                entry("c", "a.b", "", 1, ""),
                entry("d", "q", "a.b", 1, ""),
                entry("e", "q", "", 1, "ab"),
            ];
            let rows: Vec<String> = read_all(
                &mut *init("GrepIterator", options, MemorySource::boxed(entries, 2))
                    .expect("sound"),
            )
            .into_iter()
            .map(|line| line.split('@').next().unwrap_or_default().to_owned())
            .collect();
            rows.join(" ")
        };
        assert_eq!(found(&[("term", "a.b")]), "a.b aXb c");
        assert_eq!(found(&[("term", "a.b"), ("negate", "true")]), "d e");
        assert_eq!(
            found(&[
                ("term", "a.b"),
                ("matchRow", "false"),
                ("matchColumnVisibility", "true")
            ]),
            "aXb c d"
        );
        assert!(init("GrepIterator", &[], MemorySource::boxed(vec![], 1)).is_err());
    }
}
