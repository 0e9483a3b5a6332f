//! The floors inside `store` and `python/src`: a file uses rooms on a lower floor and its neighbours
//! on the same one, never a higher one.

use crate::finding::Finding;
use crate::sources::Sources;
use crate::tree::Tree;

const STORE: &str = "crates/store";
const PYTHON: &str = "python";

/// Room and floor of `python/src`.
const PYTHON_FLOORS: &[(&str, u8)] = &[
    ("assoc", 2),
    ("graph", 2),
    ("tables", 2),
    ("columns", 1),
    ("signals", 1),
    ("arrays", 0),
    ("capsule", 0),
    ("errors", 0),
];

/// Room and floor. A room that is not built yet does no harm here.
const FLOORS: &[(&str, u8)] = &[
    ("store", 6),
    ("table", 5),
    ("read", 4),
    ("tablet", 3),
    ("compaction", 2),
    ("version", 2),
    ("sorted_file", 1),
    ("wal", 1),
    ("catalog", 1),
    ("properties", 1),
    ("memtable", 1),
    ("iterator", 1),
    ("constraint", 1),
    ("cache", 1),
    ("codec", 0),
    ("vfs", 0),
    ("clock", 0),
    ("threads", 0),
    ("timer", 0),
    ("metrics", 0),
    ("options", 0),
    ("error", 0),
];

/// Rooms that import fewer neighbours than their floor would let them.
const STRICT: &[(&str, &[&str])] = &[
    // Iterators run over any source, so they know `cell` and nothing of files or tablets.
    ("iterator", &["error"]),
    ("constraint", &["error"]),
    ("error", &[]),
];

fn floor(krate: &str, room: &str) -> Option<u8> {
    let floors = if krate == STORE {
        FLOORS
    } else {
        PYTHON_FLOORS
    };
    floors
        .iter()
        .find(|(name, _)| *name == room)
        .map(|(_, floor)| *floor)
}

/// Objects to a path from a lower floor to a higher one, and to a room without a floor.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    for (path, source) in sources
        .product()
        .filter(|(_, source)| [STORE, PYTHON].contains(&source.crate_folder.as_str()))
    {
        let floor = |room: &str| floor(&source.crate_folder, room);
        let Some(room) = source.room() else { continue };
        let Some(here) = floor(room) else {
            if source.module.len() == 1 {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("the room `{room}` has no floor"),
                    "add it to FLOORS in crates/tidy/src/rules/rooms.rs and to ARCHITECTURE.md",
                ));
            }
            continue;
        };
        let strict = STRICT
            .iter()
            .find(|(name, _)| *name == room && source.crate_folder == STORE)
            .map(|(_, may)| *may);
        for (line, target) in source.own_paths() {
            let Some(other) = target.first().filter(|other| *other != room) else {
                continue;
            };
            if let Some(may) = strict
                && floor(other).is_some()
                && !may.contains(&other.as_str())
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{room}` uses `{other}`"),
                    format!("`{room}` imports `cell` and of this crate only {may:?}: hand it in"),
                ));
            } else if let Some(there) = floor(other)
                && there > here
            {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{room}` (floor {here}) uses `{other}` (floor {there})"),
                    "a room knows only what is below or beside it: hand the thing in as an \
                     argument, or move it down",
                ));
            } else if other.starts_with(char::is_uppercase) {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("`{other}` is imported from the front of the crate"),
                    "name the room it lives in; lib.rs re-exports for users only",
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(room: &str, text: &str) -> Vec<String> {
        let room_path = format!("crates/store/src/{room}.rs");
        let lib = format!("mod {room};");
        let tree = Tree::of(&[
            ("crates/store/Cargo.toml", ""),
            ("crates/store/src/lib.rs", &lib),
            (&room_path, text),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn a_lower_room_may_not_use_a_higher_one() {
        assert_eq!(
            objections("wal", "use crate::tablet::Tablet;"),
            ["`wal` (floor 1) uses `tablet` (floor 3)"]
        );
        assert_eq!(
            objections("wal", "fn f() { super::store::open() }").len(),
            1
        );
        assert_eq!(objections("tablet", "use crate::wal::Writer;").len(), 0);
        assert_eq!(objections("wal", "use crate::memtable::Chunk;").len(), 0);
    }

    #[test]
    fn tests_may_use_what_they_like() {
        assert_eq!(
            objections("wal", "#[cfg(test)] mod tests { use crate::store::Store; }").len(),
            0
        );
    }

    #[test]
    fn the_glue_of_python_has_floors_too() {
        let objections = |text: &str| {
            let tree = Tree::of(&[
                ("python/Cargo.toml", ""),
                ("python/src/lib.rs", "mod errors; mod tables;"),
                ("python/src/errors.rs", text),
                ("python/src/tables.rs", "use crate::errors::to_python;"),
            ]);
            check(&tree).len()
        };
        assert_eq!(objections(""), 0);
        assert_eq!(objections("use crate::tables::Store;"), 1);
    }

    #[test]
    fn iterators_know_cell_alone() {
        assert_eq!(objections("iterator", "use crate::codec::varint;").len(), 1);
        assert_eq!(
            objections(
                "iterator",
                "use crate::error::Error; use ostrakon_cell::Key;"
            )
            .len(),
            0
        );
    }

    #[test]
    fn an_unlisted_room_and_the_front_of_the_crate_are_refused() {
        assert_eq!(objections("misc", "").len(), 1);
        assert_eq!(objections("wal", "use crate::Error;").len(), 1);
    }
}
