//! `date_trunc` without overflows. The engine truncates whatever stands in the places of NULL, wraps around before the
//! earliest time, and takes some times only if they have nanoseconds in 64 bits: from 1677 to 2262.

use std::sync::Arc;

use chrono::{DateTime, Datelike, NaiveDate, NaiveTime};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::datatypes::{
    ArrowTimestampType, DataType, FieldRef, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::types::{NativeType, logical_date, logical_string};
use datafusion::common::{Result, exec_datafusion_err, exec_err, internal_err};
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    Coercion, ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, TypeSignature, TypeSignatureClass, Volatility,
};

use super::arrays::on_array;

/// No unit that the engine truncates by a subtraction is longer.
const SECONDS: i64 = 7 * 86_400;

const TOO_EARLY: &str = "date_trunc of a time that is before the earliest one, if it is truncated";

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The engine's `date_trunc`, of values that it can truncate.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateTrunc {
    engine: Arc<ScalarUDF>,
    signature: Signature,
}

impl DateTrunc {
    pub(super) fn new() -> Self {
        let text = || Coercion::new_exact(TypeSignatureClass::Native(logical_string()));
        // As the engine's, but that days become times of microseconds.
        let times = Coercion::new_implicit(
            TypeSignatureClass::Timestamp,
            vec![
                TypeSignatureClass::Native(logical_string()),
                TypeSignatureClass::Native(logical_date()),
            ],
            NativeType::Timestamp(TimeUnit::Microsecond, None),
        );
        let kinds = vec![
            TypeSignature::Coercible(vec![text(), times]),
            TypeSignature::Coercible(vec![text(), Coercion::new_exact(TypeSignatureClass::Time)]),
        ];
        Self {
            engine: date_trunc(),
            signature: Signature::one_of(kinds, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn aliases(&self) -> &[String] {
        self.engine.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.engine.return_type(kinds)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.engine.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.engine.output_ordering(inputs)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [part, time] = args.args.as_mut_slice() else {
            return internal_err!("date_trunc takes a part and a time");
        };
        let DataType::Timestamp(unit, zone) = time.data_type() else {
            return self.engine.invoke_with_args(args);
        };
        let part = Part::of(part).filter(|_| zone.is_none());
        let truncate = |times: &ColumnarValue| match (unit, part) {
            (TimeUnit::Second, Some(part)) => begun::<TimestampSecondType>(times, part, 1),
            (TimeUnit::Millisecond, Some(part)) => {
                begun::<TimestampMillisecondType>(times, part, 1000)
            }
            (TimeUnit::Microsecond, Some(part)) => {
                begun::<TimestampMicrosecondType>(times, part, 1_000_000)
            }
            (TimeUnit::Second, None) => checked::<TimestampSecondType>(times, 1),
            (TimeUnit::Millisecond, None) => checked::<TimestampMillisecondType>(times, 1000),
            (TimeUnit::Microsecond, None) => checked::<TimestampMicrosecondType>(times, 1_000_000),
            (TimeUnit::Nanosecond, _) => checked::<TimestampNanosecondType>(times, 1_000_000_000),
        };
        let found = truncate(time)?;
        if part.is_some() && unit != TimeUnit::Nanosecond {
            return Ok(found);
        }
        *time = found;
        self.engine.invoke_with_args(args)
    }
}

/// Parts of a calendar.
#[derive(Clone, Copy)]
enum Part {
    /// Of so many seconds.
    Even(i64),
    Week,
    Month,
    Quarter,
    Year,
}

impl Part {
    fn of(part: &ColumnarValue) -> Option<Self> {
        let ColumnarValue::Scalar(part) = part else {
            return None;
        };
        Some(match part.try_as_str().flatten()?.to_lowercase().as_str() {
            "second" => Self::Even(1),
            "minute" => Self::Even(60),
            "hour" => Self::Even(3600),
            "day" => Self::Even(DAY),
            "week" => Self::Week,
            "month" => Self::Month,
            "quarter" => Self::Quarter,
            "year" => Self::Year,
            _ => return None,
        })
    }

    /// The second in which the part with a second begins; `None` if its year is out of range.
    fn begin(self, second: i64) -> Option<i64> {
        // 1970 began on a Thursday; weeks begin on Mondays.
        const THURSDAY: i64 = 3;
        let day = second.div_euclid(DAY);
        let date = || Some(DateTime::from_timestamp(second, 0)?.date_naive());
        let (year, month) = match self {
            Self::Even(length) => return second.checked_sub(second.rem_euclid(length)),
            Self::Week => return (day - (day + THURSDAY).rem_euclid(7)).checked_mul(DAY),
            Self::Month => (date()?.year(), date()?.month()),
            Self::Quarter => (date()?.year(), date()?.month0() / 3 * 3 + 1),
            Self::Year => (date()?.year(), 1),
        };
        let first = NaiveDate::from_ymd_opt(year, month, 1)?;
        Some(first.and_time(NaiveTime::MIN).and_utc().timestamp())
    }
}

/// Where the parts with times begin, of which a second has so many units.
fn begun<T: ArrowTimestampType>(
    times: &ColumnarValue,
    part: Part,
    units: i64,
) -> Result<ColumnarValue> {
    on_array(times, |array| {
        let begun = array.as_primitive::<T>().try_unary::<_, T, _>(|time| {
            let second = part.begin(time.div_euclid(units));
            let begin = second.and_then(|second| second.checked_mul(units));
            begin.ok_or_else(|| match time < 0 {
                true => exec_datafusion_err!("{TOO_EARLY}"),
                false => exec_datafusion_err!("date_trunc of a time whose year is out of range"),
            })
        })?;
        Ok(Arc::new(begun))
    })
}

/// Times of so many units a second, with 1970 in the places of NULL.
fn checked<T: ArrowTimestampType>(times: &ColumnarValue, units: i64) -> Result<ColumnarValue> {
    on_array(times, |array| {
        let found = array.as_primitive::<T>();
        let earliest = i64::MIN + SECONDS * units;
        if found.iter().flatten().any(|time| time < earliest) {
            return exec_err!("{TOO_EARLY}");
        }
        if found.null_count() == 0 {
            return Ok(Arc::clone(array));
        }
        let values: ScalarBuffer<i64> = found.iter().map(Option::unwrap_or_default).collect();
        let changed = PrimitiveArray::<T>::new(values, found.nulls().cloned());
        Ok(Arc::new(changed.with_data_type(array.data_type().clone())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_begin_where_the_calendar_says() {
        let second = |text: &str| {
            let day = text.parse::<NaiveDate>().unwrap();
            day.and_time(NaiveTime::MIN).and_utc().timestamp()
        };
        for (part, time, begin) in [
            (Part::Week, "1970-01-01", "1969-12-29"),
            (Part::Week, "2026-11-23", "2026-11-23"),
            (Part::Week, "1191-01-01", "1190-12-31"),
            (Part::Month, "2300-02-28", "2300-02-01"),
            (Part::Quarter, "1600-06-30", "1600-04-01"),
            (Part::Quarter, "2024-12-31", "2024-10-01"),
            (Part::Year, "0001-12-31", "0001-01-01"),
            (Part::Even(DAY), "1191-01-01", "1191-01-01"),
        ] {
            let late = second(time) + DAY - 1;
            assert_eq!(part.begin(late), Some(second(begin)), "{time}");
        }
        assert_eq!(Part::Year.begin(i64::MAX), None);
    }
}
