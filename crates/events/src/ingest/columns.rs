//! What is known of the fields of records.

use std::sync::Arc;

use hashbrown::HashMap;
use ostrakon_cell::Result as CellResult;

use crate::event_type::{EqualRecords, EventType, field_name, same_name};
use crate::value::FieldType;

/// Different names in one source; objects used as maps could have a new one per line.
pub(super) const MAX_NAMES: usize = 65_536;

/// A field as it is written.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) name: Vec<u8>,
    pub(super) kind: FieldType,
    /// The id if it is indexed.
    pub(super) indexed: Option<u16>,
    pub(super) is_time: bool,
    pub(super) is_label: bool,
    /// The name as the hash of an event has it: after its length.
    pub(super) hashed: Vec<u8>,
}

/// The source's name of each field that it has.
pub(super) type SourceNames = HashMap<String, String>;

/// The fields of a type and those that records brought.
#[derive(Clone)]
pub(super) struct Columns {
    known: Arc<Vec<Known>>,
    /// The places of known fields in the order of their names; fields that came later have none.
    ranks: Vec<u32>,
    by_name: HashMap<String, u32>,
    /// The known field of each name of the source, or why it has none.
    of_source: Vec<Result<u32, String>>,
    /// The names of the source whose fields were taken up.
    taken: HashMap<u32, String>,
    /// Those of earlier parts of the source.
    taken_before: Arc<SourceNames>,
    /// How many of `taken` are not there.
    taken_new: usize,
    epochs: Arc<Vec<(i64, u16)>>,
    pub(super) resolution: i64,
    pub(super) label: Option<Vec<u8>>,
    pub(super) has_label_field: bool,
    /// Whether equal records at different places are different events.
    pub(super) keeps_equal: bool,
    time: String,
    label_field: Option<String>,
}

impl Columns {
    pub(super) fn new(definition: &EventType) -> CellResult<Self> {
        let mut columns = Self {
            known: Arc::default(),
            ranks: Vec::new(),
            by_name: HashMap::new(),
            of_source: Vec::new(),
            taken: HashMap::new(),
            taken_before: Arc::default(),
            taken_new: 0,
            epochs: Arc::new(definition.epochs()),
            resolution: definition.resolution_micros()?,
            label: definition
                .visibility
                .as_ref()
                .map(|label| label.as_bytes().to_vec()),
            has_label_field: definition.visibility_field.is_some(),
            keeps_equal: definition.equal_records == EqualRecords::Keep,
            time: definition.time.clone(),
            label_field: definition.visibility_field.clone(),
        };
        for field in &definition.fields {
            let indexed = field.id.filter(|_| field.indexed);
            columns.add(&field.name, field.kind, indexed);
        }
        columns.rank();
        Ok(columns)
    }

    fn add(&mut self, name: &str, kind: FieldType, indexed: Option<u16>) -> u32 {
        let id = self.known.len() as u32;
        let mut hashed = (name.len() as u64).to_be_bytes().to_vec();
        hashed.extend_from_slice(name.as_bytes());
        // Batches that are written keep the fields as they were.
        Arc::make_mut(&mut self.known).push(Known {
            name: name.into(),
            kind,
            indexed,
            is_time: name == self.time,
            is_label: self.label_field.as_deref() == Some(name),
            hashed,
        });
        self.by_name.insert(name.into(), id);
        id
    }

    fn rank(&mut self) {
        let mut order: Vec<u32> = (0..self.known.len() as u32).collect();
        order.sort_unstable_by(|a, b| self.name(*a).cmp(self.name(*b)));
        self.ranks.clear();
        self.ranks.resize(order.len(), 0);
        for (rank, id) in order.into_iter().enumerate() {
            if let Some(place) = self.ranks.get_mut(id as usize) {
                *place = rank as u32;
            }
        }
    }

    /// Forgets the names of the source. Those of earlier parts of the same source are in `before`.
    pub(super) fn start_source(&mut self, before: Arc<SourceNames>) {
        self.of_source.clear();
        self.taken.clear();
        self.taken_before = before;
        self.taken_new = 0;
    }

    /// Takes up names that the source has added.
    #[inline]
    pub(super) fn learn(&mut self, names: &[String]) {
        if names.len() > self.of_source.len() {
            self.learn_new(names);
        }
    }

    fn learn_new(&mut self, names: &[String]) {
        while let Some(name) = names.get(self.of_source.len()) {
            let found = self.take(name);
            self.of_source.push(found);
        }
        // Ranks are made anew when there are an eighth more fields, so that all of that takes little time in sum.
        if (self.known.len() - self.ranks.len()) * 8 > self.ranks.len() {
            self.rank();
        }
    }

    fn take(&mut self, name: &str) -> Result<u32, String> {
        let field = field_name(name);
        let known = self.by_name.get(&field).copied();
        let taken = known.and_then(|id| self.taken.get(&id));
        // Two names of one source would become one field.
        match self.taken_before.get(&field).or(taken) {
            Some(other) if other != name => return Err(same_name(other, name, &field)),
            Some(_) => {}
            None if self.taken_new + self.taken_before.len() >= MAX_NAMES => {
                return Err(format!("more than {MAX_NAMES} different field names"));
            }
            None => self.taken_new += 1,
        }
        let id = known.unwrap_or_else(|| self.add(&field, FieldType::Text, None));
        self.taken.entry(id).or_insert_with(|| name.to_owned());
        Ok(id)
    }

    /// The fields that the source has so far, by the order in which they came, and their names there.
    pub(super) fn taken(&self) -> impl Iterator<Item = (&str, &str)> {
        let names = self.taken.iter().filter_map(|(id, name)| {
            let field = std::str::from_utf8(self.name(*id)).ok()?;
            Some((field, name.as_str()))
        });
        names.filter(|(field, _)| !self.taken_before.contains_key(*field))
    }

    /// The known field of a name of the source, or why it has none.
    #[inline]
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

    fn name(&self, id: u32) -> &[u8] {
        self.get(id).map_or(b"", |known| known.name.as_slice())
    }

    /// Sorts fields by name.
    #[inline]
    pub(super) fn sort<T>(&self, fields: &mut [T], id: impl Fn(&T) -> u32) {
        let ranked = self.ranks.len();
        if fields.iter().all(|field| (id(field) as usize) < ranked) {
            fields.sort_unstable_by_key(|field| self.ranks.get(id(field) as usize));
        } else {
            fields.sort_unstable_by(|a, b| self.name(id(a)).cmp(self.name(id(b))));
        }
    }

    /// The fields as they are now.
    pub(super) fn known(&self) -> Arc<Vec<Known>> {
        self.known.clone()
    }

    /// The number of shards for events of this time.
    pub(super) fn shards(&self, time: i64) -> u16 {
        let epoch = self.epochs.iter().rev().find(|(from, _)| *from <= time);
        epoch.map_or(1, |(_, count)| *count)
    }
}
