//! Arithmetic of integers, decimals and floating-point numbers. The query engine computes `+`, `-` (also of one value) and `*` of
//! integers modulo 2^64; a rule replaces them by functions that fail. The functions take rows of operators, also of
//! floating-point numbers. All NaNs that are computed are the one that is greater than all numbers.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::arrow::compute::kernels::numeric::{add, div, mul, rem, sub};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;

use super::digits;
use super::expressions::change_each;
use super::floats::{one_nan, with_one_nan};

/// Replaces arithmetic.
#[derive(Debug)]
pub(super) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &'static str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(replaced)?.data)
    }
}

fn replaced(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    // The number of rows that a LIMIT wants has to stay a plain expression.
    if matches!(plan, LogicalPlan::Limit(_)) {
        return Ok(Transformed::no(plan));
    }
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        let source =
            DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?;
        schema.merge(&source);
    }
    let changed = change_each(plan, |expr| {
        expr.transform_down(|expr| checked(expr, &schema))
    })?;
    match changed.transformed {
        true => changed.map_data(LogicalPlan::recompute_schema),
        false => Ok(changed),
    }
}

/// The arithmetic in an expression, as calls. A row of operators becomes one call: `a + b + c` would otherwise
/// be as deep as it is long, and what walks the plan would look at each of its beginnings again.
fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) if operation(op).is_some() => {
            let (changed, _) = row(expr, schema)?;
            Ok(Transformed::new(changed, true, TreeNodeRecursion::Jump))
        }
        // The engine checks that of a constant.
        Expr::Negative(inner) if !matches!(*inner, Expr::Literal(..)) => {
            let (inner, kind) = with_kind(*inner, schema)?;
            let negated = match kind {
                Some(kind) if kind.is_signed_integer() => {
                    let zero = Expr::Literal(ScalarValue::new_zero(&kind)?, None);
                    call(vec![Operation::Minus], vec![zero, inner])
                }
                kind => {
                    let negated = Expr::Negative(Box::new(inner));
                    match kind.is_some_and(|kind| is_float(&kind)) {
                        true => one_nan(negated),
                        false => negated,
                    }
                }
            };
            Ok(Transformed::new(negated, true, TreeNodeRecursion::Jump))
        }
        // The logarithm of a negative number, for example.
        Expr::ScalarFunction(_)
            if expr.get_type(schema).is_ok_and(|kind| is_float(&kind)) && !is_one_nan(&expr) =>
        {
            let inner =
                expr.map_children(|child| child.transform_down(|part| checked(part, schema)))?;
            Ok(Transformed::new(
                one_nan(inner.data),
                true,
                TreeNodeRecursion::Jump,
            ))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

/// What of an expression is arithmetic, as calls, and its type. Columns of an outer query have none here; their
/// arithmetic is left as it is.
fn with_kind(expr: Expr, schema: &DFSchema) -> Result<(Expr, Option<DataType>)> {
    if matches!(&expr, Expr::BinaryExpr(BinaryExpr { op, .. }) if operation(*op).is_some()) {
        return row(expr, schema);
    }
    let expr = expr.transform_down(|expr| checked(expr, schema))?.data;
    let kind = expr.get_type(schema).ok();
    Ok((expr, kind))
}

/// A row of operators, from left to right.
fn row(expr: Expr, schema: &DFSchema) -> Result<(Expr, Option<DataType>)> {
    let (mut first, mut rest) = (expr, Vec::new());
    loop {
        match first {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if operation(op).is_some() => {
                rest.push((op, *right));
                first = *left;
            }
            other => {
                first = other;
                break;
            }
        }
    }
    let (mut value, mut kind) = with_kind(first, schema)?;
    // The operators of the call that is being made, and its arguments after `value`.
    let (mut operations, mut args) = (Vec::new(), Vec::new());
    let made = |value, operations: &mut Vec<_>, args: &mut Vec<_>| match operations.is_empty() {
        true => value,
        false => {
            let all = std::iter::once(value).chain(args.drain(..)).collect();
            call(std::mem::take(operations), all)
        }
    };
    for (op, right) in rest.into_iter().rev() {
        let (right, right_kind) = with_kind(right, schema)?;
        let can_be = |operation: &Operation| {
            let kind = kind
                .as_ref()
                .filter(|kind| right_kind.as_ref() == Some(*kind));
            kind.is_some_and(|kind| operation.is_of(kind))
        };
        match operation(op).filter(can_be) {
            Some(operation) => {
                operations.push(operation);
                args.push(right);
            }
            None => {
                let left = Box::new(made(value, &mut operations, &mut args));
                let right = Box::new(right);
                value = Expr::BinaryExpr(BinaryExpr { left, op, right });
                kind = value.get_type(schema).ok();
                if let Some(kind) = &kind {
                    value = digits::checked(value, kind);
                }
            }
        }
    }
    Ok((made(value, &mut operations, &mut args), kind))
}

fn operation(op: Operator) -> Option<Operation> {
    match op {
        Operator::Plus => Some(Operation::Plus),
        Operator::Minus => Some(Operation::Minus),
        Operator::Multiply => Some(Operation::Multiply),
        Operator::Divide => Some(Operation::Divide),
        Operator::Modulo => Some(Operation::Modulo),
        _ => None,
    }
}

fn call(operations: Vec<Operation>, args: Vec<Expr>) -> Expr {
    let function = Arc::new(ScalarUDF::from(Checked {
        signature: Signature::any(args.len(), Volatility::Immutable),
        operations,
    }));
    Expr::ScalarFunction(ScalarFunction::new_udf(function, args))
}

/// An operator of arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Plus,
    Minus,
    Multiply,
    Divide,
    Modulo,
}

