//! Serialization of the facade's own types (feature `serde`), in the form that `ostrakon_cell` gives them.

use std::sync::Arc;

use ostrakon_cell::Batch;
use serde_core::de::{self, Deserialize, Deserializer};
use serde_core::ser::{self, Serialize, Serializer};

use crate::entry::Entry;
use crate::mutation::Mutation;

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entry = ostrakon_cell::Entry::deserialize(deserializer)?;
        let mut batch = Batch::new();
        batch
            .push(entry.key.as_ref(), &entry.value)
            .map_err(de::Error::custom)?;
        Ok(Self::new(Arc::new(batch), 0))
    }
}

/// A mutation with a malformed part cannot be serialized.
impl Serialize for Mutation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let encoded = self.encode().map_err(ser::Error::custom)?;
        encoded.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Mutation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let encoded = ostrakon_cell::Mutation::deserialize(deserializer)?;
        Ok(Self::decode(&encoded))
    }
}
