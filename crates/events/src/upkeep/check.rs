//! Compares index and counts with the events.
//!
//! Each event says which entries the index and the counts should have. For every field and bin, the sum of the hashes
//! of what should be there is compared with the sum of the hashes of what is there: memory does not grow with the
//! events, and sums of 128 bits do not agree by chance.

use std::collections::BTreeMap;

use ostrakon_cell::{Batch, Range, Result, Scan};

use crate::condition::Condition;
use crate::event_type::EventType;
use crate::iterators::{
    EventScan, EventTable, Snapshot, aggregate_scan, event_scan, index_scan, runs,
};
use crate::layout::{
    ALL_EVENTS, EventRow, event_time, index_qualifier, value_part, value_row, value_time,
};
use crate::ledger;
use crate::query::Query;
use crate::store::{EventStore, Reading, Tables};
use crate::value::typed;

/// A place where a table does not say what the events say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// `index` or `aggregate`.
    pub table: &'static str,
    /// The field; empty for the count of all events, `id N` if the definition has no field with the id of the entries.
    pub field: String,
    /// The start of the bin.
    pub bin: i64,
    /// How many events there should be.
    pub expected: i64,
    /// How many there are.
    pub found: i64,
}

/// What was checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventCheck {
    /// Events read.
    pub events: u64,
    /// Entries of the index read.
    pub index_entries: u64,
    /// Counts read.
    pub counts: u64,
    /// Where the tables disagree; empty if they agree.
    pub disagreements: Vec<Disagreement>,
    /// The first and the last batch that the tables may have and the registry does not know, because a part of it was
    /// lost. Nothing of them counts until [`EventStore::recover`] takes them in.
    pub unknown_batches: Option<(i64, i64)>,
}

/// Before the id of a field without a name. No name of a field has a space.
const UNNAMED: &str = "id ";

#[derive(Default)]
struct Sum {
    hashes: u128,
    expected: i64,
    found: i64,
}

type Sums = BTreeMap<(bool, u16, i64), Sum>;

impl EventStore {
    /// Compares what the reader of `query` may see of the three tables, all as of one moment; the rest of the query does
    /// not matter.
    ///
    /// # Errors
    /// No such type; those of the tables.
    pub fn check(&self, query: &Query) -> Result<EventCheck> {
        ledger::read_unsettled(&query.event_type, || {
            let tables = self.tables(&query.event_type)?;
            let (state, unknown_batches) = tables.state_and_unknown()?;
            let snapshot = state.snapshot;
            let check = EventCheck {
                unknown_batches,
                ..tables.check(query, &snapshot)?
            };
            Ok((check, tables.registry, snapshot))
        })
    }
}

impl Tables {
    /// Compares the tables as of one snapshot, whatever is written meanwhile.
    fn check(&self, query: &Query, snapshot: &Snapshot) -> Result<EventCheck> {
        let tables = self;
        let bin = tables.definition.bin_micros()?;
        let mut check = EventCheck::default();
        let mut sums = Sums::new();
        let mut row = Vec::new();
        tables.each_event(
            (query, snapshot),
            &[Range::all()],
            |event, label, fields| {
                check.events += 1;
                let time = event_time(event).unwrap_or_default();
                let start = time - time.rem_euclid(bin);
                let qualifier = index_qualifier(event);
                each_entry(tables, fields, |field, form| {
                    if field != ALL_EVENTS {
                        value_row(&mut row, field, form, time);
                        let sum = sums.entry((true, field, start)).or_default();
                        sum.hashes = sum.hashes.wrapping_add(hash(&row, &qualifier, label));
                        sum.expected += 1;
                    }
                    value_row(&mut row, field, form, start);
                    let sum = sums.entry((false, field, start)).or_default();
                    sum.hashes = sum.hashes.wrapping_add(hash(&row, b"", label));
                    sum.expected += 1;
                });
                Ok(())
            },
        )?;
        let mut batch = Batch::new();
        let mut scan = tables.index_of_all(query, snapshot)?;
        while scan.next_batch(&mut batch)? {
            check.index_entries += batch.len() as u64;
            for entry in batch.iter() {
                let time = value_time(entry.key.row).unwrap_or_default();
                let key = (true, field_of(entry.key.row), time - time.rem_euclid(bin));
                let sum = sums.entry(key).or_default();
                let hash = hash(entry.key.row, entry.key.qualifier, entry.key.visibility);
                sum.hashes = sum.hashes.wrapping_sub(hash);
                sum.found += 1;
            }
        }
        let mut scan = tables.counts_of_all(query, snapshot)?;
        while scan.next_batch(&mut batch)? {
            check.counts += batch.len() as u64;
            for entry in batch.iter() {
                let time = value_time(entry.key.row).unwrap_or_default();
                let count = entry
                    .value
                    .try_into()
                    .map(i64::from_be_bytes)
                    .unwrap_or_default();
                let sum = sums
                    .entry((false, field_of(entry.key.row), time))
                    .or_default();
                let hash = hash(entry.key.row, b"", entry.key.visibility);
                sum.hashes = sum.hashes.wrapping_sub(hash.wrapping_mul(count as u128));
                // Of any labels, and shown only.
                sum.found = sum.found.saturating_add(count);
            }
        }
        for ((index, field, bin), sum) in sums {
            if sum.hashes != 0 {
                check.disagreements.push(Disagreement {
                    table: if index { "index" } else { "aggregate" },
                    field: shown_field(&tables.definition, field),
                    bin,
                    expected: sum.expected,
                    found: sum.found,
                });
            }
        }
        Ok(check)
    }
}

