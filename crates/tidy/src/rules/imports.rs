//! Crates import only what the table in ARCHITECTURE.md, "Imports between crates", allows.

use std::collections::BTreeMap;

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
    let packages = packages(tree);
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
            Ok(manifest) => {
                let found = check_manifest(row, &architecture, &packages, &manifest);
                findings.extend(found.map(|(what, instead)| Finding::new(&path, 0, what, instead)));
            }
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

/// The folder of each of our packages, by the name under which other crates depend on it.
fn packages(tree: &Tree) -> BTreeMap<String, String> {
    let manifests = tree.texts("", "/Cargo.toml");
    let named = manifests.filter_map(|(path, text)| {
        let folder = path.strip_suffix("/Cargo.toml")?;
        let folder = folder.strip_prefix("crates/").unwrap_or(folder);
        let manifest: toml::Table = text.parse().ok()?;
        let name = manifest.get("package")?.get("name")?.as_str()?;
        Some((name.to_owned(), folder.to_owned()))
    });
    named.collect()
}

/// What is wrong with the dependencies of a crate, and what to do instead.
fn check_manifest<'a>(
    row: &'a CrateRow,
    architecture: &'a Architecture,
    packages: &'a BTreeMap<String, String>,
    manifest: &'a toml::Table,
) -> impl Iterator<Item = (String, &'static str)> {
    let sections = [
        ("dependencies", false),
        ("build-dependencies", false),
        ("dev-dependencies", true),
    ];
    let dependencies = sections.into_iter().flat_map(|(section, in_tests)| {
        let table = manifest.get(section).and_then(toml::Value::as_table);
        let names = table.into_iter().flat_map(toml::Table::keys);
        names.map(move |name| (section, in_tests, name.as_str()))
    });
    dependencies.filter_map(|(section, in_tests, name)| {
        let here = &row.name;
        if let Some(ours) = packages.get(name) {
            let in_test_list = in_tests && row.test_imports.contains(ours);
            let refused = !row.imports.contains(ours) && !in_test_list;
            return refused.then_some((
                format!("`{here}` imports `{ours}` in [{section}]"),
                "imports go downward only (ARCHITECTURE.md, \"Imports between crates\"): \
                 take it as an argument or a trait of `cell`, or move the code",
            ));
        }
        let (refused, instead) = match &row.libraries {
            Libraries::Any => (false, ""),
            Libraries::NotOuter => (
                architecture
                    .outer
                    .iter()
                    .any(|outer| name.starts_with(outer)),
                "network, SQL, Arrow and JSON belong to the outer crates",
            ),
            Libraries::Only(only) => (
                !only.contains(name),
                "the crate has no I/O, clock, randomness or async runtime. If the library has \
                 none either, add it to the crate's row in ARCHITECTURE.md",
            ),
        };
        let refused = refused && !in_tests;
        refused.then(|| (format!("`{here}` imports `{name}`"), instead))
    })
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

    /// The findings when one manifest has these dependencies and the others have none.
    fn findings(path: &str, dependencies: &str) -> usize {
        let packages = [
            ("crates/cell/Cargo.toml", "ostrakon-cell"),
            ("crates/store/Cargo.toml", "ostrakon-store"),
            ("crates/lab/Cargo.toml", "ostrakon-lab"),
            ("python/Cargo.toml", "ostrakon-python"),
            ("crates/utils/Cargo.toml", "ostrakon-utils"),
        ];
        let manifest = |(at, package): (&str, &str)| {
            let body = if at == path { dependencies } else { "" };
            format!("[package]\nname = \"{package}\"\n{body}")
        };
        let wanted = |at: &str| at == path || !at.contains("utils");
        let packages: Vec<_> = packages.into_iter().filter(|(at, _)| wanted(at)).collect();
        let texts: Vec<String> = packages.iter().copied().map(manifest).collect();
        let mut files = vec![(PAGE, PAGE_TEXT)];
        let paths = packages.iter().map(|(at, _)| *at);
        files.extend(paths.zip(texts.iter().map(String::as_str)));
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn upward_imports_are_refused() {
        for (krate, section, import, expected) in [
            ("cell", "dependencies", "ostrakon-store", 1),
            ("lab", "dependencies", "ostrakon-store", 1),
            ("lab", "dev-dependencies", "ostrakon-store", 0),
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
