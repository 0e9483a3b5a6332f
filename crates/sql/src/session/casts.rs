//! Names of the casts that a query is grouped by. The query engine gives `CAST(k AS VARCHAR)` the name of `k`, and takes one
//! for the other where it finds the columns of a group by their names. So such a cast becomes
//! `cast_of(CAST(k AS VARCHAR), 'VARCHAR')`, in GROUP BY and wherever the query shows the group: a function whose name
//! differs, and which the optimizer removes.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Distinct, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, ObjectName, OrderBy, OrderByKind,
    Query, Select, SelectItem, SetExpr, Value, VisitMut, VisitorMut,
};

use ostrakon_cell::{Error, ErrorKind, Result};

use super::walk::{visit_expressions, visit_expressions_mut, visit_mut};
use crate::checked::CAST_OF;

/// Names the casts of a statement.
///
/// # Errors
/// They cannot be named, and a sort would take a cast for an alias.
pub(super) fn name_groups(statement: &mut impl VisitMut) -> Result<()> {
    match visit_mut(statement, &mut Casts) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Casts;

impl VisitorMut for Casts {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        match &mut *query.body {
            SetExpr::Select(select) => {
                let groups = Groups::of(select);
                if groups.covers(select, query.order_by.as_ref()) {
                    groups.name_in(select);
                    if let Some(order) = &mut query.order_by
                        && let OrderByKind::Expressions(keys) = &mut order.kind
                    {
                        keys.iter_mut().for_each(|key| groups.name(&mut key.expr));
                    }
                } else if let Some(order) = &query.order_by
                    && let Some(alias) = groups.alias_in(order, select)
                {
                    return ControlFlow::Break(
                        Error::new(
                            ErrorKind::Unsupported,
                            "an alias in ORDER BY has the name of a column that is cast in GROUP BY: give it another name",
                        )
                        .with("alias", alias),
                    );
                }
            }
            body => name_parts(body),
        }
        ControlFlow::Continue(())
    }
}

/// Names the casts in the parts of a set operation. Those in parentheses are queries of their own.
fn name_parts(body: &mut SetExpr) {
    let mut parts = vec![body];
    while let Some(part) = parts.pop() {
        match part {
            SetExpr::SetOperation { left, right, .. } => parts.extend([&mut **left, &mut **right]),
            SetExpr::Select(select) => {
                let groups = Groups::of(select);
                if groups.covers(select, None) {
                    groups.name_in(select);
                }
            }
            _ => {}
        }
    }
}

/// The casts that a query is grouped by, with the names of the columns within: what is cast, and the type.
struct Groups(HashMap<(String, String), Vec<String>>);

impl Groups {
    fn of(select: &Select) -> Self {
        let mut groups = HashMap::new();
        let GroupByExpr::Expressions(keys, _) = &select.group_by else {
            return Self(groups);
        };
        for key in keys {
            for expr in parts(key) {
                let named = named_by(expr, &select.projection);
                groups.extend(named.and_then(|key| Some((cast_in(key)?, names_in(key)?))));
            }
        }
        Self(groups)
    }

    /// Whether each cast of what a group casts is one of the groups. Another one may be written in another way, as
    /// `CAST(t.k AS TEXT)` for `CAST(k AS VARCHAR)`, and would not be found among the groups.
    fn covers(&self, select: &Select, order: Option<&OrderBy>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let mut is_covered = true;
        let mut look = |part: &Expr| {
            if let Some((cast, names)) = cast_in(part).zip(names_in(part)) {
                is_covered &= self.0.contains_key(&cast) || !self.0.values().any(|of| *of == names);
            }
            ControlFlow::<()>::Continue(())
        };
        let _ = visit_expressions(&select.distinct, &mut look);
        let _ = visit_expressions(&select.projection, &mut look);
        let _ = visit_expressions(&select.group_by, &mut look);
        let _ = visit_expressions(&select.having, &mut look);
        let _ = visit_expressions(&select.qualify, &mut look);
        let _ = visit_expressions(&select.named_window, &mut look);
        if let Some(order) = order {
            let _ = visit_expressions(order, &mut look);
        }
        is_covered
    }

