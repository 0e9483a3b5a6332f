//! Window functions with one order are computed by one node of a plan. Rules of the engine may write the order of one
//! of them in another way, for example with a computed column, and then the engine cannot execute the node. A rule
//! separates these functions.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{Sort, WindowFunctionParams};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Window};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Makes a node of the functions of each order.
#[derive(Debug)]
pub(in crate::checked) struct SeparateWindows;

impl OptimizerRule for SeparateWindows {
    fn name(&self) -> &'static str {
        "separate_windows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let mut groups: Vec<(Order<'_>, Vec<Expr>)> = Vec::new();
        for expr in &window.window_expr {
            let Some(order) = order_of(expr) else {
                return Ok(Transformed::no(plan));
            };
            match groups.iter_mut().find(|(other, _)| *other == order) {
                Some((_, exprs)) => exprs.push(expr.clone()),
                None => groups.push((order, vec![expr.clone()])),
            }
        }
        if groups.len() < 2 {
            return Ok(Transformed::no(plan));
        }
        let mut input = Arc::clone(&window.input);
        for (_, exprs) in groups {
            input = Arc::new(LogicalPlan::Window(Window::try_new(exprs, input)?));
        }
        let columns = window.schema.columns().into_iter().map(Expr::Column);
        let columns = Projection::try_new(columns.collect(), input)?;
        Ok(Transformed::yes(LogicalPlan::Projection(columns)))
    }
}

type Order<'a> = (&'a [Expr], &'a [Sort]);

fn order_of(expr: &Expr) -> Option<Order<'_>> {
    match expr {
        Expr::Alias(alias) => order_of(&alias.expr),
        Expr::WindowFunction(function) => {
            let WindowFunctionParams {
                partition_by,
                order_by,
                ..
            } = &function.params;
            Some((partition_by, order_by))
        }
        _ => None,
    }
}
