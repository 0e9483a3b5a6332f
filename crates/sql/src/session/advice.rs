//! What to use instead of the statements of other databases.

use datafusion::sql::parser::DFParser;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use ostrakon_cell::{Error, ErrorKind};

/// How statements begin that there are not, and what to do. The longest beginning comes first.
const ELSEWHERE: [(&str, &str); 21] = [
    (
        "ALTER",
        "a table cannot be altered: create another one with CREATE TABLE … AS SELECT",
    ),
    ("BEGIN", TRANSACTIONS),
    ("COMMIT", TRANSACTIONS),
    (
        "COPY",
        "COPY is not supported: `INSERT INTO table SELECT * FROM 'FILE'` reads a file, and the option `--output \
              FILE` of `ostrakon sql` writes one",
    ),
    (
        "CREATE INDEX",
        "there are no indexes: records are found by the primary key, and events by their indexed fields",
    ),
    (
        "CREATE UNIQUE INDEX",
        "there are no indexes: the primary key is unique",
    ),
    (
        "CREATE EXTERNAL",
        "a file needs no declaration: name it in quotes, as in FROM 'data.csv'",
    ),
    ("CREATE VIEW", VIEWS),
    ("CREATE OR REPLACE VIEW", VIEWS),
    ("CREATE MATERIALIZED VIEW", VIEWS),
    ("CREATE TEMP VIEW", VIEWS),
    ("CREATE TEMPORARY VIEW", VIEWS),
    (
        "CREATE SCHEMA",
        "a namespace is created with `ostrakon namespace create NAME`",
    ),
    (
        "CREATE DATABASE",
        "a directory is one store: open another one with `--data DIRECTORY`",
    ),
    ("END", TRANSACTIONS),
    (
        "MERGE",
        "MERGE is not supported: INSERT replaces the record with the same key",
    ),
    ("ROLLBACK", TRANSACTIONS),
    ("SAVEPOINT", TRANSACTIONS),
    (
        "SHOW",
        "use SHOW TABLES, SHOW COLUMNS FROM table, SHOW FUNCTIONS or DESCRIBE table",
    ),
    ("START", TRANSACTIONS),
    (
        "TRUNCATE",
        "TRUNCATE is not supported: use DELETE FROM table",
    ),
];

const TRANSACTIONS: &str = "there are no transactions: each statement takes effect by itself";
const VIEWS: &str =
    "there are no views: name the query with WITH, or store its rows with CREATE TABLE … AS SELECT";

/// The error for a statement that there is not; `None` if it begins like none of another database.
pub(super) fn on_statement(text: &str) -> Option<Error> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().ok()?;
    on_tokens(&tokens)
}

/// The error for the first statement of a text that the parser does not read.
pub(super) fn on_text(text: &str) -> Option<Error> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize().ok()?;
    let statements = tokens.split(|token| *token == Token::SemiColon);
    let mut failing = statements.filter(|tokens| {
        let text: String = tokens.iter().map(ToString::to_string).collect();
        DFParser::parse_sql(&text).is_err()
    });
    on_tokens(failing.next()?)
}

fn on_tokens(tokens: &[Token]) -> Option<Error> {
    // Comments are among what separates words.
    let visible = tokens
        .iter()
        .filter(|token| !matches!(token, Token::Whitespace(_)));
    let words = visible.map_while(|token| match token {
        Token::Word(word) => Some(word.value.to_uppercase()),
        _ => None,
    });
    let words: Vec<String> = words.take(4).collect();
    let begins = |beginning: &str| {
        let mut rest = words.iter();
        beginning
            .split(' ')
            .all(|word| rest.next().is_some_and(|found| found == word))
    };
    let (statement, advice) = ELSEWHERE.iter().find(|(beginning, _)| begins(beginning))?;
    Some(Error::new(ErrorKind::Unsupported, *advice).with("statement", *statement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_first_words() {
        for (text, expected) in [
            ("merge into t using s", Some("MERGE")),
            ("  CREATE  VIEW v AS SELECT 1", Some("CREATE VIEW")),
            ("begin;", Some("BEGIN")),
            ("CREATE TABLE t (a BIGINT)", None),
            ("updates", None),
            ("-- Update it\nSELECT 1", None),
            ("/* the end */ SELECT 1", None),
            ("", None),
        ] {
            let error = on_statement(text).map(|error| error.to_string());
            match expected {
                None => assert_eq!(error, None, "{text}"),
                Some(verb) => {
                    let error = error.expect(text);
                    assert!(error.ends_with(&format!("(statement: {verb})")), "{error}");
                }
            }
        }
    }
    #[test]
    fn the_statement_that_cannot_be_read_decides() {
        for (text, expected) in [
            ("SHOW TABLES; SELECT * FROM t WHERE", None),
            ("-- copy rows\nINSERT INTO t SELEC k FROM u;", None),
            ("SELECT 1; MERGE INTO t SET", Some("MERGE")),
            ("COPY t FROM 'x;y.csv'", Some("COPY")),
        ] {
            let error = on_text(text).map(|error| error.to_string());
            let verb = expected.map(|verb| format!("(statement: {verb})"));
            assert_eq!(error.is_some(), verb.is_some(), "{text}: {error:?}");
            let ends = verb.is_none_or(|verb| error.is_some_and(|error| error.ends_with(&verb)));
            assert!(ends, "{text}");
        }
    }
}