/// How a field is shown.
fn shown_field(definition: &EventType, id: u16) -> String {
    match definition.name_of(id) {
        name if name.is_empty() && id != ALL_EVENTS => format!("{UNNAMED}{id}"),
        name => name,
    }
}

/// The id of a field that is shown like this.
pub(super) fn id_of_shown(definition: &EventType, shown: &str) -> Option<u16> {
    match (shown, shown.strip_prefix(UNNAMED)) {
        ("", _) => Some(ALL_EVENTS),
        (_, Some(id)) => id.parse().ok(),
        (name, None) => definition.field(name)?.id,
    }
}

/// The field of a row of the index or the aggregate table.
pub(super) fn field_of(row: &[u8]) -> u16 {
    let id = value_part(row).and_then(|part| part.first_chunk().copied());
    id.map_or(u16::MAX, u16::from_be_bytes)
}

fn hash(row: &[u8], qualifier: &[u8], label: &[u8]) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for part in [row, qualifier, label] {
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let bytes = hasher.finalize();
    u128::from_be_bytes(bytes.as_bytes().first_chunk().copied().unwrap_or_default())
}

/// Calls `visit` with each field and value that the index and the counts have for an event, [`ALL_EVENTS`] included.
pub(super) fn each_entry(tables: &Tables, fields: &[u8], mut visit: impl FnMut(u16, &[u8])) {
    visit(ALL_EVENTS, b"");
    let mut scratch = Vec::new();
    let mut parts = runs(fields);
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        let Some((field, kind)) = std::str::from_utf8(name)
            .ok()
            .and_then(|name| tables.definition.index_of(name))
        else {
            continue;
        };
        if let Some(form) = typed(kind, value, &mut scratch) {
            visit(field, form);
        }
    }
}

impl Tables {
    /// Calls `visit` with the row, the label and the fields of each event.
    pub(super) fn each_event(
        &self,
        (query, snapshot): (&Query, &Snapshot),
        ranges: &[Range],
        mut visit: impl FnMut(&EventRow, &[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let iterator = event_scan(&EventScan {
            snapshot,
            condition: &Condition::All,
            types: Vec::new(),
            fields: None,
            from: i64::MIN,
            to: i64::MAX,
            report: false,
        });
        let mut scan = self.scan(EventTable::Event, ranges, reading(query, iterator))?;
        let mut batch = Batch::new();
        while scan.next_batch(&mut batch)? {
            for entry in batch.iter() {
                if let Ok(row) = EventRow::try_from(entry.key.row) {
                    visit(&row, entry.key.visibility, entry.value)?;
                }
            }
        }
        Ok(())
    }

    fn index_of_all(&self, query: &Query, snapshot: &Snapshot) -> Result<Box<dyn Scan>> {
        let iterator = index_scan(snapshot, i64::MIN, i64::MAX);
        self.scan(EventTable::Index, &[Range::all()], reading(query, iterator))
    }

    fn counts_of_all(&self, query: &Query, snapshot: &Snapshot) -> Result<Box<dyn Scan>> {
        let iterator = aggregate_scan(snapshot, i64::MIN, i64::MAX);
        self.scan(
            EventTable::Aggregate,
            &[Range::all()],
            reading(query, iterator),
        )
    }
}

pub(super) fn reading(query: &Query, iterator: ostrakon_cell::IteratorSetting) -> Reading<'_> {
    Reading {
        authorizations: &query.authorizations,
        iterator,
        columns: ostrakon_cell::ColumnSelection::all(),
        ordered: true,
        batch: ostrakon_cell::BatchLimit::default(),
        interrupt: query.interrupt.as_ref(),
    }
}
