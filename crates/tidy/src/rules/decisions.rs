//! Decision records are numbered without gaps and have their four parts.

use crate::finding::Finding;
use crate::tree::Tree;

const FOLDER: &str = "docs/decisions/";
const PARTS: [&str; 4] = [
    "## Context",
    "## Choice",
    "## Alternatives",
    "## Consequences",
];

/// Objects to a gap, a double number, a wrong title and a missing part.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let records = tree
        .texts(FOLDER, ".md")
        .filter(|(path, _)| !path.ends_with("/README.md"));
    for (index, (path, text)) in records.enumerate() {
        let number = format!("{:04}", index + 1);
        let name = path.strip_prefix(FOLDER).unwrap_or(path);
        if !name.starts_with(&format!("{number}-")) {
            findings.push(Finding::new(
                path,
                0,
                format!("the record after {index:04} is not {number}"),
                "number records in order, without gaps; a withdrawn one stays and says so",
            ));
        }
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
    fn gaps_doubles_titles_and_missing_parts_are_refused() {
        let (one, three) = (record("0001"), record("0003"));
        let objections = |second: &str, text: &str| {
            let second = format!("docs/decisions/{second}");
            check(&Tree::of(&[
                ("docs/decisions/0001-a.md", &one),
                (&second, text),
            ]))
            .len()
        };
        assert_eq!(objections("0003-b.md", &three), 1);
        assert_eq!(objections("0001-b.md", &one), 1);
        assert_eq!(objections("0002-b.md", &three), 1);
        assert_eq!(
            objections("0002-b.md", &record("0002").replace(PARTS[2], "")),
            1
        );
    }
}
