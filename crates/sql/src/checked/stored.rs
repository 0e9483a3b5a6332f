//! Values that become those of a column of a table. One that the type of the column cannot hold is an error with the
//! name of the column: the engine's casts have no name, and cut fractions off.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::CastOptions;
use datafusion::arrow::compute::kernels::cast::cast;
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::datatypes::{DataType, Float64Type, TimeUnit};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::{Result, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use ostrakon_cell::Error;

use super::arrays::on_arrays;
use super::minutes::with_seconds;

const STRICT: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: FormatOptions::new(),
};

/// The conversion of an expression to the type of a column, in place of the engine's. Texts of the statement itself keep
/// that one, since other rules look for it, and are tried here.
///
/// # Errors
/// A text of the statement is not a value of the type.
pub(crate) fn stored(expr: Expr, column: &str) -> Result<Expr> {
    let expr = match expr {
        Expr::Cast(_) => with_seconds(expr).data,
        expr => return Ok(expr),
    };
    let Expr::Cast(cast) = expr else {
        return Ok(expr);
    };
    let conversion = Stored {
        column: column.to_owned(),
        kind: cast.field.data_type().clone(),
        signature: Signature::any(1, Volatility::Immutable),
    };
    if let Some(text) = text_of(&cast.expr) {
        conversion.convert(&text.to_array_of_size(1)?)?;
        return Ok(Expr::Cast(cast));
    }
    let function = ScalarUDF::from(conversion);
    Ok(Expr::ScalarFunction(ScalarFunction::new_udf(
        function.into(),
        vec![*cast.expr],
    )))
}

/// A text of the statement itself.
fn text_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(text, _) if text.data_type().is_string() => Some(text),
        _ => None,
    }
}

/// The conversion of values to the type of a column.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Stored {
    column: String,
    kind: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Stored {
    fn name(&self) -> &'static str {
        "stored"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.kind.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        on_arrays(&args.args, |[values]| self.convert(values))
    }
}

impl Stored {
    fn convert(&self, values: &ArrayRef) -> Result<ArrayRef> {
        match self.converted(values) {
            Ok(converted) => match changed(values, &converted)? {
                None => Ok(converted),
                Some(at) => Err(self.unfit(values, at)),
            },
            Err(error) => {
                let mut rows = 0..values.len();
                match rows.find(|at| self.converted(&values.slice(*at, 1)).is_err()) {
                    Some(at) => Err(self.unfit(values, at)),
                    None => Err(error),
                }
            }
        }
    }

    fn converted(&self, values: &ArrayRef) -> Result<ArrayRef> {
        let values = ColumnarValue::Array(values.clone());
        values.cast_to(&self.kind, Some(&STRICT))?.into_array(0)
    }

    fn unfit(&self, values: &ArrayRef, at: usize) -> DataFusionError {
        let shown = ArrayFormatter::try_new(values, &FormatOptions::default());
        let shown = shown.and_then(|shown| shown.value(at).try_to_string());
        let error = Error::invalid(
            "the type of a column cannot hold a value: correct it, or convert it with CAST in the query",
        );
        let error = error
            .with("column", &self.column)
            .with("value", shown.unwrap_or_default())
            .with("data", "a value");
        DataFusionError::External(Box::new(error))
    }
}

/// The first row whose value is another one after the conversion: a number without its fraction or of a truth value, or a
/// time without its time of day.
fn changed(before: &ArrayRef, after: &ArrayRef) -> Result<Option<usize>> {
    let numbers = |is_kept: fn(f64) -> bool| -> Result<Option<usize>> {
        let numbers = cast(before, &DataType::Float64)?;
        let mut numbers = numbers.as_primitive::<Float64Type>().iter();
        Ok(numbers.position(|number| number.is_some_and(|number| !is_kept(number))))
    };
    match (before.data_type(), after.data_type()) {
        (from, to) if from.is_floating() && to.is_integer() => {
            numbers(|number| number.fract() == 0.0)
        }
        (from, DataType::Boolean) if from.is_numeric() => {
            numbers(|number| number == 0.0 || number == 1.0)
        }
        (from, to) if from.is_decimal() && to.is_integer() => returned(before, after),
        (DataType::Timestamp(..), DataType::Date32) => returned(before, after),
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) if from > to => {
            returned(before, after)
        }
        (from, DataType::Timestamp(to, _)) if from.is_string() => {
            let texts = cast(before, &DataType::Utf8)?;
            let mut texts = texts.as_string::<i32>().iter();
            let digits = digits_of(*to);
            Ok(texts.position(|text| text.is_some_and(|text| is_finer(text, digits))))
        }
        _ => Ok(None),
    }
}

/// The decimal places of the seconds of a time.
fn digits_of(unit: TimeUnit) -> usize {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Whether a time as text has more decimal places than these, which are not 0.
fn is_finer(text: &str, digits: usize) -> bool {
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let mut places = fraction.bytes().take_while(u8::is_ascii_digit);
    places.by_ref().take(digits).for_each(drop);
    places.any(|digit| digit != b'0')
}

/// The first row whose value does not come back from the other type.
fn returned(before: &ArrayRef, after: &ArrayRef) -> Result<Option<usize>> {
    let back = cast(after, before.data_type())?;
    let differ = distinct(before, &back)?;
    Ok(differ.values().set_indices().next())
}
