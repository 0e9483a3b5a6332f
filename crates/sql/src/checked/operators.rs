//! Operators whose types the query engine settles so that answers are lost. It gives a DATE and an INTERVAL the type DATE,
//! without the hours. It computes with a BIGINT UNSIGNED beside a BIGINT in decimals, and refuses differences of unsigned
//! numbers that are negative. For comparisons of intervals see [`super::intervals`].
//!
//! The types are settled while a statement is planned, when expressions have no names yet that a rule would have to keep.

use std::fmt::{self, Display};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::compute::try_binary;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, TimeUnit, UInt64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::arithmetic::Operation;
use super::arrays::on_arrays;
use super::intervals::{are_lengths, length};

/// Plans operators of dates and of unsigned numbers.
///
/// * A DATE and an INTERVAL are a TIMESTAMP, unless the interval is a constant of days or months.
/// * A difference of unsigned numbers is a BIGINT. So is the result for an unsigned number beside another one, except for
///   a constant that is not negative: that one is unsigned, too.
#[derive(Debug)]
pub(crate) struct Operators;

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if is_comparison(&raw.op) {
            return Ok(compared(raw, schema));
        }
        let Some(operation) = Operation::of(&raw.op) else {
            return Ok(PlannerResult::Original(raw));
        };
        // What has no type here yet is left to the engine.
        let (Ok(left), Ok(right)) = (raw.left.get_type(schema), raw.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(raw));
        };
        let RawBinaryExpr {
            op,
            left: a,
            right: b,
        } = raw;
        let kinds = (&left, &right);
        let planned = match kinds {
            (DataType::Date32, DataType::Interval(_)) if has_hours(&b) => {
                operation.of_both(in_micros(a), b)
            }
            (DataType::Interval(_), DataType::Date32) if has_hours(&a) => {
                operation.of_both(a, in_micros(b))
            }
            (DataType::Date32, DataType::Duration(_)) => operation.of_both(in_micros(a), b),
            (DataType::Duration(_), DataType::Date32) => operation.of_both(a, in_micros(b)),
            _ if are_unsigned(&left, &right) => operation.of_unsigned((a, &left), (b, &right)),
            _ => {
                return Ok(PlannerResult::Original(RawBinaryExpr {
                    op,
                    left: a,
                    right: b,
                }));
            }
        };
        Ok(PlannerResult::Planned(planned))
    }
}

fn is_comparison(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

/// Intervals are compared by their lengths.
fn compared(raw: RawBinaryExpr, schema: &DFSchema) -> PlannerResult<RawBinaryExpr> {
    let kinds = (raw.left.get_type(schema), raw.right.get_type(schema));
    PlannerResult::Original(match kinds {
        (Ok(left), Ok(right)) if are_lengths(&left, &right) => RawBinaryExpr {
            op: raw.op,
            left: length(raw.left),
            right: length(raw.right),
        },
        _ => raw,
    })
}

/// Whether both are integers, and one has no sign.
fn are_unsigned(left: &DataType, right: &DataType) -> bool {
    let is_unsigned = left.is_unsigned_integer() || right.is_unsigned_integer();
    is_unsigned && left.is_integer() && right.is_integer()
}

/// Whether an interval may have a part of less than a day.
fn has_hours(interval: &Expr) -> bool {
    match interval {
        Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) => {
            interval.nanoseconds != 0
        }
        Expr::Literal(ScalarValue::IntervalYearMonth(_), _) => false,
        Expr::Literal(ScalarValue::IntervalDayTime(Some(interval)), _) => {
            interval.milliseconds != 0
        }
        Expr::Negative(interval) => has_hours(interval),
        _ => true,
    }
}

fn in_micros(date: Expr) -> Expr {
    cast(date, DataType::Timestamp(TimeUnit::Microsecond, None))
}

impl Operation {
    fn of(op: &BinaryOperator) -> Option<Self> {
        match op {
            BinaryOperator::Plus => Some(Self::Plus),
            BinaryOperator::Minus => Some(Self::Minus),
            BinaryOperator::Multiply => Some(Self::Multiply),
            BinaryOperator::Divide => Some(Self::Divide),
            BinaryOperator::Modulo => Some(Self::Modulo),
            _ => None,
        }
    }

    fn operator(self) -> Operator {
        match self {
            Self::Plus => Operator::Plus,
            Self::Minus => Operator::Minus,
            Self::Multiply => Operator::Multiply,
            Self::Divide => Operator::Divide,
            Self::Modulo => Operator::Modulo,
        }
    }

    fn of_both(self, left: Expr, right: Expr) -> Expr {
        let (left, right) = (Box::new(left), Box::new(right));
        Expr::BinaryExpr(BinaryExpr::new(left, self.operator(), right))
    }

