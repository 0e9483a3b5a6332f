//! Conditions that the engine rewrote after it had pushed them down, so that a scan no longer evaluates them exactly.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

/// What the engine asks of a table.
pub(crate) struct Asked<'a> {
    /// The columns of the table.
    pub(crate) schema: &'a SchemaRef,
    pub(crate) projection: Option<&'a Vec<usize>>,
    pub(crate) filters: &'a [Expr],
    pub(crate) limit: Option<usize>,
}

/// What the engine may leave to a scan, which evaluates a condition exactly or not, or (`None`) not at all.
pub(crate) fn pushdown(
    filters: &[&Expr],
    understood: impl Fn(&Expr) -> Option<bool>,
) -> Vec<TableProviderFilterPushDown> {
    let support = |filter: &&Expr| match understood(filter) {
        Some(true) => TableProviderFilterPushDown::Exact,
        Some(false) => TableProviderFilterPushDown::Inexact,
        None => TableProviderFilterPushDown::Unsupported,
    };
    filters.iter().map(support).collect()
}

/// The plan that `scan` makes for columns and a limit, and a filter above it for the conditions that it does not
/// evaluate exactly. The engine may have taken them for evaluated: it asks once, and simplifies conditions later.
///
/// # Errors
/// Those of `scan`, and of planning.
pub(crate) fn with_rest(
    state: &dyn Session,
    asked: &Asked<'_>,
    is_exact: impl Fn(&Expr) -> bool,
    scan: impl FnOnce(Vec<usize>, Option<usize>) -> Result<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let places: Vec<usize> = match asked.projection {
        Some(places) => places.clone(),
        None => (0..asked.schema.fields().len()).collect(),
    };
    let rest = asked.filters.iter().filter(|filter| !is_exact(filter));
    let Some(condition) = conjunction(rest.cloned().map(unnormalize_col)) else {
        return scan(places, asked.limit);
    };
    let mut read = places.clone();
    for column in condition.column_refs() {
        let place = asked.schema.index_of(&column.name)?;
        if !read.contains(&place) {
            read.push(place);
        }
    }
    let source = scan(read, None)?;
    let schema = source.schema();
    let columns = DFSchema::try_from(schema.as_ref().clone())?;
    let condition = crate::checked::one_way(condition, &columns)?.data;
    let condition = state.create_physical_expr(condition, &columns)?;
    let filtered = Arc::new(FilterExec::try_new(condition, source)?);
    let returned = schema.fields().iter().take(places.len()).enumerate();
    let returned = returned.map(|(at, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), at));
        (column, field.name().clone())
    });
    let returned: Vec<_> = returned.collect();
    Ok(Arc::new(ProjectionExec::try_new(returned, filtered)?))
}
