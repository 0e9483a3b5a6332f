//! `date_trunc` without overflows. The engine truncates whatever stands in the places of NULL, wraps around before the
//! earliest time, takes some times only if they have nanoseconds in 64 bits (from 1677 to 2262), and rounds some before 1970
//! up.

mod part;

pub(super) use part::first_on_clock;

use std::sync::Arc;

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    ArrowTimestampType, DataType, FieldRef, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::types::{NativeType, logical_date, logical_string};
use datafusion::common::{Result, exec_datafusion_err, internal_err};
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    Coercion, ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, TypeSignature, TypeSignatureClass, Volatility,
};

use super::arrays::on_array;
use part::Part;

/// `date_trunc` as the engine has it, of times of all years.
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

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [part, time] = args.args.as_slice() else {
            return internal_err!("date_trunc takes a part and a time");
        };
        let part = match part {
            ColumnarValue::Scalar(name) => name.try_as_str().flatten().and_then(Part::named),
            ColumnarValue::Array(_) => None,
        };
        match (time.data_type(), part) {
            (DataType::Timestamp(unit, zone), Some(part)) => {
                let zone = zone.map(|zone| zone.parse::<Tz>()).transpose()?;
                on_array(time, |times| match unit {
                    TimeUnit::Second => begun::<TimestampSecondType>(times, part, 1, zone),
                    TimeUnit::Millisecond => {
                        begun::<TimestampMillisecondType>(times, part, 1000, zone)
                    }
                    TimeUnit::Microsecond => {
                        begun::<TimestampMicrosecondType>(times, part, 1_000_000, zone)
                    }
                    TimeUnit::Nanosecond => {
                        begun::<TimestampNanosecondType>(times, part, 1_000_000_000, zone)
                    }
                })
            }
            // Times of a day, and names that are no parts.
            _ => self.engine.invoke_with_args(args),
        }
    }
}

/// Where the parts with times begin, of which a second has so many units.
fn begun<T: ArrowTimestampType>(
    times: &ArrayRef,
    part: Part,
    units: i64,
    zone: Option<Tz>,
) -> Result<ArrayRef> {
    let begun = times.as_primitive::<T>().try_unary::<_, T, _>(|time| {
        let begin = part.begin(time, units, zone);
        begin.ok_or_else(|| match time < 0 {
            true => exec_datafusion_err!(
                "date_trunc of a time that is before the earliest one, if it is truncated"
            ),
            false => exec_datafusion_err!("date_trunc of a time whose year is out of range"),
        })
    })?;
    Ok(Arc::new(begun.with_data_type(times.data_type().clone())))
}