    /// An alias that a sort names, for something else than the column of this name that a group casts. The engine would
    /// sort by the cast.
    fn alias_in(&self, order: &OrderBy, select: &Select) -> Option<String> {
        let OrderByKind::Expressions(keys) = &order.kind else {
            return None;
        };
        let clashes = |alias: &Ident, expr: &Expr| {
            let name = alias.value.to_lowercase();
            let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
                && names_in(expr).is_some_and(|names| names == [name.as_str()]);
            !is_column && self.0.values().flatten().any(|column| *column == name)
        };
        let aliases: Vec<(usize, &Ident)> = select
            .projection
            .iter()
            .enumerate()
            .filter_map(|(at, item)| match item {
                SelectItem::ExprWithAlias { expr, alias } if clashes(alias, expr) => {
                    Some((at + 1, alias))
                }
                _ => None,
            })
            .collect();
        let mut found = None;
        for key in keys {
            let position = match &key.expr {
                Expr::Value(value) => value.value.to_string().parse().ok(),
                _ => None,
            };
            let _ = visit_expressions(&key.expr, |part| {
                let named = aliases.iter().find(|(at, alias)| match part {
                    Expr::Identifier(name) => name.value.eq_ignore_ascii_case(&alias.value),
                    _ => position == Some(*at),
                });
                found = found.take().or(named.map(|(_, alias)| alias.value.clone()));
                ControlFlow::<()>::Continue(())
            });
        }
        found
    }

    fn name_in(&self, select: &mut Select) {
        if self.0.is_empty() {
            return;
        }
        if let Some(Distinct::On(keys)) = &mut select.distinct {
            keys.iter_mut().for_each(|key| self.name(key));
        }
        for item in &mut select.projection {
            match item {
                SelectItem::ExprWithAlias { expr, .. } => self.name(expr),
                SelectItem::UnnamedExpr(expr) => {
                    let written = expr.to_string();
                    let was_cast = cast_in(expr).is_some();
                    self.name(expr);
                    if was_cast && first_argument(expr).is_some() {
                        let expr = std::mem::replace(expr, Expr::value(Value::Null));
                        let alias = Ident::with_quote('"', written);
                        *item = SelectItem::ExprWithAlias { expr, alias };
                    }
                }
                _ => {}
            }
        }
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            keys.iter_mut().for_each(|key| self.name(key));
        }
        select.having.iter_mut().for_each(|expr| self.name(expr));
        select.qualify.iter_mut().for_each(|expr| self.name(expr));
        for window in &mut select.named_window {
            let _: ControlFlow<()> = visit_expressions_mut(window, |part| self.name_part(part));
        }
    }

    fn name(&self, expr: &mut Expr) {
        if !self.0.is_empty() {
            let _: ControlFlow<()> = visit_expressions_mut(expr, |part| self.name_part(part));
        }
    }

    fn name_part(&self, part: &mut Expr) -> ControlFlow<()> {
        if let Some(inner) = inner_call(part) {
            // It was named already.
            *part = inner;
        } else if let Some(cast) = cast_in(part)
            && self.0.contains_key(&cast)
        {
            let expr = std::mem::replace(part, Expr::value(Value::Null));
            *part = call(expr, cast.1);
        }
        ControlFlow::Continue(())
    }
}

/// The expressions of a key, which may be a grouping set.
pub(super) fn parts(key: &Expr) -> Vec<&Expr> {
    match key {
        Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => {
            sets.iter().flatten().collect()
        }
        key => vec![key],
    }
}

/// The column that a key names by its number or its alias; otherwise the key.
pub(super) fn named_by<'a>(key: &'a Expr, items: &'a [SelectItem]) -> Option<&'a Expr> {
    let of = |item: &'a SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    };
    match key {
        Expr::Nested(key) => named_by(key, items),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => {
                let at: usize = number.parse().ok()?;
                items.get(at.checked_sub(1)?).and_then(of)
            }
            _ => Some(key),
        },
        Expr::Identifier(name) => {
            let mut aliases = items.iter().filter(|item| {
                matches!(item, SelectItem::ExprWithAlias { alias, .. }
                    if alias.value.eq_ignore_ascii_case(&name.value))
            });
            aliases.next().and_then(of).or(Some(key))
        }
        _ => Some(key),
    }
}

/// What is cast, and the type, with one text for all names of a type.
fn cast_in(expr: &Expr) -> Option<(String, String)> {
    match expr {
        Expr::Cast {
            expr,
            data_type,
            kind,
            ..
        } if !matches!(&**expr, Expr::Value(_)) => {
            let tries = match kind {
                CastKind::TryCast | CastKind::SafeCast => "TRY ",
                _ => "",
            };
            Some((written(expr), format!("{tries}{}", canonical(data_type))))
        }
        Expr::Nested(inner) => cast_in(inner),
        _ => None,
    }
}

