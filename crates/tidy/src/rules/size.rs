//! No large files: a binary that was added by mistake stays in the history for ever.

use crate::finding::Finding;
use crate::tree::Tree;

/// The most bytes a file may have.
pub const LIMIT: usize = 256 << 10;

/// Reports a file that is too large.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let large = tree.paths().filter_map(|path| {
        let bytes = tree.bytes(path).map_or(0, <[u8]>::len);
        (bytes > LIMIT).then(|| {
            Finding::new(
                path,
                0,
                format!("{bytes} bytes, more than {LIMIT}"),
                "do not commit it: let a script fetch or generate it into target/",
            )
        })
    });
    large.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_is_refused() {
        let found = |bytes: usize| check(&Tree::of(&[("a.whl", &"x".repeat(bytes))])).len();
        assert_eq!(found(LIMIT), 0);
        assert_eq!(found(LIMIT + 1), 1);
    }
}
