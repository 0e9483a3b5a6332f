//! JSON lines as records: nested objects become fields with dots in their names, lists stay JSON text, numbers keep
//! their digits, and `null` is a field that the record does not have.

use std::borrow::Cow;
use std::fmt;

use hashbrown::HashMap;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Lines, RecordSource, Step};
use crate::record::Record;

/// Objects in objects; each is read from its own text.
const MAX_DEPTH: usize = 64;
/// Maximum number of distinct names in a file; objects used as maps could have a new one per line.
const MAX_NAMES: usize = 65_536;

pub(super) struct JsonLines {
    lines: Lines,
    names: Known,
    path: String,
}

#[derive(Default)]
struct Known {
    names: Vec<String>,
    positions: HashMap<String, u32>,
}

impl JsonLines {
    pub(super) fn new(lines: Lines) -> Self {
        Self {
            lines,
            names: Known::default(),
            path: String::new(),
        }
    }
}

impl RecordSource for JsonLines {
    fn next(&mut self, record: &mut Record) -> ostrakon_cell::Result<Step> {
        loop {
            record.clear();
            if !self.lines.advance()? {
                return Ok(Step::End);
            }
            if self.lines.is_too_long() {
                return Ok(Step::Rejected("the line is longer than 16 MiB".into()));
            }
            let text = self.lines.text();
            if text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            // JSON is UTF-8. Replacing other bytes would store what the file does not say.
            let text = match std::str::from_utf8(text) {
                Ok(text) => text,
                Err(error) => {
                    return Ok(Step::Rejected(format!(
                        "the line is not UTF-8 from byte {} on, as JSON must be",
                        error.valid_up_to() + 1
                    )));
                }
            };
            // An error leaves a part of a path.
            self.path.clear();
            let known = self.names.names.len();
            let flat = flatten(text, &mut self.path, 1, &mut self.names, record);
            return Ok(match flat {
                Ok(()) => Step::Record,
                Err(reason) => {
                    // Names of a rejected line do not count: later lines need the room.
                    self.names.forget_from(known);
                    Step::Rejected(reason)
                }
            });
        }
    }

    fn names(&self) -> &[String] {
        &self.names.names
    }

    fn line(&self) -> u64 {
        self.lines.number()
    }

    fn text(&self) -> &[u8] {
        self.lines.text()
    }

    fn position(&self) -> u64 {
        self.lines.position()
    }

    fn start(&self) -> u64 {
        self.lines.start()
    }
}

/// Adds the fields of an object; `path` is the name of the object with a dot after it, or empty.
fn flatten(
    object: &str,
    path: &mut String,
    depth: usize,
    names: &mut Known,
    record: &mut Record,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("more than {MAX_DEPTH} objects within each other"));
    }
    let pairs: Pairs<'_> = serde_json::from_str(object)
        .map_err(|error| format!("not a JSON object: {}", reason(&error, depth == 1)))?;
    let outer = path.len();
    for (Key(key), value) in pairs.0 {
        path.truncate(outer);
        path.push_str(&key);
        let text = value.get();
        match text.as_bytes().first() {
            Some(b'{') => {
                path.push('.');
                flatten(text, path, depth + 1, names, record)?;
            }
            Some(b'n') => {}
            Some(b'"') => match text.get(1..text.len() - 1) {
                // Without escapes, the text is what is between the quotes.
                Some(plain) if memchr::memchr(b'\\', plain.as_bytes()).is_none() => {
                    record.push(names.position(path)?, plain.as_bytes());
                }
                _ => {
                    let text: String = serde_json::from_str(text).map_err(|error| {
                        format!("the field `{path}`: {}", reason(&error, false))
                    })?;
                    record.push(names.position(path)?, text.as_bytes());
                }
            },
            _ => record.push(names.position(path)?, text.as_bytes()),
        }
    }
    path.truncate(outer);
    Ok(())
}

