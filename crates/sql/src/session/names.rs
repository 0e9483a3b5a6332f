//! Names of columns that a query does not name. The engine refuses two of one name.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Distinct, Expr, GroupByExpr, Ident, ObjectNamePart, OrderByKind, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetQuantifier, Value,
    WildcardAdditionalOptions,
};

use super::spelling::normal;
use super::walk::{visit_expressions, visit_expressions_mut};

/// Names the second `a + b` of `SELECT a + b, a + b` `a + b_1`, and so on, and parameters `?1`, `?2` by their places.
pub(super) fn name_computed_repetitions(select: &mut Select) {
    name_those(select, |expr| column_name(expr).is_none());
}

/// Names the second `a` of `SELECT a, a` `a_1`, and so on, once columns are spelled as their relations do.
pub(super) fn name_repetitions(select: &mut Select) {
    name_those(select, |_| true);
}

fn name_those(select: &mut Select, is_wanted: impl Fn(&Expr) -> bool) {
    let with_names = select.projection.iter().filter(
        |item| !matches!(item, SelectItem::UnnamedExpr(expr) if has_condition_on_query(expr)),
    );
    let mut taken: HashSet<String> = with_names.filter_map(name).collect();
    let all = Stars::of(select);
    let is_one = matches!(select.from.as_slice(), [tables] if tables.joins.is_empty());
    let aliases: HashSet<String> = select.projection.iter().filter_map(alias).collect();
    // The number that was tried last for each text.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut parameters = 0_usize;
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else {
            continue;
        };
        if !is_wanted(expr) {
            continue;
        }
        // By its place: in the engine its value is its name, and two may have one value.
        if is_parameter(expr) {
            let name = loop {
                parameters += 1;
                let name = format!("?{parameters}");
                if taken.insert(name.clone()) {
                    break name;
                }
            };
            *item = named(expr.clone(), name);
            continue;
        }
        let text = as_read(expr, is_one);
        // Their names in the engine leave the queries out.
        if has_condition_on_query(expr) && taken.insert(text.clone()) {
            *item = named(expr.clone(), text);
            continue;
        }
        // The columns of `*` are there already, and so is what has the name of a column.
        let is_alias = column_name(expr).is_some_and(|name| aliases.contains(&name));
        let is_in_all = is_alias || all.have(expr);
        let text = match (is_in_all, column_name(expr)) {
            (true, Some(name)) => name,
            _ => text,
        };
        let number = match numbers.get_mut(&text) {
            Some(number) => number,
            None if is_in_all => numbers.entry(text.clone()).or_insert(0),
            None => {
                numbers.insert(text, 0);
                continue;
            }
        };
        let name = loop {
            *number += 1;
            let name = format!("{text}_{number}");
            if taken.insert(name.clone()) {
                break name;
            }
        };
        *item = named(expr.clone(), name);
    }
}

/// Names the casts of a sorted query as they are written. The engine gives a cast the name of what is
/// cast, which ORDER BY may name, too. And so the computed columns of a sorted query with GROUP BY, whose names in the
/// engine it does not find by their numbers.
pub(super) fn name_casts(query: &mut Query) {
    let SetExpr::Select(select) = &mut *query.body else {
        return;
    };
    if query.order_by.is_none() {
        return;
    }
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(groups, _) => !groups.is_empty(),
    };
    let mut seen: HashSet<String> = HashSet::new();
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && (matches!(expr, Expr::Cast { .. })
                || (is_grouped && matches!(expr, Expr::BinaryOp { .. })))
        {
            let name = expr.to_string();
            if seen.insert(name.clone()) {
                *item = named(expr.clone(), name);
            }
        }
    }
}

