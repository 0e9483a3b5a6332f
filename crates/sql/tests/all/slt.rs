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
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().display().to_string();
        run(&name, &text, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(file: &str, text: &str, wrong: &mut Vec<String>) {
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
                if let Err(error) = found() {
                    wrong.push(format!("{file}: {statement}: {error}"));
                }
            }
            ["statement", "error", wanted @ ..] => match found() {
                Err(error) if error.to_string().contains(&wanted.join(" ")) => {}
                other => wrong.push(format!("{file}: {statement}: {other:?}")),
            },
            ["query"] => {
                let expected = &body[(end + 1).min(body.len())..];
                match found() {
                    Ok(rows) if rows == expected => {}
                    Ok(rows) => wrong.push(format!(
                        "{file}: {statement}: {rows:?} and not {expected:?}"
                    )),
                    Err(error) => wrong.push(format!("{file}: {statement}: {error}")),
                }
            }
            _ => panic!("{file}: {head:?}"),
        }
    }
}
