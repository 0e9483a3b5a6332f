//! Which crate may import which: the table of ARCHITECTURE.md, "Which crate may import which?".

use crate::architecture::{Architecture, CRATES_HEAD, CrateRow, Libraries, OUTER_MARK, PAGE};
use crate::finding::Finding;
use crate::tree::Tree;

/// Reports a dependency that the table does not allow, a crate without a row and a row without a
/// crate.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let architecture = Architecture::of(tree);
    let mut findings = architecture.findings.clone();
    let not_outer = |row: &CrateRow| row.libraries == Libraries::NotOuter;
    if architecture.outer.is_empty() && architecture.crates.iter().any(not_outer) {
        findings.push(Finding::new(
            PAGE,
            0,
            "no line names the outer libraries",
            format!("write a line that begins with `{OUTER_MARK}`"),
        ));
    }
    let crates = tree.folders_in("crates").into_iter();
    let folders = crates.map(|folder| (folder, format!("crates/{folder}/Cargo.toml")));
    let mut seen = Vec::new();
    for (folder, path) in folders.chain([("python", "python/Cargo.toml".to_owned())]) {
        let Some(text) = tree.text(&path) else {
            continue;
        };
        seen.push(folder);
        let Some(row) = architecture.crates.iter().find(|row| row.name == folder) else {
            findings.push(Finding::new(
                path,
                0,
                format!("the crate `{folder}` is not in the table of crates"),
                format!(
                    "make it a module of an existing crate; or, if it keeps out a heavy \
                     dependency, serves another audience or needs an import rule, add a row to \
                     the table `{CRATES_HEAD}` of {PAGE}"
                ),
            ));
            continue;
        };
        match text.parse::<toml::Table>() {
            Ok(manifest) => check_manifest(&path, row, &architecture, &manifest, &mut findings),
            Err(error) => findings.push(Finding::new(path, 0, error.to_string(), "correct it")),
        }
    }
    for row in &architecture.crates {
        if !seen.contains(&row.name.as_str()) {
            findings.push(Finding::new(
                PAGE,
                0,
                format!(
                    "the table has a row for `{}`, which does not exist",
                    row.name
                ),
                "remove the row; a crate gets one in the change that adds the crate",
            ));
        }
    }
    findings
}

fn check_manifest(
    path: &str,
    row: &CrateRow,
    architecture: &Architecture,
    manifest: &toml::Table,
    findings: &mut Vec<Finding>,
) {
    let here = &row.name;
    for (section, in_tests) in [
        ("dependencies", false),
        ("build-dependencies", false),
        ("dev-dependencies", true),
    ] {
        let Some(names) = manifest.get(section).and_then(toml::Value::as_table) else {
            continue;
        };
        for name in names.keys() {
            let mut object = |what: String, instead: &str| {
                findings.push(Finding::new(path, 0, what, instead));
            };
            if let Some(ours) = name.strip_prefix("ostrakon-") {
                let in_test_list = in_tests && row.test_imports.contains(ours);
                if !row.imports.contains(ours) && !in_test_list {
                    object(
                        format!("`{here}` imports `{ours}` in [{section}]"),
                        "imports go downward only (ARCHITECTURE.md, \"Which crate may import \
                         which?\"): take it as an argument or a trait of `cell`, or move the code",
                    );
                }
            } else if name == "ostrakon" {
                object(
                    format!("`{here}` imports the binary"),
                    "no crate imports `cli`: move what is needed to `lab` or `store`",
                );
            } else if !in_tests {
                match &row.libraries {
                    Libraries::Any => {}
                    Libraries::NotOuter => {
                        if architecture
                            .outer
                            .iter()
                            .any(|outer| name.starts_with(outer))
                        {
                            object(
                                format!("`{here}` imports `{name}`"),
                                "network, SQL, Arrow and JSON belong to the outer crates",
                            );
                        }
                    }
                    Libraries::Only(only) => {
                        if !only.contains(name) {
                            object(
                                format!("`{here}` imports `{name}`"),
                                "the crate has no I/O, clock, randomness or async runtime. If \
                                 the library has none either, add it to the crate's row in \
                                 ARCHITECTURE.md",
                            );
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "\
| crate | may import | tests may also import | libraries |
|---|---|---|---|
| `cell` | | | only `hashbrown` |
| `store` | `cell` | | not outer |
| `lab` | `cell` | `store` | any |
| `python` | `cell` `store` | | any |

Outer libraries are those whose names begin with `serde_json`, `arrow`.
";

    fn findings(path: &str, manifest: &str) -> usize {
        let mut files = vec![(PAGE, PAGE_TEXT), (path, manifest)];
        for other in ["cell", "store", "lab"].map(|name| format!("crates/{name}/Cargo.toml")) {
            if other != path {
                files.push((other.leak(), ""));
            }
        }
        if path != "python/Cargo.toml" {
            files.push(("python/Cargo.toml", ""));
        }
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn upward_imports_are_refused() {
        for (krate, section, import, expected) in [
            ("cell", "dependencies", "ostrakon-store", 1),
            ("lab", "dependencies", "ostrakon-store", 1),
            ("lab", "dev-dependencies", "ostrakon-store", 0),
            ("lab", "dependencies", "ostrakon", 1),
            ("lab", "dependencies", "ostrakon-python", 1),
            ("store", "dependencies", "ostrakon-cell", 0),
        ] {
            let manifest = format!("[{section}]\n{import}.workspace = true\n");
            let found = findings(&format!("crates/{krate}/Cargo.toml"), &manifest);
            assert_eq!(found, expected, "{krate} {section} {import}");
        }
        let python = |import: &str| {
            let manifest = format!("[dependencies]\n{import}.workspace = true\n");
            findings("python/Cargo.toml", &manifest)
        };
        assert_eq!(python("ostrakon-store"), 0);
        assert_eq!(python("ostrakon-lab"), 1);
    }

    #[test]
    fn libraries_outside_the_row_are_refused() {
        for (krate, section, library, expected) in [
            ("store", "dependencies", "serde_json", 1),
            ("store", "dependencies", "arrow-array", 1),
            ("store", "dev-dependencies", "serde_json", 0),
            ("store", "dependencies", "redb", 0),
            ("cell", "dependencies", "rand", 1),
            ("cell", "dependencies", "hashbrown", 0),
            ("lab", "dependencies", "arrow-array", 0),
        ] {
            let manifest = format!("[{section}]\n{library} = \"1\"\n");
            let found = findings(&format!("crates/{krate}/Cargo.toml"), &manifest);
            assert_eq!(found, expected, "{krate} {section} {library}");
        }
    }

    #[test]
    fn crates_without_a_row_and_rows_without_a_crate_are_refused() {
        assert_eq!(findings("crates/utils/Cargo.toml", "[dependencies]\n"), 1);
        let tree = Tree::of(&[(PAGE, PAGE_TEXT), ("crates/cell/Cargo.toml", "")]);
        assert_eq!(check(&tree).len(), 3);
    }

    #[test]
    fn the_outer_libraries_must_be_named() {
        let without = PAGE_TEXT.split("\n\nOuter").next().unwrap_or_default();
        let tree = Tree::of(&[(PAGE, without)]);
        let missing = check(&tree);
        assert!(
            missing
                .iter()
                .any(|found| found.what.contains("outer libraries"))
        );
    }
}
