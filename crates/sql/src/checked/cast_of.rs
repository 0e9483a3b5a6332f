//! The function that names a cast; see `session/casts.rs`.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// Its name.
pub(crate) const CAST_OF: &str = "cast_of";

/// Returns its first argument. The second one is a text that makes its name.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct CastOf(Signature);

impl CastOf {
    pub(super) fn new() -> Self {
        Self(Signature::any(2, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for CastOf {
    fn name(&self) -> &'static str {
        CAST_OF
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [kind, _] => Ok(kind.clone()),
            _ => internal_err!("`{CAST_OF}` takes two arguments"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [field, _] => {
                let field = Field::new(CAST_OF, field.data_type().clone(), field.is_nullable());
                Ok(Arc::new(field))
            }
            _ => internal_err!("`{CAST_OF}` takes two arguments"),
        }
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match args.into_iter().next() {
            Some(cast) => Ok(ExprSimplifyResult::Simplified(cast)),
            None => internal_err!("`{CAST_OF}` takes two arguments"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(value),
            None => internal_err!("`{CAST_OF}` takes two arguments"),
        }
    }
}
