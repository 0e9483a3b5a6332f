//! What is corrected in a parsed statement, and what is refused before it is planned.

use std::ops::ControlFlow;

use datafusion::common::Result as QueryResult;
use datafusion::common::plan_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr as Planned, LogicalPlan, Operator};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Statement as Ast, Value, VisitMut, VisitorMut,
};
use ostrakon_cell::{Error, ErrorKind, Result};

/// The deepest expression. Plans are walked by recursion, and a stack that overflows ends the process.
const DEPTH_MAX: usize = 500;

/// Corrects a statement.
///
/// * `TIMESTAMP` is of microseconds, as in tables. The engine's default of nanoseconds ends in 2262.
///
/// # Errors
/// An expression that is too deep; `IS DISTINCT FROM` whose right side the parser took too far.
pub(super) fn correct(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Statement(ast) => correct_ast(ast),
        Statement::Explain(explain) => correct(&mut explain.statement),
        _ => Ok(()),
    }
}

fn correct_ast(ast: &mut Ast) -> Result<()> {
    match ast.visit(&mut Correction { depth: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Correction {
    depth: usize,
}

impl VisitorMut for Correction {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.depth += 1;
        if self.depth + chain(expr) > DEPTH_MAX {
            dismantle(expr);
            return ControlFlow::Break(
                Error::new(
                    ErrorKind::InvalidArgument,
                    "an expression of the statement is nested too deeply: write `x IN (…)` instead of many ORs, or \
                     split the statement",
                )
                .with("limit", DEPTH_MAX),
            );
        }
        match expr {
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right)
                if is_junction(right) =>
            {
                return ControlFlow::Break(Error::new(
                    ErrorKind::InvalidArgument,
                    "AND and OR after IS DISTINCT FROM would belong to its right side: put parentheses around \
                     `a IS DISTINCT FROM b`",
                ));
            }
            Expr::Cast { data_type, .. } => in_microseconds(data_type),
            Expr::TypedString(text) => in_microseconds(&mut text.data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

/// The number of operators in a row, `a + b + c`: the parser puts them on the left of each other, as deep as they are many.
fn chain(mut expr: &Expr) -> usize {
    let mut length = 0;
    while let Expr::BinaryOp { left, .. } = expr {
        expr = left;
        length += 1;
    }
    length
}

/// Takes a chain of operators apart without recursion, so that it can be dropped.
fn dismantle(expr: &mut Expr) {
    let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
    while let Expr::BinaryOp { left, .. } = rest {
        rest = *left;
    }
}

fn is_junction(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::BinaryOp {
            op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
            ..
        }
    )
}

fn in_microseconds(kind: &mut DataType) {
    if let DataType::Timestamp(precision @ None, _) = kind {
        *precision = Some(6);
    }
}

/// Refuses `IN (query)` where the engine takes NULL for false and that makes a difference: everywhere but in conditions that
/// are joined by AND, and without NOT by OR.
pub(super) fn check_subqueries(plan: &LogicalPlan) -> QueryResult<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Filter(filter) = node {
            for condition in split_conjunction(&filter.predicate) {
                if !is_in_query(condition) && !is_positive(condition)? {
                    return plan_err!(
                        "IN (SELECT …) can stand alone or beside AND, and without NOT beside OR: write the condition with \
                         EXISTS (SELECT …) or with a join"
                    );
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn is_in_query(condition: &Planned) -> bool {
    match condition {
        Planned::InSubquery(_) => true,
        Planned::Not(inner) => matches!(&**inner, Planned::InSubquery(_)),
        _ => false,
    }
}

/// Whether NULL instead of false changes nothing.
fn is_positive(condition: &Planned) -> QueryResult<bool> {
    match condition {
        Planned::InSubquery(query) => Ok(!query.negated),
        Planned::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And | Operator::Or,
            right,
        }) => Ok(is_positive(left)? && is_positive(right)?),
        other => Ok(!other.exists(|inner| Ok(matches!(inner, Planned::InSubquery(_))))?),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    fn refusal(text: &str) -> Option<String> {
        parse_statements(text).err().map(|error| error.to_string())
    }

    #[test]
    fn long_chains_of_operators_are_refused() {
        for (operator, terms) in [(" OR ", 200_000), ("+", 200_000), (" AND ", 501)] {
            let text = format!("SELECT {}", vec!["a"; terms].join(operator));
            let said = refusal(&text).expect("too deep");
            assert!(said.contains("nested too deeply"), "{said}");
        }
        assert_eq!(
            refusal(&format!("SELECT {}", vec!["a"; 400].join("+"))),
            None
        );
        let items = vec!["1"; 10_000].join(",");
        assert_eq!(refusal(&format!("SELECT a IN ({items})")), None);
    }

    #[test]
    fn distinct_from_needs_parentheses_beside_and() {
        for text in [
            "SELECT 1 WHERE a IS DISTINCT FROM b AND c",
            "SELECT 1 WHERE a IS NOT DISTINCT FROM b OR c",
        ] {
            let said = refusal(text).expect("refused");
            assert!(said.contains("parentheses"), "{said}");
        }
        for text in [
            "SELECT 1 WHERE (a IS DISTINCT FROM b) AND c",
            "SELECT 1 WHERE c AND a IS DISTINCT FROM b",
            "SELECT 1 WHERE a IS DISTINCT FROM (b AND c)",
        ] {
            assert_eq!(refusal(text), None);
        }
    }
}
