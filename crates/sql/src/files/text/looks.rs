//! Columns of values that only look like numbers or times: codes such as `00123`, which as numbers would lose their zeros, and
//! `2026-02-30` or `0000-00-00`, which are no days.

use std::io::Read;
use std::sync::Arc;

use chrono::Utc;
use csv::{ByteRecord, ReaderBuilder};
use datafusion::arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float64Type, Int64Type, Schema, TimeUnit,
};
use datafusion::arrow::error::ArrowError;

/// The columns of a file, where one whose first records have such a value is text. One record is held at a time.
///
/// # Errors
/// A record has other columns than the first line.
pub(super) fn as_text(
    content: impl Read,
    (delimiter, has_header, null): (u8, bool, Option<&str>),
    schema: Schema,
    records: usize,
) -> Result<Schema, ArrowError> {
    let is_text = |kind: &DataType| matches!(kind, DataType::Utf8 | DataType::Null);
    let kinds = schema.fields().iter().map(|field| field.data_type());
    let looked_at = kinds.enumerate().filter(|(_, kind)| !is_text(kind));
    let mut columns: Vec<Column> = looked_at.map(Column::new).collect();
    if columns.is_empty() || records == 0 {
        return Ok(schema);
    }
    let mut rows = ReaderBuilder::new()
        .has_headers(has_header)
        .delimiter(delimiter)
        .from_reader(content);
    let mut record = ByteRecord::new();
    let unread = |error: csv::Error| ArrowError::CsvError(error.to_string());
    for _ in 0..records {
        if !rows.read_byte_record(&mut record).map_err(unread)? {
            break;
        }
        for column in &mut columns {
            let value = record.get(column.at).filter(|value| !value.is_empty());
            let value = value.filter(|value| null.is_none_or(|null| null.as_bytes() != *value));
            column.is_text |= value.is_some_and(|value| !holds(&column.kind, value));
        }
    }
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    for column in columns.iter().filter(|column| column.is_text) {
        if let Some(field) = fields.get_mut(column.at) {
            *field = Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8));
        }
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

struct Column {
    at: usize,
    kind: DataType,
    is_text: bool,
}

impl Column {
    fn new((at, kind): (usize, &DataType)) -> Self {
        Self {
            at,
            kind: kind.clone(),
            is_text: false,
        }
    }
}

/// Whether a type has a value as it is written.
fn holds(kind: &DataType, value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else {
        // Reported by those who read it.
        return true;
    };
    match kind {
        DataType::Int64 => !is_code(value) && Int64Type::parse(text).is_some(),
        DataType::Float64 => !is_code(value) && Float64Type::parse(text).is_some(),
        DataType::Date32 => Date32Type::parse(text).is_some(),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let time = string_to_datetime(&Utc, text);
            time.is_ok_and(|time| time.timestamp_nanos_opt().is_some())
        }
        DataType::Timestamp(..) => string_to_datetime(&Utc, text).is_ok(),
        _ => true,
    }
}

/// Whether a number has a zero before its first digit.
fn is_code(text: &[u8]) -> bool {
    let digits = match text {
        [b'-' | b'+', digits @ ..] => digits,
        digits => digits,
    };
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_of_a_type_as_they_are_written() {
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
        for (kind, text, expected) in [
            (&DataType::Int64, "-12", true),
            (&DataType::Int64, "012", false),
            (&DataType::Int64, "\u{663}", false),
            (&DataType::Int64, "9223372036854775808", false),
            (&DataType::Float64, "-1.5e3", true),
            (&DataType::Date32, "2024-02-29", true),
            (&DataType::Date32, "2023-02-29", false),
            (&DataType::Date32, "0000-00-00", false),
            (&micros, "2024-02-29 23:59:59.5", true),
            (&micros, "2024-02-30 23:59:59", false),
            (&micros, "2024-02-29 24:00:00", false),
            (&micros, "1024-02-29 23:00:00", true),
            (&nanos, "1024-02-29 23:00:00", false),
            (&DataType::Boolean, "true", true),
        ] {
            assert_eq!(holds(kind, text.as_bytes()), expected, "{kind} {text}");
        }
    }

    #[test]
    fn codes_begin_with_a_zero_before_a_digit() {
        for text in ["00123", "01", "-007", "00"] {
            assert!(is_code(text.as_bytes()), "{text}");
        }
        for text in ["0", "0.5", "-0.1", "10", "", "-", "0e3"] {
            assert!(!is_code(text.as_bytes()), "{text}");
        }
    }
}
