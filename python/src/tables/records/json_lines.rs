//! JSON lines as fields: nested objects become fields with dots in their names, lists are several values, and the text of a
//! number is that of Python.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use ostrakon_cell::Result;
use ostrakon_events::Lines;
use serde_json::value::RawValue;

use super::file::{Wrong, wrong};
use super::gathered::{Batch, Gathered};

/// Objects and lists within each other.
const MAX_DEPTH: usize = 64;

/// Reads records of JSON lines.
pub(super) struct JsonLines {
    lines: Lines,
}

impl JsonLines {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines }
    }

    /// Adds the next record to the batch; `false` at the end.
    pub(super) fn next(
        &mut self,
        batch: &mut Batch,
        known: &mut HashMap<String, usize>,
    ) -> std::result::Result<bool, Wrong> {
        while self.lines.advance()? {
            let line = self.lines.text();
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let number = self.lines.number();
            if self.lines.is_too_long() {
                return Err(wrong(number, "the line is longer than 16 MiB"));
            }
            let text = std::str::from_utf8(line)
                .map_err(|error| wrong(number, format!("not UTF-8: {error}")))?
                .trim();
            let mut fields = Fields {
                record: batch.count,
                batch,
                known,
            };
            if !text.starts_with('{') {
                let parsed = serde_json::from_str::<&RawValue>(text);
                let reason = match parsed {
                    Ok(_) => "not a JSON object".to_owned(),
                    Err(error) => format!("not valid JSON: {error}"),
                };
                return Err(wrong(number, reason));
            }
            fields
                .object("", text, 1)
                .map_err(|reason| wrong(number, reason))?;
            if let Some((bytes, offsets)) = &mut batch.lines {
                bytes.extend_from_slice(text.as_bytes());
                offsets.push(bytes.len() as i64);
            }
            batch.count += 1;
            return Ok(true);
        }
        Ok(false)
    }
}

/// Where the values of one record go.
struct Fields<'a> {
    record: u32,
    batch: &'a mut Batch,
    known: &'a mut HashMap<String, usize>,
}

impl Fields<'_> {
    fn object(&mut self, outer: &str, text: &str, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!(
                "more than {MAX_DEPTH} objects and lists within each other"
            ));
        }
        let pairs: Pairs<'_> = parsed(text)?;
        for (at, (name, value)) in pairs.0.iter().enumerate() {
            // Label and text would be of different values.
            if pairs.0.iter().take(at).any(|(before, _)| before == name) {
                return Err(format!("an object has the name {name:?} twice"));
            }
            self.value(outer, name, value.get(), depth)?;
        }
        Ok(())
    }

    fn value(&mut self, outer: &str, name: &str, text: &str, depth: usize) -> Result<(), String> {
        match text.as_bytes().first() {
            Some(b'{') => self.object(&format!("{outer}{name}."), text, depth + 1),
            Some(b'[') if depth >= MAX_DEPTH => Err(format!(
                "more than {MAX_DEPTH} objects and lists within each other"
            )),
            Some(b'[') => {
                let items: Vec<&RawValue> = parsed(text)?;
                for item in items {
                    self.value(outer, name, item.get(), depth + 1)?;
                }
                Ok(())
            }
            Some(b'n') => Ok(()),
            Some(b'"') => {
                let text: Cow<'_, str> = parsed::<Text<'_>>(text)?.0;
                self.push(outer, name, &text);
                Ok(())
            }
            Some(b't' | b'f') => {
                self.push(outer, name, text);
                Ok(())
            }
            _ => {
                self.push(outer, name, &number(text));
                Ok(())
            }
        }
    }

    fn push(&mut self, outer: &str, name: &str, value: &str) {
        let full = format!("{outer}{name}");
        let at = match self.known.get(&full) {
            Some(at) => *at,
            None => {
                self.known.insert(full.clone(), self.batch.fields.len());
                self.batch.fields.push(Gathered::new(&full));
                self.batch.fields.len() - 1
            }
        };
        if let Some(field) = self.batch.fields.get_mut(at) {
            field.push(self.record, value);
            self.batch.bytes += value.len();
        }
    }
}

fn parsed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))
}

/// A number as Python writes it: integers keep their digits, whole numbers with a point or an exponent lose them.
fn number(text: &str) -> Cow<'_, str> {
    if text == "-0" {
        return "0".into();
    }
    if !text.contains(['.', 'e', 'E']) {
        return text.into();
    }
    let Ok(value) = text.parse::<f64>() else {
        return text.into();
    };
    // Below, each whole number has a text of its own.
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        return (value as i64).to_string().into();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific.into();
    };
    match exponent.parse::<i32>() {
        Ok(-4..16) => format!("{value:?}").into(),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs()).into()
        }
        Err(_) => scientific.into(),
    }
}

/// A text, with or without escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for Text<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// The members of an object in their order, each value as its text.
struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> serde::Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some((name, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    pairs.push((name.0, value));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
