//! Bytes in JSON, exactly.
//!
//! Bytes that are UTF-8 are a JSON string under their name, with the escapes of JSON and no others. Other bytes are
//! base64 under `NAME_base64`, instead of `NAME`: a reader that finds `NAME` has the bytes themselves.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

use super::escape::is_hidden;

/// What follows the name of bytes that are base64.
pub(crate) const BASE64_SUFFIX: &str = "_base64";

/// Writes one object and a line feed.
pub(crate) fn write_json_line(out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    object.serialize(&mut Serializer::with_formatter(&mut *out, Visible))?;
    out.write_all(b"\n")
}

/// Adds bytes to a map that is written.
pub(super) fn serialize_bytes<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    bytes: &[u8],
) -> Result<(), M::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => map.serialize_entry(name, text),
        Err(_) => map.serialize_entry(&format!("{name}{BASE64_SUFFIX}"), &STANDARD.encode(bytes)),
    }
}

/// The object with these bytes in it; without bytes, with `null`.
pub(crate) fn with_bytes(mut object: Value, name: &str, bytes: Option<&[u8]>) -> Value {
    if let Some(map) = object.as_object_mut() {
        let (name, value) = match bytes.map(|bytes| (bytes, std::str::from_utf8(bytes))) {
            None => (name.to_owned(), Value::Null),
            Some((_, Ok(text))) => (name.to_owned(), Value::from(text)),
            Some((bytes, Err(_))) => (
                format!("{name}{BASE64_SUFFIX}"),
                Value::from(STANDARD.encode(bytes)),
            ),
        };
        map.insert(name, value);
    }
    object
}

/// The bytes that a text under `NAME_base64` stands for.
pub(crate) fn from_base64(text: &[u8]) -> Result<Vec<u8>, String> {
    STANDARD
        .decode(text)
        .map_err(|error| format!("invalid base64: {error}"))
}

/// Writes characters that a terminal hides or obeys as `\uNNNN`, which JSON reads as the same characters.
struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // serde_json has escaped control characters up to 0x1f, quotes and backslashes.
        if fragment.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(is_hidden) {
            let (shown, hidden) = rest.split_at(at);
            writer.write_all(shown.as_bytes())?;
            let mut characters = hidden.chars();
            if let Some(character) = characters.next() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_stays_text_and_other_bytes_are_base64() {
        let object = with_bytes(json!({}), "row", Some("a\\\n\"ü".as_bytes()));
        assert_eq!(object, json!({"row": "a\\\n\"ü"}));
        let object = with_bytes(json!({}), "row", Some(b"\xff\x00"));
        assert_eq!(object, json!({"row_base64": "/wA="}));
        assert_eq!(with_bytes(json!({}), "end", None), json!({"end": null}));
        assert_eq!(from_base64(b"/wA="), Ok(b"\xff\x00".to_vec()));
        assert!(from_base64(b"/w").is_err());
    }

    #[test]
    fn hidden_characters_are_escaped_and_come_back() {
        let text = "a\u{9b}\u{202e}\u{7f}\u{e0001}é😀\u{1b}";
        let mut out = Vec::new();
        write_json_line(&mut out, &json!({"t": text})).expect("memory");
        let line = String::from_utf8(out).expect("text");
        assert_eq!(
            line,
            "{\"t\":\"a\\u009b\\u202e\\u007f\\udb40\\udc01é😀\\u001b\"}\n"
        );
        let back: Value = serde_json::from_str(&line).expect("json");
        assert_eq!(back["t"], text);
    }
}