    /// Of integers, at least one of which is unsigned.
    fn of_unsigned(
        self,
        (left, left_kind): (Expr, &DataType),
        (right, right_kind): (Expr, &DataType),
    ) -> Expr {
        let is_large = |kind: &DataType| *kind == DataType::UInt64;
        let (left, left_kind) = without_sign(left, left_kind, right_kind);
        let (right, right_kind) = without_sign(right, right_kind, &left_kind);
        let both = left_kind.is_unsigned_integer() && right_kind.is_unsigned_integer();
        if both && self != Self::Minus {
            return self.of_both(left, right);
        }
        if !is_large(&left_kind) && !is_large(&right_kind) {
            return self.of_both(cast(left, DataType::Int64), cast(right, DataType::Int64));
        }
        let large = |expr, kind: &DataType| match kind {
            DataType::Int64 | DataType::UInt64 => expr,
            kind if kind.is_unsigned_integer() => cast(expr, DataType::UInt64),
            _ => cast(expr, DataType::Int64),
        };
        let args = vec![large(left, &left_kind), large(right, &right_kind)];
        let function = Arc::new(ScalarUDF::from(Signed {
            operation: self,
            signature: Signature::any(2, Volatility::Immutable),
        }));
        Expr::ScalarFunction(ScalarFunction::new_udf(function, args))
    }
}

/// A constant without a sign beside a BIGINT UNSIGNED.
fn without_sign(expr: Expr, kind: &DataType, other: &DataType) -> (Expr, DataType) {
    match &expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) if *other == DataType::UInt64 => {
            match u64::try_from(*value) {
                Ok(value) => {
                    let value = ScalarValue::UInt64(Some(value));
                    (Expr::Literal(value, None), DataType::UInt64)
                }
                Err(_) => (expr, kind.clone()),
            }
        }
        _ => (expr, kind.clone()),
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.operator().fmt(f)
    }
}

/// An operator of two numbers of 64 bits, signed or not, with a signed result.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Signed {
    operation: Operation,
    signature: Signature,
}

impl ScalarUDFImpl for Signed {
    fn name(&self) -> &'static str {
        match self.operation {
            Operation::Plus => "signed_plus",
            Operation::Minus => "signed_minus",
            Operation::Multiply => "signed_multiply",
            Operation::Divide => "signed_divide",
            Operation::Modulo => "signed_modulo",
        }
    }

    /// That of the operator.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [left, right] => Ok(format!(
                "{} {} {}",
                left.schema_name(),
                self.operation,
                right.schema_name()
            )),
            _ => internal_err!("an operator takes two operands"),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(
            self.name(),
            DataType::Int64,
            is_nullable,
        )))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        on_arrays(&args.args, |[left, right]| {
            match (left.data_type(), right.data_type()) {
                (DataType::UInt64, DataType::UInt64) => {
                    self.compute::<UInt64Type, UInt64Type>(left, right)
                }
                (DataType::UInt64, _) => self.compute::<UInt64Type, Int64Type>(left, right),
                (_, DataType::UInt64) => self.compute::<Int64Type, UInt64Type>(left, right),
                _ => self.compute::<Int64Type, Int64Type>(left, right),
            }
        })
    }
}

impl Signed {
    fn compute<L, R>(&self, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef>
    where
        L: ArrowPrimitiveType,
        R: ArrowPrimitiveType,
        L::Native: Into<i128>,
        R::Native: Into<i128>,
    {
        let (Some(left), Some(right)) =
            (left.as_primitive_opt::<L>(), right.as_primitive_opt::<R>())
        else {
            return internal_err!("an operator of whole numbers got {}", left.data_type());
        };
        let result: PrimitiveArray<Int64Type> = try_binary(left, right, |left, right| {
            self.of(left.into(), right.into())
        })?;
        Ok(Arc::new(result))
    }

    fn of(&self, left: i128, right: i128) -> std::result::Result<i64, ArrowError> {
        // Two numbers of 64 bits have no result that i128 cannot hold.
        let result = match self.operation {
            Operation::Plus => Some(left + right),
            Operation::Minus => Some(left - right),
            Operation::Multiply => left.checked_mul(right),
            Operation::Divide | Operation::Modulo if right == 0 => {
                return Err(ArrowError::DivideByZero);
            }
            Operation::Divide => Some(left / right),
            Operation::Modulo => Some(left % right),
        };
        result
            .and_then(|result| i64::try_from(result).ok())
            .ok_or_else(|| {
                ArrowError::ArithmeticOverflow(format!(
                    "Overflow happened on: {left} {} {right}",
                    self.operation
                ))
            })
    }
}
