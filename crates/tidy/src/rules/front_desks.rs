//! Every folder's `mod.rs` is a front desk: the module list and the names that may leave. Other
//! rooms talk to the front desk, not to the modules behind it.

use crate::finding::Finding;
use crate::sources::Sources;
use crate::tree::{Tree, folder_of};

/// Inner modules that may be named from other rooms, as `crate folder`, `room`, `module`.
const OPEN: &[(&str, &str, &str)] = &[];

/// Objects to logic in a `mod.rs` and to a path that goes past another room's front desk.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    for (path, source) in sources.product() {
        if path.ends_with("/mod.rs") {
            for (line, keyword) in &source.outline.items {
                if !matches!(keyword.as_str(), "mod" | "use") && !source.outline.is_test_line(*line)
                {
                    findings.push(Finding::new(
                        path,
                        *line,
                        format!("a front desk holds a `{keyword}`"),
                        "move it to a file of the folder and re-export its name here",
                    ));
                }
            }
        }
        for (line, target) in source.own_paths() {
            let [room, inner, _, ..] = target.as_slice() else {
                continue;
            };
            if source.room() == Some(room.as_str()) || source.module.is_empty() {
                continue;
            }
            let folder = format!("{}/src/{room}", source.crate_folder);
            let behind = tree.has_file(&format!("{folder}/{inner}.rs"))
                || tree.has_file(&format!("{folder}/{inner}/mod.rs"));
            let open = OPEN.contains(&(source.crate_folder.as_str(), room, inner));
            if behind && !open && folder_of(path) != folder {
                findings.push(Finding::new(
                    path,
                    line,
                    format!("goes past the front desk of `{room}` to `{room}::{inner}`"),
                    format!("re-export the name in {folder}/mod.rs and import `crate::{room}::…`"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(front_desk: &str, other: &str) -> usize {
        let tree = Tree::of(&[
            ("crates/store/Cargo.toml", ""),
            ("crates/store/src/lib.rs", "mod wal; mod tablet;"),
            ("crates/store/src/wal/mod.rs", front_desk),
            ("crates/store/src/wal/writer.rs", ""),
            ("crates/store/src/tablet.rs", other),
        ]);
        check(&tree).len()
    }

    #[test]
    fn logic_in_a_front_desk_is_refused() {
        assert_eq!(
            objections("//! Log.\nmod writer;\npub use writer::Writer;\n", ""),
            0
        );
        assert_eq!(objections("mod writer;\nfn helper() {}\n", ""), 1);
        assert_eq!(
            objections("mod writer;\npub struct Writer { x: u8 }\n", ""),
            1
        );
        assert_eq!(
            objections("mod writer;\n#[cfg(test)]\nfn helper() {}\n", ""),
            0
        );
    }

    #[test]
    fn going_past_a_front_desk_is_refused() {
        assert_eq!(
            objections("mod writer;", "use crate::wal::writer::Writer;"),
            1
        );
        assert_eq!(objections("mod writer;", "use crate::wal::Writer;"), 0);
        assert_eq!(
            objections("mod writer;", "fn f() { crate::wal::Kind::Put; }"),
            0
        );
    }
}
