//! `x IN (SELECT y …)` as EXISTS, which is never NULL.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue, plan_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{
    Case, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Subquery, lit,
};

use super::{is_correlated, is_subquery, renamed};

/// Whether a value is among the rows of a query.
pub(super) struct Membership {
    /// The value, as the query names it.
    value: Expr,
    is_null: Expr,
    can_be_null: bool,
    subquery: Subquery,
    /// The column of the query.
    column: Expr,
    has_nulls: bool,
    negated: bool,
}

impl Membership {
    /// # Errors
    /// The value is itself computed by a query, or another one each time.
    pub(super) fn new(query: InSubquery, schema: &DFSchema, number: &mut usize) -> Result<Self> {
        let value = *query.expr;
        if value.is_volatile() || value.exists(|part| Ok(is_subquery(part)))? {
            return plan_err!(
                "the left side of IN (SELECT …) is a query or `random()`: compute it in a query of its own, as in \
                 `FROM (SELECT …) x`"
            );
        }
        let subquery = renamed(query.subquery, number)?;
        let field = subquery.subquery.schema().qualified_field(0);
        Ok(Self {
            can_be_null: value.nullable(schema).unwrap_or(true),
            is_null: value.clone().is_null(),
            value: outside(value, schema)?,
            has_nulls: field.1.is_nullable(),
            column: Expr::Column(Column::from(field)),
            subquery,
            negated: query.negated,
        })
    }

    /// Whether `NOT IN` is true: no row is equal to the value, or may be.
    pub(super) fn is_certain_not(&self) -> Result<Expr> {
        let equal = self.value.clone().eq(self.column.clone());
        let possible = match self.can_be_null || self.has_nulls {
            true => Expr::IsNotFalse(Box::new(equal)),
            false => equal,
        };
        self.exists(Some(possible), true)
    }

    /// The value in three-valued logic.
    pub(super) fn value(&self) -> Result<Expr> {
        let unknown = || Box::new(Expr::Literal(ScalarValue::Boolean(None), None));
        let equal = self.value.clone().eq(self.column.clone());
        let mut branches = vec![(
            Box::new(self.exists(Some(equal), false)?),
            Box::new(lit(!self.negated)),
        )];
        if self.has_nulls {
            let nulls = self.exists(Some(self.column.clone().is_null()), false)?;
            branches.push((Box::new(nulls), unknown()));
        }
        if self.can_be_null {
            let any = self.is_null.clone().and(self.exists(None, false)?);
            branches.push((Box::new(any), unknown()));
        }
        Ok(Expr::Case(Case {
            expr: None,
            when_then_expr: branches,
            else_expr: Some(Box::new(lit(self.negated))),
        }))
    }

    /// Whether there is a row with a condition.
    fn exists(&self, condition: Option<Expr>, negated: bool) -> Result<Expr> {
        let plan = LogicalPlan::clone(&self.subquery.subquery);
        let mut plan = LogicalPlanBuilder::from(plan);
        if let Some(condition) = condition {
            plan = plan.filter(condition)?;
        }
        let mut plan = plan.build()?;
        if !is_correlated(&plan)? {
            plan = LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()?;
        }
        let outer_ref_columns = plan.all_out_ref_exprs();
        Ok(Expr::Exists(Exists {
            subquery: Subquery {
                subquery: Arc::new(plan),
                outer_ref_columns,
                spans: self.subquery.spans.clone(),
            },
            negated,
        }))
    }
}

/// An expression of the outer query, as its subquery names it.
fn outside(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let named = expr.transform_up(|part| match part {
        Expr::Column(column) => {
            let field = Arc::clone(schema.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        part => Ok(Transformed::no(part)),
    });
    Ok(named?.data)
}