/// One text for an expression, whichever case its names have.
fn written(expr: &Expr) -> String {
    let mut expr = expr.clone();
    let normal = |name: &mut Ident| match name.quote_style {
        Some(_) if name.value.chars().any(char::is_uppercase) => {}
        _ => {
            name.value = name.value.to_lowercase();
            name.quote_style = None;
        }
    };
    let _: ControlFlow<()> = visit_expressions_mut(&mut expr, |part| {
        match part {
            Expr::Identifier(name) => normal(name),
            Expr::CompoundIdentifier(names) => names.iter_mut().for_each(normal),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    expr.to_string()
}

/// The columns that a cast names, without their relations.
fn names_in(cast: &Expr) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let _: ControlFlow<()> = visit_expressions(cast, |part| {
        match part {
            Expr::Identifier(name) => names.push(name.value.to_lowercase()),
            Expr::CompoundIdentifier(parts) => {
                names.extend(parts.last().map(|name| name.value.to_lowercase()));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    (!names.is_empty()).then_some(names)
}

/// The call that names an expression.
pub(super) fn call(cast: Expr, kind: String) -> Expr {
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
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    if name.as_ident().is_none_or(|name| name.value != CAST_OF) {
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
    let name = match text.as_str() {
        "INT" | "INT4" | "INTEGER" => "INTEGER",
        "BIGINT" | "INT8" => "BIGINT",
        "SMALLINT" | "INT2" => "SMALLINT",
        "DOUBLE" | "DOUBLE PRECISION" | "FLOAT8" => "DOUBLE",
        "REAL" | "FLOAT" | "FLOAT4" => "REAL",
        "BOOL" | "BOOLEAN" => "BOOLEAN",
        "VARCHAR" | "TEXT" | "STRING" | "CHAR" | "CHARACTER" | "CHARACTER VARYING" => "VARCHAR",
        "TIMESTAMP(6)" | "TIMESTAMP(6) WITHOUT TIME ZONE" | "DATETIME(6)" => "TIMESTAMP",
        "TIMESTAMPTZ(6)" | "TIMESTAMP(6) WITH TIME ZONE" => "TIMESTAMPTZ",
        "TIME" | "TIME WITHOUT TIME ZONE" => "TIME",
        _ => {
            let decimal = text
                .strip_prefix("NUMERIC")
                .or_else(|| text.strip_prefix("DECIMAL"))
                .or_else(|| text.strip_prefix("DEC"));
            return match decimal {
                // DECIMAL(10) is DECIMAL(10,0).
                Some(size) if !size.contains(',') => format!("DECIMAL{}", size.replace(')', ",0)")),
                Some(size) => format!("DECIMAL{}", size.replace(' ', "")),
                None => text,
            };
        }
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;

    #[test]
    fn casts_that_a_query_is_grouped_by_are_named() {
        for (text, shown) in [
            (
                "SELECT k::text AS a, v::int FROM t WHERE CAST(k AS VARCHAR) > '1' GROUP BY CAST(k AS VARCHAR), v",
                "SELECT cast_of(k::TEXT, 'VARCHAR') AS a, v::INT AS \"v::INT\" FROM t WHERE CAST(k AS VARCHAR) > '1' \
                 GROUP BY cast_of(CAST(k AS VARCHAR), 'VARCHAR'), v",
            ),
            (
                "SELECT x FROM (SELECT v::numeric(3, 1), sum(k) OVER w AS x FROM t GROUP BY 1, k \
                 WINDOW w AS (ORDER BY v::decimal(3,1))) q",
                "SELECT x FROM (SELECT cast_of(v::NUMERIC(3,1), 'DECIMAL(3,1)') AS \"v::NUMERIC(3,1)\", \
                 sum(k) OVER (ORDER BY cast_of(v::DECIMAL(3,1), 'DECIMAL(3,1)')) AS x FROM t GROUP BY 1, k \
                 WINDOW w AS (ORDER BY cast_of(v::DECIMAL(3,1), 'DECIMAL(3,1)'))) q",
            ),
            (
                "SELECT CAST(t.k AS VARCHAR), count(*) FROM t GROUP BY CAST(k AS VARCHAR)",
                "SELECT CAST(t.k AS VARCHAR) AS \"CAST(t.k AS VARCHAR)\", count(*) AS \"count(*)\" FROM t \
                 GROUP BY CAST(k AS VARCHAR)",
            ),
            (
                "SELECT upper(d) AS u FROM (SELECT CAST(s AS DATE) AS d FROM t) q GROUP BY d ORDER BY CAST(d AS INT)",
                "SELECT upper(d) AS u FROM (SELECT CAST(s AS DATE) AS d FROM t) q GROUP BY d ORDER BY CAST(d AS INT)",
            ),
            (
                "SELECT CAST(s AS DATE) AS d FROM t GROUP BY d UNION SELECT CAST(s AS DATE) FROM t",
                "SELECT cast_of(CAST(s AS DATE), 'DATE') AS d FROM t GROUP BY d UNION SELECT CAST(s AS DATE) FROM t",
            ),
        ] {
            let parsed = parse_statements(text).expect(text);
            let found = parsed.first().expect("one").statement.to_string();
            assert_eq!(found, shown);
        }
    }
}
