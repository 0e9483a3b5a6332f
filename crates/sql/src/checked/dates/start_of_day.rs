//! The start of a day in a zone.

use std::sync::Arc;

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::{Result, exec_datafusion_err, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::Zone;
use crate::checked::arrays::on_array;
use crate::checked::date_trunc::first_on_clock;

const SECONDS_OF_DAY: i64 = 24 * 3600;

/// A date as the time in a zone at which the day begins: midnight, or the first time after it where clocks go over
/// midnight, or the first of two midnights.
pub(super) fn start_of_day(date: Expr, (unit, zone): &Zone) -> Expr {
    let function = ScalarUDF::from(StartOfDay {
        unit: *unit,
        zone: Arc::clone(zone),
        signature: Signature::exact(vec![DataType::Date32], Volatility::Immutable),
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), vec![date]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct StartOfDay {
    unit: TimeUnit,
    zone: Arc<str>,
    signature: Signature,
}

impl ScalarUDFImpl for StartOfDay {
    fn name(&self) -> &'static str {
        "start_of_day"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(self.unit, Some(Arc::clone(&self.zone))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [dates] = args.args.as_slice() else {
            return internal_err!("the start of a day takes a date");
        };
        let zone: Tz = self.zone.parse()?;
        let kind = self.return_type(&[])?;
        on_array(dates, |dates| {
            Ok(match self.unit {
                TimeUnit::Second => begins::<TimestampSecondType>(dates, zone, 1, &kind)?,
                TimeUnit::Millisecond => {
                    begins::<TimestampMillisecondType>(dates, zone, 1000, &kind)?
                }
                TimeUnit::Microsecond => {
                    begins::<TimestampMicrosecondType>(dates, zone, 1_000_000, &kind)?
                }
                TimeUnit::Nanosecond => {
                    begins::<TimestampNanosecondType>(dates, zone, 1_000_000_000, &kind)?
                }
            })
        })
    }
}

/// Of times of which a second has so many units.
fn begins<T>(dates: &ArrayRef, zone: Tz, units: i64, kind: &DataType) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType<Native = <Int64Type as ArrowPrimitiveType>::Native>,
{
    let begins: PrimitiveArray<T> = dates.as_primitive::<Date32Type>().try_unary(|day| {
        let begin = first_on_clock(zone, i64::from(day) * SECONDS_OF_DAY);
        begin
            .and_then(|second| second.checked_mul(units))
            .ok_or_else(|| {
                exec_datafusion_err!(
                    "a DATE that is compared with a time with a zone is out of the range of these times"
                )
            })
    })?;
    Ok(Arc::new(begins.with_data_type(kind.clone())))
}
