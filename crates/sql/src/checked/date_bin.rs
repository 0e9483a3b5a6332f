//! `date_bin` of all times. The query engine computes it in nanoseconds, and returns NULL for times before 1677 and after
//! 2262.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampSecondType,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::functions::datetime::date_bin;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::arrays::on_array;

const DAY_NANOS: i128 = 86_400_000_000_000;

/// The engine's `date_bin`, with bins in the unit of the time where that is exact.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DateBin(Arc<ScalarUDF>);

impl DateBin {
    pub(super) fn new() -> Self {
        Self(date_bin())
    }
}

impl ScalarUDFImpl for DateBin {
    fn name(&self) -> &'static str {
        "date_bin"
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.0.return_type(kinds)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.0.output_ordering(inputs)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [width, time] = args.args.as_slice()
            && let Some(bins) = binned(width, time)?
        {
            return Ok(bins);
        }
        let [width, time, ..] = args.args.as_slice() else {
            return exec_err!("date_bin takes an interval and a time");
        };
        let has_width = !matches!(width, ColumnarValue::Scalar(width) if width.is_null());
        let (rows, time) = (args.number_rows, time.clone());
        let bins = self.0.invoke_with_args(args)?;
        if has_width && bins.to_array(rows)?.null_count() > time.to_array(rows)?.null_count() {
            return exec_err!(
                "date_bin with months, or of times in nanoseconds, takes times from 1677 to 2262 only"
            );
        }
        Ok(bins)
    }
}

/// The starts of bins from 1970 on, computed in the unit of the time; `None` if the bins are not multiples of it.
fn binned(width: &ColumnarValue, time: &ColumnarValue) -> Result<Option<ColumnarValue>> {
    let nanos = match width {
        ColumnarValue::Scalar(ScalarValue::IntervalMonthDayNano(Some(width)))
            if width.months == 0 =>
        {
            i128::from(width.days) * DAY_NANOS + i128::from(width.nanoseconds)
        }
        ColumnarValue::Scalar(ScalarValue::IntervalDayTime(Some(width))) => {
            i128::from(width.days) * DAY_NANOS + i128::from(width.milliseconds) * 1_000_000
        }
        _ => return Ok(None),
    };
    let DataType::Timestamp(unit, _) = time.data_type() else {
        return Ok(None);
    };
    let unit_nanos = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => return Ok(None),
    };
    if nanos <= 0 || nanos % unit_nanos != 0 {
        return Ok(None);
    }
    let Ok(width) = i64::try_from(nanos / unit_nanos) else {
        return Ok(None);
    };
    let starts = on_array(time, |times| match unit {
        TimeUnit::Second => starts::<TimestampSecondType>(times, width),
        TimeUnit::Millisecond => starts::<TimestampMillisecondType>(times, width),
        _ => starts::<TimestampMicrosecondType>(times, width),
    });
    starts.map(Some)
}

fn starts<T: ArrowTimestampType>(times: &ArrayRef, width: i64) -> Result<ArrayRef> {
    let times = times.as_primitive::<T>();
    let found: PrimitiveArray<T> =
        times.try_unary(|time| match time.checked_sub(time.rem_euclid(width)) {
            Some(start) => Ok(start),
            None => exec_err!("the start of a bin is before the earliest time"),
        })?;
    Ok(Arc::new(found.with_data_type(times.data_type().clone())))
}
