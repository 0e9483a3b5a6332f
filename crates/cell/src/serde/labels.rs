//! Labels and the authorizations of a reader.

use std::fmt;

use serde_core::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};
use serde_core::ser::{Serialize, SerializeSeq, Serializer};

use super::bytes::{Plain, Raw};
use crate::{Authorizations, VisibilityExpression};

impl Serialize for Authorizations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let readable = serializer.is_human_readable();
        let names: Result<Vec<&str>, _> = self.iter().map(std::str::from_utf8).collect();
        match names {
            Ok(names) if readable => names.serialize(serializer),
            Err(_) if readable => serializer.serialize_str(&self.serialise()),
            _ => {
                let mut out = serializer.serialize_seq(Some(self.len()))?;
                for name in self.iter() {
                    out.serialize_element(&Raw(name))?;
                }
                out.end()
            }
        }
    }
}

struct AuthorizationsVisitor;

impl<'de> Visitor<'de> for AuthorizationsVisitor {
    type Value = Authorizations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence of authorizations, or a string of them with commas between")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Authorizations, E> {
        Authorizations::deserialise(text.as_bytes()).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Authorizations, A::Error> {
        let mut names = Vec::new();
        while let Some(Plain(name)) = sequence.next_element()? {
            names.push(name);
        }
        Authorizations::new(names).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Authorizations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(AuthorizationsVisitor)
        } else {
            deserializer.deserialize_seq(AuthorizationsVisitor)
        }
    }
}

impl Serialize for VisibilityExpression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for VisibilityExpression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(text).map_err(de::Error::custom)
    }
}
