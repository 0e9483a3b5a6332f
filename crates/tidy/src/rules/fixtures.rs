//! Every folder of old files is named in the README beside it, with what wrote it.

use crate::finding::Finding;
use crate::tree::Tree;

/// Objects to a fixture nobody explains, and to one explained but gone.
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

    fn objections(readme: &str) -> usize {
        check(&Tree::of(&[
            ("fixtures/README.md", readme),
            ("fixtures/v1/a", ""),
        ]))
        .len()
    }

    #[test]
    fn unnamed_and_vanished_folders_are_refused() {
        assert_eq!(objections("| `v1/` | first |\n"), 0);
        assert_eq!(objections("nothing\n"), 1);
        assert_eq!(objections("| `v1/` | first |\n| `v0/` | older |\n"), 1);
    }
}
