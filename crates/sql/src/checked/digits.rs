//! Results of arithmetic with decimals, which have as many digits as their type says. The engine computes with more, and
//! shows such a number without its last digit.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type,
    DecimalType,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarUDF};

use super::same_type::SameType;

static IN_DIGITS: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::new("in_digits", in_digits).into_function());

/// The expression, checked if its type has all digits that there can be: other types have room for the result.
pub(super) fn checked(expr: Expr, kind: &DataType) -> Expr {
    match kind {
        DataType::Decimal128(DECIMAL128_MAX_PRECISION, _)
        | DataType::Decimal256(DECIMAL256_MAX_PRECISION, _) => {
            Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&IN_DIGITS), vec![expr]))
        }
        _ => expr,
    }
}

fn in_digits(value: ColumnarValue) -> Result<ColumnarValue> {
    let array = value.to_array(1)?;
    let fits = match array.data_type() {
        DataType::Decimal128(digits, _) => {
            let mut values = array.as_primitive::<Decimal128Type>().iter().flatten();
            values.all(|value| Decimal128Type::is_valid_decimal_precision(value, *digits))
        }
        DataType::Decimal256(digits, _) => {
            let mut values = array.as_primitive::<Decimal256Type>().iter().flatten();
            values.all(|value| Decimal256Type::is_valid_decimal_precision(value, *digits))
        }
        _ => true,
    };
    match fits {
        true => Ok(value),
        false => exec_err!(
            "a DECIMAL has too many digits: cast the values to DOUBLE, or to a DECIMAL with fewer digits"
        ),
    }
}
