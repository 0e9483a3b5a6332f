//! Infers a type from records.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use ostrakon_cell::{Error, Result};

use super::{
    Epoch, EventType, Field, check_type_name, default_bin, default_resolution, field_name,
    same_name,
};
use crate::record::Record;
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
}

/// Infers a type from its first records. Addresses and short text fields are indexed, at most twelve; all can be
/// changed in the TOML before the type is created. `names` are those of the source, which are made to
/// [fit](field_name); `known` are types that the file itself declares.
///
/// # Errors
/// There are no records, or no field holds times; two names would become one; a field that is called `time` is not the
/// time of the event.
pub fn infer(
    name: &str,
    names: &[String],
    known: &[Option<FieldType>],
    records: &[Record],
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
            "there is no record from which to infer the type: write it as TOML",
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
    let time = time_field(&mut fields).ok_or_else(|| {
        Error::invalid(
            "no field holds times: write the type as TOML, with the name of its time field",
        )
        .with("type", name)
        .with("fields", names.join(" "))
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
fn time_field(fields: &mut [Field]) -> Option<String> {
    let numeric = |field: &Field| {
        matches!(
            field.kind,
            FieldType::Time | FieldType::F64 | FieldType::U64 | FieldType::I64
        )
    };
    let by_name = TIMES.iter().find_map(|name| {
        fields
            .iter()
            .position(|field| field.name.eq_ignore_ascii_case(name) && numeric(field))
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
        let web = infer("web", &names, &[], &rows).expect("inferred");
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
            infer("web", &names, &[], &rows).expect("inferred").time,
            "ts"
        );
        let names = ["a".to_owned(), "b".to_owned()];
        let error = infer("web", &names, &[], &rows)
            .expect_err("no time")
            .to_string();
        assert!(error.contains("no field holds times"), "{error}");
        assert!(infer("web", &names, &[], &[]).is_err());
    }
}
