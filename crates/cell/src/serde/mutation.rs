//! Mutations: a row and the changes to its columns.

use std::fmt;

use serde_core::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_core::ser::{Serialize, SerializeStruct, Serializer};

use super::bytes::{FAMILY, Plain, QUALIFIER, ROW, Slot, VALUE, VISIBILITY, next, once, put};
use crate::{ColumnUpdate, Mutation, UpdateRef};

const FIELDS: &[&str] = &["row", "updates"];
/// The fields of an update in a binary format.
const UPDATE_FIELDS: &[&str] = &[
    "family",
    "qualifier",
    "visibility",
    "timestamp",
    "deleted",
    "value",
];

struct UpdateForm<'a>(UpdateRef<'a>);

impl Serialize for UpdateForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let readable = serializer.is_human_readable();
        let update = &self.0;
        let timestamp = !readable || update.timestamp.is_some();
        let fields = if readable {
            4 + usize::from(timestamp)
        } else {
            UPDATE_FIELDS.len()
        };
        let mut out = serializer.serialize_struct("Update", fields)?;
        put(&mut out, readable, FAMILY, update.family)?;
        put(&mut out, readable, QUALIFIER, update.qualifier)?;
        put(&mut out, readable, VISIBILITY, update.visibility)?;
        if timestamp {
            out.serialize_field("timestamp", &update.timestamp)?;
        }
        if !readable || update.deleted {
            out.serialize_field("deleted", &update.deleted)?;
        }
        if !readable || !update.deleted {
            put(&mut out, readable, VALUE, update.value)?;
        }
        out.end()
    }
}

impl Serialize for Mutation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let readable = serializer.is_human_readable();
        let updates: Vec<_> = self.updates().map(UpdateForm).collect();
        let mut out = serializer.serialize_struct("Mutation", FIELDS.len())?;
        put(&mut out, readable, ROW, self.row())?;
        out.serialize_field("updates", &updates)?;
        out.end()
    }
}

struct Update {
    family: Vec<u8>,
    qualifier: Vec<u8>,
    visibility: Vec<u8>,
    timestamp: Option<i64>,
    /// `None` deletes.
    value: Option<Vec<u8>>,
}

struct UpdateVisitor;

impl<'de> Visitor<'de> for UpdateVisitor {
    type Value = Update;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a change to a column")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Update, A::Error> {
        let family = next::<_, Plain>(&mut sequence, "family")?.0;
        let qualifier = next::<_, Plain>(&mut sequence, "qualifier")?.0;
        let visibility = next::<_, Plain>(&mut sequence, "visibility")?.0;
        let timestamp = next(&mut sequence, "timestamp")?;
        let deleted: bool = next(&mut sequence, "deleted")?;
        let Plain(value) = next(&mut sequence, "value")?;
        Ok(Update {
            family,
            qualifier,
            visibility,
            timestamp,
            value: (!deleted).then_some(value),
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Update, A::Error> {
        let (mut family, mut qualifier) = (Slot::default(), Slot::default());
        let (mut visibility, mut value) = (Slot::default(), Slot::default());
        let (mut timestamp, mut deleted) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "timestamp" => once(&mut timestamp, "timestamp", &mut map)?,
                "deleted" => once(&mut deleted, "deleted", &mut map)?,
                name => {
                    let taken = family.take(name, FAMILY, &mut map)?
                        || qualifier.take(name, QUALIFIER, &mut map)?
                        || visibility.take(name, VISIBILITY, &mut map)?
                        || value.take(name, VALUE, &mut map)?;
                    if !taken {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
        }
        let deletes = deleted.unwrap_or(false);
        // A binary format with names writes an empty value for a delete.
        if deletes && value.is_some_bytes() {
            return Err(de::Error::custom("`deleted` and `value`: use one of them"));
        }
        let value = if deletes {
            None
        } else {
            Some(value.finish(VALUE)?)
        };
        Ok(Update {
            family: family.finish(FAMILY)?,
            qualifier: qualifier.finish(QUALIFIER)?,
            visibility: visibility.finish(VISIBILITY)?,
            timestamp: timestamp.flatten(),
            value,
        })
    }
}

impl<'de> Deserialize<'de> for Update {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Update", UPDATE_FIELDS, UpdateVisitor)
    }
}

struct MutationVisitor;

impl<'de> Visitor<'de> for MutationVisitor {
    type Value = Mutation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mutation of a row")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Mutation, A::Error> {
        let Plain(row) = next(&mut sequence, "row")?;
        build(row, next(&mut sequence, "updates")?)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Mutation, A::Error> {
        let (mut row, mut updates) = (Slot::default(), None);
        while let Some(name) = map.next_key::<String>()? {
            if name == "updates" {
                once(&mut updates, "updates", &mut map)?;
            } else if !row.take(&name, ROW, &mut map)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let updates = updates.ok_or_else(|| de::Error::missing_field("updates"))?;
        build(row.finish(ROW)?, updates)
    }
}

/// Checks the labels, as a [`Mutation`] does when it is written by a program.
fn build<E: de::Error>(row: Vec<u8>, updates: Vec<Update>) -> Result<Mutation, E> {
    let mut mutation = Mutation::new(row);
    for update in &updates {
        crate::visibility::validate(&update.visibility).map_err(E::custom)?;
        mutation
            .update(ColumnUpdate {
                family: &update.family,
                qualifier: &update.qualifier,
                visibility: &update.visibility,
                timestamp: update.timestamp,
                value: update.value.as_deref(),
            })
            .map_err(E::custom)?;
    }
    Ok(mutation)
}

impl<'de> Deserialize<'de> for Mutation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Mutation", FIELDS, MutationVisitor)
    }
}
