//! Parquet files: each row is a record. Structs become fields with dots in their names, lists and maps become
//! JSON text, and times RFC 3339.

use std::fs::File;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Number, Value};

use super::caught::caught;
use super::fields::Fields;
use super::input::{Consumed, is_stdin, shown_name};
use super::record::{Presence, Record, RecordReader, Step};
use crate::failure::{Failure, Result};

/// Reads the rows of a Parquet file.
pub(crate) struct Parquet {
    rows: RowIter<'static>,
    schema: TypePtr,
    fields: Fields,
    name: String,
    file: Progress,
}

/// How far the file was read, estimated by its rows.
struct Progress {
    shown: String,
    row: u64,
    rows: u64,
    bytes: u64,
    consumed: Consumed,
}

impl Parquet {
    pub(crate) fn open(path: &Path, consumed: Consumed) -> Result<Self> {
        let shown = shown_name(path);
        if is_stdin(path) {
            return Err(Failure::usage(
                "a Parquet file cannot be read from a pipe, because its index is at its end",
            )
            .next("write it to a file, and import that"));
        }
        let file = File::open(path)
            .map_err(|error| Failure::io("cannot open the file", &error).with("file", &*shown))?;
        let bytes = file.metadata().map_or(0, |file| file.len());
        let reader = SerializedFileReader::new(file).map_err(|error| damaged(&error, &shown))?;
        let about = reader.metadata().file_metadata();
        let rows = u64::try_from(about.num_rows()).unwrap_or_default();
        let schema = about.schema_descr().root_schema_ptr();
        let mut names = Vec::new();
        leaves(&schema, &mut String::new(), &mut names);
        let mut fields = Fields::default();
        fields
            .reset(names)
            .map_err(|failure| failure.with("file", &*shown))?;
        Ok(Self {
            rows: reader.into_iter(),
            schema,
            fields,
            name: String::new(),
            file: Progress {
                shown,
                row: 0,
                rows,
                bytes,
                consumed,
            },
        })
    }
}

/// The error of a row with a value at which the library panics: intervals, and dates that its calendar does not have.
fn unreadable(file: &Progress) -> Failure {
    Failure::outcome("the Parquet file has a value that cannot be read")
        .with("file", &*file.shown)
        .with("row", file.row.to_string())
        .next("leave out columns of intervals, and dates outside the years 1 to 9999")
}

fn damaged(error: &ParquetError, shown: &str) -> Failure {
    Failure::outcome("the Parquet file cannot be read")
        .with("file", shown)
        .with("reason", error.to_string())
        .next("check that the file is complete; encrypted files and the codecs Brotli and LZ4 are not supported")
}

/// The names of all fields: those of a struct come after its name and a dot.
fn leaves(group: &Type, name: &mut String, names: &mut Vec<String>) {
    let outer = name.len();
    for field in group.get_fields() {
        if outer > 0 {
            name.push('.');
        }
        name.push_str(field.name());
        if is_struct(field) {
            leaves(field, name, names);
        } else {
            names.push(name.clone());
        }
        name.truncate(outer);
    }
}

/// Whether it is neither a value nor a list or map.
fn is_struct(field: &Type) -> bool {
    let info = field.get_basic_info();
    let plain = info.logical_type_ref().is_none() && info.converted_type() == ConvertedType::NONE;
    let repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    field.is_group() && plain && !repeated
}

impl RecordReader for Parquet {
    fn next(&mut self, record: &mut Record) -> Result<Step> {
        let file = &mut self.file;
        file.row += 1;
        let rows = &mut self.rows;
        let row = caught(|| rows.next()).map_err(|()| unreadable(file))?;
        let Some(row) = row else {
            return Ok(Step::End);
        };
        let row =
            row.map_err(|error| damaged(&error, &file.shown).with("row", file.row.to_string()))?;
        let read = u128::from(file.bytes) * u128::from(file.row) / u128::from(file.rows.max(1));
        file.consumed.set(u64::try_from(read).unwrap_or(file.bytes));
        record.begin(file.row, &[]);
        self.name.clear();
        let (schema, name, fields) = (&self.schema, &mut self.name, &mut self.fields);
        let added = caught(|| add_row(&row, schema, name, fields, record));
        added.map_err(|()| unreadable(file))?;
        Ok(Step::Record)
    }

    fn fields(&self) -> &Fields {
        &self.fields
    }
}

fn add_row(row: &Row, group: &Type, name: &mut String, fields: &mut Fields, record: &mut Record) {
    let outer = name.len();
    for (at, (part, field)) in row.get_column_iter().enumerate() {
        let kind = column(group, at);
        if outer > 0 {
            name.push('.');
        }
        name.push_str(part);
        match (field, fields.known(name)) {
            (Field::Group(inner), None) => add_row(inner, kind, name, fields, record),
            // A struct that is null: its fields are missing.
            (_, None) => {}
            (field, Some(id)) => add_field(field, kind, id, record),
        }
        name.truncate(outer);
    }
}

fn add_field(field: &Field, kind: &Type, id: u32, record: &mut Record) {
    match field {
        Field::Null => record.add_decoded(id, b"", Presence::Missing),
        Field::Str(text) => record.add_decoded(id, text.as_bytes(), Presence::ByText),
        Field::Bytes(bytes) => record.add_decoded(id, bytes.data(), Presence::ByText),
        field => record.add_decoded(id, text(field, kind).as_bytes(), Presence::There),
    }
}

