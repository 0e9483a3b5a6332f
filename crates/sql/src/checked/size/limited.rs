//! A function of the engine that fails instead of returning too much.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

use super::estimate::Growth;
use super::too_large;

/// The most values in a nested one. With `struct(s, s)` of `struct(s, s)` and so on, a short statement would have any
/// number of them, and the engine looks at each while it plans.
const LEAVES_MAX: usize = 4096;

/// Whether a type has at most so many values inside.
fn fits(kind: &DataType, left: &mut usize) -> bool {
    match kind {
        DataType::Struct(fields) => fields.iter().all(|field| fits(field.data_type(), left)),
        DataType::List(field) | DataType::LargeList(field) => fits(field.data_type(), left),
        _ => {
            let is_left = *left > 0;
            *left = left.saturating_sub(1);
            is_left
        }
    }
}

/// Calls the function of the engine if what it would return fits the limit.
///
/// It is not simplified: the engine would put its own function in place of it. Constants are computed nevertheless.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Limited {
    inner: Arc<ScalarUDF>,
    growth: Growth,
    limit: usize,
}

impl Limited {
    pub(super) fn new(inner: Arc<ScalarUDF>, growth: Growth, limit: usize) -> Self {
        Self {
            inner,
            growth,
            limit,
        }
    }

    /// Calls the function with so few rows at once that their values fit, and ends when all of them together do not.
    fn in_parts(&self, args: &ScalarFunctionArgs, sizes: &[u64]) -> Result<ColumnarValue> {
        let limit = self.limit as u64;
        let mut parts: Vec<ArrayRef> = Vec::new();
        let (mut start, mut bytes) = (0, 0_u64);
        while start < sizes.len() {
            let (mut rows, mut estimate) = (0, 0_u64);
            for size in sizes.iter().skip(start) {
                estimate = estimate.saturating_add(*size);
                if estimate > limit {
                    break;
                }
                rows += 1;
            }
            if rows == 0 {
                return Err(too_large(self.name(), estimate, self.limit));
            }
            let sliced = args.args.iter().map(|arg| match arg {
                ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(start, rows)),
                scalar => scalar.clone(),
            });
            let part = ScalarFunctionArgs {
                args: sliced.collect(),
                number_rows: rows,
                ..args.clone()
            };
            let part = self.inner.invoke_with_args(part)?.into_array(rows)?;
            bytes = bytes.saturating_add(part.get_array_memory_size() as u64);
            if bytes > limit {
                return Err(too_large(self.name(), bytes, self.limit));
            }
            parts.push(part);
            start += rows;
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }
}

impl ScalarUDFImpl for Limited {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(kinds)
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.inner.return_type(kinds)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        let mut left = LEAVES_MAX;
        match fits(field.data_type(), &mut left) {
            true => Ok(field),
            false => plan_err!(
                "`{}` would have more than {LEAVES_MAX} values inside",
                self.name()
            ),
        }
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_array = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Array(_));
        let is_constant = !args.args.iter().any(is_array);
        let rows = if is_constant { 1 } else { args.number_rows };
        let sizes = self.growth.sizes(&args.args, rows)?;
        let bytes = sizes.iter().copied().fold(0, u64::saturating_add);
        if bytes <= self.limit as u64 {
            return self.inner.invoke_with_args(args);
        }
        match self.growth.is_rough() && !is_constant {
            true => self.in_parts(&args, &sizes),
            false => Err(too_large(self.name(), bytes, self.limit)),
        }
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        self.inner.evaluate_bounds(inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.preserves_lex_ordering(inputs)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
