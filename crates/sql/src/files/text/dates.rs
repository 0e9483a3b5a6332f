//! Days of delimited text. The reader of text would leave the time of `2026-01-01 10:00:00` out of a column of days.

use std::sync::Arc;

use chrono::{NaiveTime, Utc};
use datafusion::arrow::array::{ArrayRef, AsArray, Date32Array};
use datafusion::arrow::compute::kernels::cast_utils::{Parser, string_to_datetime};
use datafusion::arrow::datatypes::Date32Type;
use datafusion::arrow::error::ArrowError;

/// The days that texts are, the first of which is one of the record `first` of its file.
///
/// # Errors
/// A text that is not a day, or has a time of day.
pub(super) fn days(texts: &ArrayRef, name: &str, first: usize) -> Result<ArrayRef, ArrowError> {
    let Some(texts) = texts.as_string_opt::<i32>() else {
        return Err(ArrowError::CsvError(format!(
            "the days of the column `{name}` were not read as text"
        )));
    };
    let days = texts.iter().enumerate().map(|(row, text)| {
        let Some(text) = text else {
            return Ok(None);
        };
        let day = Date32Type::parse(text).filter(|_| !has_time(text));
        day.map(Some).ok_or_else(|| {
            let hint = match has_time(text) {
                true => "; a DATE has no time of day: declare the column as TIMESTAMP, with `columns` of read_csv",
                false => "",
            };
            let record = first + row;
            ArrowError::ParseError(format!(
                "Error while parsing value '{text}' as type 'Date32' for column '{name}' at line {record}{hint}"
            ))
        })
    });
    let days: Date32Array = days.collect::<Result<_, ArrowError>>()?;
    Ok(Arc::new(days))
}

/// Whether a text has a time of day other than midnight.
fn has_time(text: &str) -> bool {
    const DAY: usize = "2026-01-01".len();
    text.len() > DAY
        && string_to_datetime(&Utc, text).is_ok_and(|time| time.time() != NaiveTime::MIN)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::StringArray;

    use super::*;

    #[test]
    fn days_have_no_time() {
        let texts = |texts: Vec<Option<&str>>| Arc::new(StringArray::from(texts)) as ArrayRef;
        let found = days(
            &texts(vec![
                Some("1970-01-02"),
                None,
                Some("1970-01-03 00:00:00"),
                Some("0001-01-01"),
            ]),
            "d",
            1,
        )
        .unwrap();
        let expected = Date32Array::from(vec![Some(1), None, Some(2), Some(-719_162)]);
        assert_eq!(found.as_primitive::<Date32Type>(), &expected);
        for (text, said) in [
            ("2026-01-01T10:00:00", "line 7; a DATE"),
            ("2026-02-30", "line 7"),
        ] {
            let error = days(&texts(vec![None, Some(text)]), "d", 6).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