/// Sorts a query with DISTINCT by the names of its columns where it is sorted by what they compute: the engine does not see
/// that the two are the same. The columns that have no name are named as they are written.
pub(super) fn sort_distinct_by_names(query: &mut Query) {
    let SetExpr::Select(select) = &mut *query.body else {
        return;
    };
    let Some(OrderByKind::Expressions(order)) =
        query.order_by.as_mut().map(|order| &mut order.kind)
    else {
        return;
    };
    if !matches!(select.distinct, Some(Distinct::Distinct)) {
        return;
    }
    let is_computed = |expr: &Expr| column_name(expr).is_none() && !matches!(expr, Expr::Value(_));
    let sorted: HashSet<String> = order
        .iter()
        .filter(|key| is_computed(&key.expr))
        .map(|key| as_written(&key.expr))
        .collect();
    let given: HashSet<String> = select.projection.iter().filter_map(alias).collect();
    let mut names: HashMap<String, Ident> = HashMap::new();
    for item in &mut select.projection {
        let (text, name) = match item {
            SelectItem::UnnamedExpr(expr) => {
                let text = as_written(expr);
                if !is_computed(expr) || !sorted.contains(&text) || given.contains(&text) {
                    continue;
                }
                if !names.contains_key(&text) {
                    *item = named(expr.clone(), text.clone());
                }
                (text.clone(), Ident::with_quote('"', text))
            }
            SelectItem::ExprWithAlias { expr, alias } if is_computed(expr) => {
                (as_written(expr), alias.clone())
            }
            _ => continue,
        };
        names.entry(text).or_insert(name);
    }
    for key in order {
        if let Some(name) = names.get(&as_written(&key.expr))
            && is_computed(&key.expr)
        {
            key.expr = Expr::Identifier(name.clone());
        }
    }
}

/// Names the computed columns of a query as they are written: `sum(people)` and not `sum(city.people)`, `a + 1` and not
/// `t.a + Int64(1)`. Those of queries within it keep the engine's names. So do those of a sorted query with `DISTINCT ON`,
/// whose ORDER BY has to find them.
pub(super) fn name_as_written(query: &mut Query) {
    let is_sorted = query.order_by.is_some();
    let Some(select) = first_select(&mut query.body) else {
        return;
    };
    if matches!(select.distinct, Some(Distinct::On(_))) && is_sorted {
        return;
    }
    let mut taken: HashSet<String> = select.projection.iter().filter_map(name).collect();
    let given: HashSet<String> = select.projection.iter().filter_map(alias).collect();
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && column_name(expr).is_none()
        {
            let text = expr.to_string();
            // In capitals if there is the same with small letters.
            let mut written = as_written(expr);
            if written != text && !taken.insert(written.clone()) {
                written.clone_from(&text);
            }
            if !given.contains(&written) {
                *item = named(expr.clone(), written);
            }
        }
    }
}

/// Names the computed columns in the second parts of set operations by their texts. The engine gives them the names of the
/// first part's columns, which other columns of the second part may have.
pub(super) fn name_operands(body: &mut SetExpr) {
    let mut parts = vec![body];
    while let Some(part) = parts.pop() {
        let SetExpr::SetOperation {
            left,
            right,
            set_quantifier,
            ..
        } = part
        else {
            continue;
        };
        // The engine does not rename an only column.
        if !is_by_name(*set_quantifier)
            && let Some(select) = first_select(right)
            && select.projection.len() > 1
        {
            name_computed(select);
        }
        parts.extend([&mut **left, &mut **right]);
    }
}

fn name_computed(select: &mut Select) {
    let mut taken: HashSet<String> = select.projection.iter().filter_map(name).collect();
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && column_name(expr).is_none()
            && !is_parameter(expr)
        {
            // Not the name of a column, which may be hidden in `*`.
            let mut text = format!("{expr} ");
            while !taken.insert(text.clone()) {
                text.push('\'');
            }
            *item = named(expr.clone(), text);
        }
    }
}

fn is_by_name(quantifier: SetQuantifier) -> bool {
    matches!(
        quantifier,
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
    )
}

