//! Elements of lists, `(regexp_match(…))[1]`, and fields of structs, `user['name']`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array, make_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err, plan_err};
use datafusion::functions::core::get_field;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, GetFieldAccess, LogicalPlan, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit, when,
};
use datafusion::optimizer::AnalyzerRule;

use super::expressions::replace_in;

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
        let is_joined = has_joins(&plan)?;
        let changed = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            replace_in(plan, |expr| or_null(expr, &schema, is_joined))
        })?;
        Ok(changed.data)
    }
}

/// Whether a plan has a join, or a subquery that becomes one.
fn has_joins(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Join(_) | LogicalPlan::Subquery(_));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn or_null(expr: Expr, schema: &DFSchema, is_joined: bool) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(call) = expr else {
        return Ok(Transformed::no(expr));
    };
    let steps = match call.args.split_first() {
        Some((of, names)) if call.func.name() == get_field().name() => {
            struct_steps(&of.get_type(schema)?, names)
        }
        _ => 0,
    };
    if steps == 0 {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    }
    let mut args = call.args;
    // The rest looks keys of maps up.
    let rest = args.split_off(steps + 1);
    let value = match args.as_slice() {
        // A reader of files reads this field alone. It knows only the engine's function, which the engine's rules move
        // below joins, and then do not find its new name in their conditions.
        [column @ Expr::Column(_), name] if !is_joined => {
            let field = get_field().call(vec![column.clone(), name.clone()]);
            when(column.clone().is_not_null(), field).end()?
        }
        _ => {
            let function = Arc::new(ScalarUDF::from(FieldOf {
                field: get_field(),
                signature: Signature::variadic_any(Volatility::Immutable),
            }));
            Expr::ScalarFunction(ScalarFunction::new_udf(function, args))
        }
    };
    Ok(Transformed::yes(with_rest(value, rest)))
}

fn with_rest(value: Expr, rest: Vec<Expr>) -> Expr {
    match rest.is_empty() {
        true => value,
        false => get_field().call(std::iter::once(value).chain(rest).collect()),
    }
}

/// How many of the names are fields of structs, before the first that is something else.
fn struct_steps(of: &DataType, names: &[Expr]) -> usize {
    let mut kind = of;
    let steps = names.iter().take_while(|name| {
        let (DataType::Struct(fields), Expr::Literal(name, _)) = (kind, name) else {
            return false;
        };
        let field = name
            .try_as_str()
            .flatten()
            .and_then(|name| fields.find(name));
        field.is_some_and(|(_, field)| {
            kind = field.data_type();
            true
        })
    });
    steps.count()
}

/// A field of a struct, and perhaps a field of that.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FieldOf {
    field: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for FieldOf {
    fn name(&self) -> &'static str {
        "field_of"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.field.return_type(kinds)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = self.field.return_field_from_args(args)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [of, names @ ..] = args.args.as_slice() else {
            return internal_err!("a field without a struct");
        };
        let (mut found, is_constant) = match of {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array()?, true),
        };
        for name in names {
            let name = match name {
                ColumnarValue::Scalar(name) => name.try_as_str().flatten(),
                ColumnarValue::Array(_) => None,
            };
            let structs = found.as_struct_opt();
            let (Some(name), Some(structs)) = (name, structs) else {
                return internal_err!("a field is named by a text, and is one of a struct");
            };
            let Some(field) = structs.column_by_name(name) else {
                return internal_err!("the struct has no field {name}");
            };
            let nulls = NullBuffer::union(structs.nulls(), field.logical_nulls().as_ref());
            found = match field.data_type() {
                DataType::Null => Arc::clone(field),
                _ => make_array(field.to_data().into_builder().nulls(nulls).build()?),
            };
        }
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(found),
        })
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
