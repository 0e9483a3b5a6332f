//! `date_trunc` without overflows. The engine truncates whatever stands in the places of NULL, and wraps around before the
//! earliest time.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::buffer::ScalarBuffer;
use datafusion::arrow::datatypes::{
    ArrowTimestampType, DataType, FieldRef, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

/// No unit that the engine truncates by a subtraction is longer.
const SECONDS: i64 = 7 * 86_400;

/// The engine's `date_trunc`, of values that it can truncate.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateTrunc(Arc<ScalarUDF>);

impl DateTrunc {
    pub(super) fn new() -> Self {
        Self(date_trunc())
    }
}

impl ScalarUDFImpl for DateTrunc {
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

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.0.output_ordering(inputs)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(time) = args.args.get_mut(1)
            && let DataType::Timestamp(unit, _) = time.data_type()
        {
            *time = match unit {
                TimeUnit::Second => checked::<TimestampSecondType>(time, 1)?,
                TimeUnit::Millisecond => checked::<TimestampMillisecondType>(time, 1000)?,
                TimeUnit::Microsecond => checked::<TimestampMicrosecondType>(time, 1_000_000)?,
                TimeUnit::Nanosecond => checked::<TimestampNanosecondType>(time, 1_000_000_000)?,
            };
        }
        self.0.invoke_with_args(args)
    }
}

/// Times of so many units a second, with 1970 in the places of NULL.
fn checked<T: ArrowTimestampType>(times: &ColumnarValue, units: i64) -> Result<ColumnarValue> {
    let array = match times {
        ColumnarValue::Array(array) => array.clone(),
        ColumnarValue::Scalar(scalar) => scalar.to_array()?,
    };
    let found = array.as_primitive::<T>();
    let earliest = i64::MIN + SECONDS * units;
    if found.iter().flatten().any(|time| time < earliest) {
        return exec_err!(
            "date_trunc of a time that is before the earliest one, if it is truncated"
        );
    }
    if found.null_count() == 0 {
        return Ok(times.clone());
    }
    let values: ScalarBuffer<i64> = found.iter().map(Option::unwrap_or_default).collect();
    let changed = PrimitiveArray::<T>::new(values, found.nulls().cloned());
    let changed: ArrayRef = Arc::new(changed.with_data_type(array.data_type().clone()));
    Ok(match times {
        ColumnarValue::Array(_) => ColumnarValue::Array(changed),
        ColumnarValue::Scalar(_) => {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&changed, 0)?)
        }
    })
}
