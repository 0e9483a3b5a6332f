//! The choice between the aggregates of the engine and those that are computed here.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{AggregateUDF, ExprSchemable};

use super::in_window::{InWindow, Traits};
use super::is_growing;
use super::memory::may_be_long;

/// The aggregate for windows, which counts what it keeps; `None` if the engine's is exact for the frames of the function,
/// and keeps one value.
pub(super) fn for_windows(
    aggregate: &Arc<AggregateUDF>,
    params: &WindowFunctionParams,
    schema: &DFSchema,
    pool: &Arc<dyn MemoryPool>,
) -> Option<Arc<AggregateUDF>> {
    if InWindow::is(aggregate) {
        return None;
    }
    let name = aggregate.name();
    let frame = &params.window_frame;
    // Of all rows, in any order if that has no effect.
    let is_whole = frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded();
    let is_exact = (is_whole && !depends_on_order(name)) || is_exact(name, params, schema);
    let keeps_one = match is_whole {
        true => !grows(name),
        false => matches!(name, "count" | "sum"),
    };
    let keeps_one = keeps_one && !params.distinct && !has_long_results(aggregate, params, schema);
    if is_exact && keeps_one && !is_growing(frame) {
        return None;
    }
    let traits = Traits {
        is_exact,
        is_reversible: is_exact && !is_growing(frame),
        is_whole,
        keeps_one: is_exact && keeps_one,
    };
    Some(InWindow::of(aggregate, traits, pool))
}

/// Whether what an aggregate keeps grows with the rows, also without DISTINCT.
fn grows(name: &str) -> bool {
    matches!(
        name,
        "array_agg" | "string_agg" | "median" | "percentile_cont"
    )
}

fn has_long_results(
    aggregate: &AggregateUDF,
    params: &WindowFunctionParams,
    schema: &DFSchema,
) -> bool {
    let kinds = params.args.iter().map(|value| value.get_type(schema));
    let result = kinds
        .collect::<Result<Vec<_>>>()
        .and_then(|kinds| aggregate.return_type(&kinds));
    result.is_ok_and(|kind| may_be_long(&kind))
}

/// Whether the result depends on the order of the rows. The engine returns it in reverse if it reverses a window.
pub(super) fn depends_on_order(name: &str) -> bool {
    matches!(
        name,
        "array_agg" | "string_agg" | "first_value" | "last_value" | "nth_value" | "any_value"
    )
}

/// Whether the engine, or a function of ours, can take a value away from the aggregate so that nothing is left of it.
fn is_exact(name: &str, params: &WindowFunctionParams, schema: &DFSchema) -> bool {
    match name {
        "count" | "min" | "max" => true,
        "approx_distinct" | "median" => true,
        "percentile_cont" => !params.distinct,
        "sum" => {
            let kind = params.args.first().map(|value| value.get_type(schema));
            match kind {
                Some(Ok(kind)) => {
                    kind.is_decimal() || matches!(kind, DataType::Int64 | DataType::UInt64)
                }
                _ => false,
            }
        }
        _ => false,
    }
}
