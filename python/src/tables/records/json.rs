//! The texts of records: one JSON object each.

use super::argument::TextField;

/// The members of one field, ready to be copied: `"name": "value"` for each distinct value, or the value
/// alone where a record may have several.
pub(super) struct Members<'a> {
    field: &'a TextField,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    name: Vec<u8>,
}

impl<'a> Members<'a> {
    pub(super) fn new(field: &'a TextField) -> Self {
        let mut name = Vec::new();
        push_text(&field.name, &mut name);
        name.extend_from_slice(b": ");
        let keys = &field.places.keys;
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(keys.len()));
        for at in 0..keys.len() {
            if !field.several {
                bytes.extend_from_slice(&name);
            }
            let key = keys.get(at).unwrap_or_default();
            // JSON has no infinity; `inf` is the only number whose text ends so.
            if field.plain && !key.ends_with(b"f") {
                bytes.extend_from_slice(key);
            } else {
                push_text(key, &mut bytes);
            }
            ends.push(bytes.len());
        }
        Self {
            field,
            bytes,
            ends,
            name,
        }
    }

    fn of_place(&self, place: u32) -> &[u8] {
        let at = place as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// Appends what a record has of the field; `first` says whether the object is empty so far.
    fn append(&self, record: u32, first: bool, out: &mut Vec<u8>) -> bool {
        let entries = self.field.places.of(record);
        if entries.is_empty() {
            return first;
        }
        if !first {
            out.extend_from_slice(b", ");
        }
        if self.field.several {
            out.extend_from_slice(&self.name);
            out.push(b'[');
            for (at, entry) in entries.enumerate() {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                out.extend_from_slice(self.of_place(self.field.places.place(entry)));
            }
            out.push(b']');
        } else {
            // One entry: a record has one value of such a field.
            for entry in entries {
                out.extend_from_slice(self.of_place(self.field.places.place(entry)));
            }
        }
        false
    }
}

/// Replaces `out` by the object of a record.
pub(super) fn object(members: &[Members<'_>], record: u32, out: &mut Vec<u8>) {
    out.clear();
    out.push(b'{');
    let mut first = true;
    for field in members {
        first = field.append(record, first, out);
    }
    out.push(b'}');
}

/// A text in quotes, with the escapes of Python's `json.dumps(text, ensure_ascii=False)`.
fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            0..32 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}
