//! What Python passes for one batch of records: keys, fields and texts, each by position in a dictionary.

use std::sync::Arc;

use ostrakon_assoc::keys::Keys;
use ostrakon_cell::{Error, Result};
use pyo3::prelude::*;

use crate::arrays::Items;
use crate::assoc::NativeKeys;
use crate::columns::{Column, column};
use crate::tables::arguments::{Text, all_bytes};

/// The entries of one field: record `records[i]` has the key `places[i]` of the dictionary. The records
/// ascend.
pub(super) struct Places {
    pub(super) keys: Arc<Keys>,
    records: Items<u32>,
    places: Items<u32>,
    /// Where the entries of each record begin, and one for the end.
    starts: Vec<u32>,
}

impl Places {
    fn new(
        keys: &NativeKeys,
        records: Items<u32>,
        places: Items<u32>,
        count: usize,
    ) -> Result<Self> {
        let (given, positions) = (records.as_slice(), places.as_slice());
        let fit = given.len() == positions.len()
            && given.is_sorted()
            && given.last().is_none_or(|last| (*last as usize) < count)
            && positions.iter().all(|at| (*at as usize) < keys.keys.len());
        if !fit {
            return Err(Error::invalid("the parts of a field do not fit together"));
        }
        let mut starts = vec![0_u32; count + 1];
        for record in given {
            starts[*record as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Ok(Self {
            keys: keys.keys.clone(),
            records,
            places,
            starts,
        })
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.places.as_slice().len()
    }

    /// The entries of a record.
    pub(super) fn of(&self, record: u32) -> std::ops::Range<usize> {
        let record = record as usize;
        self.starts[record] as usize..self.starts[record + 1] as usize
    }

    /// The position of the key of an entry.
    pub(super) fn place(&self, entry: usize) -> u32 {
        self.places.as_slice()[entry]
    }

    /// The record of an entry.
    pub(super) fn record(&self, entry: usize) -> u32 {
        self.records.as_slice()[entry]
    }

    /// The key at a position.
    pub(super) fn key(&self, place: u32) -> &[u8] {
        self.keys.get(place as usize).unwrap_or_default()
    }
}

/// Labels, sorted, and the label of each entry; without a list, all have the first.
pub(super) struct Labels {
    pub(super) names: Vec<Vec<u8>>,
    at: Option<Vec<u32>>,
}

impl Labels {
    fn new(names: Vec<Text>, at: Option<&Items<u32>>, count: usize) -> Result<Self> {
        let names = all_bytes(names);
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_by_key(|place| &names[*place as usize]);
        let mut rank = vec![0; names.len()];
        for (position, place) in order.iter().enumerate() {
            rank[*place as usize] = position as u32;
        }
        let at: Option<Vec<u32>> = at
            .map(|at| {
                let found = at.as_slice().iter();
                found
                    .map(|place| rank.get(*place as usize).copied())
                    .collect()
            })
            .map(|ranks: Option<Vec<u32>>| ranks.unwrap_or_default());
        if names.is_empty() || at.as_ref().is_some_and(|at| at.len() != count) {
            return Err(Error::invalid("the labels do not fit to the entries"));
        }
        let names = order.iter().map(|place| names[*place as usize].clone());
        Ok(Self {
            names: names.collect(),
            at,
        })
    }

    /// The position of the label of an entry.
    pub(super) fn rank(&self, entry: usize) -> u32 {
        self.at.as_ref().map_or(0, |at| at[entry])
    }

    /// The label of an entry.
    pub(super) fn get(&self, entry: usize) -> &[u8] {
        &self.names[self.rank(entry) as usize]
    }

    /// Whether all entries have one label.
    pub(super) fn one(&self) -> bool {
        self.at.is_none()
    }
}

/// An indexed field: `field|` and the columns `field|value`.
pub(super) struct Part {
    pub(super) name: Vec<u8>,
    /// What all its columns begin with.
    pub(super) prefix: Vec<u8>,
    pub(super) places: Places,
    pub(super) labels: Labels,
}

/// A field of the texts: its name as JSON, and each distinct value as JSON.
pub(super) struct TextField {
    pub(super) places: Places,
    /// Numbers and truth values, which JSON writes without quotes.
    pub(super) plain: bool,
    /// Whether a record may have several values.
    pub(super) several: bool,
    pub(super) name: Vec<u8>,
}

/// The texts of records.
pub(super) enum Texts {
    /// As they came.
    Given(Column),
    /// To be made of these fields.
    Json(Vec<TextField>),
}

/// A batch of records.
pub(super) struct Records {
    pub(super) ids: Arc<Keys>,
    /// The records in the order of their keys.
    pub(super) order: Vec<u32>,
    /// The position of the key of each record.
    id_at: Items<u32>,
    pub(super) parts: Vec<Part>,
    pub(super) texts: Option<(Texts, Labels)>,
}

impl Records {
    /// The key of a record.
    pub(super) fn id(&self, record: u32) -> &[u8] {
        let place = self.id_at.as_slice()[record as usize];
        self.ids.get(place as usize).unwrap_or_default()
    }
}

type PartArgument<'py> = (
    Text,
    Text,
    PyRef<'py, NativeKeys>,
    Items<u32>,
    Items<u32>,
    Vec<Text>,
    Option<Items<u32>>,
);
type FieldArgument<'py> = (
    Text,
    PyRef<'py, NativeKeys>,
    Items<u32>,
    Items<u32>,
    bool,
    bool,
);

