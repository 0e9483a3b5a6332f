//! Which crate may import which: the table of ARCHITECTURE.md, "Who may import whom".

use crate::finding::Finding;
use crate::tree::Tree;

struct Room {
    name: &'static str,
    /// Our crates it may import, by folder name.
    ours: &'static [&'static str],
    /// Our crates its tests may import beside these.
    tests: &'static [&'static str],
    /// Beginnings of the names of libraries it never imports.
    never: &'static [&'static str],
}

/// Libraries that bring a network, an async runtime, SQL, Arrow or JSON.
const OUTER: &[&str] = &[
    "tokio",
    "async-",
    "futures",
    "hyper",
    "axum",
    "reqwest",
    "rustls",
    "thrift",
    "datafusion",
    "sqlparser",
    "arrow",
    "parquet",
    "serde_json",
    "scylla",
    "object_store",
    "pyo3",
];

/// What `cell` may take from elsewhere: nothing that touches a disk, a clock or dice.
const CELL_TAKES: &[&str] = &["hashbrown", "memchr", "smallvec"];

const ABOVE_STORE: &[&str] = &["store", "testkit"];

const ROOMS: &[Room] = &[
    Room {
        name: "allocator",
        ours: &[],
        tests: &[],
        never: OUTER,
    },
    Room {
        name: "assoc",
        ours: &[],
        tests: &[],
        never: OUTER,
    },
    Room {
        name: "cell",
        ours: &[],
        tests: &[],
        never: &[],
    },
    Room {
        name: "store",
        ours: &["cell"],
        tests: &["testkit"],
        never: OUTER,
    },
    Room {
        name: "accumulo",
        ours: &["cell"],
        tests: &["testkit"],
        never: &[],
    },
    Room {
        name: "server",
        ours: &["cell", "store", "accumulo", "files"],
        tests: &["testkit"],
        never: &[],
    },
    Room {
        name: "graph",
        ours: &["cell"],
        tests: ABOVE_STORE,
        never: &[],
    },
    Room {
        name: "events",
        ours: &["cell"],
        tests: ABOVE_STORE,
        never: &[],
    },
    Room {
        name: "files",
        ours: &["cell"],
        tests: ABOVE_STORE,
        never: &[],
    },
    Room {
        name: "sql",
        ours: &["cell", "events"],
        tests: ABOVE_STORE,
        never: &[],
    },
    Room {
        name: "cassandra",
        ours: &["cell", "files"],
        tests: &["testkit"],
        never: &[],
    },
    Room {
        name: "lab",
        ours: &["cell", "graph", "events", "files", "sql"],
        tests: ABOVE_STORE,
        never: &[],
    },
    Room {
        name: "cli",
        ours: &[
            "allocator",
            "assoc",
            "cell",
            "store",
            "accumulo",
            "server",
            "graph",
            "events",
            "files",
            "sql",
            "cassandra",
            "lab",
        ],
        tests: &["testkit"],
        never: &[],
    },
    Room {
        name: "python",
        ours: &[
            "cell",
            "store",
            "accumulo",
            "server",
            "assoc",
            "graph",
            "events",
            "files",
            "sql",
            "cassandra",
            "lab",
        ],
        tests: &["testkit"],
        never: &[],
    },
    Room {
        name: "testkit",
        // A failing disk is an implementation of the store's disk.
        ours: &["cell", "store"],
        tests: &[],
        never: &[],
    },
    Room {
        name: "tidy",
        ours: &[],
        tests: &[],
        never: &[],
    },
    Room {
        name: "bench-compare",
        ours: &["allocator", "cell", "store", "lab"],
        tests: &["testkit"],
        never: &[],
    },
];

/// Objects to a dependency the table does not allow, and to a crate the table does not know.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let crates = tree.folders_in("crates").into_iter();
    let folders = crates.map(|folder| (folder, format!("crates/{folder}/Cargo.toml")));
    for (folder, path) in folders.chain([("python", "python/Cargo.toml".to_owned())]) {
        let Some(text) = tree.text(&path) else {
            continue;
        };
        let Some(room) = ROOMS.iter().find(|room| room.name == folder) else {
            findings.push(Finding::new(
                path,
                0,
                format!("the crate `{folder}` is not in the import table"),
                "make it a folder in a crate; or, if it keeps out a heavy dependency, serves \
                 another audience or needs an import ban, add it to ROOMS in \
                 crates/tidy/src/rules/imports.rs and to ARCHITECTURE.md",
            ));
            continue;
        };
        match text.parse::<toml::Table>() {
            Ok(manifest) => check_manifest(&path, room, &manifest, &mut findings),
            Err(error) => findings.push(Finding::new(path, 0, error.to_string(), "correct it")),
        }
    }
    findings
}

