//! Every Rust file is reached from a crate root, and every file can be read as Rust.

use crate::finding::Finding;
use crate::sources::Sources;
use crate::tree::Tree;

/// Reports a file that no module declaration leads to.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let sources = Sources::of(tree);
    let mut findings: Vec<Finding> = sources
        .unreadable
        .iter()
        .map(|(path, message)| Finding::new(path, 0, message, "make it Rust"))
        .collect();
    for path in tree.paths().filter(|path| path.ends_with(".rs")) {
        let known = sources.files.contains_key(path)
            || sources
                .unreadable
                .iter()
                .any(|(unreadable, _)| unreadable == path)
            || path.contains("/testdata/");
        if !known {
            findings.push(Finding::new(
                path,
                0,
                "no crate compiles this file",
                "declare it with `mod` in the module above it, or delete it",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undeclared_files_are_refused() {
        let files = [
            ("a/Cargo.toml", ""),
            ("a/src/lib.rs", "mod b;"),
            ("a/src/b.rs", ""),
        ];
        assert_eq!(check(&Tree::of(&files)).len(), 0);
        let mut more = files.to_vec();
        more.push(("a/src/c.rs", ""));
        assert_eq!(check(&Tree::of(&more)).len(), 1);
        more[3] = ("a/src/b.rs", "fn (");
        assert_eq!(check(&Tree::of(&more)).len(), 1);
    }
}
