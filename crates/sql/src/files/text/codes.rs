//! Columns of codes such as `00123`. As numbers they would lose their zeros.

use std::io::Read;
use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;

/// The columns of a file, where one of numbers whose first records have such a code is text. One record is held at a time.
///
/// # Errors
/// A record has other columns than the first line.
pub(super) fn as_text(
    content: impl Read,
    (delimiter, has_header, null): (u8, bool, Option<&str>),
    schema: Schema,
    records: usize,
) -> Result<Schema, ArrowError> {
    let is_number =
        |field: &Field| matches!(field.data_type(), DataType::Int64 | DataType::Float64);
    let numbers: Vec<usize> = (0..schema.fields().len())
        .filter(|at| is_number(schema.field(*at)))
        .collect();
    if numbers.is_empty() || records == 0 {
        return Ok(schema);
    }
    let mut rows = ReaderBuilder::new()
        .has_headers(has_header)
        .delimiter(delimiter)
        .from_reader(content);
    let mut codes = vec![false; numbers.len()];
    let mut record = ByteRecord::new();
    let unread = |error: csv::Error| ArrowError::CsvError(error.to_string());
    for _ in 0..records {
        if !rows.read_byte_record(&mut record).map_err(unread)? {
            break;
        }
        for (at, has_code) in numbers.iter().zip(&mut codes) {
            let value = record.get(*at);
            let value = value.filter(|value| null.is_none_or(|null| null.as_bytes() != *value));
            *has_code |= value.is_some_and(is_code);
        }
    }
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    for (at, _) in numbers.iter().zip(codes).filter(|(_, has_code)| *has_code) {
        if let Some(field) = fields.get_mut(*at) {
            *field = Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8));
        }
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
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
    use super::is_code;

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
