//! What a subquery with an aggregate is for rows of the outer query without rows of its own: `count(*)` is 0 there.
//!
//! The engine joins the subquery to the outer query, finds no row, and computes such values anew from those of the
//! aggregates. It does so for expressions that name an aggregate when the subquery is joined. A constant does not, and
//! `count(*) IS NOT NULL` does not any more once it is simplified: they were NULL. So each expression names an
//! aggregate, in a function that is not simplified away.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, Projection, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Subquery, Volatility,
};

use super::{has_one_row, is_correlated};

/// The subquery whose expressions above an aggregate all name it, if it is correlated.
pub(super) fn with_values(subquery: Subquery) -> Result<Transformed<Subquery>> {
    if !has_one_row(&subquery.subquery) || !is_correlated(&subquery.subquery)? {
        return Ok(Transformed::no(subquery));
    }
    let plan = LogicalPlan::clone(&subquery.subquery);
    let changed = plan.transform_up(|node| match node {
        LogicalPlan::Projection(projection) if has_one_row(&projection.input) => {
            of_projection(projection)
        }
        node => Ok(Transformed::no(node)),
    })?;
    match changed.transformed {
        true => Ok(Transformed::yes(subquery.with_plan(Arc::new(changed.data)))),
        false => Ok(Transformed::no(subquery)),
    }
}

fn of_projection(projection: Projection) -> Result<Transformed<LogicalPlan>> {
    let Some(first) = projection.input.schema().columns().into_iter().next() else {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    };
    let first = Expr::Column(first);
    let mut is_changed = false;
    let mut exprs = Vec::with_capacity(projection.expr.len());
    for expr in projection.expr {
        if matches!(expr.clone().unalias(), Expr::Column(_)) {
            exprs.push(expr);
            continue;
        }
        is_changed = true;
        let (relation, name) = expr.qualified_name();
        let inner = expr.unalias();
        let named = match inner.any_column_refs() {
            true => {
                let named = inner.transform_up(|part| match part {
                    Expr::Column(_) => Ok(Transformed::yes(of_row(part.clone(), part))),
                    part => Ok(Transformed::no(part)),
                })?;
                named.data
            }
            false => of_row(inner, first.clone()),
        };
        exprs.push(named.alias_qualified(relation, name));
    }
    let plan = LogicalPlan::Projection(Projection::try_new(exprs, projection.input)?);
    Ok(match is_changed {
        true => Transformed::yes(plan),
        false => Transformed::no(plan),
    })
}

/// A value of a row that has this column.
fn of_row(value: Expr, column: Expr) -> Expr {
    OF_ROW.call(vec![value, column])
}

static OF_ROW: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::from(OfRow(Signature::any(
        2,
        Volatility::Immutable,
    ))))
});

/// Returns its first argument, which may be NULL as far as the engine knows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfRow(Signature);

const OF_ROW_NAME: &str = "of_row";

impl ScalarUDFImpl for OfRow {
    fn name(&self) -> &'static str {
        OF_ROW_NAME
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [kind, _] => Ok(kind.clone()),
            _ => internal_err!("`{OF_ROW_NAME}` takes two arguments"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields {
            [field, _] => Ok(Arc::new(Field::new(
                OF_ROW_NAME,
                field.data_type().clone(),
                true,
            ))),
            _ => internal_err!("`{OF_ROW_NAME}` takes two arguments"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(value),
            None => internal_err!("`{OF_ROW_NAME}` takes two arguments"),
        }
    }
}
