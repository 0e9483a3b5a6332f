//! Intervals and differences of times in expressions, once the engine has made their types equal.
//!
//! * They are compared by their lengths ([`super::intervals`]) wherever an expression compares them.
//! * A difference of times that becomes an interval has days, and not only nanoseconds.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, Case, InList, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, when,
};
use datafusion::optimizer::AnalyzerRule;

use super::intervals::{are_lengths, in_days, length};

/// Corrects such comparisons and conversions.
#[derive(Debug)]
pub(super) struct Lengths;

impl AnalyzerRule for Lengths {
    fn name(&self) -> &'static str {
        "lengths_of_intervals"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let changed = expr.transform_up(|expr| corrected(expr, &schema))?;
                Ok(changed.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(changed.data)
    }
}

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
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => {
            match <[Expr; 2]>::try_from(call.args) {
                Ok([value, other]) if compares(&value, &other) && !value.is_volatile() => {
                    let is_equal = length(value.clone()).eq(length(other));
                    let nothing = ScalarValue::try_new_null(&value.get_type(schema)?)?;
                    when(is_equal, Expr::Literal(nothing, None)).otherwise(value)?
                }
                args => {
                    let args = args.map_or_else(|args| args, Vec::from);
                    let call = ScalarFunction::new_udf(call.func, args);
                    return Ok(Transformed::no(Expr::ScalarFunction(call)));
                }
            }
        }
        expr => return Ok(Transformed::no(expr)),
    }))
}

fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

fn is_interval(kind: &DataType) -> bool {
    matches!(kind, DataType::Interval(_))
}

fn is_difference(expr: &Expr, schema: &DFSchema) -> bool {
    let kind = expr.get_type(schema);
    kind.is_ok_and(|kind| matches!(kind, DataType::Duration(_)))
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
        let rows = args.number_rows;
        match args.args.into_iter().next() {
            Some(ColumnarValue::Scalar(value)) => {
                let days = in_days(&value.to_array()?)?;
                let days = ScalarValue::try_from_array(&days, 0)?;
                Ok(ColumnarValue::Scalar(days))
            }
            Some(ColumnarValue::Array(values)) => Ok(ColumnarValue::Array(in_days(&values)?)),
            None => {
                let kind = DataType::Interval(IntervalUnit::MonthDayNano);
                let nothing = ScalarValue::try_new_null(&kind)?;
                Ok(ColumnarValue::Array(nothing.to_array_of_size(rows)?))
            }
        }
    }
}
