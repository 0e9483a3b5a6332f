//! Which types are valid, and which changes of a type stored events allow.

use std::collections::BTreeSet;

use ostrakon_cell::{Error, Result, VisibilityExpression};

use super::{Epoch, EventType, Field, epoch_start};
use crate::time::{SECOND, parse_moment, parse_span};
use crate::value::FieldType;

const NAME_MAX: usize = 48;
const FIELD_NAME_MAX: usize = 128;
const FIELDS_MAX: usize = 2000;
const SHARDS_MAX: u16 = 1024;

impl EventType {
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

pub(super) fn is_field_name(name: &str) -> bool {
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
