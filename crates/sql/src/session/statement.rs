//! Statements as they were written.

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    DescribeAlias, Expr, LimitClause, SetExpr, Statement as Ast, Value,
};
use ostrakon_cell::{Error, ErrorKind, Result};

use super::advice;
use super::bind::{SqlValue, bind};
use super::syntax::{check_explanations, correct};
use crate::error::of_query;

/// A parsed statement.
#[derive(Debug, Clone)]
pub struct SqlStatement {
    pub(super) statement: Statement,
    pub(super) kind: Kind,
}

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It returns rows and changes nothing.
    Read,
    Insert,
    Update,
    Delete,
    CreateTable,
    DropTable,
    /// It changes a setting of the session.
    Set,
}

impl SqlStatement {
    fn new(statement: Statement) -> Result<Self> {
        let kind = match &statement {
            Statement::Explain(explain) => explained(&explain.statement)?,
            Statement::Statement(ast) => match &**ast {
                Ast::Query(query) if is_read(&query.body) => Kind::Read,
                Ast::Query(query) if query.with.is_some() => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "WITH stands before a SELECT: move it into the statement, as in INSERT INTO t WITH w AS (…) SELECT … or \
                         DELETE FROM t WHERE k IN (WITH w AS (…) SELECT k FROM w)",
                    ));
                }
                Ast::Explain { statement, .. } => explained_ast(statement)?,
                Ast::ExplainTable { .. }
                | Ast::ShowTables { .. }
                | Ast::ShowColumns { .. }
                | Ast::ShowFunctions { .. } => Kind::Read,
                Ast::Insert(_) => Kind::Insert,
                Ast::Update(_) => Kind::Update,
                Ast::Delete(_) => Kind::Delete,
                Ast::CreateTable(_) => Kind::CreateTable,
                Ast::Drop { .. } => Kind::DropTable,
                Ast::Set(_) => Kind::Set,
                _ => return Err(unsupported(&statement)),
            },
            _ => return Err(unsupported(&statement)),
        };
        Ok(Self { statement, kind })
    }

    /// The statement with values for its parameters: for `?`, in the order of the text, or for `$1`, `$2` and so on.
    ///
    /// # Errors
    /// Another number of values, both kinds of parameters, or a parameter with a name.
    pub fn bind(mut self, values: &[SqlValue]) -> Result<Self> {
        bind(&mut self.statement, values)?;
        Ok(self)
    }

    /// The statement that creates the same table and fills it with nothing, for a rehearsal; other statements as they
    /// are.
    #[must_use]
    pub fn without_rows(mut self) -> Self {
        if let Statement::Statement(ast) = &mut self.statement
            && let Ast::CreateTable(create) = &mut **ast
            && let Some(query) = &mut create.query
        {
            query.fetch = None;
            query.limit_clause = Some(LimitClause::LimitOffset {
                limit: Some(Expr::value(Value::Number("0".to_owned(), false))),
                offset: None,
                limit_by: Vec::new(),
            });
        }
        self
    }

    /// Whether the statement changes no table.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Set)
    }

    /// Whether the statement asks for rows.
    #[must_use]
    pub fn returns_rows(&self) -> bool {
        self.kind == Kind::Read
    }

    /// Whether the statement asks for the plan of another one.
    #[must_use]
    pub fn explains(&self) -> bool {
        match &self.statement {
            Statement::Explain(_) => true,
            // DESCRIBE of a query is parsed as one of these, too, but its result is a table.
            Statement::Statement(ast) => matches!(
                &**ast,
                Ast::Explain {
                    describe_alias: DescribeAlias::Explain,
                    ..
                }
            ),
            _ => false,
        }
    }

    /// Whether the statement creates a table.
    #[must_use]
    pub fn creates_tables(&self) -> bool {
        self.kind == Kind::CreateTable
    }
}

/// Whether the body of a query is nothing but a query.
fn is_read(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Table(_) => true,
        SetExpr::Query(query) => is_read(&query.body),
        SetExpr::SetOperation { left, right, .. } => is_read(left) && is_read(right),
        _ => false,
    }
}

/// The kind of `EXPLAIN statement`.
///
/// # Errors
/// The statement is not a query.
fn explained(statement: &Statement) -> Result<Kind> {
    match statement {
        Statement::Statement(ast) => explained_ast(ast),
        _ => Err(not_explained()),
    }
}