/// What is wrong, without the line that the parser counts: it sees one line, and perhaps a part of it. The line of the file
/// is reported with the reason.
fn reason(error: &serde_json::Error, is_whole: bool) -> String {
    let text = error.to_string();
    let Some((reason, _)) = text.rsplit_once(" at line ") else {
        return text;
    };
    match is_whole {
        true => format!("{reason} at column {}", error.column()),
        false => reason.to_owned(),
    }
}

impl Known {
    /// Forgets the names after the first `known`.
    fn forget_from(&mut self, known: usize) {
        for name in self.names.drain(known..) {
            self.positions.remove(&name);
        }
    }

    /// The position of a name, which is added if it is new.
    fn position(&mut self, name: &str) -> Result<u32, String> {
        if let Some(&known) = self.positions.get(name) {
            return Ok(known);
        }
        if self.names.len() >= MAX_NAMES {
            return Err(format!("more than {MAX_NAMES} different field names"));
        }
        let position = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.positions.insert(name.to_owned(), position);
        Ok(position)
    }
}

/// The name in a pair; it borrows from the text if it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// The pairs of an object in their order, with unparsed values. A name that occurs twice stays twice, so that the
/// record is rejected.
struct Pairs<'a>(Vec<(Key<'a>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_records() {
        let text = b"{\"ts\":1.10,\"id\":{\"orig_h\":\"10.0.0.1\",\"p\":null},\"l\":[1, 2],\"n\":\"a\\nb\"}\n\n[1]\n{\"a\":}\n";
        let mut source = JsonLines::new(Lines::new(Box::new(&text[..])));
        let mut record = Record::default();
        assert_eq!(source.next(&mut record).expect("memory"), Step::Record);
        let fields: Vec<(&str, &[u8])> = record
            .fields()
            .map(|(name, value)| (source.names()[name as usize].as_str(), value))
            .collect();
        assert_eq!(
            fields,
            [
                ("ts", &b"1.10"[..]),
                ("id.orig_h", b"10.0.0.1"),
                ("l", b"[1, 2]"),
                ("n", b"a\nb")
            ]
        );
        for line in [3, 4] {
            assert!(matches!(
                source.next(&mut record).expect("memory"),
                Step::Rejected(_)
            ));
            assert_eq!(source.line(), line);
        }
        assert_eq!(source.next(&mut record).expect("memory"), Step::End);
    }

    #[test]
    fn a_line_that_is_not_utf8_is_rejected_as_it_is() {
        let text = b"{\"a\":\"\xff\"}\n{\"a\":\"\xc3\xbc\"}\n";
        let mut source = JsonLines::new(Lines::new(Box::new(&text[..])));
        let mut record = Record::default();
        let first = source.next(&mut record).expect("memory");
        assert!(
            matches!(&first, Step::Rejected(reason) if reason.contains("from byte 7 on")),
            "{first:?}"
        );
        assert_eq!(source.text(), b"{\"a\":\"\xff\"}");
        assert_eq!(source.next(&mut record).expect("memory"), Step::Record);
        assert_eq!(record.get(0), Some("ü".as_bytes()));
        assert_eq!(source.position(), text.len() as u64);
    }

    #[test]
    fn depth_and_names_are_bounded() {
        let nested = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        let many: Vec<String> = (0..=MAX_NAMES).map(|at| format!("\"{at}\":0")).collect();
        let text = [
            nested(MAX_DEPTH),
            nested(MAX_DEPTH + 1),
            nested(100_000),
            format!("{{{}}}", many.join(",")),
            nested(MAX_DEPTH),
        ]
        .join("\n");
        let mut source = JsonLines::new(Lines::new(Box::new(std::io::Cursor::new(text))));
        let mut record = Record::default();
        let mut next = || source.next(&mut record).expect("memory");
        assert_eq!(next(), Step::Record);
        for _ in 0..2 {
            assert!(matches!(next(), Step::Rejected(reason) if reason.contains("64 objects")));
        }
        assert!(matches!(next(), Step::Rejected(reason) if reason.contains("different field")));
        // Names that are known still have their place.
        assert_eq!(next(), Step::Record);
    }
}
