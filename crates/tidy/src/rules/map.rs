//! ARCHITECTURE.md is the map: it has every crate and every module of the store and of the Python
//! package, and nothing that does not exist.

use std::collections::BTreeSet;

use crate::architecture::{Architecture, MODULE_TABLES, PAGE};
use crate::finding::Finding;
use crate::tree::Tree;

/// Files that are not modules of their own.
const NOT_MODULES: &[&str] = &[
    "lib.rs",
    "tests.rs",
    "__init__.py",
    "_native.pyi",
    "py.typed",
];

/// Reports a crate or module that the page leaves out, and a heading or row about one that does not
/// exist.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.text(PAGE) else {
        return vec![Finding::new(PAGE, 0, "the page is missing", "write it")];
    };
    let mut findings = Vec::new();
    let headings: Vec<(usize, &str)> = page
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with('#'))
        .collect();
    let crates = tree.folders_in("crates").into_iter();
    let mut named: Vec<String> = crates.map(|folder| format!("`crates/{folder}`")).collect();
    named.extend(tree.has_folder("python").then(|| "`python/`".to_owned()));
    for name in named {
        if !headings.iter().any(|(_, heading)| heading.contains(&name)) {
            findings.push(Finding::new(
                PAGE,
                0,
                format!("no heading is about {name}"),
                "add one that names the crate and says what it does",
            ));
        }
    }
    let architecture = Architecture::of(tree);
    for (folder, head) in MODULE_TABLES {
        let prefix = format!("{folder}/");
        let inside = tree.paths().filter_map(|path| path.strip_prefix(&prefix));
        let there: BTreeSet<String> = inside.filter_map(module_name).collect();
        let rows = architecture.modules_in(folder);
        let listed: BTreeSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        for name in there.difference(&listed) {
            findings.push(Finding::new(
                PAGE,
                0,
                format!("the module `{name}` of {folder}/ is not on the map"),
                format!("add it to the table `{head}`"),
            ));
        }
        for name in listed.difference(&there) {
            findings.push(Finding::new(
                PAGE,
                0,
                format!("the table of {folder}/ has `{name}`, which does not exist"),
                "remove it; a module is on the map as long as it exists",
            ));
        }
    }
    for (index, heading) in headings {
        let named = heading.split('`').nth(1).filter(|name| name.contains('/'));
        if let Some(name) = named
            && !tree.has_folder(name.trim_end_matches('/'))
            && !tree.has_file(name)
        {
            findings.push(Finding::new(
                PAGE,
                index + 1,
                format!("`{name}` does not exist"),
                "remove it; a crate is on the map as long as it exists",
            ));
        }
    }
    findings
}

/// How the map names the module that the path, inside its folder, belongs to: `wal/` or `clock.rs`.
fn module_name(path: &str) -> Option<String> {
    match path.split_once('/') {
        Some((folder, _)) => Some(format!("{folder}/")),
        None => (!NOT_MODULES.contains(&path)).then(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULES: &str = "| layer | module | purpose |\n|---|---|---|\n| 1 | `wal/` | |\n";

    fn findings(page: &str) -> usize {
        let files = [
            ("crates/store/src/lib.rs", ""),
            ("crates/store/src/wal/mod.rs", ""),
            (PAGE, page),
        ];
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn a_full_map_passes_and_gaps_are_refused() {
        let heading = "## `crates/store`: the store\n";
        assert_eq!(findings(&format!("{heading}{MODULES}")), 0);
        assert_eq!(findings(heading), 1);
        assert_eq!(findings(MODULES), 1);
        // Named, but not in the table.
        assert_eq!(findings(&format!("{heading}`wal/`\n")), 1);
        let more = format!("{heading}{MODULES}\n## `crates/sql`: y\n");
        assert_eq!(findings(&more), 1);
        let more = format!("{heading}{MODULES}| 2 | `tablet/` | |\n");
        assert_eq!(findings(&more), 1);
    }

    #[test]
    fn modules_of_one_name_in_two_folders_are_told_apart() {
        let page = "## `python/`: the package\n\n| layer | module of `src/` | purpose |\n\
                    |---|---|---|\n| 1 | `assoc/` | |\n\n\
                    | module of `ostrakon/` | purpose |\n|---|---|\n| `graph.py` | |\n";
        let files = [
            ("python/src/lib.rs", ""),
            ("python/src/assoc/mod.rs", ""),
            ("python/ostrakon/__init__.py", ""),
            ("python/ostrakon/graph.py", ""),
            (PAGE, page),
        ];
        assert_eq!(check(&Tree::of(&files)), []);
        let more = [&files[..], &[("python/ostrakon/assoc/core.py", "")]].concat();
        let found = check(&Tree::of(&more));
        assert!(found.len() == 1 && found[0].what.contains("`assoc/` of python/ostrakon/"));
    }
}
