//! Every crate inherits the workspace's lints, `cell` and `store` switch on the bans of `clippy.toml`, and
//! every `format.rs` denies unchecked indexing.

use crate::finding::Finding;
use crate::pages::is_format;
use crate::rust::Outline;
use crate::tree::Tree;

/// Reports a crate without the lints and a format module that may index unchecked.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifests = tree.texts("crates/", "/Cargo.toml");
    for (path, text) in manifests.chain(tree.texts("python/", "/Cargo.toml")) {
        let manifest: toml::Table = text.parse().unwrap_or_default();
        let inherits = |table: &str, key: &str| {
            let value = manifest.get(table).and_then(|table| table.get(key));
            let value = if table == "package" {
                value.and_then(|v| v.get("workspace"))
            } else {
                value
            };
            value.and_then(toml::Value::as_bool) == Some(true)
        };
        if !inherits("lints", "workspace") {
            findings.push(Finding::new(
                path,
                0,
                "the crate does not inherit the workspace's lints",
                "add `[lints]` with `workspace = true`",
            ));
        }
        for key in ["version", "edition", "rust-version", "license"] {
            if !inherits("package", key) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("the crate sets its own `{key}`"),
                    format!("write `{key}.workspace = true`"),
                ));
            }
        }
    }
    for (path, text) in tree
        .texts("crates/", ".rs")
        .filter(|(path, _)| is_format(path))
    {
        let denies = Outline::of(text)
            .is_ok_and(|outline| sets(&outline, &["deny", "forbid"], "clippy::indexing_slicing"));
        if !denies {
            findings.push(Finding::new(
                path,
                0,
                "a format module may index unchecked",
                "begin it with `#![deny(clippy::indexing_slicing)]` and use `get`, \
                 `first_chunk` or `split_at_checked`",
            ));
        }
    }
    for path in ["crates/cell/src/lib.rs", "crates/store/src/lib.rs"] {
        let Some(outline) = tree.text(path).and_then(|text| Outline::of(text).ok()) else {
            continue;
        };
        for lint in ["clippy::disallowed_methods", "clippy::disallowed_types"] {
            if !sets(&outline, &["warn", "deny"], lint) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("the crate does not switch on `{lint}`"),
                    "write `#![warn(clippy::disallowed_methods, clippy::disallowed_types)]` below \
                     the module comment: disk, clock and random numbers are used in one module each",
                ));
            }
        }
    }
    findings
}

/// Whether the file as a whole sets the lint to one of these levels.
fn sets(outline: &Outline, levels: &[&str], lint: &str) -> bool {
    outline.attributes.iter().any(|attribute| {
        attribute.of_file
            && levels.contains(&attribute.name.as_str())
            && attribute.tokens.get(1).is_some_and(|body| {
                let body: String = body.to_string().split_whitespace().collect();
                body.split(['(', ',', ')']).any(|word| word == lint)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nversion.workspace = true\nedition.workspace = true\n\
                        rust-version.workspace = true\nlicense.workspace = true\n\
                        [lints]\nworkspace = true\n";

    #[test]
    fn a_crate_that_does_not_inherit_is_refused() {
        let findings_of = |text: &str| check(&Tree::of(&[("crates/a/Cargo.toml", text)])).len();
        assert_eq!(findings_of(GOOD), 0);
        assert_eq!(
            findings_of(&GOOD.replace("[lints]\nworkspace = true", "")),
            1
        );
        assert_eq!(
            findings_of(&GOOD.replace("edition.workspace = true", "edition = \"2021\"")),
            1
        );
    }

    #[test]
    fn a_format_module_that_may_index_is_refused() {
        let findings_of =
            |text: &str| check(&Tree::of(&[("crates/a/src/wal/format.rs", text)])).len();
        assert_eq!(
            findings_of("//! Log.\n#![deny(clippy::indexing_slicing)]\n"),
            0
        );
        assert_eq!(
            findings_of("#![deny(clippy::unwrap_used, clippy::indexing_slicing)]\n"),
            0
        );
        assert_eq!(findings_of("//! Log.\n"), 1);
        assert_eq!(findings_of("#![allow(clippy::indexing_slicing)]\n"), 1);
        assert_eq!(
            findings_of("#[deny(clippy::indexing_slicing)]\nfn f() {}\n"),
            1
        );
    }

    #[test]
    fn a_crate_without_the_bans_is_refused() {
        let findings_of = |text: &str| check(&Tree::of(&[("crates/cell/src/lib.rs", text)])).len();
        assert_eq!(
            findings_of("#![warn(clippy::disallowed_methods, clippy::disallowed_types)]"),
            0
        );
        assert_eq!(findings_of("#![warn(clippy::disallowed_methods)]"), 1);
        assert_eq!(findings_of("//! Page.\n"), 2);
    }
}
