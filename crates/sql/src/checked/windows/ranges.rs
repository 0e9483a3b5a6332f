//! RANGE frames with an offset, `RANGE BETWEEN 2 PRECEDING AND CURRENT ROW`, ordered by integers. The engine takes 0 for
//! the difference of unsigned numbers that is negative, and loses rows where a sum is out of the range of its type.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrameBound, WindowFrameUnits, cast};

use crate::checked::expressions::ExpressionRule;

/// The digits of the engine's widest decimals: sums of two have the same type.
const DIGITS: u8 = 38;

/// Orders such windows by decimals, before the engine makes the types equal.
pub(in crate::checked) const RANGE_KEYS: ExpressionRule = ExpressionRule {
    name: "range_keys",
    replace: |expr, schema| {
        let Expr::WindowFunction(mut function) = expr else {
            return Ok(Transformed::no(expr));
        };
        let is_wide = has_offset(&function);
        let mut changed = false;
        if is_wide && let [key] = function.params.order_by.as_mut_slice() {
            // What has no type yet is no column of integers.
            changed = key
                .expr
                .get_type(schema)
                .is_ok_and(|kind| kind.is_integer());
            if changed {
                key.expr = cast(
                    std::mem::take(&mut key.expr),
                    DataType::Decimal128(DIGITS, 0),
                );
            }
        }
        Ok(Transformed::new_transformed(
            Expr::WindowFunction(function),
            changed,
        ))
    },
};

fn has_offset(function: &WindowFunction) -> bool {
    let frame = &function.params.window_frame;
    let is_offset = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => {
            !offset.is_null()
        }
        WindowFrameBound::CurrentRow => false,
    };
    frame.units == WindowFrameUnits::Range
        && (is_offset(&frame.start_bound) || is_offset(&frame.end_bound))
}
