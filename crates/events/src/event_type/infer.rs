//! Infers a type from records.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use ostrakon_cell::{Error, Result};

use super::{
    Epoch, EqualRecords, EventType, Field, check_type_name, default_bin, default_resolution,
    field_name, same_name,
};
use crate::record::Record;
use crate::similar::with_similar;
use crate::time::TIME_FORMS;
use crate::value::{FieldType, typed};

/// Types in the order in which they are tried.
const TRIED: [FieldType; 6] = [
    FieldType::Ip,
    FieldType::U64,
    FieldType::I64,
    FieldType::F64,
    FieldType::Time,
    FieldType::Bool,
];
/// Names of fields with the time of an event, the best first.
const TIMES: [&str; 8] = [
    "ts",
    "event_time",
    "@timestamp",
    "timestamp",
    "time",
    "date",
    "datetime",
    "created_at",
];
/// A text field with longer values on average is not indexed by default.
const INDEXED_BYTES: usize = 64;
const INDEXED_FIELDS: usize = 12;

#[derive(Default)]
struct Seen {
    values: usize,
    bytes: usize,
    fits: [bool; TRIED.len()],
    /// Values that are times and no plain numbers, and those that are times of any form.
    dates: Times,
    times: Times,
}

/// How many values of a field are times.
#[derive(Default)]
struct Times {
    count: usize,
    /// The first value that is none, and its line.
    other: Option<(u64, Vec<u8>)>,
}

impl Times {
    fn add(&mut self, is_time: bool, line: u64, value: &[u8]) {
        if is_time {
            self.count += 1;
        } else if self.other.is_none() {
            self.other = Some((line, value.to_vec()));
        }
    }
}

/// Infers a type from its first records. Addresses and short text fields are indexed, at most twelve; all can be
/// changed in the TOML before the type is created. `names` are those of the source, which are made to
/// [fit](field_name); `known` are types that the file itself declares; `time` is the field with the time of events, some of
/// whose values need not be times.
///
/// # Errors
/// There are no records, or no field holds times; there is no field `time`, or none of its values is a time; two names would become one; a field that is called `time` is not the
/// time of the event.
pub fn infer(
    name: &str,
    names: &[String],
    known: &[Option<FieldType>],
    records: &[Record],
    time: Option<&str>,
) -> Result<EventType> {
    check_type_name(name)?;
    let mut taken: HashMap<String, &String> = HashMap::new();
    for one in names {
        if let Some(other) = taken.insert(field_name(one), one) {
            return Err(Error::invalid(same_name(other, one, &field_name(one))).with("type", name));
        }
    }
    if records.is_empty() {
        return Err(Error::invalid(
            "there are no records from which to infer the type: write it as TOML",
        )
        .with("type", name));
    }
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let mut scratch = Vec::new();
    for record in records {
        for (id, value) in record.fields() {
            let field = seen.entry(id).or_insert_with(|| Seen {
                fits: [true; TRIED.len()],
                ..Seen::default()
            });
            field.values += 1;
            field.bytes += value.len();
            for (fits, kind) in field.fits.iter_mut().zip(TRIED) {
                *fits = *fits && fits_type(kind, value, &mut scratch);
            }
            let is_date = fits_type(FieldType::Time, value, &mut scratch);
            field.dates.add(is_date, record.line(), value);
            let is_time = is_date || typed(FieldType::Time, value, &mut scratch).is_some();
            field.times.add(is_time, record.line(), value);
        }
    }
    let mut fields: Vec<Field> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let declared = known.get(at).copied().flatten();
            let found = seen.get(&(at as u32));
            Field {
                name: field_name(name),
                kind: declared.unwrap_or_else(|| found.map_or(FieldType::Text, kind_of)),
                indexed: false,
                id: None,
            }
        })
        .collect();
    let found = match time {
        Some(time) => given_time_field(time, &mut fields, &seen),
        None => {
            time_field(&mut fields, &seen).ok_or_else(|| no_time(&fields, &seen, records.len()))
        }
    };
    let time = found.map_err(|error| {
        let error = error.with("type", name).with("fields", names.join(", "));
        match about_header(names) {
            Some(hint) => error.with("hint", hint),
            None => error,
        }
    })?;
    let mut left = INDEXED_FIELDS;
    for wanted in [FieldType::Ip, FieldType::Text, FieldType::U64] {
        for (at, field) in fields.iter_mut().enumerate() {
            let found = seen.get(&(at as u32));
            let short = found.is_some_and(|seen| seen.bytes <= seen.values * INDEXED_BYTES);
            if field.kind == wanted && short && left > 0 && field.name != time {
                field.indexed = true;
                left -= 1;
            }
        }
    }
    let inferred = EventType {
        name: name.into(),
        time,
        resolution: default_resolution(),
        bin: default_bin(),
        visibility: None,
        visibility_field: None,
        keep: None,
        equal_records: EqualRecords::Merge,
        shards: vec![Epoch {
            from: None,
            count: 2,
        }],
        fields,
    };
    inferred.check()?;
    inferred.check_time_name()?;
    Ok(inferred)
}

