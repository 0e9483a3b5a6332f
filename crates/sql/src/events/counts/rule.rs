//! The optimizer's rule that replaces counts of events, after conditions were pushed down.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result as QueryResult, TableReference};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, TableScan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use ostrakon_events::Condition;

use super::super::provider::EventsTable;
use super::question::{Group, groups, is_count_of_all};
use super::relation::{Counts, EventCounts};

/// Replaces counts of events.
#[derive(Debug)]
pub(crate) struct CountEvents;

impl OptimizerRule for CountEvents {
    fn name(&self) -> &'static str {
        "count_events"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> QueryResult<Transformed<LogicalPlan>> {
        if let LogicalPlan::Aggregate(aggregate) = &plan
            && let Some(counts) = counted(aggregate)
        {
            return Ok(Transformed::yes(replaced(aggregate, counts)?));
        }
        Ok(Transformed::no(plan))
    }
}

/// The plan that reads counts in place of an aggregation. Its columns are NULL only where the aggregation's are: plans above
/// know that `count` never is.
fn replaced(aggregate: &Aggregate, counts: Counts) -> QueryResult<LogicalPlan> {
    // The engine takes scans for equal, and runs one of them, if their tables have the same name.
    let named = TableReference::bare(counts.identity());
    let own = |name: &str| Expr::Column(Column::new(Some(named.clone()), name));
    let schema = counts.schema.clone();
    let is_summed = counts.has_values();
    let source = provider_as_source(Arc::new(EventCounts(Arc::new(counts))));
    let mut plan = LogicalPlanBuilder::scan(named.clone(), source, None)?;
    let mut columns: Vec<Expr> = schema.fields().iter().map(|f| own(f.name())).collect();
    if is_summed && let Some(count) = columns.pop() {
        // A value has a count for each label, and events that the kept counts do not cover are counted one by one.
        let sum = crate::checked::sum_of_counts()
            .call(vec![count])
            .alias("sum");
        let is_counted = !aggregate.aggr_expr.is_empty();
        plan = plan.aggregate(columns.clone(), is_counted.then_some(sum))?;
        columns.extend(is_counted.then(|| Expr::Column(Column::from_name("sum"))));
    }
    let names = aggregate.schema.iter().zip(columns);
    let named = names
        .map(|((relation, field), column)| column.alias_qualified(relation.cloned(), field.name()));
    plan.project(named.collect::<Vec<_>>())?.build()
}

/// The counts that an aggregation asks for, if it asks for nothing else.
fn counted(aggregate: &Aggregate) -> Option<Counts> {
    let scan = scan_of(&aggregate.input)?;
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<EventsTable>()?;
    let groups = groups(table, &aggregate.group_expr)?;
    let has_values = groups.iter().any(|group| matches!(group, Group::Field(..)));
    match aggregate.aggr_expr.as_slice() {
        [count] if is_count_of_all(count) => {}
        // The values without their counts, as `DISTINCT` asks for.
        [] if has_values => {}
        _ => return None,
    }
    let (query, is_exact) = table.query(&scan.filters);
    if scan.fetch.is_some() || !is_exact {
        return None;
    }
    // The counts of a field's values do not tell which other fields the events have.
    if has_values && query.condition != Condition::All {
        return None;
    }
    let columns = aggregate.schema.fields().iter().zip(&groups);
    let columns = columns.map(|(field, group)| field.as_ref().clone().with_name(group.column()));
    let mut columns: Vec<Field> = columns.collect();
    columns.push(Field::new("count", DataType::Int64, false));
    Some(Counts {
        store: table.store.clone(),
        query,
        schema: Arc::new(Schema::new(columns)),
        groups,
    })
}

fn scan_of(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) => Some(scan),
        LogicalPlan::SubqueryAlias(alias) => scan_of(&alias.input),
        _ => None,
    }
}
