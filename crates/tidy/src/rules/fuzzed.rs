//! Every `format.rs` has a fuzz target named after its modules, and every target is run and linted.

use crate::finding::Finding;
use crate::pages::is_format;
use crate::tree::Tree;

/// Where targets are named: for `make fuzz`, which runs them, and for `make test`, which lints them.
const MANIFESTS: [&str; 2] = ["fuzz/Cargo.toml", "crates/testkit/Cargo.toml"];

/// Reports a format without a fuzz target, and a target that a manifest does not name.
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
                format!("write {target}, see `make fuzz` run it"),
            ));
        }
    }
    for (path, _) in tree.texts("fuzz/fuzz_targets", ".rs") {
        let file = path.trim_start_matches("fuzz/");
        for manifest in MANIFESTS {
            let text = tree.text(manifest).unwrap_or_default();
            if !text.contains(&format!("{file}\"")) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("{manifest} does not name this fuzz target"),
                    "add it as the other targets are",
                ));
            }
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
        let runs = (MANIFESTS[0], "path = \"fuzz_targets/sorted_file_block.rs\"");
        let lints = (
            MANIFESTS[1],
            "path = \"../../fuzz/fuzz_targets/sorted_file_block.rs\"",
        );
        assert_eq!(check(&Tree::of(&[format, target, runs])).len(), 1);
        assert_eq!(check(&Tree::of(&[format, target, lints])).len(), 1);
        assert_eq!(check(&Tree::of(&[format, target, runs, lints])).len(), 0);
    }
}