/// The part of a query that names its columns: of set operations the first one, unless names say which columns belong
/// together.
fn first_select(mut body: &mut SetExpr) -> Option<&mut Select> {
    loop {
        match body {
            SetExpr::Select(select) => return Some(select),
            SetExpr::Query(query) => body = &mut query.body,
            SetExpr::SetOperation {
                left,
                set_quantifier,
                ..
            } if !is_by_name(*set_quantifier) => body = left,
            _ => return None,
        }
    }
}

/// The text of an expression, with the names of functions in small letters, and without the precision that a TIMESTAMP
/// was given.
fn as_written(expr: &Expr) -> String {
    let plain = |kind: &mut DataType| {
        if let DataType::Timestamp(precision @ Some(6), _) = kind {
            *precision = None;
        }
    };
    let mut expr = expr.clone();
    let _: ControlFlow<()> = visit_expressions_mut(&mut expr, |part| {
        match part {
            Expr::Function(function) => {
                for name in &mut function.name.0 {
                    if let ObjectNamePart::Identifier(name) = name
                        && name.quote_style.is_none()
                    {
                        name.value.make_ascii_lowercase();
                    }
                }
            }
            Expr::Cast { data_type, .. } => plain(data_type),
            Expr::TypedString(text) => plain(&mut text.data_type),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    expr.to_string()
}

fn has_condition_on_query(expr: &Expr) -> bool {
    visit_expressions(expr, |part| match part {
        Expr::Exists { .. } | Expr::InSubquery { .. } | Expr::AnyOp { .. } | Expr::AllOp { .. } => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

/// The columns that `*` and `t.*` name.
struct Stars {
    /// `*`, or `t.*` of the only relation.
    all: bool,
    /// Relations that have `t.*`.
    relations: HashSet<String>,
}

impl Stars {
    fn of(select: &Select) -> Self {
        let plain = WildcardAdditionalOptions::default();
        let (mut all, mut relations) = (false, HashSet::new());
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(options) => all |= *options == plain,
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if *options == plain => {
                    let name = name.0.last().and_then(ObjectNamePart::as_ident);
                    relations.extend(name.map(normal));
                }
                _ => {}
            }
        }
        let is_one = matches!(select.from.as_slice(), [tables] if tables.joins.is_empty());
        Self {
            all: all || (is_one && !relations.is_empty()),
            relations,
        }
    }

    fn have(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(_) => self.all,
            Expr::CompoundIdentifier(parts) => {
                let is_of = |relation: &Ident| self.relations.contains(&normal(relation));
                self.all || parts.iter().rev().nth(1).is_some_and(is_of)
            }
            _ => false,
        }
    }
}

/// The text of an expression, with names of columns as the engine reads them. Of the only relation, `a` and `t.a` are one.
fn as_read(expr: &Expr, is_one: bool) -> String {
    match expr {
        Expr::Identifier(name) => normal(name),
        Expr::CompoundIdentifier(parts) => {
            if let ([_, name], true) = (parts.as_slice(), is_one) {
                return normal(name);
            }
            let parts: Vec<String> = parts.iter().map(normal).collect();
            parts.join(".")
        }
        _ => expr.to_string(),
    }
}

fn is_parameter(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)))
}

fn named(expr: Expr, name: String) -> SelectItem {
    SelectItem::ExprWithAlias {
        expr,
        alias: Ident::with_quote('"', name),
    }
}

/// The name that a column has, or would have if it had one.
fn name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normal(alias)),
        SelectItem::UnnamedExpr(expr) => column_name(expr).or_else(|| Some(expr.to_string())),
        _ => None,
    }
}

/// The name that a query gives to a computed column. `a AS a` is the column.
fn alias(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { expr, alias }
            if column_name(expr).is_none_or(|name| name != normal(alias)) =>
        {
            Some(normal(alias))
        }
        _ => None,
    }
}

