//! Elements of lists, `(regexp_match(…))[1]`, and fields of structs, `user['name']`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array, make_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, internal_err, plan_err};
use datafusion::functions::core::get_field;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawFieldAccessExpr};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, GetFieldAccess, LogicalPlan, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TableSource, Volatility, lit,
};
use datafusion::optimizer::AnalyzerRule;

use super::arrays::{on_array, on_arrays};
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
        on_arrays(&args.args, |[lists, numbers]| elements(lists, numbers))
    }
}

/// Tells the relations whose fields are NULL where their struct is, as the engine reads them.
pub(crate) type HasOwnNulls = fn(&Arc<dyn TableSource>) -> bool;

/// Fields of structs, which are NULL where the struct is. The engine returns what stands below the NULL.
#[derive(Debug)]
pub(super) struct FieldsOfNull(pub(super) HasOwnNulls);

impl AnalyzerRule for FieldsOfNull {
    fn name(&self) -> &'static str {
        "fields_of_null"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        // The engine's rules move its function below joins, and then do not find the new name in their conditions.
        let is_joined = has_joins(&plan)?;
        let changed = plan.transform_up_with_subqueries(|plan| {
            let inputs = plan.inputs();
            let has_own = !is_joined && matches!(inputs.as_slice(), [input] if self.reads(input));
            let schema = merge_schema(&inputs);
            replace_in(plan, |expr| or_null(expr, &schema, has_own))
        })?;
        Ok(changed.data)
    }
}

/// Whether a plan has a join, or a subquery that becomes one.
fn has_joins(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Join(_) | LogicalPlan::Subquery(_));
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

impl FieldsOfNull {
    /// Whether the columns of a plan are those of such a relation.
    fn reads(&self, plan: &LogicalPlan) -> bool {
        match plan {
            LogicalPlan::TableScan(scan) => self.0(&scan.source),
            LogicalPlan::SubqueryAlias(alias) => self.reads(&alias.input),
            LogicalPlan::Filter(filter) => self.reads(&filter.input),
            LogicalPlan::Sort(sort) => self.reads(&sort.input),
            LogicalPlan::Limit(limit) => self.reads(&limit.input),
            _ => false,
        }
    }
}

fn or_null(expr: Expr, schema: &DFSchema, has_own: bool) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(call) = expr else {
        return Ok(Transformed::no(expr));
    };
    let (steps, are_nullable) = match call.args.split_first() {
        Some((of, names)) if call.func.name() == get_field().name() => {
            struct_steps(&of.get_type(schema)?, names)
        }
        _ => (0, false),
    };
    // The reader of a file reads such a field alone. It knows only the engine's function.
    let is_known = has_own && are_nullable && steps + 1 == call.args.len();
    if steps == 0 || is_known && call.args.first().is_some_and(is_stored) {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    }
    let mut args = call.args;
    // The rest looks keys of maps up.
    let rest = args.split_off(steps + 1);
    let function = Arc::new(ScalarUDF::from(FieldOf {
        field: get_field(),
        signature: Signature::variadic_any(Volatility::Immutable),
    }));
    let value = Expr::ScalarFunction(ScalarFunction::new_udf(function, args));
    Ok(Transformed::yes(with_rest(value, rest)))
}

/// Whether a value is a column, or a field of one.
fn is_stored(value: &Expr) -> bool {
    match value {
        Expr::Column(_) => true,
        Expr::ScalarFunction(call) if call.func.name() == get_field().name() => {
            call.args.first().is_some_and(is_stored)
        }
        _ => false,
    }
}

fn with_rest(value: Expr, rest: Vec<Expr>) -> Expr {
    match rest.is_empty() {
        true => value,
        false => get_field().call(std::iter::once(value).chain(rest).collect()),
    }
}

/// How many of the names are fields of structs, before the first that is something else, and whether all of these may be
/// NULL. One that may not has a value in a struct that is NULL.
fn struct_steps(of: &DataType, names: &[Expr]) -> (usize, bool) {
    let (mut kind, mut are_nullable) = (of, true);
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
            are_nullable &= field.is_nullable();
            true
        })
    });
    (steps.count(), are_nullable)
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
        on_array(of, |structs| {
            names.iter().try_fold(Arc::clone(structs), field_of)
        })
    }
}

fn field_of(structs: ArrayRef, name: &ColumnarValue) -> Result<ArrayRef> {
    let name = match name {
        ColumnarValue::Scalar(name) => name.try_as_str().flatten(),
        ColumnarValue::Array(_) => None,
    };
    let (Some(name), Some(structs)) = (name, structs.as_struct_opt()) else {
        return internal_err!("a field is named by a text, and is one of a struct");
    };
    let Some(field) = structs.column_by_name(name) else {
        return internal_err!("the struct has no field {name}");
    };
    let nulls = NullBuffer::union(structs.nulls(), field.logical_nulls().as_ref());
    Ok(match field.data_type() {
        DataType::Null => Arc::clone(field),
        _ => make_array(field.to_data().into_builder().nulls(nulls).build()?),
    })
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
