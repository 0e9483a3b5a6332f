//! What a broken table makes of updates, ranges and options.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ostrakon_cell::{
    Authorizations, Batch, Column, ColumnSelection, ColumnUpdate, Entry, EntryRef, Key, KeyPart,
    Mutation, MutationBatch, Range, Result, ScanOptions, VisibilityExpression,
};

use super::faults::Fault;
use super::table::BrokenTable;

impl BrokenTable {
    pub(super) fn is(&self, fault: Fault) -> bool {
        self.source.is(fault)
    }

    /// The updates of a batch as the broken source understands them, mutation by mutation.
    pub(super) fn twist(&self, batch: &MutationBatch) -> Vec<Vec<Update>> {
        let mut mutations: Vec<Vec<Update>> = Vec::new();
        for (_, update) in batch.updates() {
            if update.first {
                mutations.push(Vec::new());
            }
            let mutation = mutations.last_mut().unwrap();
            let mut key = Key {
                row: update.row.to_vec(),
                family: update.family.to_vec(),
                qualifier: update.qualifier.to_vec(),
                visibility: update.visibility.to_vec(),
                timestamp: update.timestamp.unwrap_or(0),
                deleted: update.deleted,
            };
            let mut timestamp = update.timestamp;
            let mut value = update.value.to_vec();
            match self.source.fault {
                Fault::DropsNul if key.qualifier.ends_with(b"\0") => {
                    key.qualifier.pop();
                }
                Fault::CutsLongMutations if mutation.len() >= 500 => continue,
                Fault::CutsLongValues => value.truncate(1 << 16),
                Fault::SecondsForMillis => timestamp = timestamp.or(Some(1_700_000_000)),
                Fault::LogicalStandsStill if self.logical => timestamp = timestamp.or(Some(1)),
                Fault::ClampsTimestamps => timestamp = timestamp.map(|at| at.max(0)),
                Fault::ForgetsDeletes if key.deleted => continue,
                Fault::IgnoresLabelsOfDeletes if key.deleted => {
                    let labelled = Key {
                        visibility: b"a".to_vec(),
                        ..key.clone()
                    };
                    mutation.push((labelled, timestamp, Vec::new()));
                }
                Fault::FlushRevivesDeleted if key.deleted => {
                    self.source.deleted.lock().push(key.clone());
                }
                Fault::StripsBrokenLabels
                    if VisibilityExpression::parse(&key.visibility).is_err() =>
                {
                    key.visibility.clear();
                }
                _ => {}
            }
            mutation.push((key, timestamp, value));
        }
        if self.is(Fault::FirstWins) {
            mutations.reverse();
        }
        mutations
    }

    pub(super) fn twist_ranges(&self, ranges: &[Range]) -> Vec<Range> {
        let mut ranges = ranges.to_vec();
        match self.source.fault {
            Fault::NoRangeMeansAll if ranges.is_empty() => ranges.push(Range::all()),
            Fault::FirstThousandRanges => ranges.truncate(1_000),
            Fault::IgnoresStartsInColumns | Fault::EndsAreInclusive => {
                for range in &mut ranges {
                    let (mut start, mut end) = (range.start().cloned(), range.end().cloned());
                    let mut inclusive = range.end_inclusive();
                    if self.is(Fault::EndsAreInclusive) {
                        end = end.map(|end| end.following(KeyPart::Row));
                        inclusive = false;
                    } else if let Some(start) = &mut start {
                        start.timestamp = i64::MAX;
                    }
                    *range = Range::keys(start, true, end, inclusive).unwrap();
                }
            }
            _ => {}
        }
        ranges
    }

    pub(super) fn twist_options(&self, options: &ScanOptions) -> ScanOptions {
        let mut options = options.clone();
        match self.source.fault {
            Fault::IgnoresLabels => {
                options.authorizations = Authorizations::new(["a", "b", "c"]).unwrap();
            }
            Fault::IgnoresQualifiers => {
                let families = options.columns.columns().iter();
                options.columns = ColumnSelection::new(
                    families.map(|column| Column::family(column.family.clone())),
                );
            }
            Fault::IgnoresScanIterators => options.iterators.clear(),
            Fault::IgnoresScanOptions => options.iterator_options.clear(),
            Fault::IgnoresSamplers => options.sampler = None,
            _ => {}
        }
        options
    }

    /// What the table shows for `ranges`.
    pub(super) fn read(&self, ranges: &[Range], options: &ScanOptions) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        let parts: Vec<&[Range]> = if self.is(Fault::RepeatsOverlaps) {
            ranges.chunks(1).collect()
        } else {
            vec![ranges]
        };
        for part in parts {
            let mut scan = self.inner.scan(part, options)?;
            let mut batch = Batch::new();
            while scan.next_batch(&mut batch)? {
                found.extend(batch.iter().map(EntryRef::to_entry));
            }
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }
}

/// Key, the timestamp given if any, and value of one update.
pub(super) type Update = (Key, Option<i64>, Vec<u8>);

pub(super) fn encode(mutation: &[Update]) -> Result<Mutation> {
    let mut encoded = Mutation::new(mutation.first().map_or(Vec::new(), |one| one.0.row.clone()));
    for (key, timestamp, value) in mutation {
        encoded.update(ColumnUpdate {
            family: &key.family,
            qualifier: &key.qualifier,
            visibility: &key.visibility,
            timestamp: *timestamp,
            value: (!key.deleted).then_some(value.as_slice()),
        })?;
    }
    Ok(encoded)
}
