//! What is known of the fields of records.

use hashbrown::HashMap;
use ostrakon_cell::Result as CellResult;

use crate::event_type::{EventType, field_name, same_name};
use crate::value::FieldType;

/// A field as it is written.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) name: Vec<u8>,
    pub(super) kind: FieldType,
    /// The id if it is indexed.
    pub(super) indexed: Option<u16>,
    pub(super) is_time: bool,
    pub(super) is_label: bool,
}

/// The fields of a type and those that records brought.
pub(super) struct Columns {
    known: Vec<Known>,
    by_name: HashMap<String, u32>,
    /// The known field of each name of the source, or the other name of the source that has it already.
    of_source: Vec<Result<u32, String>>,
    /// The names of the source whose fields were taken up.
    taken: HashMap<u32, String>,
    epochs: Vec<(i64, u16)>,
    pub(super) resolution: i64,
    pub(super) bin: i64,
    pub(super) label: Option<Vec<u8>>,
    pub(super) has_label_field: bool,
    time: String,
    label_field: Option<String>,
}

impl Columns {
    pub(super) fn new(definition: &EventType) -> CellResult<Self> {
        let mut columns = Self {
            known: Vec::new(),
            by_name: HashMap::new(),
            of_source: Vec::new(),
            taken: HashMap::new(),
            epochs: definition.epochs(),
            resolution: definition.resolution_micros()?,
            bin: definition.bin_micros()?,
            label: definition
                .visibility
                .as_ref()
                .map(|label| label.as_bytes().to_vec()),
            has_label_field: definition.visibility_field.is_some(),
            time: definition.time.clone(),
            label_field: definition.visibility_field.clone(),
        };
        for field in &definition.fields {
            let indexed = field.id.filter(|_| field.indexed);
            columns.add(&field.name, field.kind, indexed);
        }
        Ok(columns)
    }

    fn add(&mut self, name: &str, kind: FieldType, indexed: Option<u16>) -> u32 {
        let id = self.known.len() as u32;
        self.known.push(Known {
            name: name.into(),
            kind,
            indexed,
            is_time: name == self.time,
            is_label: self.label_field.as_deref() == Some(name),
        });
        self.by_name.insert(name.into(), id);
        id
    }

    pub(super) fn forget_names(&mut self) {
        self.of_source.clear();
        self.taken.clear();
    }

    /// Takes up names that the source has added.
    #[inline]
    pub(super) fn learn(&mut self, names: &[String]) {
        while let Some(name) = names.get(self.of_source.len()) {
            let field = field_name(name);
            let known = self.by_name.get(&field).copied();
            let id = known.unwrap_or_else(|| self.add(&field, FieldType::Text, None));
            // Two names of one source would become one field.
            let found = match self.taken.get(&id) {
                Some(other) if other != name => Err(same_name(other, name, &field)),
                _ => Ok(id),
            };
            self.taken.entry(id).or_insert_with(|| name.clone());
            self.of_source.push(found);
        }
    }

    /// The known field of a name of the source, or why it has none.
    pub(super) fn of_source(&self, name: u32) -> Result<u32, String> {
        match self.of_source.get(name as usize) {
            Some(Ok(id)) => Ok(*id),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(format!(
                "the record has a field without a name, at position {}",
                u64::from(name) + 1
            )),
        }
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Known> {
        self.known.get(id as usize)
    }

    /// The different numbers of shards that events of any time may have been stored with.
    pub(super) fn shard_counts(&self) -> Vec<u16> {
        let mut counts: Vec<u16> = self.epochs.iter().map(|(_, count)| *count).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// The number of shards for events of this time.
    pub(super) fn shards(&self, time: i64) -> u16 {
        let epoch = self.epochs.iter().rev().find(|(from, _)| *from <= time);
        epoch.map_or(1, |(_, count)| *count)
    }
}
