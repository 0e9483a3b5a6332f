//! Words that must not stay in the tree: reminders, debugging left-overs, paths of one machine.

use crate::finding::Finding;
use crate::tree::Tree;

/// Banned text and what to do instead.
const BANNED: &[(&str, &str)] = &[
    (
        "TODO",
        "do it, or open an issue: reminders in the tree are read by nobody",
    ),
    (
        "FIXME",
        "mend it, or open an issue: reminders in the tree are read by nobody",
    ),
    ("XXX", "say what is wrong in a sentence, or mend it"),
    (
        "HACK",
        "say why it must be so in a sentence, or do it properly",
    ),
    (
        "todo!(",
        "write it, or do not offer it: nothing unfinished is called done",
    ),
    (
        "unimplemented!(",
        "write it, or return an error that says what to do",
    ),
    ("dbg!(", "use `tracing`, or take it out"),
    (
        "/home/",
        "this path exists on one machine only: take it from an option or a temporary folder",
    ),
    (
        "/root/",
        "this path exists on one machine only: take it from an option or a temporary folder",
    ),
    (
        "/Users/",
        "this path exists on one machine only: take it from an option or a temporary folder",
    ),
];

const ENDINGS: &[&str] = &[
    ".rs", ".md", ".toml", ".sh", ".yml", ".py", "Makefile", ".ci/run",
];

/// Objects to each banned word.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts("", "") {
        let ours = ENDINGS.iter().any(|end| path.ends_with(end)) || path.starts_with("scripts/");
        if !ours || path.ends_with("tidy/src/rules/words.rs") || path.starts_with("fixtures/") {
            continue;
        }
        for (index, line) in text.lines().enumerate() {
            for (word, instead) in BANNED {
                if contains_word(line, word) {
                    findings.push(Finding::new(
                        path,
                        index + 1,
                        format!("`{word}` is left in the tree"),
                        *instead,
                    ));
                }
            }
        }
    }
    findings
}

/// Whether the line has the word, not as a part of a longer one.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|after| after.chars().next());
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !joins(before) && (!joins(after) || word.ends_with(['(', '/']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(text: &str) -> usize {
        check(&Tree::of(&[("a/src/lib.rs", text)])).len()
    }

    #[test]
    fn each_banned_word_is_found() {
        for (word, _) in BANNED {
            assert_eq!(
                objections(&format!("fn f() {{ // {word}x or {word} x\n}}")),
                1,
                "{word}"
            );
        }
    }

    #[test]
    fn parts_of_words_pass() {
        assert_eq!(
            objections("const TODOS: u8 = 0; // XXXL HACKED my_todo!(x)"),
            0
        );
    }
}
