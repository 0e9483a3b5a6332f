//! `extract` of a difference of times. The query engine returns the whole difference in the unit: `extract(hour FROM …)` of a
//! week is 168. As in other databases, it is the part beside the days here.

use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::date_part;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::intervals::in_days;

/// Plans `EXTRACT(part FROM …)` with the function here.
#[derive(Debug)]
pub(crate) struct Extract;

impl ExprPlanner for Extract {
    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let function = Arc::new(ScalarUDF::from(DatePart::new()));
        let call = ScalarFunction::new_udf(function, args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

/// The engine's `date_part`, which takes its place again where the type is not a difference of times.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DatePart(Arc<ScalarUDF>);

impl DatePart {
    pub(super) fn new() -> Self {
        Self(date_part())
    }
}

/// Whether a part is of the difference as a whole.
fn is_total(part: Option<&ColumnarValue>) -> bool {
    let text = match part {
        Some(ColumnarValue::Scalar(part)) => part.try_as_str().flatten(),
        _ => None,
    };
    text.is_some_and(|text| text.trim_matches('\'').eq_ignore_ascii_case("epoch"))
}

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn aliases(&self) -> &[String] {
        self.0.aliases()
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.0.return_type(kinds)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.0.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_difference = match args.get(1) {
            Some(value) => matches!(context.get_data_type(value)?, DataType::Duration(_)),
            None => false,
        };
        if is_difference {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let call = ScalarFunction::new_udf(Arc::clone(&self.0), args);
        Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(call)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [part, value] = args.args.as_mut_slice()
            && matches!(value.data_type(), DataType::Duration(_))
            && !is_total(Some(part))
        {
            *value = match &value {
                ColumnarValue::Array(values) => ColumnarValue::Array(in_days(values)?),
                ColumnarValue::Scalar(value) => {
                    let days: ArrayRef = in_days(&value.to_array()?)?;
                    ColumnarValue::Scalar(ScalarValue::try_from_array(&days, 0)?)
                }
            };
            if let Some(field) = args.arg_fields.get_mut(1) {
                let kind = DataType::Interval(IntervalUnit::MonthDayNano);
                *field = Arc::new(Field::new(field.name(), kind, field.is_nullable()));
            }
        }
        self.0.invoke_with_args(args)
    }
}
