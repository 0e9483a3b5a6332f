//! Decision records have unique, rising numbers and their four parts.

use crate::finding::Finding;
use crate::tree::Tree;

const FOLDER: &str = "docs/decisions/";
const PARTS: [&str; 4] = [
    "## Context",
    "## Choice",
    "## Alternatives",
    "## Consequences",
];

/// Reports a missing or repeated number, a wrong title and a missing part. Gaps are allowed, because a
/// change may reserve its number before it is done.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let records = tree
        .texts(FOLDER, ".md")
        .filter(|(path, _)| !path.ends_with("/README.md"));
    let mut before = 0;
    for (path, text) in records {
        let name = path.strip_prefix(FOLDER).unwrap_or(path);
        let number = name.split_once('-').and_then(|(number, _)| {
            let digits = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| number.parse::<u32>().ok()).flatten()
        });
        if number.is_none_or(|number| number <= before) {
            findings.push(Finding::new(
                path,
                0,
                format!("the record after {before:04} has no unique number"),
                "give each record a number of four digits; a withdrawn one stays and says so",
            ));
        }
        before = number.unwrap_or(before);
        if !text.starts_with(&format!("# {}: ", name.get(..4).unwrap_or_default())) {
            findings.push(Finding::new(
                path,
                1,
                "wrong title",
                "write `# 0001: The choice`",
            ));
        }
        for part in PARTS {
            if !text.lines().any(|line| line == part) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("no `{part}`"),
                    "a record has Context, Choice, Alternatives and Consequences",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: &str) -> String {
        format!("# {number}: A choice\n\n{}\n", PARTS.join("\n\nText.\n\n"))
    }

    #[test]
    fn records_in_order_pass() {
        let (one, two) = (record("0001"), record("0002"));
        let tree = Tree::of(&[
            ("docs/decisions/0001-a.md", &one),
            ("docs/decisions/0002-b.md", &two),
        ]);
        assert_eq!(check(&tree).len(), 0);
    }

    #[test]
    fn doubles_titles_and_missing_parts_are_refused() {
        let (one, three) = (record("0001"), record("0003"));
        let findings_of = |second: &str, text: &str| {
            let second = format!("docs/decisions/{second}");
            check(&Tree::of(&[
                ("docs/decisions/0001-a.md", &one),
                (&second, text),
            ]))
            .len()
        };
        // The number between may be reserved.
        assert_eq!(findings_of("0003-b.md", &three), 0);
        assert_eq!(findings_of("003-b.md", &three), 2);
        assert_eq!(findings_of("0001-b.md", &one), 1);
        assert_eq!(findings_of("0002-b.md", &three), 1);
        assert_eq!(
            findings_of("0002-b.md", &record("0002").replace(PARTS[2], "")),
            1
        );
    }
}