/// A time of nanoseconds as text. The rows have it as a plain integer.
fn nanoseconds(number: i64, kind: &Type) -> Option<String> {
    match kind.get_basic_info().logical_type_ref()? {
        LogicalType::Timestamp(time) if time.unit == TimeUnit::NANOS => {
            let time = Timestamp::from_nanosecond(i128::from(number)).ok()?;
            Some(time.to_string())
        }
        LogicalType::Time(time) if time.unit == TimeUnit::NANOS => {
            const SECOND: i64 = 1_000_000_000;
            let (seconds, rest) = (number.div_euclid(SECOND), number.rem_euclid(SECOND));
            let (minutes, second) = (seconds.div_euclid(60), seconds.rem_euclid(60));
            let (hour, minute) = (minutes.div_euclid(60), minutes.rem_euclid(60));
            Some(format!("{hour:02}:{minute:02}:{second:02}.{rest:09}"))
        }
        _ => None,
    }
}

/// The type of the elements of a list: that of the repeated part, or of the field of which it consists.
fn element(list: &Type) -> &Type {
    let info = list.get_basic_info();
    // A repeated field outside of a list is the element itself.
    if list.is_primitive() || info.has_repetition() && info.repetition() == Repetition::REPEATED {
        return list;
    }
    let Some(repeated) = columns(list).first() else {
        return list;
    };
    // The rules of the format for lists of older writers, as the reader of rows applies them.
    let is_repeated = |kind: &TypePtr| {
        let info = kind.get_basic_info();
        info.has_repetition() && info.repetition() == Repetition::REPEATED
    };
    match columns(repeated) {
        [inner]
            if is_list(repeated)
                || is_repeated(inner)
                || repeated.name() != "array" && !repeated.name().ends_with("_tuple") =>
        {
            inner
        }
        _ => repeated,
    }
}

/// The columns of a group; none for a value.
fn columns(kind: &Type) -> &[TypePtr] {
    match kind.is_group() {
        true => kind.get_fields(),
        false => &[],
    }
}

/// The type of a column of a row, which has the order of the schema.
fn column(group: &Type, at: usize) -> &Type {
    columns(group).get(at).map_or(group, |kind| kind)
}

fn is_list(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    info.converted_type() == ConvertedType::LIST
        || matches!(info.logical_type_ref(), Some(LogicalType::List))
}

/// The types of the keys and of the values of a map.
fn pair(map: &Type) -> Option<(&Type, &Type)> {
    match columns(columns(map).first()?) {
        [key, value] => Some((key, value)),
        _ => None,
    }
}

/// A value as text, as CSV would have it.
fn text(field: &Field, kind: &Type) -> String {
    let time = |time: Result<Timestamp, jiff::Error>, number: i64| {
        time.map_or_else(|_| number.to_string(), |time| time.to_string())
    };
    match field {
        Field::Float(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        Field::Float16(number) => number.to_string(),
        Field::TimestampMillis(millis) => time(Timestamp::from_millisecond(*millis), *millis),
        Field::TimestampMicros(micros) => time(Timestamp::from_microsecond(*micros), *micros),
        Field::ListInternal(_) | Field::MapInternal(_) | Field::Group(_) => {
            json(field, kind).to_string()
        }
        Field::Long(number) => nanoseconds(*number, kind).unwrap_or_else(|| number.to_string()),
        field => field.to_string(),
    }
}

fn json(field: &Field, kind: &Type) -> Value {
    let float = |number: f64| Number::from_f64(number).map_or(Value::Null, Value::Number);
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(number) => Value::from(*number),
        Field::Short(number) => Value::from(*number),
        Field::Int(number) => Value::from(*number),
        Field::Long(number) => match nanoseconds(*number, kind) {
            Some(text) => Value::from(text),
            None => Value::from(*number),
        },
        Field::UByte(number) => Value::from(*number),
        Field::UShort(number) => Value::from(*number),
        Field::UInt(number) => Value::from(*number),
        Field::ULong(number) => Value::from(*number),
        Field::Float(number) => float(f64::from(*number)),
        Field::Double(number) => float(*number),
        Field::Str(text) => Value::from(text.as_str()),
        Field::Bytes(bytes) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => Value::from(text),
            Err(_) => Value::from(STANDARD.encode(bytes.data())),
        },
        Field::Group(row) => row
            .get_column_iter()
            .enumerate()
            .map(|(at, (name, field))| (name.clone(), json(field, column(kind, at))))
            .collect::<Map<_, _>>()
            .into(),
        Field::ListInternal(list) => {
            let kind = element(kind);
            let elements = list.elements().iter();
            elements.map(|field| json(field, kind)).collect()
        }
        Field::MapInternal(map) => {
            let (of_key, of_value) = pair(kind).unwrap_or((kind, kind));
            let entries = map.entries().iter().map(|(key, value)| {
                let key = match key {
                    Field::Str(key) => key.clone(),
                    key => text(key, of_key),
                };
                (key, json(value, of_value))
            });
            entries.collect::<Map<_, _>>().into()
        }
        field => Value::from(text(field, kind)),
    }
}
