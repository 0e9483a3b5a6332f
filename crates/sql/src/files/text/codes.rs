//! Columns of codes such as `00123`. As numbers they would lose their zeros.

use std::io::BufRead;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;

/// Values that are read at once, and the bytes of text after which fewer are.
const BATCH_VALUES: usize = 1 << 16;
const BATCH_BYTES: usize = 1 << 20;

/// The columns of a file, where one of numbers whose first records have such a code is text.
///
/// # Errors
/// A record has other columns than the header.
pub(super) fn as_text(
    mut content: impl BufRead,
    format: Format,
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
    let texts = schema.fields().iter();
    let texts = texts.map(|field| Field::new(field.name(), DataType::Utf8, true));
    let mut decoder = ReaderBuilder::new(Arc::new(Schema::new(texts.collect::<Vec<_>>())))
        .with_format(format)
        .with_projection(numbers.clone())
        .with_bounds(0, records)
        .with_batch_size((BATCH_VALUES / schema.fields().len().max(1)).max(1))
        .build_decoder();
    let mut codes = vec![false; numbers.len()];
    loop {
        let mut batch_bytes = 0;
        // The decoder holds all fields of a batch, also those that are not looked at.
        while batch_bytes < BATCH_BYTES {
            let text = content.fill_buf()?;
            let taken = decoder.decode(text)?;
            content.consume(taken);
            batch_bytes += taken;
            if taken == 0 {
                break;
            }
        }
        let Some(rows) = decoder.flush()? else {
            break;
        };
        for (column, has_code) in rows.columns().iter().zip(&mut codes) {
            *has_code |= column.as_string::<i32>().iter().flatten().any(is_code);
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
fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text).as_bytes();
    matches!(digits, [b'0', b'0'..=b'9', ..])
}

#[cfg(test)]
mod tests {
    use super::is_code;

    #[test]
    fn codes_begin_with_a_zero_before_a_digit() {
        for text in ["00123", "01", "-007", "00"] {
            assert!(is_code(text), "{text}");
        }
        for text in ["0", "0.5", "-0.1", "10", "", "-", "0e3"] {
            assert!(!is_code(text), "{text}");
        }
    }
}
