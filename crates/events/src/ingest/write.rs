//! Writes events to the three tables of their type.

use hashbrown::HashMap;
use ostrakon_cell::{BatchWriter, BatchWriterConfig, ColumnUpdate, Error, Mutation, Result};

use crate::layout::{ALL_EVENTS, DELETED, EventRow, index_qualifier, value_row};
use crate::store::Tables;
use crate::value::{FieldType, typed};

/// What happens to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Put,
    Delete,
}

/// Counts by row, by label.
#[derive(Default)]
pub(crate) struct Counts(HashMap<Vec<u8>, HashMap<Vec<u8>, i64>>);

impl Counts {
    fn of_label(&mut self, label: &[u8]) -> &mut HashMap<Vec<u8>, i64> {
        self.0.entry_ref(label).or_default()
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (label, counts) in other.0 {
            let sums = self.of_label(&label);
            if sums.is_empty() {
                *sums = counts;
                continue;
            }
            for (row, count) in counts {
                *sums.entry(row).or_default() += count;
            }
        }
    }

    /// Adds to one count.
    pub(crate) fn add(&mut self, label: &[u8], row: &[u8], count: i64) {
        let sums = self.of_label(label);
        match sums.get_mut(row) {
            Some(sum) => *sum = sum.saturating_add(count),
            None => drop(sums.insert(row.to_vec(), count)),
        }
    }
}

/// Writes changes of one batch.
pub(crate) struct ChangeWriter {
    event: BatchWriter,
    index: BatchWriter,
    counts: Counts,
    batch: i64,
    bin: i64,
    entries: u64,
    mutation: Mutation,
    row: Vec<u8>,
    scratch: Vec<u8>,
}

fn config() -> BatchWriterConfig {
    BatchWriterConfig {
        max_latency: None,
        ..BatchWriterConfig::default()
    }
}

impl ChangeWriter {
    pub(crate) fn new(tables: &Tables, bin: i64, batch: i64) -> Self {
        Self {
            event: BatchWriter::new(tables.event.clone(), config()),
            index: BatchWriter::new(tables.index.clone(), config()),
            counts: Counts::default(),
            batch,
            bin,
            entries: 0,
            mutation: Mutation::default(),
            row: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Writes an event or its deletion. The fields are sorted by name; those with an id are indexed.
    pub(crate) fn event<'a>(
        &mut self,
        change: Change,
        row: &EventRow,
        time: i64,
        label: &[u8],
        fields: impl Iterator<Item = (&'a [u8], &'a [u8], Option<(u16, FieldType)>)>,
    ) -> Result<()> {
        let (mark, one) = match change {
            Change::Put => (&b""[..], 1),
            Change::Delete => (DELETED, -1),
        };
        let update = ColumnUpdate {
            visibility: label,
            timestamp: Some(self.batch),
            value: Some(mark),
            ..ColumnUpdate::default()
        };
        let bin = time - time.rem_euclid(self.bin);
        self.mutation.reset(row);
        self.mutation.update(update)?;
        let qualifier = index_qualifier(row);
        for (name, value, indexed) in fields {
            if change == Change::Put {
                self.mutation.update(ColumnUpdate {
                    qualifier: name,
                    value: Some(value),
                    ..update
                })?;
            }
            if let Some((field, kind)) = indexed
                && let Some(form) = typed(kind, value, &mut self.scratch)
            {
                value_row(&mut self.row, field, form, time);
                self.index.put(
                    &self.row,
                    ColumnUpdate {
                        qualifier: &qualifier,
                        ..update
                    },
                )?;
                value_row(&mut self.row, field, form, bin);
                self.counts.add(label, &self.row, one);
                self.entries += 1;
            }
        }
        value_row(&mut self.row, ALL_EVENTS, b"", bin);
        self.counts.add(label, &self.row, one);
        self.entries += self.mutation.len() as u64;
        self.event.add(&self.mutation)
    }

    /// Waits until the events are durable. Their counts are still to be written.
    pub(crate) fn close(mut self) -> Result<(u64, Counts)> {
        // Both are in progress before the first is awaited.
        self.event.flush()?;
        self.index.flush()?;
        Ok((self.entries, self.counts))
    }

    /// An entry of the index alone, for repairs.
    pub(crate) fn index_entry(
        &mut self,
        change: Change,
        row: &[u8],
        qualifier: &[u8],
        label: &[u8],
    ) -> Result<()> {
        let mark = match change {
            Change::Put => &b""[..],
            Change::Delete => DELETED,
        };
        self.entries += 1;
        let update = ColumnUpdate {
            qualifier,
            visibility: label,
            timestamp: Some(self.batch),
            value: Some(mark),
            ..ColumnUpdate::default()
        };
        self.index.put(row, update)
    }

    /// The counts of the batch, to correct them.
    pub(crate) fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }
}

/// Writes the counts of a batch; returns their number. They are durable then.
pub(crate) fn write_counts(tables: &Tables, counts: Counts, batch: i64) -> Result<u64> {
    let mut writer = BatchWriter::new(tables.aggregate.clone(), config());
    let mut entries = 0;
    for (label, counts) in counts.0 {
        let mut sorted: Vec<(Vec<u8>, i64)> = counts
            .into_iter()
            .filter(|(_, count)| *count != 0)
            .collect();
        sorted.sort_unstable();
        for (row, count) in sorted {
            let update = ColumnUpdate {
                visibility: &label,
                timestamp: Some(batch),
                value: Some(&count.to_be_bytes()),
                ..ColumnUpdate::default()
            };
            writer.put(&row, update)?;
            entries += 1;
        }
    }
    writer
        .close()
        .map_err(|error: Error| error.with("table", tables.aggregate.name()))?;
    Ok(entries)
}