fn explained_ast(statement: &Ast) -> Result<Kind> {
    match statement {
        Ast::Query(query) if is_read(&query.body) => Ok(Kind::Read),
        _ => Err(not_explained()),
    }
}

fn not_explained() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "EXPLAIN shows the plan of a query, and of no other statement: for UPDATE and DELETE, explain the SELECT with the \
         same WHERE",
    )
}

fn unsupported(statement: &Statement) -> Error {
    let text = statement.to_string();
    if let Some(error) = advice::on_statement(&text) {
        return error;
    }
    let verb = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned();
    Error::new(
        ErrorKind::Unsupported,
        "there is no such statement: use SELECT, VALUES, EXPLAIN, DESCRIBE, SHOW, INSERT, UPDATE, DELETE, CREATE TABLE, \
         DROP TABLE or SET",
    )
    .with("statement", verb)
}

/// The most bytes of a text of statements, 8 MiB. Its parsed form may take a hundred times as much memory, which no limit
/// counts.
pub const TEXT_MAX: usize = 8 << 20;

/// The statements of a text, which end with `;`.
///
/// # Errors
/// Not SQL, a statement that there is not, or more than [`TEXT_MAX`].
pub fn parse_statements(text: &str) -> Result<Vec<SqlStatement>> {
    if text.len() > TEXT_MAX {
        return Err(Error::invalid(
            "the text of the statements is too long: run them in several calls, and insert many records with \
             INSERT INTO table SELECT * FROM 'file.csv'",
        )
        .with("limit", format!("{TEXT_MAX} bytes")));
    }
    // Some editors begin files with this mark of UTF-8.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.lines().any(|line| line.starts_with('\\')) && DFParser::parse_sql(text).is_err() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a line that begins with \\ is a command of the prompt, which a terminal shows: use SHOW TABLES and DESCRIBE table \
             here",
        ));
    }
    check_explanations(text)?;
    let parsed = DFParser::parse_sql(text);
    // A statement of another database may have clauses that the parser does not know either.
    let statements =
        parsed.map_err(|error| advice::on_text(text).unwrap_or_else(|| of_query(error)))?;
    let corrected = statements.into_iter().map(|mut statement| {
        correct(&mut statement)?;
        SqlStatement::new(statement)
    });
    corrected.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_write_are_told_from_those_that_read() {
        for (text, reads) in [
            ("SELECT 1", true),
            ("EXPLAIN SELECT 1", true),
            ("EXPLAIN ANALYZE SELECT 1", true),
            ("VALUES (1)", true),
            ("(SELECT 1) UNION ALL SELECT 2", true),
            ("SET label = 'a'", true),
            ("INSERT INTO t VALUES (1)", false),
            ("UPDATE t SET a = 1", false),
            ("DELETE FROM t", false),
            ("CREATE TABLE t (a BIGINT, PRIMARY KEY (a))", false),
            ("DROP TABLE t", false),
        ] {
            let parsed = parse_statements(text).expect(text);
            let [statement] = parsed.as_slice() else {
                panic!("{text}");
            };
            assert_eq!(statement.is_read_only(), reads, "{text}");
        }
        assert_eq!(
            parse_statements("SELECT 1; SELECT 2;").expect("two").len(),
            2
        );
    }

    #[test]
    fn a_text_that_is_too_long_is_refused_before_it_is_parsed() {
        let error = parse_statements(&" ".repeat(TEXT_MAX + 1)).expect_err("too long");
        assert!(error.to_string().contains("8388608"), "{error}");
    }

    #[test]
    fn other_statements_are_refused() {
        for text in [
            "COPY t TO 'x.csv'",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x.csv'",
            "CREATE VIEW v AS SELECT 1",
            "GRANT ALL ON t TO u",
            "SHOW ALL",
            "WITH w AS (SELECT 1 AS k) DELETE FROM t WHERE k IN (SELECT k FROM w)",
            "WITH w AS (SELECT 1 AS k) UPDATE t SET v = 1 WHERE k IN (SELECT k FROM w)",
            "SELEC 1",
        ] {
            assert!(parse_statements(text).is_err(), "{text}");
        }
    }
}
