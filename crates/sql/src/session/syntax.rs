//! What is corrected in a parsed statement, and what is refused before it is planned.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, Query, Select, SetExpr, Statement as Ast, Table,
    TableFactor, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::walk::visit_mut;
use super::{
    casts, dialect, distinct, fetch, file_calls, group_queries, ignored, names, shadows, windows,
};

/// The deepest expression. Plans are walked by recursion, and a stack that overflows ends the process.
const DEPTH_MAX: usize = 500;

/// The most set operations in a row, and the most named queries of a statement: plans of more are too deep to walk.
const QUERIES_MAX: usize = 200;

/// The most queries with WITH within each other: the engine's time to plan doubles with each.
const WITHIN_MAX: usize = 12;

/// Corrects a statement.
///
/// * `TIMESTAMP` is of microseconds, as in tables. The engine's default of nanoseconds ends in 2262.
/// * FETCH FIRST is LIMIT.
/// * BINARY, VARBINARY and BLOB, which the engine does not know, are BYTEA.
/// * Columns that the engine would give one name have two, and those of the outermost query are named as they are written.
///
/// # Errors
/// An expression that is too deep; `IS DISTINCT FROM` whose right side the parser took too far; a clause that the engine
/// would pass over.
pub(super) fn correct(statement: &mut Statement) -> Result<()> {
    match statement {
        Statement::Statement(ast) => correct_ast(ast),
        Statement::Explain(explain) => correct(&mut explain.statement),
        _ => Ok(()),
    }
}

fn correct_ast(ast: &mut Ast) -> Result<()> {
    if let Ast::Query(query) = ast {
        ignored::check_result(query)?;
    }
    let mut correction = Correction {
        depth: 0,
        named: 0,
        within: 0,
    };
    if let ControlFlow::Break(error) = visit_mut(ast, &mut correction) {
        return Err(error);
    }
    shadows::rename(ast);
    match ast {
        Ast::Query(query) => names::name_as_written(query),
        // The names of the new table's columns.
        Ast::CreateTable(table) => {
            if let Some(query) = &mut table.query {
                names::name_as_written(query);
            }
        }
        // Its columns may have one name, as they have in other queries.
        Ast::Insert(insert) => {
            if let Some(query) = &mut insert.source {
                names::name_as_written(query);
            }
        }
        _ => {}
    }
    // Once columns have their names, which show calls and windows as they are written.
    windows::write_out(ast)?;
    file_calls::name_files(ast)?;
    dialect::rewrite(ast)?;
    casts::name_groups(ast)?;
    group_queries::tell_apart(ast);
    Ok(())
}

struct Correction {
    depth: usize,
    /// Queries with a name so far.
    named: usize,
    /// Queries around that have WITH.
    within: usize,
}

impl VisitorMut for Correction {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Ast) -> ControlFlow<Error> {
        match statement {
            Ast::CreateTable(table) => {
                for column in &mut table.columns {
                    correct_type(&mut column.data_type);
                }
                or_break(ignored::check_table(table))
            }
            Ast::Insert(insert) => or_break(ignored::check_insert(insert)),
            Ast::Delete(delete) => or_break(ignored::check_delete(delete)),
            Ast::Update(update) => or_break(ignored::check_update(update)),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.named += query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        if union_length(&query.body) > QUERIES_MAX {
            dismantle_union(&mut query.body);
            return ControlFlow::Break(too_many("UNION"));
        }
        self.within += usize::from(query.with.is_some());
        if self.within > WITHIN_MAX {
            return ControlFlow::Break(
                Error::new(
                    ErrorKind::InvalidArgument,
                    "too many queries with WITH are within each other: name the inner queries in the outer WITH",
                )
                .with("limit", WITHIN_MAX),
            );
        }
        if self.named > QUERIES_MAX {
            return ControlFlow::Break(too_many("WITH"));
        }
        if let Err(error) = fetch::as_limit(query) {
            return ControlFlow::Break(error);
        }
        names::name_operands(&mut query.body);
        names::sort_distinct_by_names(query);
        names::name_casts(query);
        or_break(ignored::check_query(query))
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.within -= usize::from(query.with.is_some());
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        names::name_computed_repetitions(select);
        or_break(ignored::check_select(select))
    }

