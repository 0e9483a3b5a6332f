//! One entry, as a line for people and as a JSON line.

use std::io::{self, Write};

use ostrakon_cell::EntryRef;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::json::serialize_bytes;
use super::{escape, escape_label, escape_part, write_json_line};

/// Which parts of an entry a line of text shows in addition to row and column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryFields {
    /// The timestamp.
    pub(crate) timestamp: bool,
    /// The value.
    pub(crate) value: bool,
    /// Only the value, one per line.
    pub(crate) value_only: bool,
}

/// `row family:qualifier [visibility] timestamp<TAB>value`, as Accumulo's shell shows it.
///
/// A space inside a part of the key is `\x20`, and a colon inside the family `\x3a`. So the first space ends
/// the row, the first colon after it the family, and so on: no two keys have the same line.
pub(crate) fn write_entry_text(
    out: &mut dyn Write,
    entry: EntryRef<'_>,
    fields: EntryFields,
) -> io::Result<()> {
    if fields.value_only {
        out.write_all(escape(entry.value).as_bytes())?;
        return out.write_all(b"\n");
    }
    let key = entry.key;
    for (part, before, separators) in [
        (key.row, "", " "),
        (key.family, " ", " :"),
        (key.qualifier, ":", " "),
    ] {
        out.write_all(before.as_bytes())?;
        out.write_all(escape_part(part, separators).as_bytes())?;
    }
    write!(out, " [{}]", escape_label(key.visibility))?;
    if fields.timestamp {
        write!(out, " {}", key.timestamp)?;
    }
    if fields.value {
        out.write_all(b"\t")?;
        out.write_all(escape(entry.value).as_bytes())?;
    }
    out.write_all(b"\n")
}

/// The bytes of the value as they are, and the byte that ends them.
pub(crate) fn write_value_raw(out: &mut dyn Write, entry: EntryRef<'_>, end: u8) -> io::Result<()> {
    out.write_all(entry.value)?;
    out.write_all(&[end])
}

struct JsonEntry<'a> {
    entry: EntryRef<'a>,
    value: bool,
}

impl Serialize for JsonEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = self.entry.key;
        let mut map = serializer.serialize_map(None)?;
        serialize_bytes(&mut map, "row", key.row)?;
        serialize_bytes(&mut map, "family", key.family)?;
        serialize_bytes(&mut map, "qualifier", key.qualifier)?;
        serialize_bytes(&mut map, "visibility", key.visibility)?;
        map.serialize_entry("timestamp", &key.timestamp)?;
        if self.value {
            serialize_bytes(&mut map, "value", self.entry.value)?;
        }
        map.end()
    }
}

/// One JSON object and a line feed; [`super::json`] says how bytes are written.
pub(crate) fn write_entry_json(
    out: &mut dyn Write,
    entry: EntryRef<'_>,
    value: bool,
) -> io::Result<()> {
    write_json_line(out, &JsonEntry { entry, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_cell::{Entry, Key};

    #[test]
    fn an_entry_is_one_line_whatever_its_bytes() {
        let entry = Entry {
            key: Key {
                visibility: b"a|b".to_vec(),
                timestamp: 7,
                ..Key::new("ro\nw", "f", "q\t")
            },
            value: b"\xff\"".to_vec(),
        };
        let fields = EntryFields {
            timestamp: true,
            value: true,
            value_only: false,
        };
        let mut out = Vec::new();
        write_entry_text(&mut out, entry.as_ref(), fields).expect("memory");
        write_entry_json(&mut out, entry.as_ref(), true).expect("memory");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "ro\\x0aw f:q\\x09 [a|b] 7\t\\xff\"\n\
             {\"row\":\"ro\\nw\",\"family\":\"f\",\"qualifier\":\"q\\t\",\
             \"visibility\":\"a|b\",\"timestamp\":7,\"value_base64\":\"/yI=\"}\n"
        );
    }

    #[test]
    fn different_keys_have_different_lines() {
        let keys = [
            Key::new("a", "b f", ""),
            Key::new("a b", "f", ""),
            Key::new("a", "b", "f:"),
            Key::new("a", "b:f", ""),
            Key::new("a", "b", "f [x]"),
            Key {
                visibility: b"x".to_vec(),
                ..Key::new("a", "b", "f")
            },
        ];
        let fields = EntryFields {
            timestamp: false,
            value: false,
            value_only: false,
        };
        let mut lines = std::collections::BTreeSet::new();
        for key in &keys {
            let mut out = Vec::new();
            let entry = Entry {
                key: key.clone(),
                value: Vec::new(),
            };
            write_entry_text(&mut out, entry.as_ref(), fields).expect("memory");
            lines.insert(out);
        }
        assert_eq!(lines.len(), keys.len());
        assert!(lines.contains(&b"a b\\x20f: []\n"[..]));
    }
}
