//! Comparisons of intervals, and of differences of times with them. The query engine compares months, days and the rest one
//! after the other: 36 hours would be less than a day. As in other databases, a month has 30 days here, and a day 24 hours.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, IntervalMonthDayNanoArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, TimeUnit,
};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

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
        match args.args.first() {
            Some(ColumnarValue::Array(values)) => Ok(ColumnarValue::Array(lengths(values)?)),
            Some(ColumnarValue::Scalar(value)) => {
                let lengths = lengths(&value.to_array()?)?;
                let length = ScalarValue::try_from_array(&lengths, 0)?;
                Ok(ColumnarValue::Scalar(length))
            }
            None => internal_err!("an interval is missing"),
        }
    }
}

/// The name of `a BETWEEN low AND high` of intervals, as a function.
pub(crate) const BETWEEN: &str = "interval_between";

/// Whether an interval is as long as others, or between them.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Between {
    signature: Signature,
}

impl Between {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::any(3, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for Between {
    fn name(&self) -> &'static str {
        BETWEEN
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        let is_length = |kind: &DataType| {
            matches!(
                kind,
                DataType::Interval(_) | DataType::Duration(_) | DataType::Null
            )
        };
        match kinds.iter().find(|kind| !is_length(kind)) {
            None => Ok(DataType::Boolean),
            Some(other) => {
                plan_err!("BETWEEN compares intervals with intervals, and not with {other}")
            }
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let lengths: Vec<ArrayRef> = arrays.iter().map(lengths).collect::<Result<_>>()?;
        let [values, low, high] = lengths.as_slice() else {
            return internal_err!("BETWEEN takes a value and two bounds");
        };
        let [values, low, high] = [values, low, high].map(AsArray::as_primitive::<Decimal128Type>);
        let found: BooleanArray = (values.iter().zip(low.iter()).zip(high.iter()))
            .map(|((value, low), high)| {
                let is_after = value.zip(low).map(|(value, low)| value >= low);
                let is_before = value.zip(high).map(|(value, high)| value <= high);
                match (is_after, is_before) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                }
            })
            .collect();
        let is_constant = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        Ok(match args.args.iter().all(is_constant) {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(Arc::new(found)),
        })
    }
}

fn lengths(values: &ArrayRef) -> Result<ArrayRef> {
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
        let count = i128::from(count?);
        let days = i32::try_from(count / day).ok()?;
        let rest = i64::try_from(count % day * nanos).ok()?;
        Some(IntervalMonthDayNano::new(0, days, rest))
    });
    let intervals: IntervalMonthDayNanoArray = intervals.collect();
    Ok(Arc::new(intervals))
}

/// The nanoseconds of a unit of time.
fn nanos_of(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}
