//! Elements of lists, `(regexp_match(…))[1]`, and fields of structs, `user['name']`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err, plan_err};
use datafusion::functions::core::get_field;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, GetFieldAccess, LogicalPlan, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, lit, when,
};
use datafusion::optimizer::AnalyzerRule;

/// Plans brackets behind a list or a struct.
#[derive(Debug)]
pub(crate) struct Access;

impl ExprPlanner for Access {
    fn plan_field_access(
        &self,
        raw: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let kind = raw.expr.get_type(schema)?;
        let is_list = matches!(
            kind,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)
        );
        let call = match raw.field_access {
            GetFieldAccess::NamedStructField { name } if matches!(kind, DataType::Struct(_)) => {
                ScalarFunction::new_udf(get_field(), vec![raw.expr, lit(name)])
            }
            GetFieldAccess::ListIndex { key } if is_list => {
                let function = Arc::new(ScalarUDF::from(Element {
                    signature: Signature::any(2, Volatility::Immutable),
                }));
                ScalarFunction::new_udf(function, vec![raw.expr, *key])
            }
            GetFieldAccess::ListRange { .. } => {
                return plan_err!("parts of lists are not supported: name the elements one by one");
            }
            _ => {
                return plan_err!(
                    "brackets take the number of an element of a list, or the name of a field of a struct in quotes; the \
                     value before them is {kind}"
                );
            }
        };
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }
}

/// An element of a list, the first of which is 1; NULL if there is none.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Element {
    signature: Signature,
}

impl ScalarUDFImpl for Element {
    fn name(&self) -> &'static str {
        "element"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [
                DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _),
                number,
            ] if number.is_integer() => Ok(item.data_type().clone()),
            _ => plan_err!("the number of an element of a list is a whole number"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [lists, numbers] = arrays.as_slice() else {
            return internal_err!("an element has a list and a number");
        };
        let found = elements(lists, numbers)?;
        let is_constant = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        Ok(match args.args.iter().all(is_constant) {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(found),
        })
    }
}

/// Fields of structs, which are NULL where the struct is. The engine returns what stands below the NULL.
#[derive(Debug)]
pub(super) struct FieldsOfNull;

impl AnalyzerRule for FieldsOfNull {
    fn name(&self) -> &'static str {
        "fields_of_null"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let changed = expr.transform_up(or_null)?;
                Ok(changed.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(changed.data)
    }
}

fn or_null(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(call) = &expr else {
        return Ok(Transformed::no(expr));
    };
    match call.args.first() {
        Some(of) if call.func.name() == get_field().name() => {
            let is_there = of.clone().is_not_null();
            Ok(Transformed::new(
                when(is_there, expr).end()?,
                true,
                TreeNodeRecursion::Continue,
            ))
        }
        _ => Ok(Transformed::no(expr)),
    }
}

fn elements(lists: &ArrayRef, numbers: &ArrayRef) -> Result<ArrayRef> {
    let numbers = cast(numbers, &DataType::Int64)?;
    let lists = match lists.data_type() {
        DataType::List(item) | DataType::FixedSizeList(item, _) => {
            cast(lists, &DataType::LargeList(item.clone()))?
        }
        _ => lists.clone(),
    };
    let lists = lists.as_list::<i64>();
    let places = numbers.as_primitive::<Int64Type>().iter().enumerate();
    let places = places.map(|(row, number)| {
        let (start, end) = match lists.is_valid(row) {
            true => (
                lists.value_offsets().get(row)?,
                lists.value_offsets().get(row + 1)?,
            ),
            false => return None,
        };
        let place = start.checked_add(number?.checked_sub(1)?)?;
        match (*start..*end).contains(&place) {
            true => u64::try_from(place).ok(),
            false => None,
        }
    });
    let places: UInt64Array = places.collect();
    Ok(take(lists.values(), &places, None)?)
}
