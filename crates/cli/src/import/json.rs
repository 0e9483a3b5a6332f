//! JSON lines: one object per line. Nested objects become fields with dots in their names, lists stay
//! JSON text, and numbers keep their digits.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::{Fields, MAX_NAMES};
use super::lines::{Line, Lines, line_into};
use super::record::{Presence, Record, RecordReader, Step};
use crate::failure::Result;

/// Objects in objects; each is read from its own text.
const MAX_DEPTH: usize = 64;

/// Reads JSON lines.
pub(super) struct JsonLines {
    lines: Lines,
    line: Line,
    fields: Fields,
    name: String,
}

impl JsonLines {
    pub(super) fn new(lines: Lines) -> Self {
        Self {
            lines,
            line: Line::default(),
            fields: Fields::default(),
            name: String::new(),
        }
    }

    fn split(&mut self, record: &mut Record) -> Result<(), String> {
        let text = std::str::from_utf8(&self.line.text).map_err(|error| error.to_string())?;
        self.name.clear();
        flatten(text, 1, &mut self.name, &mut self.fields, record)
    }
}

fn flatten(
    object: &str,
    depth: usize,
    name: &mut String,
    fields: &mut Fields,
    record: &mut Record,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("more than {MAX_DEPTH} objects within each other"));
    }
    let pairs: Pairs<'_> = serde_json::from_str(object)
        .map_err(|error| format!("not a JSON object: {}", reason(&error)))?;
    let outer = name.len();
    for (key, value) in pairs.0 {
        if outer > 0 {
            name.push('.');
        }
        name.push_str(&key);
        let text = value.get();
        if text.starts_with('{') {
            flatten(text, depth + 1, name, fields, record)?;
        } else {
            let id = fields
                .learn(name)
                .ok_or_else(|| format!("more than {MAX_NAMES} different field names"))?;
            if record.fields().iter().any(|field| field.id == id) {
                return Err(format!("the field `{name}` occurs twice"));
            }
            if text.starts_with('"') {
                let text: Text<'_> = serde_json::from_str(text)
                    .map_err(|error| format!("field `{name}`: {}", reason(&error)))?;
                record.add_decoded(id, text.0.as_bytes(), Presence::ByText);
            } else if text == "null" {
                record.add_decoded(id, b"", Presence::Missing);
            } else {
                record.add_decoded(id, text.as_bytes(), Presence::There);
            }
        }
        name.truncate(outer);
    }
    Ok(())
}

/// The message without its position, which would be wrong: each line is parsed alone, and a nested
/// object is parsed from its own text.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

impl RecordReader for JsonLines {
    fn next(&mut self, record: &mut Record) -> Result<Step> {
        loop {
            if let Some(step) = line_into(&mut self.lines, &mut self.line, record)? {
                return Ok(step);
            }
            if self.line.text.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let known = self.fields.len();
            return Ok(match self.split(record) {
                Ok(()) => Step::Record,
                Err(reason) => {
                    // Names of a rejected line do not count: later lines need the room.
                    self.fields.forget_from(known);
                    Step::Reject(reason)
                }
            });
        }
    }

    fn fields(&self) -> &Fields {
        &self.fields
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The pairs of an object in their order, with unparsed values.
struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

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
                while let Some((key, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    pairs.push((key.0, value));
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

    fn read(text: &'static str) -> Vec<String> {
        let mut reader = JsonLines::new(Lines::new(Box::new(text.as_bytes())));
        let mut record = Record::default();
        let mut seen = Vec::new();
        loop {
            match reader.next(&mut record).expect("memory") {
                Step::End => return seen,
                Step::Reject(reason) => seen.push(format!("{}! {reason}", record.line())),
                Step::Record => {
                    let fields: Vec<_> = record
                        .fields()
                        .iter()
                        .filter(|field| field.presence != Presence::Missing)
                        .map(|field| {
                            let text = String::from_utf8_lossy(record.bytes(field));
                            format!("{}={text}", reader.fields().name(field.id))
                        })
                        .collect();
                    seen.push(fields.join(" "));
                }
            }
        }
    }

    #[test]
    fn objects_become_fields_and_numbers_keep_their_digits() {
        assert_eq!(
            read(
                "{\"a\":1.10,\"b\":{\"c\":\"x\\ny\",\"d\":{}},\"n\":null}\n\n\
                 {\"big\":123456789012345678901234567890, \"l\": [1, 2],\"t\":true}\n"
            ),
            [
                "a=1.10 b.c=x\ny",
                "big=123456789012345678901234567890 l=[1, 2] t=true"
            ]
        );
    }

    #[test]
    fn what_is_not_an_object_is_rejected_and_the_next_line_is_read() {
        let seen = read("[1]\n{\"a\":}\n{\"a\":1} x\n{\"a\":1,\"a\":2}\n{\"a\":3}\n");
        assert_eq!(seen.len(), 5);
        assert!(
            seen[..4]
                .iter()
                .enumerate()
                .all(|(at, line)| line.starts_with(&format!("{}!", at + 1)))
        );
        assert_eq!(seen[4], "a=3");
    }

    /// One line with very many names must not hide those after it.
    #[test]
    fn names_of_rejected_lines_leave_room_for_others() {
        let many: Vec<String> = (0..70_000).map(|n| format!("\"n{n}\":1")).collect();
        let text = format!("{{{}}}\n{{\"a\":1,\"n1\":2}}\n", many.join(","));
        let seen = read(Box::leak(text.into_boxed_str()));
        assert_eq!(seen.len(), 2);
        assert!(seen[0].starts_with("1! more than 65536"), "{}", seen[0]);
        assert_eq!(seen[1], "a=1 n1=2");
    }

    #[test]
    fn objects_within_each_other_are_bounded() {
        let nested = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
        let text = [nested(MAX_DEPTH), nested(MAX_DEPTH + 1), nested(100_000)].join("\n");
        let seen = read(Box::leak(text.into_boxed_str()));
        assert!(seen[0].ends_with("a.a=1"));
        for (at, line) in seen.iter().enumerate().skip(1) {
            assert_eq!(
                *line,
                format!("{}! more than 64 objects within each other", at + 1)
            );
        }
        assert_eq!(seen.len(), 3);
    }
}