/// The name of a column.
fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(normal(name)),
        Expr::CompoundIdentifier(parts) => Some(normal(parts.last()?)),
        Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::{DFParser, Statement};
    use datafusion::sql::sqlparser::ast::VisitorMut;

    use super::super::parse_statements;
    use super::super::walk::visit_mut;
    use super::*;

    #[test]
    fn computed_columns_have_their_text_as_a_name() {
        for (text, shown) in [
            (
                "SELECT COUNT(*), Sum(a+1), a FROM t ORDER BY 1",
                r#"SELECT COUNT(*) AS "count(*)", Sum(a + 1) AS "sum(a + 1)", a FROM t ORDER BY 1"#,
            ),
            ("SELECT 1, 'x' AS x", r#"SELECT 1 AS "1", 'x' AS x"#),
            (
                r#"SELECT a AS "sum(b)", sum(b), SUM(b) FROM t"#,
                r#"SELECT a AS "sum(b)", sum(b), SUM(b) AS "SUM(b)" FROM t"#,
            ),
            (
                "SELECT a + 1 FROM (SELECT a * 2 FROM t)",
                r#"SELECT a + 1 AS "a + 1" FROM (SELECT a * 2 FROM t)"#,
            ),
            (
                "SELECT DISTINCT a + 1, SUM(b), a * 2 AS C FROM t ORDER BY sum(b), a + 1 DESC, a*2, a",
                "SELECT DISTINCT a + 1 AS \"a + 1\", SUM(b) AS \"sum(b)\", a * 2 AS C FROM t \
                 ORDER BY \"sum(b)\", \"a + 1\" DESC, C, a",
            ),
            (
                "SELECT x FROM (SELECT DISTINCT a + 1 FROM t ORDER BY a + 1 LIMIT 1) AS q (x)",
                "SELECT x FROM (SELECT DISTINCT a + 1 AS \"a + 1\" FROM t ORDER BY \"a + 1\" LIMIT 1) AS q (x)",
            ),
            (
                "SELECT a + 1 FROM t UNION SELECT b + 1 FROM t EXCEPT SELECT 1",
                r#"SELECT a + 1 AS "a + 1" FROM t UNION SELECT b + 1 FROM t EXCEPT SELECT 1"#,
            ),
            (
                "SELECT a + 1 FROM t UNION BY NAME SELECT a + 1 FROM u",
                "SELECT a + 1 FROM t UNION BY NAME SELECT a + 1 FROM u",
            ),
            (
                "SELECT DISTINCT ON (a + 1) a + 1 FROM t ORDER BY a + 1",
                "SELECT DISTINCT ON (a + 1) a + 1 FROM t ORDER BY a + 1",
            ),
        ] {
            let parsed = parse_statements(text).expect(text);
            let found = parsed.first().expect("one").statement.to_string();
            assert_eq!(found, shown);
        }
    }

    struct Repetitions;
    impl VisitorMut for Repetitions {
        type Break = ();

        fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
            name_repetitions(select);
            ControlFlow::Continue(())
        }
    }

    /// In a time that does not grow with the square of their number.
    #[test]
    fn many_repetitions_have_names_of_their_own() {
        let begun = std::time::Instant::now();
        let text = format!("SELECT a_2, {} FROM t", vec!["a"; 20_000].join(", "));
        let mut parsed = DFParser::parse_sql(&text).expect("a statement");
        let Some(Statement::Statement(ast)) = parsed.front_mut() else {
            panic!("one statement");
        };
        let _: ControlFlow<()> = visit_mut(ast, &mut Repetitions);
        let shown = ast.to_string();
        assert!(shown.starts_with("SELECT a_2, a, a AS \"a_1\", a AS \"a_3\","));
        assert!(shown.ends_with("a AS \"a_20000\" FROM t"));
        let taken = begun.elapsed();
        assert!(taken < std::time::Duration::from_secs(20), "{taken:?}");
    }
}
