//! Event types: what the records of one kind have in common.
//!
//! A type is written as TOML. It evolves without rewriting: fields may be added, fields that are not indexed may change
//! their type, and shards may be added from a time on. Fields that a type does not name are kept as text.

mod infer;
mod sample;
mod unlike;

use std::collections::BTreeSet;

use ostrakon_cell::{Error, Result, VisibilityExpression};
use serde::{Deserialize, Serialize};

use crate::time::{SECOND, parse_moment, parse_span, parse_time};
use crate::value::FieldType;

pub use infer::infer;
pub use sample::infer_log;
pub use unlike::UnlikeFields;

const NAME_MAX: usize = 48;
const FIELD_NAME_MAX: usize = 128;
const FIELDS_MAX: usize = 2000;
const SHARDS_MAX: u16 = 1024;

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

/// Checks the name of a type.
///
/// # Errors
/// [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument).
pub fn check_type_name(name: &str) -> Result<()> {
    let first = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase());
    let rest = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let reserved = name == "types" || name.ends_with("_index") || name.ends_with("_aggregate");
    if first && rest && name.len() <= NAME_MAX && !reserved {
        return Ok(());
    }
    Err(Error::invalid(
        "not a name for an event type: use at most 48 lower-case ASCII letters, digits and `_`, beginning with a letter; \
         `types` and the endings `_index` and `_aggregate` are reserved",
    )
    .with("type", name))
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

    /// Checks everything that needs no table.
    ///
    /// # Errors
    /// [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument).
    pub fn check(&self) -> Result<()> {
        check_type_name(&self.name)?;
        self.resolution_micros()?;
        let bin = parse_span(&self.bin)?;
        if bin % self.resolution_micros()? != 0 || bin > 366 * 86400 * SECOND {
            return Err(Error::invalid(
                "the bin must be a multiple of the resolution and at most a year",
            )
            .with("bin", &self.bin));
        }
        if let Some(keep) = &self.keep {
            parse_span(keep)?;
        }
        if let Some(label) = &self.visibility {
            VisibilityExpression::parse(label)?;
        }
        self.check_shards()?;
        self.check_fields()
    }

    fn check_shards(&self) -> Result<()> {
        let wrong = |reason: &'static str| Err(Error::invalid(reason).with("type", &self.name));
        let mut last = None;
        for (at, epoch) in self.shards.iter().enumerate() {
            if epoch.count == 0 || epoch.count > SHARDS_MAX {
                return wrong("the number of shards is between 1 and 1024");
            }
            let from = match &epoch.from {
                None if at == 0 => None,
                Some(from) if at > 0 => match epoch_start(from) {
                    Some(from) => Some(from),
                    None => return wrong("`from` of an epoch of shards is not a time"),
                },
                _ => return wrong("the first epoch of shards has no `from`, every other has one"),
            };
            if at > 1 && from <= last {
                return wrong("the epochs of shards are not in order of time");
            }
            last = from;
        }
        if self.shards.is_empty() {
            return wrong("the type has no shards: add [[shards]] with count = 1");
        }
        Ok(())
    }

    fn check_fields(&self) -> Result<()> {
        let mut names = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for field in &self.fields {
            let wrong = |reason: &'static str| {
                Err(Error::invalid(reason)
                    .with("type", &self.name)
                    .with("field", &field.name))
            };
            if !is_field_name(&field.name) {
                return wrong(
                    "not a name for a field: use at most 128 ASCII letters, digits, `_`, `-`, `.`, `@` and `/`, not beginning with a digit",
                );
            }
            if !names.insert(&field.name) {
                return wrong("the field is named twice");
            }
            if field.id == Some(0) || field.id.is_some_and(|id| !ids.insert(id)) {
                return wrong(
                    "the field's id is 0 or taken: leave it out, it is given when the type is saved",
                );
            }
        }
        if self.fields.len() > FIELDS_MAX {
            return Err(Error::invalid("a type has at most 2000 fields").with("type", &self.name));
        }
        match self.field(&self.time) {
            Some(field) if field.kind == FieldType::Time => Ok(()),
            _ => Err(Error::invalid("the time field is not a field of type time")
                .with("type", &self.name)
                .with("field", &self.time)),
        }
    }

    /// Checks that the beginnings of epochs are given as moments are in conditions. Types of which this was not asked stay
    /// readable.
    pub(crate) fn check_epoch_times(&self, before: &[Epoch]) -> Result<()> {
        let new = self.shards.iter().filter(|epoch| !before.contains(epoch));
        for from in new.filter_map(|epoch| epoch.from.as_deref()) {
            parse_moment(from).map_err(|error| error.with("type", &self.name))?;
        }
        Ok(())
    }

    /// Checks that conditions can reach the time of events: `time` is always that.
    pub(crate) fn check_time_name(&self) -> Result<()> {
        if self.time == "time" || self.field("time").is_none() {
            return Ok(());
        }
        Err(Error::invalid(
            "a field named `time` would hide the time of the event, which is another field: give it another name, with \
             --map time=NAME for `events create` and `events ingest`, or make it the time field",
        )
        .with("type", &self.name)
        .with("time field", &self.time))
    }

    /// Checks that the field with the labels is a field of the type. With a misspelt name, every event would get the
    /// label of events without the field, and a label in the other field would be a value like any other.
    pub(crate) fn check_label_field(&self) -> Result<()> {
        match &self.visibility_field {
            Some(name) if self.field(name).is_none() => Err(Error::invalid(
                "the field with the labels is not a field of the type: correct its name, or add the field",
            )
            .with("type", &self.name)
            .with("field", name)),
            _ => Ok(()),
        }
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

    /// Checks that `self` may replace `before`.
    pub(crate) fn check_change(&self, before: &Self, has_events: bool) -> Result<()> {
        let refuse = |reason: &'static str, what: &str| {
            Err(Error::invalid(reason)
                .with("type", &self.name)
                .with("changed", what))
        };
        for old in &before.fields {
            let Some(new) = self.field(&old.name) else {
                return refuse(
                    "a field cannot be removed: stored events may have it",
                    &old.name,
                );
            };
            if has_events && old.indexed != new.indexed {
                return refuse(
                    "the index of a field cannot be added or removed once there are events: create another type and ingest again",
                    &old.name,
                );
            }
            if has_events && old.kind != new.kind && (old.indexed || old.kind == FieldType::Time) {
                return refuse(
                    "the type of an indexed field or a time cannot be changed once there are events: add another field",
                    &old.name,
                );
            }
        }
        if before.field("time").is_none() {
            self.check_time_name()?;
        }
        if self.visibility_field != before.visibility_field {
            self.check_label_field()?;
        }
        self.check_epoch_times(&before.shards)?;
        if has_events {
            let added = |field: &&Field| field.indexed && before.field(&field.name).is_none();
            if let Some(field) = self.fields.iter().find(added) {
                return refuse(
                    "an indexed field cannot be added once there are events, since older events would be missing from its index",
                    &field.name,
                );
            }
            let kept = [
                ("time", self.time != before.time),
                ("resolution", self.resolution != before.resolution),
                ("bin", self.bin != before.bin),
            ];
            if let Some((key, _)) = kept.iter().find(|(_, is_changed)| *is_changed) {
                return refuse(
                    "the time field, its resolution and the bin cannot be changed once there are events: create another \
                     type and ingest again",
                    key,
                );
            }
            if self.equal_records != before.equal_records {
                return refuse(
                    "whether equal records are one event cannot be changed once there are events, which would be stored \
                     again by another ingest: create another type and ingest again",
                    "equal_records",
                );
            }
            if !self.shards.starts_with(&before.shards) {
                return refuse("epochs of shards can only be added", "shards");
            }
        }
        Ok(())
    }
}