fn check_manifest(path: &str, room: &Room, manifest: &toml::Table, findings: &mut Vec<Finding>) {
    for (section, in_tests) in [
        ("dependencies", false),
        ("build-dependencies", false),
        ("dev-dependencies", true),
    ] {
        let Some(names) = manifest.get(section).and_then(toml::Value::as_table) else {
            continue;
        };
        for name in names.keys() {
            if let Some(ours) = name.strip_prefix("ostrakon-") {
                let allowed = room.ours.contains(&ours) || (in_tests && room.tests.contains(&ours));
                if !allowed {
                    findings.push(Finding::new(
                        path,
                        0,
                        format!("`{}` imports `{ours}` in [{section}]", room.name),
                        "imports go downward only (ARCHITECTURE.md, \"Who may import whom\"): \
                         take it as an argument or a trait of `cell`, or move the code",
                    ));
                }
            } else if name == "ostrakon" {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("`{}` imports the binary", room.name),
                    "nothing imports `cli`: move what is needed to `lab` or `store`",
                ));
            } else if !in_tests && room.never.iter().any(|never| name.starts_with(never)) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("`{}` imports `{name}`", room.name),
                    "network, SQL, Arrow and JSON belong to the outer rooms: do it there",
                ));
            } else if !in_tests && room.name == "cell" && !CELL_TAKES.contains(&name.as_str()) {
                findings.push(Finding::new(
                    path,
                    0,
                    format!("`cell` imports `{name}`"),
                    "`cell` has no I/O, clock, randomness or async runtime. If the library has \
                     none either, add it to CELL_TAKES in crates/tidy/src/rules/imports.rs",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(folder: &str, manifest: &str) -> usize {
        check(&Tree::of(&[(
            &format!("crates/{folder}/Cargo.toml"),
            manifest,
        )]))
        .len()
    }

    #[test]
    fn an_upward_import_is_refused() {
        assert_eq!(
            objections("cell", "[dependencies]\nostrakon-store.workspace = true\n"),
            1
        );
        assert_eq!(
            objections("lab", "[dependencies]\nostrakon-store.workspace = true\n"),
            1
        );
        assert_eq!(
            objections("lab", "[dependencies]\nostrakon.workspace = true\n"),
            1
        );
        assert_eq!(
            objections(
                "lab",
                "[dev-dependencies]\nostrakon-store.workspace = true\n"
            ),
            0
        );
        assert_eq!(
            objections("store", "[dependencies]\nostrakon-cell.workspace = true\n"),
            0
        );
    }

    #[test]
    fn a_banned_library_is_refused() {
        assert_eq!(
            objections("store", "[dependencies]\nserde_json = \"1\"\n"),
            1
        );
        assert_eq!(
            objections("store", "[dependencies]\narrow-array = \"1\"\n"),
            1
        );
        assert_eq!(
            objections("store", "[dev-dependencies]\nserde_json = \"1\"\n"),
            0
        );
        assert_eq!(objections("cell", "[dependencies]\nrand = \"1\"\n"), 1);
    }

    #[test]
    fn the_python_package_is_a_room_too() {
        let of_python = |manifest: &str| check(&Tree::of(&[("python/Cargo.toml", manifest)])).len();
        assert_eq!(
            of_python("[dependencies]\nostrakon-store.workspace = true\npyo3 = \"0\"\n"),
            0
        );
        assert_eq!(of_python("[dependencies]\nostrakon.workspace = true\n"), 1);
        assert_eq!(
            of_python("[dependencies]\nostrakon-testkit.workspace = true\n"),
            1
        );
        assert_eq!(
            objections("lab", "[dependencies]\nostrakon-python.workspace = true\n"),
            1
        );
    }

    #[test]
    fn an_unknown_crate_is_refused() {
        assert_eq!(objections("utils", "[dependencies]\n"), 1);
    }
}