/// Like [`typed`], but not so generous: a number is not a time, and `1` is not a truth value.
fn fits_type(kind: FieldType, value: &[u8], scratch: &mut Vec<u8>) -> bool {
    let digit = value
        .iter()
        .all(|byte| byte.is_ascii_digit() || b".-".contains(byte));
    let padded = value.len() > 1 && value.starts_with(b"0") && !value.starts_with(b"0.");
    match kind {
        FieldType::Time if digit && value.iter().filter(|byte| **byte == b'-').count() < 2 => false,
        FieldType::Bool if digit => false,
        FieldType::U64 | FieldType::I64 | FieldType::F64 if padded => false,
        FieldType::F64 if !value.iter().any(u8::is_ascii_digit) => false,
        _ => typed(kind, value, scratch).is_some(),
    }
}

fn kind_of(seen: &Seen) -> FieldType {
    let first = TRIED.into_iter().zip(seen.fits).find(|(_, fits)| *fits);
    first.map_or(FieldType::Text, |(kind, _)| kind)
}

/// The field with the time of events, which becomes one of that type.
fn time_field(fields: &mut [Field], seen: &BTreeMap<u32, Seen>) -> Option<String> {
    let numeric = |field: &Field| {
        matches!(
            field.kind,
            FieldType::Time | FieldType::F64 | FieldType::U64 | FieldType::I64
        )
    };
    // Some may be numbers and others dates.
    let mixed = |at: usize| {
        let times = seen.get(&(at as u32)).map(|seen| &seen.times);
        times.is_some_and(|times| times.count > 0 && times.other.is_none())
    };
    let by_name = TIMES.iter().find_map(|name| {
        fields.iter().enumerate().position(|(at, field)| {
            field.name.eq_ignore_ascii_case(name) && (numeric(field) || mixed(at))
        })
    });
    let at = by_name.or_else(|| {
        fields
            .iter()
            .position(|field| field.kind == FieldType::Time)
    })?;
    let field = fields.get_mut(at)?;
    field.kind = FieldType::Time;
    Some(field.name.clone())
}

/// The field that the caller names, which becomes one of that type. Values that are no times are rejected at ingest.
fn given_time_field(
    name: &str,
    fields: &mut [Field],
    seen: &BTreeMap<u32, Seen>,
) -> Result<String> {
    let wanted = field_name(name);
    let Some(at) = fields.iter().position(|field| field.name == wanted) else {
        let error = Error::invalid("the log has no such field").with("time field", name);
        let names = fields.iter().map(|field| field.name.as_str());
        return Err(with_similar(error, &wanted, names));
    };
    if let Some(found) = seen.get(&(at as u32))
        && found.times.count == 0
        && let Some((line, value)) = &found.times.other
    {
        let message = format!("no value of the field `{wanted}` is a time");
        return Err(about_value(Error::invalid(message), *line, value));
    }
    if let Some(field) = fields.get_mut(at) {
        field.kind = FieldType::Time;
    }
    Ok(wanted)
}

/// The error of a log without a field of times. Names the field that would be one but for a few values.
fn no_time(fields: &[Field], seen: &BTreeMap<u32, Seen>, records: usize) -> Error {
    let times = |at: u32| {
        let name = &fields.get(at as usize)?.name;
        let found = seen.get(&at)?;
        // A number is only a time in a field of that name.
        let named = TIMES.iter().any(|known| name.eq_ignore_ascii_case(known));
        let times = if named { &found.times } else { &found.dates };
        let (line, value) = times.other.as_ref()?;
        (times.count * 2 > found.values).then_some((name, times.count, found.values, *line, value))
    };
    let nearest = (0..fields.len() as u32).filter_map(times);
    match nearest.max_by_key(|(_, count, ..)| *count) {
        Some((name, count, values, line, value)) => {
            let message = format!(
                "no field holds times only: `{name}` does in {count} of {values} records. Make it the time field with \
                 --time {name}, in Python time='{name}'; ingest then rejects records without a time"
            );
            about_value(Error::invalid(message), line, value)
        }
        None => Error::invalid(
            "no field holds times, which are dates such as 2024-05-17T10:05:03Z, or seconds since 1970 in a field that is \
             called ts or time: name the time field with --time FIELD, in Python time='FIELD', or write the type as TOML",
        )
        .with("records read", records),
    }
}

/// What to do about a header whose names have spaces around them, as the values have, or that is one name, because other
/// bytes than those of its format separate its fields.
fn about_header(names: &[String]) -> Option<&'static str> {
    let [name] = names else {
        let is_padded = names.iter().any(|name| name.trim() != name);
        return is_padded.then_some(
            "names of fields have spaces around them: remove those next to the delimiters",
        );
    };
    match name {
        name if name.contains('\t') => Some("fields are separated by tabs: name the format tsv"),
        name if name.contains(',') => Some("fields are separated by commas: name the format csv"),
        name if name.contains([';', '|']) => Some(
            "the file has one field, whose name has a delimiter: fields of CSV are separated by commas, and those of TSV by \
             tabs; convert the file",
        ),
        _ => None,
    }
}

