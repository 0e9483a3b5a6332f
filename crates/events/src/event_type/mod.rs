//! Event types: what the records of one kind have in common.
//!
//! A type is written as TOML. It evolves without rewriting: fields may be added, fields that are not indexed may change
//! their type, and shards may be added from a time on. Fields that a type does not name are kept as text.

mod check;
mod infer;
mod sample;
#[cfg(test)]
mod tests;
mod unlike;

use ostrakon_cell::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::time::{SECOND, parse_moment, parse_span, parse_time};
use crate::value::FieldType;

pub use check::{check_type_name, field_name};
pub use infer::infer;
pub use sample::infer_log;
pub use unlike::UnlikeFields;

/// A type of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventType {
    /// The name: lower-case letters, digits and `_`, beginning with a letter.
    pub name: String,
    /// The field with the time of the event.
    pub time: String,
    /// The times of events are rounded down to this: `us`, `ms` or `s`.
    #[serde(default = "default_resolution")]
    pub resolution: String,
    /// The span of time for which counts are kept.
    #[serde(default = "default_bin")]
    pub bin: String,
    /// The label of events, or of those without the field that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<String>,
    /// The field whose value is the label of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility_field: Option<String>,
    /// How long events are kept; `events age-off` removes older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
    /// Whether equal records are one event or several.
    #[serde(default, skip_serializing_if = "EqualRecords::is_merge")]
    pub equal_records: EqualRecords,
    /// The number of shards, for events from a time on.
    #[serde(default)]
    pub shards: Vec<Epoch>,
    /// The fields.
    pub fields: Vec<Field>,
}

/// What becomes of records that are equal in all fields, including the time and the label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EqualRecords {
    /// They are one event.
    #[default]
    Merge,
    /// Each is an event if it stands at a place of its own: in another file, or elsewhere in the file.
    Keep,
}

impl EqualRecords {
    /// The name in a type's TOML.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Keep => "keep",
        }
    }

    /// The value of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut all = [Self::Merge, Self::Keep].into_iter();
        all.find(|value| value.as_str() == name)
    }

    fn is_merge(&self) -> bool {
        *self == Self::Merge
    }
}

/// A number of shards, and since when it applies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Epoch {
    /// The first event time; absent for the first epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The number of shards.
    pub count: u16,
}

/// A field of a type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// The name in records.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// Whether it has an index and counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indexed: bool,
    /// Its number in keys; given when the type is saved, never changed or reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u16>,
}

fn default_resolution() -> String {
    "us".into()
}

fn default_bin() -> String {
    "1h".into()
}

impl EventType {
    /// Reads a type.
    ///
    /// # Errors
    /// Not TOML, an unknown key, or a type that is not [valid](Self::check).
    pub fn from_toml(text: &str) -> Result<Self> {
        let parsed: Self = toml::from_str(text).map_err(|error| {
            let message = match toml::from_str::<toml::Table>(text) {
                Ok(_) => "the definition of the event type is not valid",
                Err(_) => "the event type is not valid TOML",
            };
            Error::invalid(message).with_source(error)
        })?;
        parsed.check()?;
        Ok(parsed)
    }

    /// The type as TOML.
    ///
    /// # Errors
    /// [`Internal`](ostrakon_cell::ErrorKind::Internal).
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| {
            Error::new(
                ostrakon_cell::ErrorKind::Internal,
                "the event type cannot be written as TOML",
            )
            .with_source(error)
        })
    }

    /// Microseconds of the resolution.
    pub(crate) fn resolution_micros(&self) -> Result<i64> {
        match self.resolution.as_str() {
            "us" => Ok(1),
            "ms" => Ok(1000),
            "s" => Ok(SECOND),
            _ => Err(Error::invalid("the resolution is one of us, ms, s")
                .with("given", &self.resolution)),
        }
    }

    /// Microseconds of the bin of counts.
    ///
    /// # Errors
    /// Not a span.
    pub fn bin_micros(&self) -> Result<i64> {
        parse_span(&self.bin)
    }

    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Whether the name is that of the event's time: `time` is, whatever its field is called.
    pub(crate) fn is_time(&self, name: &str) -> bool {
        name == self.time || (name == "time" && self.field("time").is_none())
    }

    /// The name of the field that is meant by a name, which may be `time`.
    pub(crate) fn own_name<'a>(&'a self, name: &'a str) -> &'a str {
        if self.is_time(name) { &self.time } else { name }
    }

    /// The type of a field; text if the type does not name it.
    #[must_use]
    pub fn kind_of(&self, name: &str) -> FieldType {
        self.field(name).map_or(FieldType::Text, |field| field.kind)
    }

    /// The id and the type of a field with an index.
    pub(crate) fn index_of(&self, name: &str) -> Option<(u16, FieldType)> {
        let field = self.field(name).filter(|field| field.indexed)?;
        Some((field.id?, field.kind))
    }

    /// The name of the field with this id; empty if there is none.
    pub(crate) fn name_of(&self, id: u16) -> String {
        let field = self.fields.iter().find(|field| field.id == Some(id));
        field.map_or_else(String::new, |field| field.name.clone())
    }

    /// The most shards of any epoch.
    #[must_use]
    pub fn shard_count(&self) -> u16 {
        self.shards
            .iter()
            .map(|epoch| epoch.count)
            .max()
            .unwrap_or(1)
    }

    /// Since when which number of shards applies, the first since ever.
    pub(crate) fn epochs(&self) -> Vec<(i64, u16)> {
        let start = |epoch: &Epoch| {
            let from = epoch.from.as_deref().and_then(epoch_start);
            from.unwrap_or(i64::MIN)
        };
        self.shards
            .iter()
            .map(|epoch| (start(epoch), epoch.count))
            .collect()
    }

    /// Gives ids to fields that have none. `before` is the type as it was saved.
    pub(crate) fn assign_ids(&mut self, before: Option<&Self>) {
        let saved = |name: &str| before.and_then(|before| before.field(name)?.id);
        for field in &mut self.fields {
            field.id = saved(&field.name);
        }
        // Fields cannot be removed, so the largest id was never given to another field.
        let mut last = self
            .fields
            .iter()
            .filter_map(|field| field.id)
            .max()
            .unwrap_or(0);
        for field in &mut self.fields {
            if field.id.is_none() {
                last += 1;
                field.id = Some(last);
            }
        }
    }

    /// Of the fields that were renamed in a file, from the first name of each pair to the second, one that the records from
    /// which the type was inferred do not have.
    #[must_use]
    pub fn missing_of<'a>(&self, renamed: &'a [(String, String)]) -> Option<&'a str> {
        let is_missing = |name: &str| name != self.time && self.field(&field_name(name)).is_none();
        let found = renamed.iter().find(|(_, name)| is_missing(name));
        found.map(|(unknown, _)| unknown.as_str())
    }
}

/// When an epoch begins.
fn epoch_start(from: &str) -> Option<i64> {
    parse_moment(from)
        .ok()
        .or_else(|| parse_time(from.as_bytes()))
}

/// Why two names of a source cannot be fields of one event.
pub(crate) fn same_name(one: &str, other: &str, field: &str) -> String {
    format!(
        "`{one}` and `{other}` would both be the field `{field}`: give one of them another name, with --map {other}=NAME on \
         the command line"
    )
}
