//! Every `format.rs` has a page in `docs/format/` that carries the hash of the module, so that
//! neither changes without a look at the other.

use crate::finding::Finding;
use crate::pages::{HASH_MARK, hash, is_format, page_source, pages};
use crate::tree::Tree;

/// Reports a module without a page, and a page whose module is missing or has changed.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut described = Vec::new();
    for (path, text) in pages(tree) {
        let source = match page_source(path, text) {
            Ok(source) => source,
            Err(finding) => {
                findings.push(finding);
                continue;
            }
        };
        described.push(source);
        let Some(bytes) = tree.bytes(source) else {
            findings.push(Finding::new(
                path,
                2,
                format!("`{source}` does not exist"),
                "name the module that replaced it, or delete the page",
            ));
            continue;
        };
        let stamped = text
            .lines()
            .nth(2)
            .and_then(|line| line.strip_prefix(HASH_MARK));
        if stamped != Some(&hash(bytes)) {
            findings.push(Finding::new(
                path,
                3,
                format!("`{source}` has changed since this page was last read against it"),
                "read both; correct the page (or raise the format's version if bytes on disk \
                 changed); then `make stamp`",
            ));
        }
    }
    for path in tree.paths().filter(|path| is_format(path)) {
        if !described.contains(&path) {
            findings.push(Finding::new(
                path,
                0,
                "this format has no page",
                "write docs/format/NAME.md: the picture, the fields, the versions; see its README",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "crates/store/src/wal/format.rs";

    fn findings_of(page: &str) -> usize {
        check(&Tree::of(&[(MODULE, "abc"), ("docs/format/wal.md", page)])).len()
    }

    #[test]
    fn a_page_with_the_right_hash_passes_and_any_other_fails() {
        let head = format!("# Log\nSource: `{MODULE}`\n");
        assert_eq!(
            findings_of(&format!("{head}{HASH_MARK}{}\n", hash(b"abc"))),
            0
        );
        assert_eq!(
            findings_of(&format!("{head}{HASH_MARK}{}\n", hash(b"abd"))),
            1
        );
        assert_eq!(findings_of(&head), 1);
        assert_eq!(
            findings_of("# Log\nText.\n"),
            2,
            "bad head, and the module has no page"
        );
    }

    #[test]
    fn a_module_without_a_page_and_a_page_without_a_module_fail() {
        assert_eq!(check(&Tree::of(&[(MODULE, "abc")])).len(), 1);
        let page = format!("# Log\nSource: `{MODULE}`\n{HASH_MARK}0000000000000000\n");
        assert_eq!(check(&Tree::of(&[("docs/format/wal.md", &page)])).len(), 1);
    }
}
