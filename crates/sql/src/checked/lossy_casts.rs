//! Casts that lose a part of the value, in comparisons of columns. The engine estimates how many rows such a condition leaves from
//! the least and greatest values of files, takes the least and greatest dates for those of the times that were cast, and fails if
//! these are more than there were (`analysis.rs`, "Selectivity is out of limit").

use std::sync::{Arc, LazyLock};

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::same_type::SameType;

/// Hides such casts in a function, about whose values the engine estimates nothing. It runs after the rules that move
/// conditions into scans.
#[derive(Debug)]
pub(super) struct LossyCasts;

impl OptimizerRule for LossyCasts {
    fn name(&self) -> &'static str {
        "lossy_casts"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if !matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Join(_)) {
            return Ok(Transformed::no(plan));
        }
        let schema = merge_schema(&plan.inputs());
        // Keys of joins are compared for equality, and are pairs of their own.
        plan.map_expressions(|expr| expr.transform_up(|expr| Ok(hidden(expr, &schema))))
    }
}

fn hidden(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Transformed::no(expr);
    };
    let is_of_columns =
        op.supports_propagation() && left.any_column_refs() && right.any_column_refs();
    let mut changed = false;
    let mut side = |side: Box<Expr>| match is_of_columns && loses(&side, schema) {
        true => {
            changed = true;
            let call = ScalarFunction::new_udf(Arc::clone(&ROUNDED), vec![*side]);
            Box::new(Expr::ScalarFunction(call))
        }
        false => side,
    };
    let (left, right) = (side(left), side(right));
    let expr = Expr::BinaryExpr(BinaryExpr { left, op, right });
    Transformed::new_transformed(expr, changed)
}

/// Whether a cast may give one value for several ones. Those between whole numbers do not; of others, some do not either.
fn loses(expr: &Expr, schema: &DFSchema) -> bool {
    let (inner, kind) = match expr {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type()),
        _ => return false,
    };
    inner.get_type(schema).is_ok_and(|source| {
        let is_whole = source.is_integer() && kind.is_integer();
        source != *kind && !is_whole
    })
}

static ROUNDED: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::new("rounded", Ok).into_function());
