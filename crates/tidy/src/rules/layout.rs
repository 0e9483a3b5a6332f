//! 100 columns and no tabs in Rust; no blanks at line ends and a last newline in every text.

use crate::finding::Finding;
use crate::tree::Tree;

/// The most characters on a line of Rust.
const COLUMNS: usize = 100;

/// The most on a line that rustfmt leaves alone: a comment, or one held up by a long string. A
/// ratchet: it comes down to the other as these are broken by hand.
const LEFT_ALONE_COLUMNS: usize = 140;

const TEXTS: &[&str] = &[
    ".rs", ".md", ".toml", ".sh", ".yml", ".py", "Makefile", ".ci/run",
];

/// Objects to lines that are too long or end in blanks.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts("", "") {
        let ours = TEXTS.iter().any(|end| path.ends_with(end)) || path.starts_with("scripts/");
        if !ours || path.contains("/testdata/") || path.starts_with("fixtures/") {
            continue;
        }
        let rust = path.ends_with(".rs");
        let mut object = |line, what: String, instead: &str| {
            findings.push(Finding::new(path, line, what, instead));
        };
        if !text.is_empty() && !text.ends_with('\n') {
            object(
                text.lines().count(),
                "the last line has no newline".into(),
                "add one",
            );
        }
        for (index, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            let most = if is_left_alone(line) {
                LEFT_ALONE_COLUMNS
            } else {
                COLUMNS
            };
            if rust && columns > most && !line.contains("://") {
                object(
                    index + 1,
                    format!("{columns} columns"),
                    "break the line at 100",
                );
            }
            if rust && line.contains('\t') {
                object(index + 1, "a tab".into(), "use blanks; `\\t` in a string");
            }
            if line.ends_with([' ', '\t', '\r']) {
                object(
                    index + 1,
                    "blanks at the end of the line".into(),
                    "take them out",
                );
            }
        }
    }
    findings
}

fn is_left_alone(line: &str) -> bool {
    line.trim_start().starts_with("//") || line.contains('"') || line.ends_with(['\\', '{'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn bad_layout_is_refused() {
        assert_eq!(
            objections("a.rs", &format!("const X{}: u8 = 0;\n", "x".repeat(98))),
            1
        );
        assert_eq!(objections("a.rs", &format!("// {}\n", "x".repeat(138))), 1);
        assert_eq!(objections("a.rs", "\tlet x;\n"), 1);
        assert_eq!(objections("a.md", "text \n"), 1);
        assert_eq!(objections("a.toml", "a = 1"), 1);
        assert_eq!(
            objections("a.md", "text\r\n"),
            0,
            "lines() takes the pair as one line end"
        );
    }

    #[test]
    fn good_layout_passes() {
        assert_eq!(objections("a.rs", &format!("// {}\n", "é".repeat(97))), 0);
        assert_eq!(
            objections("a.rs", &format!("// https://{}\n", "x".repeat(120))),
            0
        );
        assert_eq!(objections("Makefile", "a:\n\tb\n"), 0);
    }
}
