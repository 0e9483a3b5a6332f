//! ARCHITECTURE.md is the map: every crate and every room of the store stands on it, and nothing
//! stands on it that is not built.

use crate::finding::Finding;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
const STORE: &str = "crates/store/src/";

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
    let store = tree.paths().filter_map(|path| path.strip_prefix(STORE));
    let mut rooms: Vec<&str> = store.filter_map(|path| path.split('/').next()).collect();
    rooms.dedup();
    for room in rooms
        .into_iter()
        .filter(|room| !matches!(*room, "lib.rs" | "tests.rs"))
    {
        let room = room.strip_suffix(".rs").unwrap_or(room);
        if ![format!("`{room}/`"), format!("`{room}.rs`")]
            .iter()
            .any(|name| map.contains(name))
        {
            findings.push(Finding::new(
                MAP,
                0,
                format!("the room `{room}` of the store is not on the map"),
                "add it to the table of floors",
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
                MAP,
                index + 1,
                format!("`{name}` does not exist"),
                "a room is on the map from the day it is built until the day it goes",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(objections("## `crates/store`: where?\n| 1 | `wal/` |\n"), 0);
        assert_eq!(objections("## `crates/store`: where?\n"), 1);
        assert_eq!(objections("| 1 | `wal/` |\n"), 1);
        let files = [("python/src/lib.rs", ""), (MAP, "## What?\n")];
        assert_eq!(check(&Tree::of(&files)).len(), 1);
        assert_eq!(
            objections("## `crates/store`: x\n`wal/`\n## `crates/sql`: y\n"),
            1
        );
    }
}
