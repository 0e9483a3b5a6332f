//! Comparisons of intervals, and of differences of times with them. The query engine compares months, days and the rest one
//! after the other: 36 hours would be less than a day. As in other databases, a month has 30 days here, and a day 24 hours.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::arrays::on_arrays;

const DAY: i128 = 86_400_000_000_000;
const MONTH: i128 = 30 * DAY;

/// Whether two values are compared by their lengths.
pub(super) fn are_lengths(left: &DataType, right: &DataType) -> bool {
    let is_length = |kind: &DataType| matches!(kind, DataType::Interval(_) | DataType::Duration(_));
    let has_interval = [left, right]
        .into_iter()
        .any(|kind| matches!(kind, DataType::Interval(_)));
    is_length(left) && is_length(right) && has_interval
}

/// The nanoseconds of an interval.
pub(super) fn length(expr: Expr) -> Expr {
    let function = Arc::new(ScalarUDF::from(Length {
        signature: Signature::any(1, Volatility::Immutable),
    }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![expr]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    signature: Signature,
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &'static str {
        "length_of_interval"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(38, 0))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        on_arrays(&args.args, |[values]| lengths(values))
    }
}

/// The nanoseconds of intervals, or of differences of times.
pub(super) fn lengths(values: &ArrayRef) -> Result<ArrayRef> {
    let lengths: Decimal128Array = match values.data_type() {
        DataType::Duration(unit) => {
            let scale = nanos_of(*unit);
            let counts = cast(values, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>().iter();
            counts
                .map(|count| count.map(|count| i128::from(count) * scale))
                .collect()
        }
        _ => {
            let values = cast(values, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            let values = values.as_primitive::<IntervalMonthDayNanoType>().iter();
            let length = values.map(|value| {
                value.map(|value| {
                    i128::from(value.months) * MONTH
                        + i128::from(value.days) * DAY
                        + i128::from(value.nanoseconds)
                })
            });
            length.collect()
        }
    };
    Ok(Arc::new(lengths.with_precision_and_scale(38, 0)?))
}

/// Differences of times as intervals of days and hours.
pub(super) fn in_days(durations: &ArrayRef) -> Result<ArrayRef> {
    let DataType::Duration(unit) = durations.data_type() else {
        return internal_err!(
            "a difference of times has the type {}",
            durations.data_type()
        );
    };
    let nanos = nanos_of(*unit);
    let day = DAY / nanos;
    let counts = cast(durations, &DataType::Int64)?;
    let intervals = counts.as_primitive::<Int64Type>().iter().map(|count| {
        let Some(count) = count.map(i128::from) else {
            return Ok(None);
        };
        let days = i32::try_from(count / day);
        let rest = i64::try_from(count % day * nanos);
        match (days, rest) {
            (Ok(days), Ok(rest)) => Ok(Some(IntervalMonthDayNano::new(0, days, rest))),
            _ => exec_err!("a difference of times has more than 2147483647 days"),
        }
    });
    let intervals: IntervalMonthDayNanoArray = intervals.collect::<Result<_>>()?;
    Ok(Arc::new(intervals))
}

/// The nanoseconds of a unit of time.
pub(super) fn nanos_of(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}
