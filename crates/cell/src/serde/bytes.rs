//! A field of bytes, in its two forms.

use std::fmt;

use serde_core::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_core::ser::{Serialize, SerializeStruct, Serializer};

use crate::visibility::base64;

/// The name of a field of bytes: as text, and as base64.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) plain: &'static str,
    pub(super) base64: &'static str,
}

pub(super) const ROW: Name = Name {
    plain: "row",
    base64: "row_base64",
};
pub(super) const FAMILY: Name = Name {
    plain: "family",
    base64: "family_base64",
};
pub(super) const QUALIFIER: Name = Name {
    plain: "qualifier",
    base64: "qualifier_base64",
};
pub(super) const VISIBILITY: Name = Name {
    plain: "visibility",
    base64: "visibility_base64",
};
pub(super) const VALUE: Name = Name {
    plain: "value",
    base64: "value_base64",
};

/// Bytes of a binary format.
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// Writes a field of bytes.
pub(super) fn put<S: SerializeStruct>(
    out: &mut S,
    readable: bool,
    name: Name,
    bytes: &[u8],
) -> Result<(), S::Error> {
    if !readable {
        return out.serialize_field(name.plain, &Raw(bytes));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => out.serialize_field(name.plain, text),
        Err(_) => {
            let mut text = String::new();
            base64::encode(bytes, &mut text);
            out.serialize_field(name.base64, &text)
        }
    }
}

/// Bytes that were read: a string or a byte string.
pub(super) struct Plain(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_string(PlainVisitor)
        } else {
            deserializer.deserialize_byte_buf(PlainVisitor)
        }
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or bytes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Plain, E> {
        Ok(Plain(text.as_bytes().to_vec()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Plain, E> {
        Ok(Plain(text.into_bytes()))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Plain, E> {
        Ok(Plain(bytes.to_vec()))
    }

    fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Plain, E> {
        Ok(Plain(bytes))
    }

    /// Some binary formats have no byte strings.
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Plain, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = sequence.next_element()? {
            bytes.push(byte);
        }
        Ok(Plain(bytes))
    }
}

/// A field of bytes that is being read from a map.
#[derive(Default)]
pub(super) struct Slot(Option<Vec<u8>>);

impl Slot {
    /// Reads the field if `key` names it.
    pub(super) fn take<'de, A: MapAccess<'de>>(
        &mut self,
        key: &str,
        name: Name,
        map: &mut A,
    ) -> Result<bool, A::Error> {
        let bytes = if key == name.plain {
            map.next_value::<Plain>()?.0
        } else if key == name.base64 {
            let text: String = map.next_value()?;
            base64::decode(text.as_bytes()).map_err(|at| {
                let field = name.base64;
                de::Error::custom(format_args!("{field}: invalid base64 at byte {at}"))
            })?
        } else {
            return Ok(false);
        };
        if self.0.replace(bytes).is_some() {
            return Err(de::Error::duplicate_field(name.plain));
        }
        Ok(true)
    }

    /// Whether the field was there and not empty.
    pub(super) fn is_some_bytes(&self) -> bool {
        self.0.as_ref().is_some_and(|bytes| !bytes.is_empty())
    }

    /// The bytes, which must have been there.
    pub(super) fn finish<E: de::Error>(self, name: Name) -> Result<Vec<u8>, E> {
        self.0.ok_or_else(|| E::missing_field(name.plain))
    }
}

/// The next element of a sequence of fields.
pub(super) fn next<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(
    sequence: &mut A,
    name: &'static str,
) -> Result<T, A::Error> {
    sequence
        .next_element()?
        .ok_or_else(|| de::Error::missing_field(name))
}

/// Reads the value of a field that may occur once.
pub(super) fn once<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.replace(map.next_value()?).is_some() {
        return Err(de::Error::duplicate_field(name));
    }
    Ok(())
}
