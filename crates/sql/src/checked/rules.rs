//! The rules of the query engine, of which those that would change an answer see nothing that they would change.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::analyzer::Analyzer;
use datafusion::optimizer::optimizer::{ApplyOrder, Optimizer};
use datafusion::optimizer::{AnalyzerRule, OptimizerConfig, OptimizerRule};

use super::conditions::{push_down, simplify};
use super::dates::DATES_OF_ZONES;
use super::dependencies::without_dependencies;
use super::groups::GroupColumns;
use super::null_keys::{merged, plain_keys};
use super::subqueries::mark;
use super::windows::{DEFAULTS, RANGE_KEYS};

pub(super) type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// Applies a rule of the engine to a node, or to a plan if the rule goes through plans itself.
type Rewrite = fn(&Rule, LogicalPlan, &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>>;

/// The rules that change a plan as it was written, and then the engine's, which make types equal.
pub(crate) fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![
        Arc::new(GroupColumns),
        Arc::new(DATES_OF_ZONES),
        Arc::new(DEFAULTS),
        Arc::new(RANGE_KEYS),
    ];
    rules.extend(Analyzer::new().rules);
    rules
}

/// The engine's rules in their order, with their names.
pub(crate) fn optimizer_rules() -> Vec<Rule> {
    let rules = Optimizer::new().rules.into_iter();
    let rules = rules.map(|rule| {
        let rewrite: Rewrite = match rule.name() {
            "rewrite_set_comparison" => with_names,
            "propagate_empty_relation" => with_columns_of_union,
            "simplify_expressions" => simplify,
            "push_down_filter" => push_down,
            "decorrelate_predicate_subquery" => mark,
            "eliminate_duplicated_expr"
            | "eliminate_join"
            | "optimize_projections"
            | "replace_distinct_aggregate" => without_dependencies,
            "eliminate_group_by_constant" => or_as_it_is,
            "extract_equijoin_predicate" => plain_keys,
            "eliminate_cross_join" => merged,
            "decorrelate_lateral_join" => and_below,
            _ => return rule,
        };
        Arc::new(Wrapped { rule, rewrite }) as Rule
    });
    rules.collect()
}

/// Applies a rule that fails for some plans: it does not find a name for `CAST(k AS INT)` beside `k`, which has the same.
fn or_as_it_is(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Aggregate(_)) {
        return Ok(Transformed::no(plan));
    }
    let rewritten = rule.rewrite(plan.clone(), config);
    Ok(rewritten.unwrap_or_else(|_| Transformed::no(plan)))
}

/// Applies a rule that writes ANY and ALL as other expressions, to nodes that have them. Those above find the columns by
/// their names.
fn with_names(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|node| {
        let (preserver, mut names, mut is_found) = (NamePreserver::new(&node), Vec::new(), false);
        node.apply_expressions(|expr| {
            names.push(preserver.save(expr));
            is_found |= expr.exists(|part| Ok(matches!(part, Expr::SetComparison(_))))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !is_found {
            return Ok(Transformed::no(node));
        }
        let mut names = names.into_iter();
        let named = rule.rewrite(node, config)?.data.map_expressions(|expr| {
            Ok(Transformed::yes(match names.next() {
                Some(name) => name.restore(expr),
                None => expr,
            }))
        })?;
        named.map_data(LogicalPlan::recompute_schema)
    })
}

/// Applies a rule that leaves out the parts of a union without rows. Of one that is left, it looks for columns with the
/// names of the union.
fn with_columns_of_union(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Union(union) = &plan else {
        return rule.rewrite(plan, config);
    };
    let is_empty = |input: &LogicalPlan| matches!(input, LogicalPlan::EmptyRelation(empty) if !empty.produce_one_row);
    let mut left = union.inputs.iter().filter(|input| !is_empty(input));
    let (Some(only), None) = (left.next(), left.next()) else {
        return rule.rewrite(plan, config);
    };
    if union.inputs.len() == 1 {
        return rule.rewrite(plan, config);
    }
    let columns = only.schema().columns().into_iter();
    let columns = columns
        .zip(union.schema.iter())
        .map(|(column, (relation, field))| {
            Expr::Column(column).alias_qualified(relation.cloned(), field.name())
        });
    let columns = Projection::try_new(columns.collect(), Arc::clone(only))?;
    Ok(Transformed::yes(LogicalPlan::Projection(columns)))
}

/// Applies a rule that does not go on below what it has changed, if the plan has subqueries. What it leaves out there is
/// changed by others, and it does not find it any more.
fn and_below(
    rule: &Rule,
    plan: LogicalPlan,
    config: &dyn OptimizerConfig,
) -> Result<Transformed<LogicalPlan>> {
    let mut rewritten = rule.rewrite(plan, config)?;
    rewritten.tnr = TreeNodeRecursion::Continue;
    Ok(rewritten)
}

/// A rule with another way to apply it.
#[derive(Debug)]
struct Wrapped {
    rule: Rule,
    rewrite: Rewrite,
}

impl OptimizerRule for Wrapped {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        (self.rewrite)(&self.rule, plan, config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule that a new version of the engine brings is read for what it may do to an answer before it stands here.
    #[test]
    fn the_engine_has_no_other_rules() {
        let found: Vec<String> = Optimizer::new()
            .rules
            .iter()
            .map(|rule| rule.name().to_owned())
            .collect();
        let known = [
            "rewrite_set_comparison",
            "optimize_unions",
            "unions_to_filter",
            "simplify_expressions",
            "replace_distinct_aggregate",
            "eliminate_join",
            "decorrelate_predicate_subquery",
            "scalar_subquery_to_join",
            "decorrelate_lateral_join",
            "extract_equijoin_predicate",
            "eliminate_duplicated_expr",
            "eliminate_filter",
            "eliminate_cross_join",
            "eliminate_limit",
            "propagate_empty_relation",
            "filter_null_join_keys",
            "eliminate_outer_join",
            "push_down_limit",
            "push_down_filter",
            "single_distinct_aggregation_to_group_by",
            "eliminate_group_by_constant",
            "common_sub_expression_eliminate",
            "extract_leaf_expressions",
            "push_down_leaf_projections",
            "optimize_projections",
        ];
        assert_eq!(found, known);
    }

    /// A rule that the engine renames would be applied as it is.
    #[test]
    fn the_rules_are_there() {
        let wrapped = |rule: &Rule| format!("{rule:?}").starts_with("Wrapped");
        assert_eq!(
            optimizer_rules()
                .iter()
                .filter(|rule| wrapped(rule))
                .count(),
            13
        );
    }
}
