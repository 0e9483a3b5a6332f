//! Events that are not written yet.

use hashbrown::HashMap;
use ostrakon_cell::{Result, VisibilityExpression};

use super::columns::Columns;
use super::write::{Change, ChangeWriter, Counts, write_counts};
use crate::layout::{EventRow, event_row, shard_of};
use crate::record::Record;
use crate::store::Tables;
use crate::time::show_time;
use crate::value::typed;

#[derive(Debug, Clone, Copy)]
struct Event {
    row: EventRow,
    time: i64,
    label: u32,
    fields: (u32, u32),
}

/// Events with their fields, in buffers that are kept.
#[derive(Default)]
pub(super) struct EventBatch {
    events: Vec<Event>,
    /// The known field, and where its value lies.
    fields: Vec<(u32, u32, u32)>,
    bytes: Vec<u8>,
    labels: Vec<Vec<u8>>,
    label_ids: HashMap<Vec<u8>, u32>,
    scratch: Vec<u8>,
}

impl EventBatch {
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn labels(&self) -> impl Iterator<Item = &[u8]> {
        self.labels.iter().map(Vec::as_slice)
    }

    /// The row of an event, which must exist.
    pub(super) fn row(&self, at: usize) -> EventRow {
        self.events
            .get(at)
            .map_or([0; crate::layout::EVENT_ROW], |event| event.row)
    }

    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.fields.clear();
        self.bytes.clear();
        self.labels.clear();
        self.label_ids.clear();
    }

    /// Adds a record, or says why it is not an event.
    pub(super) fn add(
        &mut self,
        columns: &mut Columns,
        record: &Record,
        since: i64,
    ) -> Result<(), String> {
        let (fields, bytes) = (self.fields.len(), self.bytes.len());
        let added = self.try_add(columns, record, since);
        if added.is_err() {
            self.fields.truncate(fields);
            self.bytes.truncate(bytes);
        }
        added
    }

    fn try_add(&mut self, columns: &Columns, record: &Record, since: i64) -> Result<(), String> {
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
        let row = self.finish_fields(columns, first, time, label)?;
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
        self.labels.push(label.to_vec());
        self.label_ids.insert(label.to_vec(), id);
        Ok(id)
    }

    /// Sorts the fields by name, and makes the row. The hash depends on the fields and the label, and neither on the
    /// order nor on the type.
    fn finish_fields(
        &mut self,
        columns: &Columns,
        first: usize,
        time: i64,
        label: u32,
    ) -> Result<EventRow, String> {
        let name = |id: u32| {
            columns
                .get(id)
                .map_or(&b""[..], |known| known.name.as_slice())
        };
        let fields = self.fields.get_mut(first..).unwrap_or_default();
        fields.sort_unstable_by(|a, b| name(a.0).cmp(name(b.0)));
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        add(self.labels.get(label as usize).map_or(b"", Vec::as_slice));
        let mut before = None;
        for &(id, start, end) in fields.iter() {
            if before == Some(id) {
                return Err(format!(
                    "the field `{}` occurs twice",
                    String::from_utf8_lossy(name(id))
                ));
            }
            before = Some(id);
            add(name(id));
            add(self
                .bytes
                .get(start as usize..end as usize)
                .unwrap_or_default());
        }
        let mut hash = [0; 16];
        for (to, from) in hash.iter_mut().zip(hasher.finalize().as_bytes()) {
            *to = *from;
        }
        let shard = shard_of(&hash, columns.shards(time));
        Ok(event_row(shard, time, &hash))
    }

    /// The positions of distinct events sorted by row, and how many others there are.
    pub(super) fn distinct(&self) -> (Vec<usize>, usize) {
        let mut order: Vec<usize> = (0..self.events.len()).collect();
        order.sort_unstable_by_key(|&at| self.row(at));
        order.dedup_by_key(|at| self.row(*at));
        let twice = self.events.len() - order.len();
        (order, twice)
    }

    /// Writes events to the three tables; returns the number of entries. They are durable then.
    pub(super) fn write(
        &self,
        tables: &Tables,
        columns: &Columns,
        order: &[usize],
        batch: i64,
        threads: usize,
    ) -> Result<u64> {
        let part = order.len().div_ceil(threads.max(1)).max(64);
        let parts: Vec<Result<(u64, Counts)>> = std::thread::scope(|scope| {
            let handles: Vec<_> = order
                .chunks(part)
                .map(|part| scope.spawn(move || self.write_part(tables, columns, part, batch)))
                .collect();
            handles
                .into_iter()
                .map(|handle| {
                    handle
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        let (mut entries, mut counts) = (0, Counts::default());
        for part in parts {
            let (written, counted) = part?;
            entries += written;
            counts.merge(counted);
        }
        Ok(entries + write_counts(tables, counts, batch)?)
    }

    fn write_part(
        &self,
        tables: &Tables,
        columns: &Columns,
        part: &[usize],
        batch: i64,
    ) -> Result<(u64, Counts)> {
        let mut writer = ChangeWriter::new(tables, columns.bin, batch);
        for event in part.iter().filter_map(|&at| self.events.get(at)) {
            let (first, last) = event.fields;
            let fields = self
                .fields
                .get(first as usize..last as usize)
                .unwrap_or_default();
            let fields = fields.iter().filter_map(|&(id, start, end)| {
                let known = columns.get(id)?;
                let value = self.bytes.get(start as usize..end as usize)?;
                Some((
                    known.name.as_slice(),
                    value,
                    known.indexed.map(|id| (id, known.kind)),
                ))
            });
            let label = self
                .labels
                .get(event.label as usize)
                .map_or(&b""[..], Vec::as_slice);
            writer.event(Change::Put, &event.row, event.time, label, fields)?;
        }
        writer.close()
    }
}
