//! The operator `||` as a function that fails instead of returning too much.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};

use super::estimate::Growth;
use super::too_large;

/// The engine's `||`, which is NULL if one side is.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ConcatOperator {
    limit: usize,
    signature: Signature,
}

impl ConcatOperator {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for ConcatOperator {
    fn name(&self) -> &'static str {
        "||"
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [left, right] => Ok(format!("{} || {}", left.schema_name(), right.schema_name())),
            _ => exec_err!("`||` takes two arguments"),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [left, right] => {
                BinaryTypeCoercer::new(left, &Operator::StringConcat, right).get_result_type()
            }
            _ => exec_err!("`||` takes two arguments"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let fields = args.arg_fields.iter();
        let kinds: Vec<DataType> = fields.map(|field| field.data_type().clone()).collect();
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        let field = Field::new(self.name(), self.return_type(&kinds)?, nullable);
        Ok(Arc::new(field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_array = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Array(_));
        let is_constant = !args.args.iter().any(is_array);
        let rows = if is_constant { 1 } else { args.number_rows };
        let sizes = Growth::Concat.sizes(&args.args, rows)?;
        let bytes = sizes.into_iter().fold(0, u64::saturating_add);
        if bytes > self.limit as u64 {
            return Err(too_large(self.name(), bytes, self.limit));
        }
        let mut columns = Vec::new();
        let mut fields = Vec::new();
        for arg in &args.args {
            let column = arg.to_array(rows)?;
            fields.push(Field::new("", column.data_type().clone(), true));
            columns.push(column);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?;
        let side = |place| Arc::new(Column::new("", place)) as Arc<dyn PhysicalExpr>;
        let value = BinaryExpr::new(side(0), Operator::StringConcat, side(1)).evaluate(&batch)?;
        match (is_constant, value) {
            (true, ColumnarValue::Array(array)) => {
                let value = datafusion::common::ScalarValue::try_from_array(&array, 0)?;
                Ok(ColumnarValue::Scalar(value))
            }
            (_, value) => Ok(value),
        }
    }
}
