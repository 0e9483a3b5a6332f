//! EXISTS where the engine does not join it: outside of filters. The engine's rule joins the query of an EXISTS in a filter
//! with a column that marks the rows for which there are some. Here it does so for a filter that is made up, and the other
//! node takes the columns.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, internal_err, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::OptimizerConfig;

use crate::checked::rules::Rule;

/// The engine's rule for EXISTS and IN in filters, extended to the other places.
pub(in crate::checked) fn mark(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    // Also joins the queries inside of those of a plan.
    let rewritten = rule.rewrite(plan, config)?;
    if matches!(rewritten.data, LogicalPlan::Filter(_)) || !has_marks(&rewritten.data)? {
        return Ok(rewritten);
    }
    let marks = Marks { rule, config };
    match rewritten.data {
        LogicalPlan::Join(join) => marks.in_join(join).map(Transformed::yes),
        plan => marks.in_node(plan),
    }
}

/// The rule for filters.
struct Marks<'a> {
    rule: &'a Rule,
    config: &'a dyn OptimizerConfig,
}

impl Marks<'_> {
    fn in_node(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        let input = match plan.inputs().as_slice() {
            [input] => LogicalPlan::clone(input),
            _ => return Ok(Transformed::no(plan)),
        };
        let names = match plan {
            LogicalPlan::Sort(_) => None,
            _ => Some(NamePreserver::new(&plan)),
        };
        let exprs = plan.expressions();
        let saved: Vec<_> = exprs
            .iter()
            .map(|expr| names.as_ref().map(|names| names.save(expr)))
            .collect();
        let (input, exprs) = self.marked(input, exprs)?;
        let exprs = exprs.into_iter().zip(saved).map(|(expr, name)| match name {
            Some(name) => name.restore(expr),
            None => expr,
        });
        let marked = plan.with_new_exprs(exprs.collect(), vec![input])?;
        with_columns(marked, plan.schema()).map(Transformed::yes)
    }

    /// A condition of an inner join may stand above it. That of another one may be about one side only.
    fn in_join(&self, mut join: Join) -> Result<LogicalPlan> {
        let conditions = join
            .filter
            .take()
            .map_or_else(Vec::new, split_conjunction_owned);
        let (mut others, mut on_left, mut on_right, mut above) = (vec![], vec![], vec![], vec![]);
        for condition in conditions {
            if !is_mark_within(&condition)? {
                others.push(condition);
            } else if join.join_type == JoinType::Inner {
                above.push(condition);
            } else {
                let named = columns_of(&condition)?;
                let is_in = |schema: &DFSchema| named.iter().all(|name| schema.has_column(name));
                if is_in(join.left.schema()) {
                    on_left.push(condition);
                } else if is_in(join.right.schema()) {
                    on_right.push(condition);
                } else {
                    return refuse();
                }
            }
        }
        let schema = Arc::clone(&join.schema);
        let (left, on_left) = self.marked(Arc::unwrap_or_clone(join.left), on_left)?;
        let (right, on_right) = self.marked(Arc::unwrap_or_clone(join.right), on_right)?;
        let marked = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            join.on,
            conjunction(others.into_iter().chain(on_left).chain(on_right)),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        let plan = with_columns(LogicalPlan::Join(marked), &schema)?;
        match conjunction(above) {
            Some(above) => {
                let filter = Filter::try_new(above, Arc::new(plan))?;
                Ok(self
                    .rule
                    .rewrite(LogicalPlan::Filter(filter), self.config)?
                    .data)
            }
            None => Ok(plan),
        }
    }

    /// A plan with columns for the EXISTS of expressions, and the expressions with these columns.
    fn marked(&self, plan: LogicalPlan, exprs: Vec<Expr>) -> Result<(LogicalPlan, Vec<Expr>)> {
        let mut marks = Vec::new();
        for expr in &exprs {
            if is_mark_within(expr)? {
                marks.push(expr.clone());
            }
        }
        if marks.is_empty() {
            return Ok((plan, exprs));
        }
        let function = ScalarFunction::new_udf(Arc::clone(&ALL), marks);
        let filter = Filter::try_new(Expr::ScalarFunction(function), Arc::new(plan))?;
        let joined = self
            .rule
            .rewrite(LogicalPlan::Filter(filter), self.config)?
            .data;
        let joined = match joined {
            LogicalPlan::Projection(projection) => Arc::unwrap_or_clone(projection.input),
            other => other,
        };
        let LogicalPlan::Filter(Filter {
            predicate: Expr::ScalarFunction(call),
            input,
            ..
        }) = joined
        else {
            return internal_err!("the filter that was made up is not there");
        };
        let mut marks = call.args.into_iter();
        let mut replaced = Vec::new();
        for expr in exprs {
            replaced.push(match is_mark_within(&expr)? {
                true => match marks.next() {
                    Some(mark) if !is_mark_within(&mark)? => mark,
                    _ => return refuse(),
                },
                false => expr,
            });
        }
        Ok((Arc::unwrap_or_clone(input), replaced))
    }
}

/// The plan without other columns.
fn with_columns(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    if plan.schema().fields().len() == schema.fields().len() {
        return Ok(plan);
    }
    let columns = schema.columns().into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

fn has_marks(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        found |= is_mark_within(expr)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn is_mark_within(expr: &Expr) -> Result<bool> {
    expr.exists(|part| Ok(matches!(part, Expr::Exists(_) | Expr::InSubquery(_))))
}

/// The columns that an expression and its queries name.
pub(super) fn columns_of(expr: &Expr) -> Result<Vec<Column>> {
    let mut names: Vec<Column> = expr.column_refs().into_iter().cloned().collect();
    expr.apply(|part| {
        let subquery = match part {
            Expr::Exists(exists) => &exists.subquery,
            Expr::InSubquery(query) => &query.subquery,
            Expr::SetComparison(comparison) => &comparison.subquery,
            Expr::ScalarSubquery(subquery) => subquery,
            _ => return Ok(TreeNodeRecursion::Continue),
        };
        for outer in &subquery.outer_ref_columns {
            outer.apply(|part| {
                if let Expr::OuterReferenceColumn(_, column) = part {
                    names.push(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(names)
}

/// Refuses a plan that still has EXISTS, IN of a query, or columns of an outer query, which cannot be executed.
///
/// # Errors
/// There is one.
pub(crate) fn check_joined(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if has_marks(node)? {
            return refuse();
        }
        if node.contains_outer_reference() {
            return plan_err!(
                "a query that names columns of the outer query (in LATERAL, or as a value) may name them in conditions \
                 of WHERE, if it has an aggregate only with `=`, and not below LIMIT, ORDER BY, DISTINCT or UNION; it \
                 cannot stand inside of an aggregate such as `sum((SELECT …))`: write a join, or compute the value in a \
                 query of its own, as in `FROM (SELECT …) x`, and number the rows with row_number() for the first ones \
                 of each group"
            );
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn refuse<T>() -> Result<T> {
    plan_err!(
        "EXISTS or IN (SELECT …) is not supported here: it may name columns of the outer query in conditions of WHERE, and \
         in ON of an outer join columns of one side only; write a join"
    )
}

static ALL: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::from(All {
        signature: Signature::variadic_any(Volatility::Immutable),
    }))
});

/// The condition that is made up of expressions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct All {
    signature: Signature,
}

impl ScalarUDFImpl for All {
    fn name(&self) -> &'static str {
        "all_of_these"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("the condition is made up")
    }
}
