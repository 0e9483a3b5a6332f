//! Every `format.rs` has a fuzz target named after its modules.

use crate::finding::Finding;
use crate::pages::is_format;
use crate::tree::Tree;

/// Reports a format without a fuzz target.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in tree.paths().filter(|path| is_format(path)) {
        let target = format!("fuzz/fuzz_targets/{}.rs", target_name(path));
        if !tree.has_file(&target) {
            findings.push(Finding::new(
                path,
                0,
                "no fuzz target feeds this format with bytes",
                format!("write {target}, name it in fuzz/Cargo.toml, see `make fuzz` run it"),
            ));
        }
    }
    findings
}

/// `crates/store/src/sorted_file/block/format.rs` is fuzzed by `sorted_file_block`.
fn target_name(path: &str) -> String {
    let inner = path.split_once("/src/").map_or(path, |(_, inner)| inner);
    inner.trim_end_matches("/format.rs").replace('/', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_without_a_target_is_refused() {
        let format = ("crates/store/src/sorted_file/block/format.rs", "");
        assert_eq!(check(&Tree::of(&[format])).len(), 1);
        let target = ("fuzz/fuzz_targets/sorted_file_block.rs", "");
        assert_eq!(check(&Tree::of(&[format, target])).len(), 0);
    }
}
