//! Types of operands, before the engine makes them equal in another way than users of SQL expect:
//!
//! * `DATE + INTERVAL '36 hours'` is a TIMESTAMP; the engine drops the hours.
//! * A DATE that is compared with a time of a zone is midnight there, as a TIMESTAMP is; the engine takes midnight in UTC.
//! * BIGINT UNSIGNED stays a whole number: the engine computes with decimals as soon as the other operand is a BIGINT.
//!   Differences are BIGINT.
//! * `now()` has microseconds, as the times of tables.
//!
//! A cast has the name of what is cast, so that the names of columns stay.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, Operator, cast,
};
use datafusion::optimizer::AnalyzerRule;

/// Casts such operands. It runs before the engine's rule.
#[derive(Debug)]
pub(super) struct Operands;

impl AnalyzerRule for Operands {
    fn name(&self) -> &'static str {
        "operands"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let changed = plan
                .map_expressions(|expr| expr.transform_up(|expr| Ok(with_casts(expr, &schema))))?;
            // The type of a column may be another one now.
            changed.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(changed.data)
    }
}

fn with_casts(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(binary) => of_operator(binary, schema),
        Expr::Negative(value) if is_unsigned(&value, schema) => {
            Transformed::yes(Expr::Negative(Box::new(cast(*value, DataType::Int64))))
        }
        Expr::ScalarFunction(mut call) => match call.func.name() {
            "now" => Transformed::yes(cast(Expr::ScalarFunction(call), TIMESTAMP)),
            "coalesce" | "nullif" | "greatest" | "least" => {
                let changed = of_values(call.args.iter_mut().collect(), schema);
                Transformed::new_transformed(Expr::ScalarFunction(call), changed)
            }
            _ => Transformed::no(Expr::ScalarFunction(call)),
        },
        Expr::Case(mut case) => {
            let changed = of_values(results(&mut case), schema);
            Transformed::new_transformed(Expr::Case(case), changed)
        }
        Expr::Between(mut between) if is_zoned(&between.expr, schema) => {
            let mut changed = false;
            for bound in [&mut between.low, &mut between.high] {
                if is_date(bound, schema) {
                    as_timestamp(bound);
                    changed = true;
                }
            }
            Transformed::new_transformed(Expr::Between(between), changed)
        }
        expr => Transformed::no(expr),
    }
}

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

fn of_operator(mut binary: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    let BinaryExpr { left, op, right } = &mut binary;
    let changed = match op {
        Operator::Plus | Operator::Minus
            if is_date(left, schema) && has_time(right, schema)
                || is_date(right, schema) && has_time(left, schema) =>
        {
            for side in [left, right] {
                if is_date(side, schema) {
                    as_timestamp(side);
                }
            }
            true
        }
        Operator::Plus
        | Operator::Minus
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo => {
            let is_difference = *op == Operator::Minus;
            of_numbers(left, right, is_difference, schema)
        }
        Operator::Eq
        | Operator::NotEq
        | Operator::Lt
        | Operator::LtEq
        | Operator::Gt
        | Operator::GtEq
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom => match (is_date(left, schema), is_date(right, schema)) {
            (true, false) if is_zoned(right, schema) => {
                as_timestamp(left);
                true
            }
            (false, true) if is_zoned(left, schema) => {
                as_timestamp(right);
                true
            }
            _ => false,
        },
        _ => false,
    };
    Transformed::new_transformed(Expr::BinaryExpr(binary), changed)
}

/// Gives whole numbers of which one is unsigned one type.
fn of_numbers(left: &mut Expr, right: &mut Expr, is_difference: bool, schema: &DFSchema) -> bool {
    let (a, b) = (is_unsigned(left, schema), is_unsigned(right, schema));
    if !a && !b || !is_whole(left, schema) || !is_whole(right, schema) {
        return false;
    }
    if is_difference {
        into(left, DataType::Int64);
        into(right, DataType::Int64);
        return true;
    }
    match (a, b) {
        (true, true) => return false,
        (true, false) if is_count(right) => into(right, DataType::UInt64),
        (false, true) if is_count(left) => into(left, DataType::UInt64),
        (true, false) => into(left, DataType::Int64),
        _ => into(right, DataType::Int64),
    }
    true
}

/// Makes constants unsigned that are values beside unsigned ones.
fn of_values(values: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    if !values.iter().any(|value| is_unsigned(value, schema)) {
        return false;
    }
    let mut changed = false;
    for value in values {
        if is_count(value) {
            into(value, DataType::UInt64);
            changed = true;
        }
    }
    changed
}

/// What a CASE may return.
fn results(case: &mut Case) -> Vec<&mut Expr> {
    let branches = case.when_then_expr.iter_mut().map(|(_, then)| &mut **then);
    let other = case.else_expr.iter_mut().map(|other| &mut **other);
    branches.chain(other).collect()
}

fn into(expr: &mut Expr, kind: DataType) {
    *expr = cast(std::mem::take(expr), kind);
}

fn as_timestamp(expr: &mut Expr) {
    into(expr, TIMESTAMP);
}

fn is_unsigned(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema)
        .is_ok_and(|kind| kind == DataType::UInt64)
}

fn is_whole(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|kind| kind.is_integer())
}

/// Whether an expression is a whole number that is not negative.
fn is_count(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Int64(Some(number)), _) if *number >= 0)
}

fn is_date(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema)
        .is_ok_and(|kind| matches!(kind, DataType::Date32 | DataType::Date64))
}

fn is_zoned(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema)
        .is_ok_and(|kind| matches!(kind, DataType::Timestamp(_, Some(_))))
}

/// Whether an interval may have a part that is shorter than a day.
fn has_time(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => {
            interval.nanoseconds != 0
        }
        Expr::Literal(ScalarValue::IntervalDayTime(Some(interval)), _) => {
            interval.milliseconds != 0
        }
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => false,
        expr => expr
            .get_type(schema)
            .is_ok_and(|kind| matches!(kind, DataType::Interval(_))),
    }
}
