//! An event as queries return it: all fields in one buffer.

use std::fmt;

use crate::event_type::EventType;
use crate::iterators::{put_run, runs};
use crate::layout::{EventRow, event_time};
use crate::value::{FieldType, shown};

/// An event.
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    pub(crate) row: EventRow,
    /// The time in microseconds since 1970.
    pub time: i64,
    /// The label; then names and values in turn, each after its length. The names are UTF-8 and sorted. One buffer, since
    /// a query returns many events.
    bytes: Vec<u8>,
    label_len: usize,
}

impl Event {
    /// The event that a scan of the event table returned as `value`.
    pub(super) fn new(shown: Shown<'_>, row: EventRow, label: &[u8], value: &[u8]) -> Self {
        let mut event = Self {
            row,
            time: event_time(&row).unwrap_or_default(),
            bytes: Vec::with_capacity(label.len() + value.len()),
            label_len: label.len(),
        };
        event.bytes.extend_from_slice(label);
        match shown.is_as_stored(value) {
            true => event.bytes.extend_from_slice(value),
            false => put_shown(shown.definition, value, &mut event.bytes),
        }
        event
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> &[u8] {
        self.bytes.get(..self.label_len).unwrap_or_default()
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.fields()
            .take_while(|(known, _)| *known <= name)
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    /// The names and values of the fields, sorted by name.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        pairs(self.bytes.get(self.label_len..).unwrap_or_default())
            // The constructor has checked the names.
            .map(|(name, value)| (std::str::from_utf8(name).unwrap_or_default(), value))
    }

    /// About how much memory it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.len() + 128
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Event")
            .field("time", &self.time)
            .field("label", &self.label())
            .field("fields", &self.fields().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn pairs(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut parts = runs(bytes);
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

/// How the values of events of a type are shown.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    definition: &'a EventType,
    /// Whether a field may have a value that is shown as another text: a floating-point number.
    has_floats: bool,
}

impl<'a> Shown<'a> {
    pub(super) fn new(definition: &'a EventType) -> Self {
        let mut fields = definition.fields.iter();
        Self {
            definition,
            has_floats: fields.any(|field| field.kind == FieldType::F64),
        }
    }

    /// Whether names are text, and no value may be shown as another text, which begins with a minus sign. Most events are
    /// ASCII as a whole, which is seen without a look at each field.
    fn is_as_stored(self, value: &[u8]) -> bool {
        let is_text = value.is_ascii();
        if is_text && !self.has_floats {
            return true;
        }
        pairs(value).all(|(name, value)| {
            !(self.has_floats && value.first() == Some(&b'-'))
                && (is_text || std::str::from_utf8(name).is_ok())
        })
    }
}

fn put_shown(definition: &EventType, value: &[u8], out: &mut Vec<u8>) {
    for (name, value) in pairs(value) {
        let name = String::from_utf8_lossy(name);
        put_run(out, name.as_bytes());
        put_run(out, shown(definition.kind_of(&name), value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(fields: &[(&[u8], &[u8])]) -> Event {
        let mut value = Vec::new();
        for (name, content) in fields {
            put_run(&mut value, name);
            put_run(&mut value, content);
        }
        let text = "name = 'flow'\ntime = 'at'\n[[shards]]\ncount = 1\n\
                    [[fields]]\nname = 'at'\ntype = 'time'\n\
                    [[fields]]\nname = 'size'\ntype = 'f64'\n\
                    [[fields]]\nname = 'note'\ntype = 'text'\n";
        let definition = EventType::from_toml(text).expect("a type");
        Event::new(Shown::new(&definition), EventRow::default(), b"red", &value)
    }

    #[test]
    fn fields_are_found_by_name_and_listed_in_order() {
        let long = [b'x'; 300];
        let event = event(&[(b"note", &long), (b"size", b"1"), (b"zone", b"")]);
        assert_eq!(event.get("note"), Some(long.as_slice()));
        assert_eq!(event.get("zone"), Some(b"".as_slice()));
        for absent in ["", "aa", "no", "notes", "zz"] {
            assert_eq!(event.get(absent), None, "{absent}");
        }
        let names: Vec<&str> = event.fields().map(|(name, _)| name).collect();
        assert_eq!(names, ["note", "size", "zone"]);
    }

    #[test]
    fn a_negative_zero_is_shown_as_zero_in_fields_of_numbers_alone() {
        let event = event(&[(b"note", b"-0.0"), (b"size", b"-0.0")]);
        assert_eq!(event.get("note"), Some(b"-0.0".as_slice()));
        assert_eq!(event.get("size"), Some(b"0".as_slice()));
    }

    #[test]
    fn what_is_not_ascii_is_shown_as_it_is() {
        let event = event(&[
            (b"note", "-ä".as_bytes()),
            (b"size", b"-0"),
            (b"zone", b"\xff"),
        ]);
        assert_eq!(event.get("note"), Some("-ä".as_bytes()));
        assert_eq!(event.get("size"), Some(b"0".as_slice()));
        assert_eq!(event.get("zone"), Some(b"\xff".as_slice()));
    }

    #[test]
    fn names_that_are_not_text_are_shown_with_replacements() {
        let event = event(&[(b"no\xff", b"1")]);
        assert_eq!(event.get("no\u{fffd}"), Some(b"1".as_slice()));
    }
}
