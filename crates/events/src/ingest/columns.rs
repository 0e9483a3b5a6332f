//! What is known of the fields of records.

use hashbrown::HashMap;
use ostrakon_cell::Result;

use crate::event_type::{EventType, field_name};
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
    /// The known field of each name of the source.
    of_source: Vec<u32>,
    pub(super) epochs: Vec<(i64, u16)>,
    pub(super) resolution: i64,
    pub(super) bin: i64,
    pub(super) label: Option<Vec<u8>>,
    pub(super) has_label_field: bool,
    time: String,
    label_field: Option<String>,
}

impl Columns {
    pub(super) fn new(definition: &EventType) -> Result<Self> {
        let mut columns = Self {
            known: Vec::new(),
            by_name: HashMap::new(),
            of_source: Vec::new(),
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
    }

    /// Takes up names that the source has added.
    #[inline]
    pub(super) fn learn(&mut self, names: &[String]) {
        while let Some(name) = names.get(self.of_source.len()) {
            let name = field_name(name);
            let known = self.by_name.get(&name).copied();
            let id = known.unwrap_or_else(|| self.add(&name, FieldType::Text, None));
            self.of_source.push(id);
        }
    }

    pub(super) fn of_source(&self, name: u32) -> Option<u32> {
        self.of_source.get(name as usize).copied()
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Known> {
        self.known.get(id as usize)
    }

    /// The number of shards for events of this time.
    pub(super) fn shards(&self, time: i64) -> u16 {
        let epoch = self.epochs.iter().rev().find(|(from, _)| *from <= time);
        epoch.map_or(1, |(_, count)| *count)
    }
}
