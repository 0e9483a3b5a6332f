//! Intervals and differences of times in expressions, once the engine has made their types equal.
//!
//! * They are compared by their lengths ([`super::intervals`]) wherever an expression compares them.
//! * A difference of times that becomes an interval has days, and not only nanoseconds.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::compute::kernels::cmp::eq;
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::{Between, Case, InList, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::arrays::on_arrays;
use super::expressions::{ExpressionRule, is_comparison};
use super::intervals::{are_lengths, in_days, length, lengths};

/// Corrects such comparisons and conversions.
pub(super) const LENGTHS: ExpressionRule = ExpressionRule {
    name: "lengths_of_intervals",
    replace: corrected,
};

fn corrected(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let compares = |one: &Expr, other: &Expr| match (one.get_type(schema), other.get_type(schema)) {
        (Ok(one), Ok(other)) => are_lengths(&one, &other),
        _ => false,
    };
    let boxed = |expr: Box<Expr>| Box::new(length(*expr));
    let all = |exprs: Vec<Expr>| exprs.into_iter().map(length).collect();
    Ok(Transformed::yes(match expr {
        Expr::Cast(cast)
            if is_interval(cast.field.data_type()) && is_difference(&cast.expr, schema) =>
        {
            days(*cast.expr)
        }
        Expr::TryCast(cast)
            if is_interval(cast.field.data_type()) && is_difference(&cast.expr, schema) =>
        {
            days(*cast.expr)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if is_comparison(op) && compares(&left, &right) =>
        {
            Expr::BinaryExpr(BinaryExpr::new(boxed(left), op, boxed(right)))
        }
        Expr::Between(between) if compares(&between.expr, &between.low) => Expr::Between(Between {
            expr: boxed(between.expr),
            low: boxed(between.low),
            high: boxed(between.high),
            ..between
        }),
        Expr::InList(list) if compares(&list.expr, &list.expr) => Expr::InList(InList {
            expr: boxed(list.expr),
            list: all(list.list),
            ..list
        }),
        Expr::Case(Case {
            expr: Some(subject),
            when_then_expr,
            else_expr,
        }) if compares(&subject, &subject) => Expr::Case(Case {
            expr: Some(boxed(subject)),
            when_then_expr: when_then_expr
                .into_iter()
                .map(|(when, then)| (boxed(when), then))
                .collect(),
            else_expr,
        }),
        Expr::ScalarFunction(call)
            if call.func.name() == "nullif"
                && matches!(call.args.as_slice(), [value, other] if compares(value, other)) =>
        {
            Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&NULL_IF), call.args))
        }
        expr => return Ok(Transformed::no(expr)),
    }))
}

fn is_interval(kind: &DataType) -> bool {
    matches!(kind, DataType::Interval(_))
}

fn is_difference(expr: &Expr, schema: &DFSchema) -> bool {
    let kind = expr.get_type(schema);
    kind.is_ok_and(|kind| matches!(kind, DataType::Duration(_)))
}

/// `nullif` of two values that are compared by their lengths. Each is computed once.
static NULL_IF: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::from(NullIf { signature }))
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct NullIf {
    signature: Signature,
}

impl ScalarUDFImpl for NullIf {
    fn name(&self) -> &'static str {
        "nullif_of_lengths"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [kind, _] => Ok(kind.clone()),
            _ => internal_err!("`nullif` takes two arguments"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        on_arrays(&args.args, |[value, other]| {
            let are_equal = eq(&lengths(value)?, &lengths(other)?)?;
            Ok(nullif(value, &are_equal)?)
        })
    }
}

/// The interval of days that a difference of times is.
fn days(expr: Expr) -> Expr {
    static DAYS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::from(Days { signature }))
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&DAYS), vec![expr]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Days {
    signature: Signature,
}

impl ScalarUDFImpl for Days {
    fn name(&self) -> &'static str {
        "interval_of_days"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        on_arrays(&args.args, |[values]| in_days(values))
    }
}
