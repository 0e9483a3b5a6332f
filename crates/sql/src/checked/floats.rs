//! Floating-point numbers as keys. `=` takes the two zeros for one number, and the engine keeps them apart where it sorts,
//! numbers the rows of a window, looks values up in a list, or counts different ones. It also keeps NaNs apart whose bits
//! differ. A rule gives each of these places one zero and one NaN, which is greater than all numbers.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{
    AggregateFunction, InList, ScalarFunction, Sort, WindowFunction,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, Case, ColumnarValue, Distinct, Expr, ExprSchemable, LogicalPlan, Projection,
    ScalarUDF, Window,
};
use datafusion::optimizer::AnalyzerRule;

use super::arrays::on_array;
use super::expressions::replace_in;
use super::same_type::SameType;

/// Gives the keys of a plan one zero and one NaN.
#[derive(Debug)]
pub(super) struct FloatKeys;

impl AnalyzerRule for FloatKeys {
    fn name(&self) -> &'static str {
        "float_keys"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(keyed)?.data)
    }
}

fn keyed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    let plan = looked_up(plan, &schema)?;
    plan.transform_data(|plan| {
        Ok(match plan {
            LogicalPlan::Sort(mut sort) => {
                let changed = by_keys(&mut sort.expr, &schema);
                Transformed::new_transformed(LogicalPlan::Sort(sort), changed)
            }
            LogicalPlan::Window(window) => {
                let names = NamePreserver::new_for_projection();
                let mut changed = false;
                let exprs = window.window_expr.iter().map(|expr| {
                    let name = names.save(expr);
                    let expr = expr
                        .clone()
                        .transform_up(|expr| Ok(in_window(expr, &schema)))?;
                    changed |= expr.transformed;
                    Ok(name.restore(expr.data))
                });
                let exprs: Vec<Expr> = exprs.collect::<Result<_>>()?;
                match changed {
                    true => {
                        Transformed::yes(LogicalPlan::Window(Window::try_new(exprs, window.input)?))
                    }
                    false => Transformed::no(LogicalPlan::Window(window)),
                }
            }
            LogicalPlan::Aggregate(aggregate) => grouped(aggregate, &schema)?,
            LogicalPlan::Distinct(distinct) => different(distinct, &schema)?,
            plan => Transformed::no(plan),
        })
    })
}

fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(
        expr.get_type(schema),
        Ok(DataType::Float32 | DataType::Float64)
    )
}

fn key(expr: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&KEY), vec![expr]))
}

/// Puts the key of a number in its place.
fn by_key(expr: &mut Expr, schema: &DFSchema) -> bool {
    let is_float = is_float(expr, schema);
    if is_float {
        *expr = key(std::mem::take(expr));
    }
    is_float
}

fn by_keys(order: &mut [Sort], schema: &DFSchema) -> bool {
    let mut changed = false;
    for sort in order {
        changed |= by_key(&mut sort.expr, schema);
    }
    changed
}

fn in_window(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::WindowFunction(mut function) = expr else {
        return Transformed::no(expr);
    };
    let WindowFunction { params, .. } = &mut *function;
    let mut changed = by_keys(&mut params.order_by, schema);
    for expr in &mut params.partition_by {
        changed |= by_key(expr, schema);
    }
    if params.distinct {
        for expr in &mut params.args {
            changed |= by_key(expr, schema);
        }
    }
    Transformed::new_transformed(Expr::WindowFunction(function), changed)
}

