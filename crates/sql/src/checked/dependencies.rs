//! Nothing is derived from functional dependencies.
//!
//! A schema of the query engine says which columns determine others: those that a query is grouped by, and the keys of a
//! table. The engine leaves determined columns out of GROUP BY and ORDER BY, adds them to GROUP BY, and removes DISTINCT and
//! joins. But it takes what is unique on one side of a join for unique in the groups of the join, too
//! (`aggregate_functional_dependencies`, version 55). So neither the planner nor the rules that use dependencies see any.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{
    DFSchema, DFSchemaRef, FunctionalDependencies, Result, TableReference, plan_err,
};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::OptimizerConfig;
use datafusion::sql::sqlparser::ast::{
    TableAlias, TableFactor, TableSample, TableSampleKind, TableSampleModifier,
};

use super::rules::Rule;

/// Applies a rule to a plan in which no columns determine others. Rules for single nodes look at the inputs of these.
pub(super) fn without_dependencies(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let plan = match rule.apply_order() {
        Some(_) if plan.inputs().into_iter().any(has_dependencies) => {
            plan.map_children(|input| shown(input).map(Transformed::no))?
                .data
        }
        None if anywhere(&plan)? => {
            plan.transform_down_with_subqueries(|node| own(node).map(Transformed::no))?
                .data
        }
        _ => plan,
    };
    rule.rewrite(plan, config)
}

fn anywhere(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= has_dependencies(node);
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

fn has_dependencies(plan: &LogicalPlan) -> bool {
    !plan.schema().functional_dependencies().is_empty()
}

/// A plan whose schema has no dependencies; those of its inputs may have some.
fn shown(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut plan = own(plan)?;
    let mut node = &mut plan;
    // Their schema is that of the input.
    while let LogicalPlan::Distinct(Distinct::All(_))
    | LogicalPlan::Filter(_)
    | LogicalPlan::Limit(_)
    | LogicalPlan::Repartition(_)
    | LogicalPlan::Sort(_) = node
    {
        let input = match node {
            LogicalPlan::Distinct(Distinct::All(input)) => input,
            LogicalPlan::Filter(filter) => &mut filter.input,
            LogicalPlan::Limit(limit) => &mut limit.input,
            LogicalPlan::Repartition(repartition) => &mut repartition.input,
            LogicalPlan::Sort(sort) => &mut sort.input,
            _ => break,
        };
        node = Arc::make_mut(input);
        *node = own(std::mem::take(node))?;
    }
    Ok(plan)
}

/// The node, without dependencies if it has a schema of its own.
fn own(mut plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema: &mut DFSchemaRef = match &mut plan {
        LogicalPlan::Aggregate(aggregate) => &mut aggregate.schema,
        LogicalPlan::Distinct(Distinct::On(distinct)) => &mut distinct.schema,
        LogicalPlan::Join(join) => &mut join.schema,
        LogicalPlan::Projection(projection) => &mut projection.schema,
        LogicalPlan::SubqueryAlias(alias) => &mut alias.schema,
        LogicalPlan::TableScan(scan) => &mut scan.projected_schema,
        LogicalPlan::Union(union) => &mut union.schema,
        LogicalPlan::Unnest(unnest) => &mut unnest.schema,
        LogicalPlan::Window(window) => &mut window.schema,
        _ => return Ok(plan),
    };
    if !schema.functional_dependencies().is_empty() {
        let none = FunctionalDependencies::empty();
        let changed = DFSchema::clone(schema).with_functional_dependencies(none)?;
        *schema = Arc::new(changed);
    }
    Ok(plan)
}

/// Plans the relations of FROM as the engine does, without dependencies, and with the names of their aliases.
#[derive(Debug)]
pub(crate) struct PlainRelations;

impl RelationPlanner for PlainRelations {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if !mark(&mut relation) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        let alias = take_alias(&mut relation);
        let mut plan = context.plan(relation)?;
        if let Some(alias) = alias {
            plan = named(plan, alias, context)?;
        }
        let plan = shown(plan)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(
            plan, None,
        ))))
    }
}

/// Takes the alias of a relation if it has names of columns, as in `t(a, b)`.
fn take_alias(relation: &mut TableFactor) -> Option<TableAlias> {
    match relation {
        TableFactor::Derived { alias, .. } | TableFactor::Table { alias, .. } => {
            alias.take_if(|alias| !alias.columns.is_empty())
        }
        _ => None,
    }
}

/// Names the first columns of a relation. The others keep their names; the engine refuses an alias with fewer names than
/// columns.
fn named(
    plan: LogicalPlan,
    alias: TableAlias,
    context: &dyn RelationPlannerContext,
) -> Result<LogicalPlan> {
    let columns = plan.schema().columns();
    if alias.columns.len() > columns.len() {
        return plan_err!(
            "the alias {} has {} names, and the relation {} columns",
            alias.name,
            alias.columns.len(),
            columns.len()
        );
    }
    let mut names = alias.columns.into_iter();
    let columns = columns.into_iter().map(|column| {
        let name = match names.next() {
            Some(name) => context.normalize_ident(name.name),
            None => column.name.clone(),
        };
        Expr::Column(column).alias(name)
    });
    let relation = TableReference::bare(context.normalize_ident(alias.name));
    LogicalPlanBuilder::from(plan)
        .project(columns.collect::<Vec<_>>())?
        .alias(relation)?
        .build()
}

/// Marks a query or a name, which may be that of a query, if it is not marked. The engine gives a relation to the first
/// planner again when that asks it to plan the relation. It ignores TABLESAMPLE, which statements may not have.
fn mark(relation: &mut TableFactor) -> bool {
    let (TableFactor::Derived { sample, .. }
    | TableFactor::Table {
        args: None, sample, ..
    }) = relation
    else {
        return false;
    };
    if sample.is_some() {
        return false;
    }
    *sample = Some(TableSampleKind::AfterTableAlias(Box::new(TableSample {
        modifier: TableSampleModifier::TableSample,
        name: None,
        quantity: None,
        seed: None,
        bucket: None,
        offset: None,
    })));
    true
}
