//! Names of casts. The query engine gives `CAST(k AS VARCHAR)` the name of `k`, and takes one for the other where it finds
//! columns by their names: in ORDER BY and HAVING, among the columns of GROUP BY, among aggregates. So a cast outside of
//! WHERE and ON becomes `cast_of(CAST(k AS VARCHAR), 'VARCHAR')`, a function whose name differs, and which the optimizer
//! removes.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, GroupByExpr, Ident, ObjectName, OrderByKind, Query, Select, SelectItem,
    Value, VisitMut, VisitorMut, visit_expressions_mut,
};

use crate::checked::CAST_OF;

/// Names the casts of a statement.
pub(super) fn name_all(statement: &mut impl VisitMut) {
    let _: ControlFlow<()> = statement.visit(&mut Casts);
}

struct Casts;

impl VisitorMut for Casts {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let Some(order) = &mut query.order_by
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            keys.iter_mut().for_each(|key| name(&mut key.expr));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                name(expr);
            }
        }
        if let Some(Distinct::On(keys)) = &mut select.distinct {
            keys.iter_mut().for_each(name);
        }
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            keys.iter_mut().for_each(name);
        }
        select.having.iter_mut().for_each(name);
        select.qualify.iter_mut().for_each(name);
        ControlFlow::Continue(())
    }
}

/// Names the casts of an expression.
fn name(expr: &mut Expr) {
    let _: ControlFlow<()> = visit_expressions_mut(expr, |part| {
        if let Expr::Cast {
            data_type,
            expr: inner,
            ..
        } = part
            && !matches!(&**inner, Expr::Value(_))
        {
            let kind = canonical(data_type);
            let cast = std::mem::replace(part, Expr::value(Value::Null));
            *part = call(cast, kind);
        } else if let Some(inner) = inner_call(part) {
            // It is in a query within an expression, and was named with that.
            *part = inner;
        }
        ControlFlow::Continue(())
    });
}

fn call(cast: Expr, kind: String) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let kind = Expr::value(Value::SingleQuotedString(kind));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(CAST_OF)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(cast), argument(kind)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The call within a call.
fn inner_call(expr: &mut Expr) -> Option<Expr> {
    let inner = first_argument(expr)?;
    first_argument(inner)?;
    Some(std::mem::replace(inner, Expr::value(Value::Null)))
}

fn first_argument(expr: &mut Expr) -> Option<&mut Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = &mut function.args else {
        return None;
    };
    if function.name.to_string() != CAST_OF {
        return None;
    }
    match list.args.first_mut()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) => Some(inner),
        _ => None,
    }
}

/// One text for the names of a type, so that a cast in the list of SELECT is found in GROUP BY.
fn canonical(data_type: &DataType) -> String {
    let text = data_type.to_string().to_ascii_uppercase();
    let name = match text.split('(').next().unwrap_or(&text).trim_end() {
        "INT" | "INT4" | "INTEGER" => "INTEGER",
        "BIGINT" | "INT8" => "BIGINT",
        "SMALLINT" | "INT2" => "SMALLINT",
        "DOUBLE" | "DOUBLE PRECISION" | "FLOAT8" => "DOUBLE",
        "REAL" | "FLOAT" | "FLOAT4" => "REAL",
        "BOOL" | "BOOLEAN" => "BOOLEAN",
        "VARCHAR" | "TEXT" | "STRING" | "CHAR" | "CHARACTER" | "CHARACTER VARYING" => "VARCHAR",
        _ => return text,
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn casts_whose_names_count_are_named() {
        for (text, shown) in [
            (
                "SELECT k::text AS a FROM t WHERE CAST(k AS INT) > 1 GROUP BY CAST(k AS VARCHAR)",
                "SELECT cast_of(k::TEXT, 'VARCHAR') AS a FROM t WHERE CAST(k AS INT) > 1 \
                 GROUP BY cast_of(CAST(k AS VARCHAR), 'VARCHAR')",
            ),
            (
                "SELECT (SELECT max(CAST(u.k AS INT4)) FROM u) AS m FROM t ORDER BY TRY_CAST(a AS INT)",
                "SELECT (SELECT max(cast_of(CAST(u.k AS INT4), 'INTEGER')) FROM u) AS m FROM t \
                 ORDER BY cast_of(TRY_CAST(a AS INT), 'INTEGER')",
            ),
            (
                "SELECT CAST('1' AS INT) AS a",
                "SELECT CAST('1' AS INT) AS a",
            ),
        ] {
            let parsed = parse_statements(text).expect(text);
            let found = parsed.first().expect("one").statement.to_string();
            assert_eq!(found, shown);
        }
    }
}
