//! RANGE frames with an offset, `RANGE BETWEEN 2 PRECEDING AND CURRENT ROW`, ordered by integers or decimals. The engine
//! takes 0 for the difference of unsigned numbers that is negative, loses rows where a sum is out of the range of its type,
//! and rounds offsets to the digits of the type.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, cast,
};

use super::empty;
use super::spans::{Spans, compare_spans, has_hours};
use crate::checked::expressions::ExpressionRule;

/// The digits of the engine's widest decimals: sums of two have the same type.
const DIGITS: u8 = 38;
/// The digits before the point of the widest integers, and one for sums.
const DIGITS_OF_INTEGERS: i16 = 21;

/// Orders such windows by decimals that have all digits of the offsets, before the engine makes the types equal, and checks
/// frames of spans of time. Frames of all kinds that end before they begin are replaced.
pub(in crate::checked) const RANGE_KEYS: ExpressionRule = ExpressionRule {
    name: "range_keys",
    replace: |expr, schema| {
        let Expr::WindowFunction(mut function) = expr else {
            return Ok(Transformed::no(expr));
        };
        if empty::is_empty(&function.params.window_frame) {
            let function = empty::without_rows(*function, schema)?;
            return Ok(Transformed::yes(Expr::from(function)));
        }
        let mut changed = false;
        if has_offset(&function)
            && let [key] = function.params.order_by.as_mut_slice()
            // What has no type yet is no column of numbers.
            && let Ok(kind) = key.expr.get_type(schema)
        {
            check_key(&kind, &function.params.window_frame)?;
            if kind.is_temporal() {
                let frame = &mut function.params.window_frame;
                // A day plus an hour is not a day.
                let kind =
                    match matches!(kind, DataType::Date32 | DataType::Date64) && has_hours(frame) {
                        true => {
                            let time = DataType::Timestamp(TimeUnit::Microsecond, None);
                            key.expr = cast(std::mem::take(&mut key.expr), time.clone());
                            changed = true;
                            time
                        }
                        false => kind,
                    };
                match compare_spans(frame, &kind)? {
                    Spans::Kept => {}
                    Spans::Changed => changed = true,
                    Spans::Empty => {
                        let function = empty::without_rows(*function, schema)?;
                        return Ok(Transformed::yes(Expr::from(function)));
                    }
                }
            } else if let Some(wide) = wide_key(&kind, &function.params.window_frame)? {
                key.expr = cast(std::mem::take(&mut key.expr), wide);
                changed = true;
            }
        }
        Ok(Transformed::new_transformed(
            Expr::WindowFunction(function),
            changed,
        ))
    },
};

/// Refuses what has no sum with the offset, with which the engine computes some frame or panics.
fn check_key(kind: &DataType, frame: &WindowFrame) -> Result<()> {
    if kind.is_string() || kind.is_binary() || *kind == DataType::Boolean {
        return plan_err!(
            "a RANGE frame with an offset needs a key of ORDER BY that is a number or a time: write ROWS, or order by a cast"
        );
    }
    for bound in [&frame.start_bound, &frame.end_bound] {
        if let Some(ScalarValue::Utf8(Some(text))) = offset(bound)
            && text.trim().parse::<f64>().is_ok_and(f64::is_nan)
        {
            return plan_err!("an offset of a RANGE frame is a number, not NaN");
        }
    }
    Ok(())
}

/// The type in which keys and offsets are added, if it is not that of the keys.
fn wide_key(kind: &DataType, frame: &WindowFrame) -> Result<Option<DataType>> {
    let (before_point, after_point) = match kind {
        kind if kind.is_integer() => (DIGITS_OF_INTEGERS, -1),
        DataType::Decimal128(digits, scale) => (
            i16::from(*digits) - i16::from(*scale) + 1,
            i16::from(*scale),
        ),
        _ => return Ok(None),
    };
    let mut finest = 0;
    for bound in [&frame.start_bound, &frame.end_bound] {
        finest = finest.max(digits_of(bound)?);
    }
    if finest <= after_point {
        return Ok(None);
    }
    if before_point + finest > i16::from(DIGITS) {
        return plan_err!("the offsets of the RANGE frame have too many digits after the point");
    }
    let finest = i8::try_from(finest).unwrap_or(i8::MAX);
    Ok(Some(DataType::Decimal128(DIGITS, finest)))
}

fn digits_of(bound: &WindowFrameBound) -> Result<i16> {
    let Some(ScalarValue::Utf8(Some(text))) = offset(bound) else {
        return Ok(0);
    };
    // What is no number is left to the engine.
    if text.contains(['e', 'E']) && text.trim().parse::<f64>().is_ok() {
        return plan_err!(
            "an offset of a RANGE frame over whole or decimal numbers has no exponent"
        );
    }
    Ok(digits_after_point(text))
}

pub(super) fn digits_after_point(number: &str) -> i16 {
    let after = number.trim().split_once('.').map_or("", |(_, after)| after);
    i16::try_from(after.len()).unwrap_or(i16::MAX / 2)
}

/// The offset of a bound that has one.
pub(super) fn offset(bound: &WindowFrameBound) -> Option<&ScalarValue> {
    match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => {
            (!offset.is_null()).then_some(offset)
        }
        WindowFrameBound::CurrentRow => None,
    }
}

fn has_offset(function: &WindowFunction) -> bool {
    let frame = &function.params.window_frame;
    let bounds = [&frame.start_bound, &frame.end_bound];
    frame.units == WindowFrameUnits::Range
        && bounds.into_iter().any(|bound| offset(bound).is_some())
}
