//! Runs the files of `tests/slt`: statements with their outcome, in the form of sqllogictest.
//!
//! `statement ok`, `statement error TEXT` or `query` is followed by SQL, up to an empty line; of a query, the rows follow
//! `----`. `session NAMES` changes the reader's authorizations.

use std::path::Path;

use super::kit::{session_of, store, try_rows};

#[test]
fn files_of_statements_have_the_outcomes_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        run(&file.display().to_string(), &text);
    }
}

fn run(file: &str, text: &str) {
    let source = store();
    let mut session = session_of(&source, &[]);
    for record in text.split("\n\n") {
        let lines = record.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<&str> = lines.skip_while(|line| line.is_empty()).collect();
        let Some((head, body)) = lines.split_first() else {
            continue;
        };
        let end = body
            .iter()
            .position(|line| *line == "----")
            .unwrap_or(body.len());
        let statement = body[..end].join("\n");
        let found = || try_rows(&session, &statement);
        let words: Vec<&str> = head.split(' ').collect();
        match words.as_slice() {
            ["session", names @ ..] => session = session_of(&source, names),
            ["statement", "ok"] => {
                found().unwrap_or_else(|error| panic!("{file}: {statement}: {error}"));
            }
            ["statement", "error", wanted @ ..] => {
                let error = found().expect_err(&statement).to_string();
                assert!(
                    error.contains(&wanted.join(" ")),
                    "{file}: {statement}: {error}"
                );
            }
            ["query"] => {
                let rows = found().unwrap_or_else(|error| panic!("{file}: {statement}: {error}"));
                assert_eq!(
                    rows,
                    body[(end + 1).min(body.len())..],
                    "{file}: {statement}"
                );
            }
            _ => panic!("{file}: {head:?}"),
        }
    }
}
