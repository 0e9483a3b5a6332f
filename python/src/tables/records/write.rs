//! The entries of one batch of records, table by table, in the order of their keys.

use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{Batch, BulkWriter, Error, ErrorKind, KeyRef, Result, Table};

use super::argument::{Labels, Part, Records, Texts};
use super::json::{Members, object};

/// Entries handed to the engine at once.
const BATCH_ENTRIES: usize = 1 << 14;
/// Bytes handed to the engine at once.
const BATCH_BYTES: usize = 4 << 20;

/// What all entries of an import share.
pub(super) struct Shared<'a> {
    pub(super) family: &'a [u8],
    pub(super) timestamp: i64,
    pub(super) stopped: &'a AtomicBool,
}

/// Writes one sorted file. Its entries are visible once [`BulkWriter::finish`] was called.
struct Output<'a> {
    bulk: Box<dyn BulkWriter>,
    batch: Batch,
    shared: &'a Shared<'a>,
    entries: u64,
}

impl<'a> Output<'a> {
    fn new(table: &dyn Table, shared: &'a Shared<'a>) -> Result<Self> {
        Ok(Self {
            bulk: table.bulk_writer()?,
            batch: Batch::new(),
            shared,
            entries: 0,
        })
    }

    fn push(&mut self, row: &[u8], qualifier: &[u8], label: &[u8], value: &[u8]) -> Result<()> {
        let key = KeyRef {
            row,
            family: self.shared.family,
            qualifier,
            visibility: label,
            timestamp: self.shared.timestamp,
            deleted: false,
        };
        self.batch.push(key, value)?;
        self.entries += 1;
        if self.batch.len() >= BATCH_ENTRIES || self.batch.byte_len() >= BATCH_BYTES {
            self.hand_over()?;
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<()> {
        if self.shared.stopped.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::Cancelled,
                "the import was interrupted by a signal; nothing was imported",
            ));
        }
        self.bulk.append(&self.batch)?;
        self.batch.clear();
        Ok(())
    }

    fn end(mut self) -> Result<(Box<dyn BulkWriter>, u64)> {
        self.hand_over()?;
        Ok((self.bulk, self.entries))
    }
}

/// A file that is complete but not part of its table yet, and its number of entries.
pub(super) type Written = (Box<dyn BulkWriter>, u64);

/// Row = record, column = `field|value`.
pub(super) fn main(table: &dyn Table, records: &Records, shared: &Shared<'_>) -> Result<Written> {
    let mut out = Output::new(table, shared)?;
    let mut several = Vec::new();
    for record in &records.order {
        let row = records.id(*record);
        for part in &records.parts {
            several.clear();
            several.extend(part.places.of(*record));
            several.sort_by_key(|entry| part.places.place(*entry));
            for entry in &several {
                let column = part.places.key(part.places.place(*entry));
                out.push(row, column, part.labels.get(*entry), b"1")?;
            }
        }
    }
    out.end()
}

/// Row = `field|value`, column = record.
pub(super) fn transpose(
    table: &dyn Table,
    records: &Records,
    shared: &Shared<'_>,
) -> Result<Written> {
    let mut out = Output::new(table, shared)?;
    for part in &records.parts {
        // A counting sort by value, whose input is in the order of the records' keys.
        let mut ends = vec![0_u32; part.places.keys.len() + 1];
        for entry in 0..part.places.len() {
            ends[part.places.place(entry) as usize + 1] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut sorted = vec![0_u32; part.places.len()];
        for record in &records.order {
            for entry in part.places.of(*record) {
                let next = &mut ends[part.places.place(entry) as usize];
                sorted[*next as usize] = entry as u32;
                *next += 1;
            }
        }
        for entry in sorted {
            let entry = entry as usize;
            let row = part.places.key(part.places.place(entry));
            let record = records.id(part.places.record(entry));
            out.push(row, record, part.labels.get(entry), b"1")?;
        }
    }
    out.end()
}

/// Row = `field|value`, column `Degree`: how often.
pub(super) fn degrees(
    table: &dyn Table,
    records: &Records,
    shared: &Shared<'_>,
) -> Result<Written> {
    let mut out = Output::new(table, shared)?;
    let mut text = itoa::Buffer::new();
    for part in &records.parts {
        for (place, label, count) in counts(part) {
            let row = part.places.key(place);
            let count = text.format(count).as_bytes();
            out.push(row, b"Degree", name(&part.labels, label), count)?;
        }
    }
    out.end()
}

/// Row and column = field: how often.
pub(super) fn fields(table: &dyn Table, records: &Records, shared: &Shared<'_>) -> Result<Written> {
    let mut out = Output::new(table, shared)?;
    let mut parts: Vec<&Part> = records.parts.iter().collect();
    parts.sort_by(|one, other| one.name.cmp(&other.name));
    let mut text = itoa::Buffer::new();
    for part in parts {
        let mut sums = vec![0_u64; part.labels.names.len()];
        for (_, label, count) in counts(part) {
            sums[label as usize] += u64::from(count);
        }
        for (label, sum) in sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0) {
            let count = text.format(sum).as_bytes();
            let label = name(&part.labels, label as u32);
            out.push(&part.name, &part.name, label, count)?;
        }
    }
    out.end()
}

/// Row = record, column `Text`.
pub(super) fn texts(
    table: &dyn Table,
    records: &Records,
    shared: &Shared<'_>,
) -> Result<Option<Written>> {
    let Some((texts, labels)) = &records.texts else {
        return Ok(None);
    };
    let mut out = Output::new(table, shared)?;
    let members: Vec<Members<'_>> = match texts {
        Texts::Given(_) => Vec::new(),
        Texts::Json(fields) => fields.iter().map(Members::new).collect(),
    };
    let mut made = Vec::new();
    for record in &records.order {
        let text = match texts {
            Texts::Given(column) => column.get(*record as usize),
            Texts::Json(_) => {
                object(&members, *record, &mut made);
                &made
            }
        };
        let label = labels.get(*record as usize);
        out.push(records.id(*record), b"Text", label, text)?;
    }
    out.end().map(Some)
}

fn name(labels: &Labels, at: u32) -> &[u8] {
    &labels.names[at as usize]
}

/// How often each column has each label, sorted.
fn counts(part: &Part) -> Vec<(u32, u32, u32)> {
    if part.labels.one() {
        let mut counts = vec![0_u32; part.places.keys.len()];
        for entry in 0..part.places.len() {
            counts[part.places.place(entry) as usize] += 1;
        }
        let counts = counts.into_iter().enumerate();
        let found = counts.filter(|(_, count)| *count > 0);
        return found.map(|(at, count)| (at as u32, 0, count)).collect();
    }
    let mut pairs: Vec<(u32, u32)> = (0..part.places.len())
        .map(|entry| (part.places.place(entry), part.labels.rank(entry)))
        .collect();
    pairs.sort_unstable();
    let mut found: Vec<(u32, u32, u32)> = Vec::new();
    for (place, label) in pairs {
        match found.last_mut() {
            Some((last, of, count)) if (*last, *of) == (place, label) => *count += 1,
            _ => found.push((place, label, 1)),
        }
    }
    found
}
