//! `extract` of a difference of times. The query engine returns the whole difference in the unit: `extract(hour FROM …)` of a
//! week is 168. As in other databases, it is the part beside the days here.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::common::Result;
use datafusion::functions::datetime::date_part;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::arrays::on_array;
use super::intervals::{in_days, nanos_of};

/// Plans `EXTRACT(part FROM …)` with the function here.
#[derive(Debug)]
pub(crate) struct Extract;

impl ExprPlanner for Extract {
    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let function = Arc::new(ScalarUDF::from(DatePart::new()));
        let call = ScalarFunction::new_udf(function, args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

/// The engine's `date_part`, which takes its place again where the type is not a difference of times.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DatePart(Arc<ScalarUDF>);

impl DatePart {
    pub(super) fn new() -> Self {
        Self(date_part())
    }
}

/// Parts that the engine computes in 32 bits.
#[derive(Clone, Copy)]
enum Fine {
    /// Of the interval as a whole, in seconds.
    Epoch,
    /// Of its minute, in so many nanoseconds.
    Second(i64),
}

impl Fine {
    fn of(part: &ColumnarValue) -> Option<Self> {
        let ColumnarValue::Scalar(part) = part else {
            return None;
        };
        let text = part.try_as_str().flatten()?.trim_matches('\'');
        Some(match text.to_ascii_lowercase().as_str() {
            "epoch" => Self::Epoch,
            "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" => Self::Second(1_000_000),
            "microsecond" | "microseconds" | "us" | "usec" | "usecs" => Self::Second(1_000),
            "nanosecond" | "nanoseconds" | "ns" => Self::Second(1),
            _ => return None,
        })
    }

    /// The part of intervals.
    fn of_intervals(self, values: &ArrayRef) -> Result<ArrayRef> {
        let values = cast(values, &DataType::Interval(IntervalUnit::MonthDayNano))?;
        let values = values.as_primitive::<IntervalMonthDayNanoType>().iter();
        Ok(match self {
            Self::Epoch => Arc::new(Float64Array::from_iter(values.map(|value| {
                let value = value?;
                let (years, months) = (value.months / 12, value.months % 12);
                let days =
                    f64::from(years) * YEAR + f64::from(months) * MONTH + f64::from(value.days);
                Some(days * DAY + value.nanoseconds as f64 / 1e9)
            }))),
            Self::Second(unit) => Arc::new(Int64Array::from_iter(
                values.map(|value| Some(value?.nanoseconds % 60_000_000_000 / unit)),
            )),
        })
    }

    fn of_values(self, values: &ArrayRef) -> Result<ArrayRef> {
        match (self, values.data_type()) {
            // Of more days than an interval has, too.
            (Self::Epoch, DataType::Duration(unit)) => {
                let units = 1e9 / nanos_of(*unit) as f64;
                let counts = cast(values, &DataType::Int64)?;
                let counts = counts.as_primitive::<Int64Type>().iter();
                let seconds = counts.map(|count| Some(count? as f64 / units));
                Ok(Arc::new(Float64Array::from_iter(seconds)))
            }
            (_, DataType::Duration(_)) => self.of_intervals(&in_days(values)?),
            _ => self.of_intervals(values),
        }
    }
}

/// Days of a month and of a year, as PostgreSQL counts them, and seconds of a day.
const MONTH: f64 = 30.0;
const YEAR: f64 = 365.25;
const DAY: f64 = 86_400.0;

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.0.return_type(kinds)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_difference = match args.get(1) {
            Some(value) => matches!(
                context.get_data_type(value)?,
                DataType::Duration(_) | DataType::Interval(_)
            ),
            None => false,
        };
        if is_difference {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let call = ScalarFunction::new_udf(Arc::clone(&self.0), args);
        Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(call)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [part, value] = args.args.as_slice()
            && matches!(
                value.data_type(),
                DataType::Duration(_) | DataType::Interval(_)
            )
            && let Some(fine) = Fine::of(part)
        {
            let kind = args.return_field.data_type();
            return on_array(value, |values| Ok(cast(&fine.of_values(values)?, kind)?));
        }
        if let [_, value] = args.args.as_mut_slice()
            && matches!(value.data_type(), DataType::Duration(_))
        {
            *value = on_array(value, in_days)?;
            if let Some(field) = args.arg_fields.get_mut(1) {
                let kind = DataType::Interval(IntervalUnit::MonthDayNano);
                *field = Arc::new(Field::new(field.name(), kind, field.is_nullable()));
            }
        }
        self.0.invoke_with_args(args)
    }
}