fn grouped(aggregate: Aggregate, schema: &DFSchema) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let names = NamePreserver::new_for_projection();
    let mut named = |mut expr: Expr| {
        let name = names.save(&expr);
        let is_changed = by_key(&mut expr, schema);
        changed |= is_changed;
        let expr = if is_changed { name.restore(expr) } else { expr };
        Ok(Transformed::new_transformed(expr, is_changed))
    };
    let mut groups = Vec::new();
    for expr in &aggregate.group_expr {
        groups.push(match expr {
            Expr::GroupingSet(_) => expr.clone().map_children(&mut named)?.data,
            expr => named(expr.clone())?.data,
        });
    }
    let mut aggregates = Vec::new();
    for expr in &aggregate.aggr_expr {
        let name = names.save(expr);
        let counted = expr.clone().transform_up(|expr| {
            let Expr::AggregateFunction(mut function) = expr else {
                return Ok(Transformed::no(expr));
            };
            let AggregateFunction { params, .. } = &mut function;
            let mut is_changed = by_keys(&mut params.order_by, schema);
            if params.distinct {
                for expr in &mut params.args {
                    is_changed |= by_key(expr, schema);
                }
            }
            Ok(Transformed::new_transformed(
                Expr::AggregateFunction(function),
                is_changed,
            ))
        })?;
        changed |= counted.transformed;
        aggregates.push(name.restore(counted.data));
    }
    Ok(match changed {
        true => {
            let aggregate = Aggregate::try_new(aggregate.input, groups, aggregates)?;
            Transformed::yes(LogicalPlan::Aggregate(aggregate))
        }
        false => Transformed::no(LogicalPlan::Aggregate(aggregate)),
    })
}

fn different(distinct: Distinct, schema: &DFSchema) -> Result<Transformed<LogicalPlan>> {
    match distinct {
        Distinct::All(input) => {
            let mut changed = false;
            let columns = input.schema().columns().into_iter().map(|column| {
                let (relation, name) = (column.relation.clone(), column.name.clone());
                let mut expr = Expr::Column(column);
                if !by_key(&mut expr, schema) {
                    return expr;
                }
                changed = true;
                expr.alias_qualified(relation, name)
            });
            let columns: Vec<Expr> = columns.collect();
            let input = match changed {
                true => Arc::new(LogicalPlan::Projection(Projection::try_new(
                    columns, input,
                )?)),
                false => input,
            };
            let distinct = LogicalPlan::Distinct(Distinct::All(input));
            Ok(Transformed::new_transformed(distinct, changed))
        }
        Distinct::On(mut distinct) => {
            let mut changed = false;
            for expr in &mut distinct.on_expr {
                changed |= by_key(expr, schema);
            }
            if let Some(order) = &mut distinct.sort_expr {
                changed |= by_keys(order, schema);
            }
            let distinct = LogicalPlan::Distinct(Distinct::On(distinct));
            Ok(Transformed::new_transformed(distinct, changed))
        }
    }
}

/// Lists, `CASE x WHEN …` and `nullif`, in which the engine compares bits.
fn looked_up(plan: LogicalPlan, schema: &DFSchema) -> Result<Transformed<LogicalPlan>> {
    replace_in(plan, |expr| {
        Ok(match expr {
            Expr::InList(list) if is_float(&list.expr, schema) => in_list(list),
            Expr::Case(case) => cases(case, schema),
            Expr::ScalarFunction(mut call) if call.func.name() == "nullif" => {
                let args = call.args.iter_mut();
                let changed = args
                    .map(|arg| by_key(arg, schema))
                    .fold(false, |a, b| a | b);
                Transformed::new_transformed(Expr::ScalarFunction(call), changed)
            }
            expr => Transformed::no(expr),
        })
    })
}

/// A list of constants that has a zero has both: so the condition is still one on a column. Constants that are computed
/// later may be either zero.
fn in_list(mut list: InList) -> Transformed<Expr> {
    // Constants are folded later, so a cast of one is a constant already.
    let constant = |item: &Expr| match item {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Cast(cast) => match &*cast.expr {
            Expr::Literal(value, _) => value.cast_to(cast.field.data_type()).ok(),
            _ => None,
        },
        _ => None,
    };
    let constants: Option<Vec<ScalarValue>> = list.list.iter().map(constant).collect();
    let Some(constants) = constants else {
        let items = list.list.into_iter().map(key);
        return Transformed::yes(Expr::InList(InList {
            expr: Box::new(key(*list.expr)),
            list: items.collect(),
            ..list
        }));
    };
    let changed = extend_by_zeros(&mut list.list, &constants);
    Transformed::new_transformed(Expr::InList(list), changed)
}

