//! `now()` in microseconds, as tables have them. The query engine's has nanoseconds, which INSERT would refuse.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

const TYPE: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// The time at which the statement began, in UTC.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Now {
    signature: Signature,
    aliases: [String; 1],
}

impl Now {
    pub(super) fn new() -> Self {
        Self {
            signature: Signature::nullary(Volatility::Stable),
            aliases: ["current_timestamp".to_owned()],
        }
    }
}

impl ScalarUDFImpl for Now {
    fn name(&self) -> &'static str {
        "now"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(TYPE)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Field::new(self.name(), TYPE, false).into())
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match context.query_execution_start_time() {
            Some(now) => {
                let micros = ScalarValue::TimestampMicrosecond(Some(now.timestamp_micros()), None);
                ExprSimplifyResult::Simplified(Expr::Literal(micros, None))
            }
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("now() is a constant of its statement")
    }
}
