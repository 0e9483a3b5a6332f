//! Computations in conditions that give one value for several ones: casts that lose a part, and arithmetic.
//!
//! The engine estimates how many rows a condition leaves by computing backwards from its result: for `CAST(t AS DATE) =
//! '2026-01-01'` it takes the midnight of that day for the only value of `t`. It also believes that, and leaves sorts by `t`
//! out, and takes the rows of `t` for one group (`FilterExec::compute_properties`). In comparisons of two columns it fails if
//! there are more such values than there were (`analysis.rs`, "Selectivity is out of limit").

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::same_type::SameType;

/// Hides such computations in a function, about whose values the engine estimates nothing. It runs after the rules that
/// move conditions into scans.
#[derive(Debug)]
pub(super) struct OneWay;

impl OptimizerRule for OneWay {
    fn name(&self) -> &'static str {
        "one_way"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(mut filter) => {
                let hidden = one_way(filter.predicate, filter.input.schema())?;
                filter.predicate = hidden.data;
                let filter = LogicalPlan::Filter(filter);
                Ok(Transformed::new_transformed(filter, hidden.transformed))
            }
            LogicalPlan::Join(mut join) => {
                // Keys of joins are compared for equality, and are pairs of their own.
                let Some(filter) = join.filter.take() else {
                    return Ok(Transformed::no(LogicalPlan::Join(join)));
                };
                let schema = merge_schema(&[&join.left, &join.right]);
                let hidden = one_way(filter, &schema)?;
                join.filter = Some(hidden.data);
                let join = LogicalPlan::Join(join);
                Ok(Transformed::new_transformed(join, hidden.transformed))
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// A condition whose computations are hidden.
pub(crate) fn one_way(condition: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    condition.transform_down(|expr| {
        let is_computed = match &expr {
            Expr::BinaryExpr(BinaryExpr { op, .. }) => op.is_numerical_operators(),
            Expr::Cast(cast) => loses(&cast.expr, cast.field.data_type(), schema),
            Expr::TryCast(cast) => loses(&cast.expr, cast.field.data_type(), schema),
            Expr::Not(_) | Expr::Negative(_) | Expr::Alias(_) => false,
            // The engine does not look into others.
            _ => return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump)),
        };
        if !is_computed || !expr.any_column_refs() {
            return Ok(Transformed::no(expr));
        }
        let call = ScalarFunction::new_udf(Arc::clone(&HIDDEN), vec![expr]);
        let call = Expr::ScalarFunction(call);
        Ok(Transformed::new(call, true, TreeNodeRecursion::Jump))
    })
}

/// Whether a cast may give one value for several ones. Those between whole numbers do not; of others, some do not either.
fn loses(inner: &Expr, kind: &DataType, schema: &DFSchema) -> bool {
    inner.get_type(schema).map_or(true, |source| {
        let is_whole = source.is_integer() && kind.is_integer();
        source != *kind && !is_whole
    })
}

static HIDDEN: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::new("rounded", Ok).into_function());
