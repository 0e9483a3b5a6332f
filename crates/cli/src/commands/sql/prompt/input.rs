//! What the line editor asks while a statement is typed: whether it is complete, and how a word may go on.

use std::sync::Arc;

use ostrakon_sql::{SqlSession, ends_statement};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Result};

use super::shortcut::{self, Shortcut};

/// Words of the statements that there are.
const WORDS: [&str; 70] = [
    "ALL",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BY",
    "BYTEA",
    "CASE",
    "CAST",
    "CREATE",
    "CROSS",
    "DATE",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DOUBLE",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IF",
    "IN",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "PRIMARY",
    "RIGHT",
    "SELECT",
    "SET",
    "SHOW",
    "TABLE",
    "TABLES",
    "THEN",
    "TIMESTAMP",
    "TRUE",
    "TRY_CAST",
    "UNION",
    "UPDATE",
    "USING",
    "VALUES",
    "VARCHAR",
    "WHERE",
    "WITH",
];

/// Answers the line editor.
pub(super) struct Helper {
    session: Arc<SqlSession>,
    functions: Vec<String>,
    files: FilenameCompleter,
}

impl Helper {
    pub(super) fn new(session: Arc<SqlSession>) -> Self {
        Self {
            functions: session.functions(),
            session,
            files: FilenameCompleter::new(),
        }
    }

    /// How the word may go on that begins a text up to `start`.
    fn words(&self, text: &str, word: &str) -> Vec<String> {
        // The store's errors are reported when the statement runs.
        let relations = self.session.relations().unwrap_or_default();
        let named = relations.iter().filter(|name| mentions(text, name));
        let columns = named.flat_map(|name| self.session.columns(name).unwrap_or_default());
        let mut found: Vec<String> = columns
            .chain(relations.iter().cloned())
            .chain(self.functions.iter().cloned())
            .filter(|name| begins(name, word))
            // A terminal would obey these.
            .filter(|name| !name.chars().any(char::is_control))
            .collect();
        let lower = word.chars().any(char::is_lowercase);
        let keywords = WORDS.iter().filter(|keyword| begins(keyword, word));
        found.extend(keywords.map(|keyword| match lower {
            true => keyword.to_lowercase(),
            false => (*keyword).to_owned(),
        }));
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whether a name begins with what was typed, in any case.
fn begins(name: &str, word: &str) -> bool {
    let head = name.get(..word.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(word))
}

/// Whether a text has this name as a word.
fn mentions(text: &str, name: &str) -> bool {
    let mut words = text.split(|character: char| !is_of_word(character));
    words.any(|word| word.eq_ignore_ascii_case(name))
}

/// Whether a character may be inside a name.
fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '.')
}

/// Where the word begins that ends at `at`.
fn word_start(text: &str, at: usize) -> usize {
    let head = text.get(..at).unwrap_or(text);
    let start = head.rfind(|character: char| !is_of_word(character));
    start.map_or(0, |start| {
        start
            + head
                .get(start..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8)
    })
}

impl Completer for Helper {
    type Candidate = Pair;

    fn complete(&self, text: &str, at: usize, context: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let head = text.get(..at).unwrap_or(text);
        if head.matches('\'').count() % 2 == 1 {
            // Inside quotes: the name of a file.
            return self.files.complete(text, at, context);
        }
        let pair = |name: String| Pair {
            display: name.clone(),
            replacement: name,
        };
        if head.starts_with('\\') && !head.contains(char::is_whitespace) {
            let names = shortcut::NAMES.iter().filter(|name| name.starts_with(head));
            return Ok((0, names.map(|name| pair((*name).to_owned())).collect()));
        }
        let start = word_start(text, at);
        let word = head.get(start..).unwrap_or_default();
        Ok((
            start,
            self.words(text, word).into_iter().map(pair).collect(),
        ))
    }
}

impl Validator for Helper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        let text = context.input();
        let is_over = text.trim().is_empty()
            || ends_statement(text)
            || Shortcut::parse(text.trim()).is_some();
        Ok(match is_over {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Hinter for Helper {
    type Hint = String;
}

impl Highlighter for Helper {}

impl rustyline::Helper for Helper {}

#[cfg(test)]
mod tests {
    use ostrakon_cell::{Authorizations, Source as _};
    use ostrakon_sql::SqlOptions;
    use rustyline::history::MemHistory;

    use super::*;

    #[test]
    fn tables_columns_functions_and_keywords_are_completed() {
        let store = ostrakon_store::Store::in_memory().unwrap();
        let session = SqlSession::new(
            store.clone(),
            Authorizations::default(),
            SqlOptions::default(),
        )
        .unwrap();
        let create = "CREATE TABLE city (name VARCHAR, population BIGINT, PRIMARY KEY (name))";
        session.query_blocking(create).unwrap().for_each(drop);
        assert_eq!(store.tables().unwrap().len(), 1);
        let helper = Helper::new(Arc::new(session));
        let history = MemHistory::new();
        let context = Context::new(&history);
        let complete = |text: &str| {
            let (start, found) = helper.complete(text, text.len(), &context).unwrap();
            let names: Vec<String> = found.into_iter().map(|pair| pair.replacement).collect();
            (start, names)
        };
        assert_eq!(complete("SELECT * FROM ci"), (14, vec!["city".to_owned()]));
        assert_eq!(
            complete("SELECT name FROM city WHERE popu"),
            (28, vec!["population".to_owned()])
        );
        assert_eq!(complete("SEL").1, ["SELECT"]);
        assert_eq!(complete("sel").1, ["select"]);
        assert_eq!(complete("SELECT date_tr").1, ["date_trunc"]);
        assert_eq!(complete("\\ti"), (0, vec!["\\timing".to_owned()]));
        assert!(complete("SELECT popu").1.is_empty());
        assert_eq!(complete("SELECT ü, ci").0, 11);
        store.close().unwrap();
    }
}
