//! ARCHITECTURE.md is the map: every crate and every room of the store and of the Python package
//! stands on it, and nothing stands on it that is not built.

use crate::finding::Finding;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

/// Folders whose rooms are all on the map, each with the head of the table that lists them.
const MAPPED: &[(&str, &str)] = &[
    ("crates/store/src/", "| floor | room | "),
    ("python/src/", "| floor | room of `src/` | "),
    ("python/ostrakon/", "| room of `ostrakon/` | "),
];

/// What a folder has beside its rooms.
const NO_ROOMS: &[&str] = &[
    "lib.rs",
    "tests.rs",
    "__init__.py",
    "_native.pyi",
    "py.typed",
];

/// Objects to a crate or room the map leaves out, and to a heading about one that is not there.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.text(MAP) else {
        return vec![Finding::new(MAP, 0, "there is no map", "write it")];
    };
    let mut findings = Vec::new();
    let headings: Vec<(usize, &str)> = map
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
                MAP,
                0,
                format!("no heading is about {name}"),
                "add one that names the crate and the question it answers",
            ));
        }
    }
    for (folder, head) in MAPPED {
        let inside = tree.paths().filter_map(|path| path.strip_prefix(folder));
        let mut rooms: Vec<String> = inside.filter_map(room_name).collect();
        rooms.dedup();
        let table = table_below(map, head);
        for room in rooms {
            if !table.contains(&format!("`{room}`")) {
                findings.push(Finding::new(
                    MAP,
                    0,
                    format!("the room `{room}` of {folder} is not on the map"),
                    format!("add it to the table that begins with `{head}`"),
                ));
            }
        }
    }
    for (index, heading) in headings {
        let named = heading.split('`').nth(1).filter(|name| name.contains('/'));
        if let Some(name) = named
            && !tree.has_folder(name.trim_end_matches('/'))
            && !tree.has_file(name)
        {
            findings.push(Finding::new(
                MAP,
                index + 1,
                format!("`{name}` does not exist"),
                "a room is on the map from the day it is built until the day it goes",
            ));
        }
    }
    findings
}

/// How the map names the room that the path, inside its folder, belongs to: `wal/` or `clock.rs`.
fn room_name(path: &str) -> Option<String> {
    match path.split_once('/') {
        Some((folder, _)) => Some(format!("{folder}/")),
        None => (!NO_ROOMS.contains(&path)).then(|| path.to_owned()),
    }
}

/// The table with this head, or nothing.
fn table_below<'a>(map: &'a str, head: &str) -> &'a str {
    let from = map.find(head).and_then(|at| map.get(at..));
    from.and_then(|text| text.split("\n\n").next())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE_ROOMS: &str = "| floor | room | question it answers |\n| 1 | `wal/` | |\n";

    fn objections(map: &str) -> usize {
        let files = [
            ("crates/store/src/lib.rs", ""),
            ("crates/store/src/wal/mod.rs", ""),
            (MAP, map),
        ];
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn a_full_map_passes_and_holes_are_refused() {
        let heading = "## `crates/store`: where?\n";
        assert_eq!(objections(&format!("{heading}{STORE_ROOMS}")), 0);
        assert_eq!(objections(heading), 1);
        assert_eq!(objections(STORE_ROOMS), 1);
        // Named, but somewhere else.
        assert_eq!(objections(&format!("{heading}`wal/`\n")), 1);
        let more = format!("{heading}{STORE_ROOMS}\n## `crates/sql`: y\n");
        assert_eq!(objections(&more), 1);
    }

    #[test]
    fn rooms_of_one_name_in_two_folders_are_told_apart() {
        let map = "## `python/`: how?\n\n| floor | room of `src/` | question |\n| 1 | `assoc/` | |\n\n\
                   | room of `ostrakon/` | question |\n| `graph.py` | |\n";
        let files = [
            ("python/src/lib.rs", ""),
            ("python/src/assoc/mod.rs", ""),
            ("python/ostrakon/__init__.py", ""),
            ("python/ostrakon/graph.py", ""),
            (MAP, map),
        ];
        assert_eq!(check(&Tree::of(&files)), []);
        let more = [&files[..], &[("python/ostrakon/assoc/core.py", "")]].concat();
        let found = check(&Tree::of(&more));
        assert!(found.len() == 1 && found[0].what.contains("`assoc/` of python/ostrakon/"));
    }
}