impl Operation {
    /// The engine checks the division of integers.
    fn is_of(self, kind: &DataType) -> bool {
        let is_division = matches!(self, Self::Divide | Self::Modulo);
        is_float(kind) || (kind.is_integer() && !is_division)
    }
}

/// Whether an expression is known to have one NaN.
fn is_one_nan(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if ["one_nan", "number"].contains(&call.name()))
}

fn is_float(kind: &DataType) -> bool {
    matches!(kind, DataType::Float32 | DataType::Float64)
}

/// A row of operators: what is before each one is its left side.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operations: Vec<Operation>,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &'static str {
        match self.operations.as_slice() {
            [Operation::Plus] => "checked_plus",
            [Operation::Minus] => "checked_minus",
            [Operation::Multiply] => "checked_multiply",
            [Operation::Divide] => "checked_divide",
            [Operation::Modulo] => "checked_modulo",
            _ => "checked_row",
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let mut text = String::from("checked(");
        for (at, arg) in args.iter().enumerate() {
            if let Some(operation) = at.checked_sub(1).and_then(|at| self.operations.get(at)) {
                text.push_str(match operation {
                    Operation::Plus => " + ",
                    Operation::Minus => " - ",
                    Operation::Multiply => " * ",
                    Operation::Divide => " / ",
                    Operation::Modulo => " % ",
                });
            }
            write!(text, "{}", arg.schema_name())?;
        }
        text.push(')');
        Ok(text)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        Ok(kinds.first().cloned().unwrap_or(DataType::Int64))
    }

    /// NULL only if an argument may be: other nodes of the plan know that of the operator.
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let kinds: Vec<DataType> = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(
            self.name(),
            self.return_type(&kinds)?,
            is_nullable,
        )))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some((first, rest)) = args.args.split_first() else {
            return datafusion::common::internal_err!("arithmetic takes arguments");
        };
        let mut value = first.clone();
        for (operation, right) in self.operations.iter().zip(rest) {
            value = match operation {
                Operation::Plus => apply(&value, right, add),
                Operation::Minus => apply(&value, right, sub),
                Operation::Multiply => apply(&value, right, mul),
                Operation::Divide => apply(&value, right, div),
                Operation::Modulo => apply(&value, right, rem),
            }?;
        }
        with_one_nan(&value)
    }
}
