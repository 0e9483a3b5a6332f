//! Times whose order is not that of the times that they are made of. `CAST(t AS TIME)` begins again with the next day, and the
//! time in a place goes back when its summer ends. The engine takes every cast from a type of times to another one, and
//! `date_trunc`, for functions that keep the order, and does not sort or group by it again. A cast between a time without a
//! zone and one of another zone than UTC it leaves out of a comparison with a constant, as if the time were in UTC.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};

use super::expressions::ExpressionRule;
use super::same_type::SameType;

/// Hides such casts and calls in a function, whose order the engine does not know.
pub(super) const LOCAL_TIMES: ExpressionRule = ExpressionRule {
    name: "local_times",
    replace: |expr, schema| Ok(hidden(expr, schema)),
};

fn hidden(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_found = match &expr {
        Expr::Cast(cast) => loses_order(&cast.expr, cast.field.data_type(), schema),
        Expr::TryCast(cast) => loses_order(&cast.expr, cast.field.data_type(), schema),
        Expr::ScalarFunction(call) => match (call.func.name(), call.args.as_slice()) {
            // It becomes a cast.
            (name, [value, ..]) if name.starts_with("arrow_") => expr
                .get_type(schema)
                .is_ok_and(|kind| loses_order(value, &kind, schema)),
            ("date_trunc", [_, time]) => time.get_type(schema).is_ok_and(|kind| is_local(&kind)),
            _ => false,
        },
        _ => false,
    };
    if !is_found {
        return Transformed::no(expr);
    }
    let call = ScalarFunction::new_udf(Arc::clone(&LOCAL_TIME), vec![expr]);
    Transformed::yes(Expr::ScalarFunction(call))
}

/// Whether a cast to a type has another order than the value, or another distance from UTC.
fn loses_order(value: &Expr, kind: &DataType, schema: &DFSchema) -> bool {
    if matches!(kind, DataType::Time32(_) | DataType::Time64(_)) {
        return true;
    }
    let Ok(source) = value.get_type(schema) else {
        return false;
    };
    // Between two zones, the moments stay.
    match has_zone(kind) {
        true => is_apart(kind) && !has_zone(&source),
        false => is_apart(&source) && kind.is_temporal(),
    }
}

fn has_zone(kind: &DataType) -> bool {
    zone_of(kind).is_some()
}

/// Whether a type has times of a place, whose distance from UTC changes.
fn is_local(kind: &DataType) -> bool {
    zone_of(kind).is_some_and(|zone| is_apart(kind) && !zone.starts_with(['+', '-']))
}

/// Whether a type has times with a distance from UTC, even if it is always the same.
fn is_apart(kind: &DataType) -> bool {
    zone_of(kind).is_some_and(|zone| match zone.strip_prefix(['+', '-']) {
        Some(offset) => offset
            .chars()
            .any(|digit| digit.is_ascii_digit() && digit != '0'),
        None => !["UTC", "Etc/UTC", "GMT", "Z"].contains(&zone),
    })
}

fn zone_of(kind: &DataType) -> Option<&str> {
    match kind {
        DataType::Timestamp(_, zone) => zone.as_deref(),
        _ => None,
    }
}

static LOCAL_TIME: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::new("local_time", Ok).into_function());
