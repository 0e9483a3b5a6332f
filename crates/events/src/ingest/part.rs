//! Events that are not written yet.

use std::sync::Arc;

use hashbrown::HashMap;
use ostrakon_cell::{Result, VisibilityExpression};

use super::columns::{Columns, Known};
use super::origin::Origin;
use super::write::{Change, ChangeWriter};
use crate::layout::{EventRow, event_row, shard_of};
use crate::record::Record;
use crate::time::show_time;
use crate::value::typed;

/// Bytes that are hashed at once.
const HASHED_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy)]
struct Event {
    row: EventRow,
    time: i64,
    label: u32,
    fields: (u32, u32),
}

/// Events with their fields, in buffers. They are made by one thread.
#[derive(Default)]
pub(super) struct Part {
    events: Vec<Event>,
    /// The known field, and where its value lies.
    fields: Vec<(u32, u32, u32)>,
    bytes: Vec<u8>,
    labels: Vec<Vec<u8>>,
    label_ids: HashMap<Vec<u8>, u32>,
    /// Bytes of the labels, which are held twice.
    label_bytes: usize,
    /// What the numbers of fields mean, once the part is complete.
    known: Arc<Vec<Known>>,
    scratch: Vec<u8>,
}

impl Part {
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The memory that the events take: also that of fields without a value, of which a short line may have many.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
            + self.events.len() * size_of::<Event>()
            + self.fields.len() * size_of::<(u32, u32, u32)>()
            + self.label_bytes
    }

    pub(super) fn labels(&self) -> impl Iterator<Item = &[u8]> {
        self.labels.iter().map(Vec::as_slice)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = EventRow> {
        self.events.iter().map(|event| event.row)
    }

    /// Notes what the numbers of fields mean: the part is complete.
    pub(super) fn complete(&mut self, columns: &Columns) {
        self.known = columns.known();
    }

    /// Adds a record, or says why it is not an event.
    pub(super) fn add(
        &mut self,
        columns: &Columns,
        record: &Record,
        since: i64,
        origin: Origin,
    ) -> Result<(), String> {
        let (fields, bytes) = (self.fields.len(), self.bytes.len());
        let added = self.try_add(columns, record, since, origin);
        if added.is_err() {
            self.fields.truncate(fields);
            self.bytes.truncate(bytes);
        }
        added
    }

    fn try_add(
        &mut self,
        columns: &Columns,
        record: &Record,
        since: i64,
        origin: Origin,
    ) -> Result<(), String> {
        let first = self.fields.len();
        let (mut time, mut label) = (None, None);
        for (name, value) in record.fields() {
            let id = columns.of_source(name)?;
            let Some(known) = columns.get(id) else {
                return Err("the record has a field that is not known".into());
            };
            let shown = || {
                let short: Vec<u8> = value.iter().take(40).copied().collect();
                let name = String::from_utf8_lossy(&known.name).into_owned();
                (name, ostrakon_cell::Escaped(&short).to_string())
            };
            if known.is_time {
                time = crate::time::parse_time(value);
                if time.is_none() {
                    let (name, value) = shown();
                    return Err(format!(
                        "the field `{name}` is not a time between the years -9999 and 9999: {value}"
                    ));
                }
            } else if !known.kind.is_text() && typed(known.kind, value, &mut self.scratch).is_none()
            {
                let (name, value) = shown();
                return Err(format!(
                    "the field `{name}` is not of type {}: {value}",
                    known.kind.as_str()
                ));
            }
            // An empty field is no label: the type says what applies.
            if known.is_label && !value.is_empty() {
                label = Some(value);
            }
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value);
            if u32::try_from(self.bytes.len()).is_err() {
                return Err("the record is too large".into());
            }
            self.fields
                .push((id, start as u32, self.bytes.len() as u32));
        }
        let time = time.ok_or("the field with the time is missing")?;
        let time = time - time.rem_euclid(columns.resolution);
        if !crate::time::is_supported(time) {
            return Err("the time is before the year -9999".into());
        }
        if time < since {
            return Err(format!(
                "the event is older than what is kept: {}",
                show_time(time)
            ));
        }
        let label = match (label, &columns.label) {
            (Some(label), _) => label,
            (None, Some(label)) => label.as_slice(),
            (None, None) if columns.has_label_field => {
                return Err("the field with the label is missing or empty, and the type has no `visibility` for this case".into());
            }
            (None, None) => b"",
        };
        let label = self.label_id(label)?;
        let row = self.finish_fields(columns, first, (time, label), origin)?;
        self.events.push(Event {
            row,
            time,
            label,
            fields: (first as u32, self.fields.len() as u32),
        });
        Ok(())
    }

    fn label_id(&mut self, label: &[u8]) -> Result<u32, String> {
        if let Some(id) = self.label_ids.get(label) {
            return Ok(*id);
        }
        VisibilityExpression::parse(label)
            .map_err(|error| format!("the label is not valid: {error}"))?;
        let id = self.labels.len() as u32;
        self.label_bytes += 2 * (label.len() + size_of::<Vec<u8>>());
        self.labels.push(label.to_vec());
        self.label_ids.insert(label.to_vec(), id);
        Ok(id)
    }

    /// Sorts the fields by name, and makes the row. The hash depends on the fields and the label, and neither on the
    /// order nor on the type. If the type keeps equal records, it also depends on the place of the record.
    fn finish_fields(
        &mut self,
        columns: &Columns,
        first: usize,
        (time, label): (i64, u32),
        origin: Origin,
    ) -> Result<EventRow, String> {
        let fields = self.fields.get_mut(first..).unwrap_or_default();
        columns.sort(fields, |field| field.0);
        let mut hash = EventHash::new(&mut self.scratch);
        hash.add(self.labels.get(label as usize).map_or(b"", Vec::as_slice));
        let mut before = None;
        for &(id, start, end) in fields.iter() {
            let known = columns.get(id);
            if before == Some(id) {
                let name = known.map_or(&b""[..], |known| &known.name);
                return Err(format!(
                    "the field `{}` occurs twice",
                    String::from_utf8_lossy(name)
                ));
            }
            before = Some(id);
            hash.add_prefixed(known.map_or(&[], |known| &known.hashed));
            let value = self.bytes.get(start as usize..end as usize);
            hash.add(value.unwrap_or_default());
        }
        if columns.keeps_equal {
            hash.add(&origin.to_bytes());
        }
        let hash = hash.finish();
        let shard = shard_of(&hash, columns.shards(time));
        Ok(event_row(shard, time, &hash))
    }

    /// Writes the event at a position to the event and index tables.
    pub(super) fn write(&self, at: usize, writer: &mut ChangeWriter) -> Result<()> {
        let Some(event) = self.events.get(at) else {
            return Ok(());
        };
        let (first, last) = event.fields;
        let fields = self.fields.get(first as usize..last as usize);
        let fields = fields.unwrap_or_default().iter();
        let fields = fields.filter_map(|&(id, start, end)| {
            let known = self.known.get(id as usize)?;
            let value = self.bytes.get(start as usize..end as usize)?;
            let indexed = known.indexed.map(|id| (id, known.kind));
            Some((known.name.as_slice(), value, indexed))
        });
        let label = self.labels.get(event.label as usize);
        let label = label.map_or(&b""[..], Vec::as_slice);
        writer.event(Change::Put, &event.row, event.time, label, fields)
    }
}

/// The first 16 bytes of the BLAKE3 hash of runs of bytes, each after its length (8 bytes, big-endian).
struct EventHash<'a> {
    buffer: &'a mut Vec<u8>,
    /// What came before the buffer, if there was much.
    before: Option<Box<blake3::Hasher>>,
}

impl<'a> EventHash<'a> {
    fn new(buffer: &'a mut Vec<u8>) -> Self {
        buffer.clear();
        Self {
            buffer,
            before: None,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_be_bytes();
        self.buffer.extend_from_slice(&length);
        self.add_prefixed(bytes);
    }

    /// Adds bytes that have their length before them.
    fn add_prefixed(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > HASHED_BYTES {
            let hasher = self.before.get_or_insert_default();
            hasher.update(self.buffer);
            hasher.update(bytes);
            self.buffer.clear();
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn finish(self) -> [u8; 16] {
        let hash = match self.before {
            None => blake3::hash(self.buffer),
            Some(mut hasher) => hasher.update(self.buffer).finalize(),
        };
        hash.as_bytes().first_chunk().copied().unwrap_or_default()
    }
}
