//! HAVING of a correlated query that is a value. The engine keeps the row of an aggregate without GROUP BY for each row of the
//! outer query, and forgets the condition. As the query has one row, its value is NULL where the condition does not hold.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{LogicalPlan, Projection, Subquery, when};

use super::is_correlated;

/// The query with CASE in place of HAVING: `SELECT max(v) … HAVING c` as `SELECT CASE WHEN c THEN max(v) END …`.
pub(super) fn as_case(subquery: Subquery) -> Result<Transformed<Subquery>> {
    let LogicalPlan::Projection(projection) = &*subquery.subquery else {
        return Ok(Transformed::no(subquery));
    };
    let (LogicalPlan::Filter(having), [value]) = (&*projection.input, projection.expr.as_slice())
    else {
        return Ok(Transformed::no(subquery));
    };
    let is_own = !having.predicate.contains_outer();
    let is_total = matches!(&*having.input, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty());
    if !is_own || !is_total || !is_correlated(&having.input)? {
        return Ok(Transformed::no(subquery));
    }
    let name = value.schema_name().to_string();
    let kept = when(having.predicate.clone(), value.clone().unalias()).end()?;
    let input = Arc::clone(&having.input);
    let plan = Projection::try_new(vec![kept.alias(name)], input)?;
    let plan = Arc::new(LogicalPlan::Projection(plan));
    Ok(Transformed::yes(subquery.with_plan(plan)))
}