    fn pre_visit_table_factor(&mut self, relation: &mut TableFactor) -> ControlFlow<Error> {
        or_break(ignored::check_relation(relation))
    }

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
        distinct::leave_out(expr);
        if let Err(error) = dialect::check(expr) {
            return ControlFlow::Break(error);
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
            // The engine would take its pattern for a regular expression that may match anywhere.
            Expr::SimilarTo { .. } => {
                return ControlFlow::Break(Error::new(
                    ErrorKind::Unsupported,
                    "SIMILAR TO is not supported: use LIKE, or regexp_like(text, '^(…)$') with a regular expression",
                ));
            }
            Expr::Cast { data_type, .. } => {
                correct_type(data_type);
                return or_break(check_array(data_type));
            }
            Expr::TypedString(text) => {
                correct_type(&mut text.data_type);
                return or_break(check_array(&text.data_type));
            }
            Expr::Function(call) => return or_break(check_call(call)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

pub(super) fn is_query(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Exists { .. } | Expr::InSubquery { .. } | Expr::Subquery(_)
    )
}

/// Refuses arrays of a fixed length: the engine makes one of that length to plan the statement.
fn check_array(data_type: &DataType) -> Result<()> {
    let shown = data_type.to_string();
    let sized = shown.match_indices('[').any(|(at, _)| {
        let inside = shown.get(at + 1..).unwrap_or_default();
        inside.trim_start().starts_with(|first: char| first != ']')
    });
    if sized {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "arrays of a fixed length are not supported: leave the length out",
        )
        .with("type", shown));
    }
    Ok(())
}

/// As [`check_array`], for functions that take the name of a type.
fn check_call(call: &Function) -> Result<()> {
    let name = call.name.to_string().to_ascii_lowercase();
    if name.contains("arrow_") && call.args.to_string().contains("FixedSize") {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "values of a fixed length are not supported: use List or Binary",
        )
        .with("function", name));
    }
    Ok(())
}

fn or_break(checked: Result<()>) -> ControlFlow<Error> {
    match checked {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

fn too_many(clause: &str) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "the statement has too many queries: split it, or use VALUES for rows",
    )
    .with("clause", clause)
    .with("limit", QUERIES_MAX)
}

/// The number of set operations in a row, which are as deep as they are many.
fn union_length(mut body: &SetExpr) -> usize {
    let mut length = 0;
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
        length += 1;
    }
    length
}

/// Takes a chain of set operations apart without recursion, so that it can be dropped.
fn dismantle_union(body: &mut SetExpr) {
    let nothing = || {
        SetExpr::Table(Box::new(Table {
            table_name: None,
            schema_name: None,
        }))
    };
    let mut rest = std::mem::replace(body, nothing());
    while let SetExpr::SetOperation { left, .. } = rest {
        rest = *left;
    }
}

/// Refuses the explanation of an explanation, which the parser reads by recursion.
///
/// # Errors
/// There is one.
pub(super) fn check_explanations(text: &str) -> Result<()> {
    // What is not a token is an error that the parser reports.
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize();
    let mut explains = false;
    for token in tokens.unwrap_or_default() {
        let Token::Word(word) = token else {
            explains &= matches!(token, Token::Whitespace(_));
            continue;
        };
        match word.keyword {
            Keyword::EXPLAIN if explains => {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    "EXPLAIN explains a query, not another EXPLAIN",
                ));
            }
            Keyword::EXPLAIN => explains = true,
            Keyword::ANALYZE | Keyword::VERBOSE => {}
            _ => explains = false,
        }
    }
    Ok(())
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

fn correct_type(kind: &mut DataType) {
    match kind {
        DataType::Timestamp(precision @ None, _) => *precision = Some(6),
        DataType::Binary(None) | DataType::Varbinary(None) | DataType::Blob(None) => {
            *kind = DataType::Bytea;
        }
        _ => {}
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
        for (operator, terms) in [(" OR ", 50_000), ("+", 50_000), (" AND ", 501)] {
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
    fn many_queries_are_refused() {
        for many in [1000, 30_000] {
            let union = vec!["SELECT 1"; many].join(" UNION ALL ");
            let said = refusal(&union).expect("too many");
            assert!(said.contains("too many queries"), "{said}");
            let said = refusal(&format!("SELECT * FROM ({union}) AS u")).expect("too many");
            assert!(said.contains("too many queries"), "{said}");
            let explained = format!("{} SELECT 1", "EXPLAIN ".repeat(many));
            assert!(refusal(&explained).is_some());
        }
        let named = |count: usize| {
            let named: Vec<String> = (0..count)
                .map(|at| format!("a{at} AS (SELECT 1)"))
                .collect();
            format!("WITH {} SELECT * FROM a0", named.join(", "))
        };
        assert!(refusal(&named(1000)).is_some());
        for text in [
            named(150),
            vec!["SELECT 1"; 150].join(" UNION ALL "),
            "EXPLAIN ANALYZE SELECT 1".to_owned(),
            "EXPLAIN SELECT 1; EXPLAIN SELECT 2".to_owned(),
        ] {
            assert_eq!(refusal(&text), None);
        }
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
