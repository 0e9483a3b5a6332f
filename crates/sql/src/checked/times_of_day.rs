//! `CAST(t AS TIME)` of a time has not the order of the times: the next day begins again. The engine takes every cast from
//! a type of times to another one for one that keeps the order, and does not sort or group by it again.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;

use super::same_type::SameType;

/// Hides casts to times of day in a function, whose order the engine does not know.
#[derive(Debug)]
pub(super) struct TimesOfDay;

impl AnalyzerRule for TimesOfDay {
    fn name(&self) -> &'static str {
        "times_of_day"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let changed = plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let changed = expr.transform_up(|expr| Ok(hidden(expr, &schema)))?;
                Ok(changed.update_data(|expr| name.restore(expr)))
            })
        })?;
        Ok(changed.data)
    }
}

fn hidden(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_time = |kind: &DataType| matches!(kind, DataType::Time32(_) | DataType::Time64(_));
    let is_found = match &expr {
        Expr::Cast(cast) => is_time(cast.field.data_type()),
        Expr::TryCast(cast) => is_time(cast.field.data_type()),
        // It becomes a cast.
        Expr::ScalarFunction(call) if call.func.name().starts_with("arrow_") => {
            expr.get_type(schema).is_ok_and(|kind| is_time(&kind))
        }
        _ => false,
    };
    if !is_found {
        return Transformed::no(expr);
    }
    let call = ScalarFunction::new_udf(Arc::clone(&TIME_OF_DAY), vec![expr]);
    Transformed::yes(Expr::ScalarFunction(call))
}

static TIME_OF_DAY: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| SameType::new("time_of_day", Ok).into_function());