/// Adds the other zero to constants with a zero, unless it is there.
pub(super) fn with_both_zeros(list: &mut Vec<Expr>) {
    let constants = list.iter().filter_map(|item| match item {
        Expr::Literal(value, _) => Some(value.clone()),
        _ => None,
    });
    let constants: Vec<ScalarValue> = constants.collect();
    extend_by_zeros(list, &constants);
}

fn extend_by_zeros(list: &mut Vec<Expr>, constants: &[ScalarValue]) -> bool {
    let zeros = constants.iter().filter_map(|item| match item {
        ScalarValue::Float64(Some(number)) if *number == 0.0 => Some(ScalarValue::from(-*number)),
        ScalarValue::Float32(Some(number)) if *number == 0.0 => Some(ScalarValue::from(-*number)),
        ScalarValue::Float16(Some(number)) if number.to_f32() == 0.0 => {
            Some(ScalarValue::Float16(Some(-*number)))
        }
        _ => None,
    });
    // Values are the same here if their bits are.
    let zeros = zeros.filter(|zero| !constants.contains(zero));
    let zeros: Vec<Expr> = zeros.map(|zero| Expr::Literal(zero, None)).collect();
    let changed = !zeros.is_empty();
    list.extend(zeros);
    changed
}

fn cases(case: Case, schema: &DFSchema) -> Transformed<Expr> {
    match case.expr {
        Some(expr) if is_float(&expr, schema) => {
            let branches = case.when_then_expr.into_iter();
            Transformed::yes(Expr::Case(Case {
                expr: Some(Box::new(key(*expr))),
                when_then_expr: branches
                    .map(|(when, then)| (Box::new(key(*when)), then))
                    .collect(),
                else_expr: case.else_expr,
            }))
        }
        _ => Transformed::no(Expr::Case(case)),
    }
}

/// Its argument, with one zero and one NaN.
static KEY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let key = |value| with(&value, |number| number + 0.0, |number| number + 0.0);
    SameType::new("number", key).into_function()
});

/// Its argument, with one NaN.
static ONE_NAN: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::new("one_nan", |value| with_one_nan(&value)).into_function());

/// An expression of floating-point numbers, with one NaN.
pub(super) fn one_nan(expr: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&ONE_NAN), vec![expr]))
}

/// The values, with the one NaN that is greater than all numbers.
pub(super) fn with_one_nan(value: &ColumnarValue) -> Result<ColumnarValue> {
    with(value, |number| number, |number| number)
}

fn with(
    value: &ColumnarValue,
    single: impl Fn(f32) -> f32,
    double: impl Fn(f64) -> f64,
) -> Result<ColumnarValue> {
    let changed = |array: &ArrayRef| match array.data_type() {
        DataType::Float64 => replaced::<Float64Type, _>(array, |number| {
            let other = if number.is_nan() {
                f64::NAN
            } else {
                double(number)
            };
            (number.to_bits() != other.to_bits()).then_some(other)
        }),
        DataType::Float32 => replaced::<Float32Type, _>(array, |number| {
            let other = if number.is_nan() {
                f32::NAN
            } else {
                single(number)
            };
            (number.to_bits() != other.to_bits()).then_some(other)
        }),
        _ => Arc::clone(array),
    };
    on_array(value, |array| Ok(changed(array)))
}

/// The array itself, if no number has to be another one.
fn replaced<T, F>(array: &ArrayRef, other: F) -> ArrayRef
where
    T: ArrowPrimitiveType,
    F: Fn(T::Native) -> Option<T::Native>,
{
    let numbers: &PrimitiveArray<T> = array.as_primitive();
    match numbers
        .values()
        .iter()
        .any(|number| other(*number).is_some())
    {
        true => Arc::new(numbers.unary::<_, T>(|number| other(number).unwrap_or(number))),
        false => Arc::clone(array),
    }
}
