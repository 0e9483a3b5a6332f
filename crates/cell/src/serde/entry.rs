//! Keys and entries.

use std::fmt;

use serde_core::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_core::ser::{Serialize, SerializeStruct, Serializer};

use super::bytes::{FAMILY, Plain, QUALIFIER, ROW, Slot, VALUE, VISIBILITY, next, once, put};
use crate::{Entry, EntryRef, Key, KeyRef};

/// The fields of an entry in a binary format; a key has all but the last.
const FIELDS: &[&str] = &[
    "row",
    "family",
    "qualifier",
    "visibility",
    "timestamp",
    "deleted",
    "value",
];

fn write<S: Serializer>(
    serializer: S,
    name: &'static str,
    key: KeyRef<'_>,
    value: Option<&[u8]>,
) -> Result<S::Ok, S::Error> {
    let readable = serializer.is_human_readable();
    let deleted = !readable || key.deleted;
    let fields = 5 + usize::from(deleted) + usize::from(value.is_some());
    let mut out = serializer.serialize_struct(name, fields)?;
    put(&mut out, readable, ROW, key.row)?;
    put(&mut out, readable, FAMILY, key.family)?;
    put(&mut out, readable, QUALIFIER, key.qualifier)?;
    put(&mut out, readable, VISIBILITY, key.visibility)?;
    out.serialize_field("timestamp", &key.timestamp)?;
    if deleted {
        out.serialize_field("deleted", &key.deleted)?;
    }
    if let Some(value) = value {
        put(&mut out, readable, VALUE, value)?;
    }
    out.end()
}

impl Serialize for KeyRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(serializer, "Key", *self, None)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().serialize(serializer)
    }
}

impl Serialize for EntryRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(serializer, "Entry", self.key, Some(self.value))
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().serialize(serializer)
    }
}

/// Reads a key, and its value if `value` is set.
struct FieldsVisitor {
    value: bool,
}

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.value { "an entry" } else { "a key" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Entry, A::Error> {
        let key = Key {
            row: next::<_, Plain>(&mut sequence, "row")?.0,
            family: next::<_, Plain>(&mut sequence, "family")?.0,
            qualifier: next::<_, Plain>(&mut sequence, "qualifier")?.0,
            visibility: next::<_, Plain>(&mut sequence, "visibility")?.0,
            timestamp: next(&mut sequence, "timestamp")?,
            deleted: next(&mut sequence, "deleted")?,
        };
        let value = if self.value {
            next::<_, Plain>(&mut sequence, "value")?.0
        } else {
            Vec::new()
        };
        Ok(Entry { key, value })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let (mut row, mut family, mut qualifier) =
            (Slot::default(), Slot::default(), Slot::default());
        let (mut visibility, mut value) = (Slot::default(), Slot::default());
        let (mut timestamp, mut deleted) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "timestamp" => once(&mut timestamp, "timestamp", &mut map)?,
                "deleted" => once(&mut deleted, "deleted", &mut map)?,
                name => {
                    let taken = row.take(name, ROW, &mut map)?
                        || family.take(name, FAMILY, &mut map)?
                        || qualifier.take(name, QUALIFIER, &mut map)?
                        || visibility.take(name, VISIBILITY, &mut map)?
                        || (self.value && value.take(name, VALUE, &mut map)?);
                    if !taken {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
        }
        let key = Key {
            row: row.finish(ROW)?,
            family: family.finish(FAMILY)?,
            qualifier: qualifier.finish(QUALIFIER)?,
            visibility: visibility.finish(VISIBILITY)?,
            timestamp: timestamp.ok_or_else(|| de::Error::missing_field("timestamp"))?,
            deleted: deleted.unwrap_or(false),
        };
        let value = if self.value {
            value.finish(VALUE)?
        } else {
            Vec::new()
        };
        Ok(Entry { key, value })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = FIELDS.get(..6).unwrap_or(FIELDS);
        let visitor = FieldsVisitor { value: false };
        Ok(deserializer.deserialize_struct("Key", fields, visitor)?.key)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Entry", FIELDS, FieldsVisitor { value: true })
    }
}
