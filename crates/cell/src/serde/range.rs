//! Ranges, with the ends they have: a range that holds no key stays as it is.

use std::fmt;

use serde_core::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_core::ser::{Serialize, SerializeStruct, Serializer};

use super::bytes::{next, once};
use crate::{Key, Range};

const FIELDS: &[&str] = &["start", "start_inclusive", "end", "end_inclusive"];

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Range", FIELDS.len())?;
        out.serialize_field("start", &self.start())?;
        out.serialize_field("start_inclusive", &self.start_inclusive())?;
        out.serialize_field("end", &self.end())?;
        out.serialize_field("end_inclusive", &self.end_inclusive())?;
        out.end()
    }
}

struct RangeVisitor;

impl<'de> Visitor<'de> for RangeVisitor {
    type Value = Range;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a range of keys")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Range, A::Error> {
        let start = next(&mut sequence, "start")?;
        let start_inclusive = next(&mut sequence, "start_inclusive")?;
        let end = next(&mut sequence, "end")?;
        let end_inclusive = next(&mut sequence, "end_inclusive")?;
        Ok(Range::of_ends(start, start_inclusive, end, end_inclusive))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Range, A::Error> {
        let (mut start, mut end) = (None::<Option<Key>>, None::<Option<Key>>);
        let (mut start_inclusive, mut end_inclusive) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "start" => once(&mut start, "start", &mut map)?,
                "start_inclusive" => once(&mut start_inclusive, "start_inclusive", &mut map)?,
                "end" => once(&mut end, "end", &mut map)?,
                "end_inclusive" => once(&mut end_inclusive, "end_inclusive", &mut map)?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Range::of_ends(
            start.ok_or_else(|| de::Error::missing_field("start"))?,
            start_inclusive.ok_or_else(|| de::Error::missing_field("start_inclusive"))?,
            end.ok_or_else(|| de::Error::missing_field("end"))?,
            end_inclusive.ok_or_else(|| de::Error::missing_field("end_inclusive"))?,
        ))
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Range", FIELDS, RangeVisitor)
    }
}
