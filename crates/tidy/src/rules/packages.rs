//! Every published crate and the Python package carry what a registry shows and the licence asks for: a README, the licence's
//! text, and for docs.rs which features its pages have.

use crate::finding::Finding;
use crate::tree::{Tree, folder_of};

/// Reports a published package that lacks a part.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let licence = tree.bytes("LICENSE");
    let mut folders = vec!["python"];
    for (path, text) in tree.texts("crates/", "/Cargo.toml") {
        let manifest: toml::Table = text.parse().unwrap_or_default();
        let package = manifest.get("package");
        let of = |key: &str| package.and_then(|package| package.get(key));
        if of("publish").and_then(toml::Value::as_bool) == Some(false) {
            continue;
        }
        folders.push(folder_of(path));
        let is_library = tree.has_file(&format!("{}/src/lib.rs", folder_of(path)));
        let docs = of("metadata").and_then(|metadata| metadata.get("docs")?.get("rs"));
        if is_library && docs.is_none() {
            findings.push(Finding::new(
                path,
                0,
                "nothing says which features the pages on docs.rs have",
                "add `[package.metadata.docs.rs]` with `all-features = true`",
            ));
        }
    }
    for folder in folders {
        let file = format!("{folder}/LICENSE");
        if tree.bytes(&file) != licence {
            let remedy = format!("link {file} to the one of the repository");
            findings.push(Finding::new(
                &file,
                0,
                "the package lacks the licence's text",
                remedy,
            ));
        }
        let readme = format!("{folder}/README.md");
        if !tree.has_file(&readme) {
            findings.push(Finding::new(
                &readme,
                0,
                "the package has no README",
                "write one",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let python = [
            ("LICENSE", "text"),
            ("python/LICENSE", "text"),
            ("python/README.md", ""),
        ];
        let tree = Tree::of(&[&python, files].concat());
        check(&tree)
            .into_iter()
            .map(|finding| finding.path)
            .collect()
    }

    #[test]
    fn a_package_needs_licence_readme_and_docs() {
        let manifest = ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n");
        let docs = (
            "crates/a/Cargo.toml",
            "[package.metadata.docs.rs]\nall-features = true\n",
        );
        let (licence, readme) = (("crates/a/LICENSE", "text"), ("crates/a/README.md", ""));
        let library = ("crates/a/src/lib.rs", "");
        assert_eq!(found(&[manifest, licence, readme]), [""; 0]);
        assert_eq!(found(&[docs, licence, readme, library]), [""; 0]);
        assert_eq!(found(&[manifest, licence, readme, library]), [manifest.0]);
        assert_eq!(found(&[manifest, readme]), [licence.0]);
        assert_eq!(
            found(&[manifest, ("crates/a/LICENSE", "other"), readme]),
            [licence.0]
        );
        assert_eq!(found(&[manifest, licence]), [readme.0]);
        let private = ("crates/a/Cargo.toml", "[package]\npublish = false\n");
        assert_eq!(found(&[private]), [""; 0]);
    }
}
