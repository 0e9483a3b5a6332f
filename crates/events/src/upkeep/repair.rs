//! Makes index and counts say what the events say.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_cell::{Batch, Error, Range, Result};

use super::EventCheck;
use super::check::{each_entry, field_of, id_of_shown, reading};
use super::delete::in_batch;
use crate::ingest::{Change, ChangeWriter, write_counts};
use crate::iterators::{EventTable, Snapshot, aggregate_scan, index_scan};
use crate::layout::{ALL_EVENTS, event_range, event_time, index_qualifier, value_row};
use crate::query::Query;
use crate::store::{EventStore, Tables};

/// What was repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repair {
    /// Entries that the index lacked.
    pub added: u64,
    /// Entries of the index without an event.
    pub removed: u64,
    /// Counts that were wrong.
    pub counts: u64,
}

/// An entry of the index: row, qualifier, label.
type IndexEntry = (Vec<u8>, Vec<u8>, Vec<u8>);

/// What should be in a bin, and what is.
#[derive(Default)]
struct Contents {
    index: BTreeSet<IndexEntry>,
    counts: BTreeMap<(Vec<u8>, Vec<u8>), i64>,
}

impl EventStore {
    /// Repairs what a [`check`](Self::check) has found. Events are not changed. Batches that the registry does not know
    /// are [taken in](Self::recover) first, and the tables are checked again if there are any. Holds the index entries
    /// of one bin in memory.
    ///
    /// # Errors
    /// No such type; those of the tables; another writer of the type has started.
    pub fn repair(&self, query: &Query, found: &EventCheck) -> Result<Repair> {
        let checked;
        let found = match self.recover(&query.event_type)? {
            Some(_) => {
                checked = self.check(query)?;
                &checked
            }
            None => found,
        };
        let tables = self.tables(&query.event_type)?;
        let bins: BTreeSet<i64> = found.disagreements.iter().map(|wrong| wrong.bin).collect();
        let mut repair = Repair::default();
        for bin in bins {
            let fields: BTreeSet<u16> = found
                .disagreements
                .iter()
                .filter(|wrong| wrong.bin == bin)
                .filter_map(|wrong| id_of_shown(&tables.definition, &wrong.field))
                .collect();
            tables.repair_bin(query, bin, &fields, &mut repair)?;
        }
        Ok(repair)
    }
}

impl Tables {
    fn repair_bin(
        &self,
        query: &Query,
        bin: i64,
        fields: &BTreeSet<u16>,
        repair: &mut Repair,
    ) -> Result<()> {
        let span = self.definition.bin_micros()?;
        in_batch(self, |state| {
            // Read once the batch has begun: what another repair mends is not mended twice.
            // Both are of the snapshot before the batch. If another program writes meanwhile, the batch is not committed.
            let (read, times) = ((query, &state.snapshot), (bin, bin.saturating_add(span)));
            let expected = self.expected(read, times, fields)?;
            let found = self.found(read, times, fields)?;
            let batch = state.begun;
            let mut writer = ChangeWriter::new(self, span, batch);
            for (row, qualifier, label) in expected.index.difference(&found.index) {
                writer.index_entry(Change::Put, row, qualifier, label)?;
                repair.added += 1;
            }
            for (row, qualifier, label) in found.index.difference(&expected.index) {
                writer.index_entry(Change::Delete, row, qualifier, label)?;
                repair.removed += 1;
            }
            let keys: BTreeSet<_> = expected.counts.keys().chain(found.counts.keys()).collect();
            for key in keys {
                let of = |contents: &Contents| contents.counts.get(key).copied().unwrap_or(0);
                let missing = of(&expected).checked_sub(of(&found)).ok_or_else(|| {
                    Error::invalid("a stored count is too far from the right one to be repaired")
                        .with("data", "a value")
                        .with("count", of(&found))
                })?;
                if missing != 0 {
                    writer.counts().add(&key.1, &key.0, missing);
                    repair.counts += 1;
                }
            }
            let (_, counts) = writer.close()?;
            write_counts(self, counts, batch)?;
            Ok(())
        })
    }

    fn expected(
        &self,
        read: (&Query, &Snapshot),
        (from, to): (i64, i64),
        wanted: &BTreeSet<u16>,
    ) -> Result<Contents> {
        let mut contents = Contents::default();
        let shards = 0..self.definition.shard_count();
        let ranges: Vec<Range> = shards.map(|shard| event_range(shard, from, to)).collect();
        let mut row = Vec::new();
        self.each_event(read, &ranges, |event, label, fields| {
            let qualifier = index_qualifier(event);
            each_entry(self, fields, |field, form| {
                if !wanted.contains(&field) {
                    return;
                }
                if field != ALL_EVENTS {
                    value_row(&mut row, field, form, event_time(event).unwrap_or_default());
                    contents
                        .index
                        .insert((row.clone(), qualifier.to_vec(), label.to_vec()));
                }
                value_row(&mut row, field, form, from);
                *contents
                    .counts
                    .entry((row.clone(), label.to_vec()))
                    .or_default() += 1;
            });
            Ok(())
        })?;
        Ok(contents)
    }

    fn found(
        &self,
        (query, snapshot): (&Query, &Snapshot),
        (from, to): (i64, i64),
        wanted: &BTreeSet<u16>,
    ) -> Result<Contents> {
        let mut contents = Contents::default();
        let ranges: Vec<Range> = wanted
            .iter()
            .map(|field| Range::row_prefix(&field.to_be_bytes()))
            .collect();
        let mut batch = Batch::new();
        let iterator = index_scan(snapshot, from, to);
        let mut scan = self.scan(EventTable::Index, &ranges, reading(query, iterator))?;
        while scan.next_batch(&mut batch)? {
            for entry in batch
                .iter()
                .filter(|entry| wanted.contains(&field_of(entry.key.row)))
            {
                let key = entry.key;
                contents.index.insert((
                    key.row.to_vec(),
                    key.qualifier.to_vec(),
                    key.visibility.to_vec(),
                ));
            }
        }
        let iterator = aggregate_scan(snapshot, from, to);
        let mut scan = self.scan(EventTable::Aggregate, &ranges, reading(query, iterator))?;
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                let count = entry
                    .value
                    .try_into()
                    .map(i64::from_be_bytes)
                    .unwrap_or_default();
                contents.counts.insert(
                    (entry.key.row.to_vec(), entry.key.visibility.to_vec()),
                    count,
                );
            }
        }
        Ok(contents)
    }
}
