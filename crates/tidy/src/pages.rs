//! Format pages: the list of them, their modules, and the hash that ties each to its module.

use xxhash_rust::xxh3::xxh3_64;

use crate::finding::Finding;
use crate::tree::Tree;

/// What the third line of a page begins with.
pub const HASH_MARK: &str = "Source-xxh3: ";

const FOLDER: &str = "docs/format/";

/// Every page: all of `docs/format/` except the README.
pub fn pages(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.texts(FOLDER, ".md")
        .filter(|(path, _)| !path.ends_with("/README.md"))
}

/// The module a page is about, from its second line.
///
/// # Errors
/// A finding, if the first two lines are not as they must be.
pub fn page_source<'a>(path: &str, text: &'a str) -> Result<&'a str, Finding> {
    let mut lines = text.lines();
    let titled = lines.next().is_some_and(|line| line.starts_with("# "));
    let source = lines
        .next()
        .and_then(|line| line.strip_prefix("Source: `")?.strip_suffix('`'))
        .filter(|_| titled);
    source.ok_or_else(|| {
        Finding::new(
            path,
            2,
            "the page does not begin like a format page",
            "line 1 `# TITLE`, line 2 ``Source: `crates/…/format.rs` ``, then run `make stamp`",
        )
    })
}

/// Whether the path is a module of bytes on disk or on the wire.
#[must_use]
pub fn is_format(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && path.ends_with("/format.rs")
}

/// xxh3-64 of the bytes, as 16 lower-case hex digits.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

/// Every page whose hash is stale, with the text it should have.
///
/// # Errors
/// A page that names no source, or a source that does not exist.
pub fn restamped(tree: &Tree) -> Result<Vec<(String, String)>, Finding> {
    let mut changed = Vec::new();
    for (path, text) in pages(tree) {
        let source = page_source(path, text)?;
        let Some(bytes) = tree.bytes(source) else {
            return Err(Finding::new(
                path,
                2,
                format!("`{source}` does not exist"),
                "correct it",
            ));
        };
        let line = format!("{HASH_MARK}{}", hash(bytes));
        let mut lines: Vec<&str> = text.split('\n').collect();
        match lines.get_mut(2) {
            Some(old) if old.starts_with(HASH_MARK.trim_end()) => *old = &line,
            _ => lines.insert(2.min(lines.len()), &line),
        }
        let new = lines.join("\n");
        if new != text {
            changed.push((path.to_owned(), new));
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_the_published_one() {
        // xxh3-64 of no bytes, from the algorithm's own test vectors.
        assert_eq!(hash(b""), "2d06800538d394c2");
    }

    #[test]
    fn a_stale_or_absent_hash_is_rewritten_and_a_right_one_is_left() {
        let module = "crates/store/src/wal/format.rs";
        let head = format!("# Log\nSource: `{module}`\n");
        let right = format!("{head}{HASH_MARK}{}\n\nText.\n", hash(b"abc"));
        for stale in [
            format!("{head}{HASH_MARK}0000000000000000\n\nText.\n"),
            format!("{head}\nText.\n"),
        ] {
            let tree = Tree::of(&[(module, "abc"), ("docs/format/wal.md", &stale)]);
            let expected = vec![("docs/format/wal.md".to_owned(), right.clone())];
            assert_eq!(restamped(&tree).unwrap(), expected);
        }
        let tree = Tree::of(&[(module, "abc"), ("docs/format/wal.md", &right)]);
        assert_eq!(restamped(&tree).unwrap(), []);
    }
}
