//! One entry, as a line for people and as a JSON line.

use std::borrow::Cow;
use std::io::{self, Write};

use ostrakon_cell::EntryRef;
use serde::Serialize;

use super::escape;

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
    for (part, before) in [
        (key.row, ""),
        (key.family, " "),
        (key.qualifier, ":"),
        (key.visibility, " ["),
    ] {
        out.write_all(before.as_bytes())?;
        out.write_all(escape(part).as_bytes())?;
    }
    out.write_all(b"]")?;
    if fields.timestamp {
        write!(out, " {}", key.timestamp)?;
    }
    if fields.value {
        out.write_all(b"\t")?;
        out.write_all(escape(entry.value).as_bytes())?;
    }
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct JsonEntry<'a> {
    row: Cow<'a, str>,
    family: Cow<'a, str>,
    qualifier: Cow<'a, str>,
    visibility: Cow<'a, str>,
    timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Cow<'a, str>>,
}

/// One JSON object and a line feed; the texts are escaped as on the command line.
pub(crate) fn write_entry_json(
    out: &mut dyn Write,
    entry: EntryRef<'_>,
    value: bool,
) -> io::Result<()> {
    let line = JsonEntry {
        row: escape(entry.key.row),
        family: escape(entry.key.family),
        qualifier: escape(entry.key.qualifier),
        visibility: escape(entry.key.visibility),
        timestamp: entry.key.timestamp,
        value: value.then(|| escape(entry.value)),
    };
    serde_json::to_writer(&mut *out, &line).map_err(io::Error::from)?;
    out.write_all(b"\n")
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
             {\"row\":\"ro\\\\x0aw\",\"family\":\"f\",\"qualifier\":\"q\\\\x09\",\
             \"visibility\":\"a|b\",\"timestamp\":7,\"value\":\"\\\\xff\\\"\"}\n"
        );
    }
}
