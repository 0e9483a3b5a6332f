//! fixtures/README.md names every folder of old files and what wrote it.

use crate::finding::Finding;
use crate::tree::Tree;

/// Reports a fixture without an explanation, and an explanation without a fixture.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let readme = tree.text("fixtures/README.md").unwrap_or_default();
    let mut findings = Vec::new();
    for folder in tree.folders_in("fixtures") {
        if !readme.contains(&format!("`{folder}/`")) {
            findings.push(Finding::new(
                format!("fixtures/{folder}/"),
                0,
                "fixtures/README.md does not name this folder",
                "say there which version wrote it, with which command, and which test opens it",
            ));
        }
    }
    for (index, line) in readme.lines().enumerate() {
        let named = line
            .strip_prefix("| `")
            .and_then(|rest| rest.split_once("/`"));
        if let Some((folder, _)) = named
            && !tree.has_folder(&format!("fixtures/{folder}"))
        {
            findings.push(Finding::new(
                "fixtures/README.md",
                index + 1,
                format!("the folder `{folder}/` is gone"),
                "fixtures are never removed while the version can be read: bring it back",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_of(readme: &str) -> usize {
        check(&Tree::of(&[
            ("fixtures/README.md", readme),
            ("fixtures/v1/a", ""),
        ]))
        .len()
    }

    #[test]
    fn unnamed_and_vanished_folders_are_refused() {
        assert_eq!(findings_of("| `v1/` | first |\n"), 0);
        assert_eq!(findings_of("nothing\n"), 1);
        assert_eq!(findings_of("| `v1/` | first |\n| `v0/` | older |\n"), 1);
    }
}
