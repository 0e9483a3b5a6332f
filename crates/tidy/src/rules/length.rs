//! No file over 800 lines, tests not counted.

use crate::finding::Finding;
use crate::sources::Sources;
use crate::tree::Tree;

/// The most lines a file may have.
pub const LIMIT: usize = 800;

/// Reports a file that is too long.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    for (path, source) in sources.product() {
        let all = tree.text(path).map_or(0, |text| text.lines().count());
        let tests: usize = source
            .outline
            .test_lines
            .iter()
            .map(|(first, last)| last + 1 - first)
            .sum();
        let lines = all.saturating_sub(tests);
        if lines > LIMIT {
            findings.push(Finding::new(
                path,
                0,
                format!("{lines} lines without tests, more than {LIMIT}"),
                "find the two things this file does and put each into its own file",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_of(product: usize, tests: usize) -> usize {
        let text = format!(
            "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
            "const A: u8 = 1;\n".repeat(product),
            "    // test\n".repeat(tests)
        );
        let tree = Tree::of(&[("a/Cargo.toml", ""), ("a/src/lib.rs", &text)]);
        check(&tree).len()
    }

    #[test]
    fn a_long_file_is_refused_and_tests_do_not_count() {
        assert_eq!(findings_of(LIMIT, 900), 0);
        assert_eq!(findings_of(LIMIT + 1, 0), 1);
    }
}
