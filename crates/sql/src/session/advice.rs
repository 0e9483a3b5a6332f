//! What to use instead of the statements of other databases.

use ostrakon_cell::{Error, ErrorKind};

/// How statements begin that there are not, and what to do. The longest beginning comes first.
const ELSEWHERE: [(&str, &str); 25] = [
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
    ("DROP VIEW", VIEWS),
    ("DROP INDEX", "there are no indexes"),
    ("END", TRANSACTIONS),
    (
        "MERGE",
        "MERGE is not supported: INSERT replaces the record with the same key",
    ),
    (
        "REPLACE",
        "REPLACE is not supported: INSERT replaces the record with the same key",
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
    (
        "UPDATE",
        "UPDATE is not supported: INSERT replaces the whole record with the same key, as in INSERT INTO table \
                SELECT …, the new value, … FROM table WHERE …",
    ),
];

const TRANSACTIONS: &str = "there are no transactions: each statement takes effect by itself";
const VIEWS: &str =
    "there are no views: name the query with WITH, or store its rows with CREATE TABLE … AS SELECT";

/// The error for a statement that there is not; `None` if it begins like none of another database.
pub(super) fn on_statement(text: &str) -> Option<Error> {
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(4)
        .map(str::to_uppercase)
        .collect();
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
            ("update t set a = 1", Some("UPDATE")),
            ("  CREATE  VIEW v AS SELECT 1", Some("CREATE VIEW")),
            ("begin;", Some("BEGIN")),
            ("CREATE TABLE t (a BIGINT)", None),
            ("updates", None),
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
}