/// A batch as Python passes it.
#[derive(FromPyObject)]
pub(crate) struct RecordsArgument<'py> {
    #[pyo3(item)]
    ids: PyRef<'py, NativeKeys>,
    #[pyo3(item)]
    id_at: Items<u32>,
    #[pyo3(item)]
    parts: Vec<PartArgument<'py>>,
    /// Texts as they came.
    #[pyo3(item)]
    texts: Option<Bound<'py, PyAny>>,
    /// Fields to make texts of.
    #[pyo3(item)]
    fields: Option<Vec<FieldArgument<'py>>>,
    #[pyo3(item)]
    text_labels: Vec<Text>,
    #[pyo3(item)]
    text_label_at: Option<Items<u32>>,
}

impl RecordsArgument<'_> {
    /// Reads and checks everything; what comes back holds nothing of Python's objects.
    pub(super) fn read(self) -> PyResult<Result<Records>> {
        let given = match &self.texts {
            Some(texts) => Some(column("text", texts)?),
            None => None,
        };
        Ok(self.checked(given))
    }

    fn checked(self, given: Option<Column>) -> Result<Records> {
        let places = self.id_at.as_slice();
        let count = places.len();
        let ids = self.ids.keys.clone();
        let mut order = vec![u32::MAX; ids.len()];
        for (record, place) in places.iter().enumerate() {
            if let Some(owner) = order.get_mut(*place as usize) {
                *owner = record as u32;
            }
        }
        if ids.len() != count || order.contains(&u32::MAX) {
            return Err(Error::invalid("two records have one key").with("argument", "id"));
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        for (name, prefix, keys, records, at, labels, label_at) in self.parts {
            let entries = at.as_slice().len();
            parts.push(Part {
                name: name.into_bytes(),
                prefix: prefix.into_bytes(),
                places: Places::new(&keys, records, at, count)?,
                labels: Labels::new(labels, label_at.as_ref(), entries)?,
            });
        }
        // No prefix begins with another: each ends in the separator, which no name has.
        parts.sort_by(|one, other| one.prefix.cmp(&other.prefix));
        let texts = match (given, self.fields) {
            (Some(texts), _) if texts.len() != Some(count) => {
                return Err(
                    Error::invalid("there is not a text for each record").with("argument", "text")
                );
            }
            (Some(texts), _) => Some(Texts::Given(texts)),
            (None, Some(fields)) => {
                let mut made = Vec::with_capacity(fields.len());
                for (name, keys, records, at, plain, several) in fields {
                    made.push(TextField {
                        name: name.into_bytes(),
                        places: Places::new(&keys, records, at, count)?,
                        plain,
                        several,
                    });
                }
                Some(Texts::Json(made))
            }
            (None, None) => None,
        };
        let texts = match texts {
            Some(texts) => {
                let labels = Labels::new(self.text_labels, self.text_label_at.as_ref(), count)?;
                Some((texts, labels))
            }
            None => None,
        };
        Ok(Records {
            ids,
            order,
            id_at: self.id_at,
            parts,
            texts,
        })
    }
}
