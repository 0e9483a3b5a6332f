//! `ReqVisFilter`: no entry without a label.

use ostrakon_cell::{Batch, IteratorEnvironment, IteratorOptions, Slot};

use super::filter::{EntryFilter, FilterClass, NEGATE};
use crate::error::StoreResult;

/// Drops entries whose visibility is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReqVisFilter;

impl EntryFilter for ReqVisFilter {
    fn accept(&mut self, _: &Batch, slot: &Slot) -> bool {
        // Id 0 is the empty label in every batch.
        slot.visibility != 0
    }
}

impl FilterClass for ReqVisFilter {
    const NAMES: &'static [&'static str] =
        &["org.apache.accumulo.core.iterators.user.ReqVisFilter"];
    const DESCRIPTION: &'static str = "Drops entries without a visibility label. Option: negate \
         (false): keep only entries without a label.";
    const OPTIONS: &'static [&'static str] = &[NEGATE];

    fn from_options(_: &IteratorOptions, _: Option<&IteratorEnvironment>) -> StoreResult<Self> {
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use crate::iterator::testing::{MemorySource, entry, init, read_all};

    #[test]
    fn unlabelled_entries_are_dropped() {
        let source = || {
            MemorySource::boxed(
                vec![
                    entry("a", "q", "", 1, "bare"),
                    entry("b", "q", "A", 1, "labelled"),
                ],
                5,
            )
        };
        let mut filter = init("ReqVisFilter", &[], source()).expect("sound");
        assert_eq!(read_all(&mut *filter), ["b@1=labelled"]);
        let mut negated = init("ReqVisFilter", &[("negate", "true")], source()).expect("sound");
        assert_eq!(read_all(&mut *negated), ["a@1=bare"]);
    }
}