/// When an epoch begins.
fn epoch_start(from: &str) -> Option<i64> {
    parse_moment(from)
        .ok()
        .or_else(|| parse_time(from.as_bytes()))
}

fn is_field_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@/".contains(&byte);
    !name.is_empty()
        && name.len() <= FIELD_NAME_MAX
        && name.bytes().all(allowed)
        && !name
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// The name with every character that a field's name cannot have replaced by `_`.
#[must_use]
pub fn field_name(name: &str) -> String {
    let mut fit: String = name
        .chars()
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' | '@' | '/' => letter,
            _ => '_',
        })
        .take(FIELD_NAME_MAX - 1)
        .collect();
    if !is_field_name(&fit) {
        fit.insert(0, '_');
    }
    fit
}

/// Why two names of a source cannot be fields of one event.
pub(crate) fn same_name(one: &str, other: &str, field: &str) -> String {
    format!(
        "`{one}` and `{other}` would both be the field `{field}`: give one of them another name, with --map {other}=NAME on \
         the command line"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> EventType {
        EventType::from_toml(
            "name = 'web'\ntime = 'ts'\n[[shards]]\ncount = 2\n\
             [[fields]]\nname = 'ts'\ntype = 'time'\n\
             [[fields]]\nname = 'host'\ntype = 'text'\nindexed = true\n",
        )
        .expect("valid")
    }

    #[test]
    fn names_are_limited() {
        for name in ["web", "a_1", "web_request"] {
            check_type_name(name).expect("a name");
        }
        for name in [
            "",
            "Web",
            "1a",
            "a.b",
            "a/b",
            "web_index",
            "types",
            "a\0",
            "é",
            &"a".repeat(49),
        ] {
            assert!(check_type_name(name).is_err(), "{name}");
        }
        for name in ["id.orig_h", "user-agent", "@timestamp", "a/b"] {
            assert!(is_field_name(name), "{name}");
        }
        for name in ["", "a b", "1a", "-a", "a'", "a\n", &"a".repeat(129)] {
            assert!(!is_field_name(name), "{name}");
            assert!(is_field_name(&field_name(name)), "{name}");
        }
    }

    #[test]
    fn toml_makes_the_round_trip_and_unknown_keys_are_refused() {
        let mut web = sample();
        web.assign_ids(None);
        assert_eq!(web.field("host").and_then(|field| field.id), Some(2));
        let text = web.to_toml().expect("written");
        assert_eq!(EventType::from_toml(&text).expect("read"), web);
        let error = EventType::from_toml(&format!("colour = 'red'\n{text}")).expect_err("unknown");
        assert!(
            std::error::Error::source(&error)
                .is_some_and(|cause| cause.to_string().contains("colour"))
        );
    }

    #[test]
    fn a_type_that_cannot_work_is_refused() {
        let with = |change: fn(&mut EventType)| {
            let mut web = sample();
            change(&mut web);
            web.check().expect_err("refused").to_string()
        };
        assert!(with(|web| web.time = "host".into()).contains("time field"));
        assert!(with(|web| web.shards.clear()).contains("shards"));
        assert!(with(|web| web.bin = "never".into()).contains("span"));
        assert!(with(|web| web.resolution = "year".into()).contains("resolution"));
        assert!(with(|web| web.visibility = Some("a&".into())).contains("visibility"));
        assert!(with(|web| web.fields.push(web.fields[1].clone())).contains("twice"));
    }

    #[test]
    fn types_evolve_but_stored_keys_stay_readable() {
        let mut before = sample();
        before.assign_ids(None);
        let change = |change: fn(&mut EventType)| {
            let mut after = before.clone();
            change(&mut after);
            after.assign_ids(Some(&before));
            after.check_change(&before, true).map(|()| after)
        };
        let added = change(|web| {
            let name = "extra".into();
            web.fields.insert(
                0,
                Field {
                    name,
                    kind: FieldType::I64,
                    indexed: false,
                    id: None,
                },
            );
        });
        assert_eq!(added.expect("allowed").fields[0].id, Some(3));
        let shards = change(|web| {
            web.shards.push(Epoch {
                from: Some("2030-01-01".into()),
                count: 8,
            });
        });
        assert_eq!(shards.expect("allowed").shard_count(), 8);
        assert!(change(|web| drop(web.fields.pop())).is_err());
        assert!(change(|web| web.fields[1].kind = FieldType::Ip).is_err());
        assert!(change(|web| web.fields[1].indexed = false).is_err());
        assert!(change(|web| web.bin = "1d".into()).is_err());
        assert!(change(|web| web.shards[0].count = 3).is_err());
        assert!(change(|web| web.visibility_field = Some("hots".into())).is_err());
        assert!(change(|web| web.visibility_field = Some("host".into())).is_ok());
    }
}