fn about_value(error: Error, line: u64, value: &[u8]) -> Error {
    let short: Vec<u8> = value.iter().take(40).copied().collect();
    let error = error
        .with("not a time", ostrakon_cell::Escaped(&short))
        .with("times are", TIME_FORMS);
    match line {
        0 => error,
        line => error.with("line", line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(rows: &[&[&str]]) -> Vec<Record> {
        let record = |row: &&[&str]| {
            let mut record = Record::default();
            for (at, value) in row.iter().enumerate() {
                record.push(at as u32, value.as_bytes());
            }
            record
        };
        rows.iter().map(record).collect()
    }

    #[test]
    fn types_follow_from_all_values() {
        let names =
            ["when", "from", "port", "delta", "code", "zip", "ok", "note"].map(String::from);
        let rows = records(&[
            &[
                "2015-05-17T10:05:03Z",
                "10.0.0.1",
                "80",
                "-3",
                "2.5",
                "01234",
                "T",
                "x",
            ],
            &[
                "2015-05-17 10:05:04",
                "2001:db8::1",
                "443",
                "4",
                "3",
                "99999",
                "F",
                "\u{1F600}",
            ],
        ]);
        let web = infer("web", &names, &[], &rows, None).expect("inferred");
        let kinds: Vec<&str> = web.fields.iter().map(|field| field.kind.as_str()).collect();
        assert_eq!(
            kinds,
            ["time", "ip", "u64", "i64", "f64", "text", "bool", "text"]
        );
        assert_eq!(web.time, "when");
        assert!(web.fields[1].indexed && !web.fields[0].indexed);
    }

    #[test]
    fn a_time_is_needed_and_may_be_a_number_of_that_name() {
        let names = ["ts".to_owned(), "b".to_owned()];
        let rows = records(&[&["1379288667.7", "x"]]);
        assert_eq!(
            infer("web", &names, &[], &rows, None)
                .expect("inferred")
                .time,
            "ts"
        );
        let names = ["a".to_owned(), "b".to_owned()];
        let error = infer("web", &names, &[], &rows, None)
            .expect_err("no time")
            .to_string();
        assert!(error.contains("no field holds times"), "{error}");
        assert!(infer("web", &names, &[], &[], None).is_err());
    }

    /// It was said that no field holds times.
    #[test]
    fn numbers_and_dates_in_a_field_that_is_called_so_are_times() {
        let names = ["host", "ts"].map(String::from);
        let rows = records(&[
            &["a", "1379288667.7"],
            &["b", "2015-05-17T10:05:03Z"],
            &["c", "17/May/2015:10:05:03 +0000"],
        ]);
        let web = infer("web", &names, &[], &rows, None).expect("inferred");
        assert_eq!(web.time, "ts");
        assert_eq!(web.field("ts").expect("there").kind, FieldType::Time);
        // A field of another name may hold numbers that are no times.
        let names = ["host", "size"].map(String::from);
        infer("web", &names, &[], &rows, None).expect_err("no time");
    }

    #[test]
    fn fields_with_another_delimiter_are_told() {
        for (name, hint) in [
            ("ts;host", "convert the file"),
            ("ts|host", "convert the file"),
            ("ts\thost", "tsv"),
            ("ts,host", "csv"),
        ] {
            let rows = records(&[&["1"]]);
            let error = infer("web", &[name.to_owned()], &[], &rows, None).expect_err("one");
            assert!(error.to_string().contains(hint), "{error}");
        }
        let (names, rows) = (
            ["ts ", " host"].map(String::from),
            records(&[&["1 ", " a"]]),
        );
        let error = infer("web", &names, &[], &rows, None).expect_err("no time");
        assert!(
            error.to_string().contains("remove those next to"),
            "{error}"
        );
    }

    #[test]
    fn a_field_that_is_nearly_a_time_is_named_and_can_be_chosen() {
        let names = ["when", "n", "ts"].map(String::from);
        let row = |line: u64| {
            let (when, ts) = match line {
                9 => ("soon", "-"),
                _ => ("2026-01-01T00:00:00Z", "x"),
            };
            let rows = records(&[&[when, "1379288667", ts]]);
            rows.into_iter().map(move |row| row.at_line(line))
        };
        let rows: Vec<Record> = (2..33).flat_map(row).collect();
        let error = infer("web", &names, &[], &rows, None).expect_err("one is no time");
        let text = error.to_string();
        for part in [
            "`when` does in 30 of 31",
            "--time when",
            "not a time: soon",
            "times are: 2024-05-17, 2024-05-17T10:05:03Z",
            "line: 9",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for field in ["when", "n"] {
            let web = infer("web", &names, &[], &rows, Some(field)).expect("inferred");
            assert_eq!(web.time, field);
            assert_eq!(web.field(field).expect("there").kind, FieldType::Time);
        }
        for (field, message) in [("ts", "no value of the field"), ("wen", "no such field")] {
            let error = infer("web", &names, &[], &rows, Some(field)).expect_err(field);
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
