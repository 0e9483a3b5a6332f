//! Frames that end before they begin, such as `ROWS BETWEEN 1 PRECEDING AND 3 PRECEDING`: no row is in them. The engine
//! would subtract the one place from the other.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition, lit,
    when,
};

use super::ranges::{digits_after_point, offset};

/// Whether no row can be in a frame of rows, of groups, or of a range with numbers as offsets.
pub(super) fn is_empty(frame: &WindowFrame) -> bool {
    let (longer, shorter) = match (&frame.start_bound, &frame.end_bound) {
        (start @ WindowFrameBound::Preceding(_), end @ WindowFrameBound::Preceding(_)) => {
            (start, end)
        }
        (start @ WindowFrameBound::Following(_), end @ WindowFrameBound::Following(_)) => {
            (end, start)
        }
        _ => return false,
    };
    let (Some(longer), Some(shorter)) = (offset(longer), offset(shorter)) else {
        return false;
    };
    match (longer, shorter) {
        (ScalarValue::UInt64(Some(longer)), ScalarValue::UInt64(Some(shorter))) => longer < shorter,
        (ScalarValue::Utf8(Some(longer)), ScalarValue::Utf8(Some(shorter))) => {
            is_less(longer, shorter)
        }
        _ => false,
    }
}

/// Whether two texts are numbers, the first of which is less. They are spans of time otherwise.
fn is_less(one: &str, other: &str) -> bool {
    let digits = digits_after_point(one).max(digits_after_point(other));
    let number = |text: &str| {
        let kind = DataType::Decimal128(38, i8::try_from(digits).ok()?);
        ScalarValue::try_from_string(text.trim().to_owned(), &kind).ok()
    };
    match (number(one), number(other)) {
        (Some(one), Some(other)) => one < other,
        _ => match (one.trim().parse::<f64>(), other.trim().parse::<f64>()) {
            (Ok(one), Ok(other)) => one < other,
            _ => false,
        },
    }
}

/// The function of no rows. Rows whose key is NULL, infinite or NaN have each other in a frame of a range, whatever its
/// offsets are: such a key plus a number is the same.
pub(super) fn without_rows(
    mut function: WindowFunction,
    schema: &DFSchema,
) -> Result<WindowFunction> {
    let params = &mut function.params;
    let is_range = params.window_frame.units == WindowFrameUnits::Range;
    let has_peers = match params.order_by.as_slice() {
        [key] if is_range => {
            let is_null = key.expr.clone().is_null();
            let kind = key.expr.get_type(schema);
            match kind.is_ok_and(|kind| kind.is_floating()) {
                true => {
                    let fixed = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(lit);
                    is_null.or(key.expr.clone().in_list(fixed.to_vec(), false))
                }
                false => is_null,
            }
        }
        _ => lit(false),
    };
    params.window_frame = WindowFrame::new_bounds(
        params.window_frame.units,
        WindowFrameBound::CurrentRow,
        WindowFrameBound::CurrentRow,
    );
    match &function.fun {
        WindowFunctionDefinition::AggregateUDF(_) => {
            let filter = match params.filter.take() {
                Some(filter) => filter.and(has_peers),
                None => has_peers,
            };
            params.filter = Some(Box::new(filter));
        }
        WindowFunctionDefinition::WindowUDF(window) => {
            let is_value = matches!(window.name(), "first_value" | "last_value" | "nth_value");
            if let Some(value) = params.args.first_mut().filter(|_| is_value) {
                // Otherwise a NULL of the same type.
                *value = when(has_peers, std::mem::take(value)).end()?;
            }
        }
    }
    Ok(function)
}
