//! `+`, `-` (also of one value) and `*` of integers. The query engine computes them modulo 2^64; a rule replaces them by functions that fail.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;

/// Replaces arithmetic on integers.
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
    let names = NamePreserver::new(&plan);
    let changed = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let changed = expr.transform_up(|expr| checked(expr, &schema))?;
        Ok(changed.update_data(|expr| name.restore(expr)))
    })?;
    match changed.transformed {
        true => changed.map_data(LogicalPlan::recompute_schema),
        false => Ok(changed),
    }
}

fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (left, op, right) = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => (&**left, *op, &**right),
        // The engine checks that of a constant.
        Expr::Negative(inner) if !matches!(**inner, Expr::Literal(..)) => {
            return Ok(
                negated(inner, schema)?.map_or_else(|| Transformed::no(expr), Transformed::yes)
            );
        }
        _ => return Ok(Transformed::no(expr)),
    };
    let function = match op {
        Operator::Plus => &PLUS,
        Operator::Minus => &MINUS,
        Operator::Multiply => &MULTIPLY,
        _ => return Ok(Transformed::no(expr)),
    };
    // Columns of an outer query have no type here; their arithmetic is left as it is.
    let (Ok(a), Ok(b)) = (left.get_type(schema), right.get_type(schema)) else {
        return Ok(Transformed::no(expr));
    };
    if a != b || !a.is_integer() {
        return Ok(Transformed::no(expr));
    }
    Ok(Transformed::yes(call(function, left, right)))
}

/// `0 - inner`, if that is an integer.
fn negated(inner: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    match inner.get_type(schema) {
        Ok(kind) if kind.is_signed_integer() => {
            let zero = Expr::Literal(ScalarValue::new_zero(&kind)?, None);
            Ok(Some(call(&MINUS, &zero, inner)))
        }
        _ => Ok(None),
    }
}

fn call(function: &Arc<ScalarUDF>, left: &Expr, right: &Expr) -> Expr {
    let args = vec![Expr::clone(left), Expr::clone(right)];
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), args))
}

static PLUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Checked::function(Operation::Plus));
static MINUS: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Checked::function(Operation::Minus));
static MULTIPLY: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Checked::function(Operation::Multiply));

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Plus,
    Minus,
    Multiply,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operation: Operation,
    signature: Signature,
}

impl Checked {
    fn function(operation: Operation) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::from(Self {
            operation,
            signature: Signature::any(2, Volatility::Immutable),
        }))
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &'static str {
        match self.operation {
            Operation::Plus => "checked_plus",
            Operation::Minus => "checked_minus",
            Operation::Multiply => "checked_multiply",
        }
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
        let [left, right] = args.args.as_slice() else {
            return datafusion::common::internal_err!("arithmetic takes two arguments");
        };
        match self.operation {
            Operation::Plus => apply(left, right, add),
            Operation::Minus => apply(left, right, sub),
            Operation::Multiply => apply(left, right, mul),
        }
    }
}
