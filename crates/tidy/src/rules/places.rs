//! The disk, the clock, dice, threads and the network each have one room.
//!
//! `clippy.toml` bans the same by resolved name, so that an alias does not help; this rule says
//! which file may, and covers what clippy's list does not name.

use crate::finding::Finding;
use crate::sources::Sources;
use crate::tree::Tree;

struct Ban {
    crate_folder: &'static str,
    /// Beginnings of banned paths.
    paths: &'static [&'static str],
    /// Beginnings of the files that may, below the crate's `src/`.
    except: &'static [&'static str],
    instead: &'static str,
}

const CLOCK: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "std::time::UNIX_EPOCH",
];
const DICE: &[&str] = &[
    "rand",
    "std::hash::RandomState",
    "std::collections::hash_map::RandomState",
];
const DISK: &[&str] = &[
    "std::fs",
    "std::os::unix::fs",
    "std::os::fd",
    "rustix",
    "tempfile",
    "libc",
];
const THREADS: &[&str] = &[
    "std::thread::spawn",
    "std::thread::Builder",
    "std::thread::scope",
    "std::thread::sleep",
];
const OUTSIDE: &[&str] = &["std::net", "std::os::unix::net", "std::process", "std::env"];

const BANS: &[Ban] = &[
    Ban {
        crate_folder: "crates/store",
        paths: DISK,
        except: &["vfs/", "vfs.rs"],
        instead: "go through `crate::vfs`, so that a failing disk can be put in its place",
    },
    Ban {
        crate_folder: "crates/store",
        paths: CLOCK,
        except: &["clock.rs"],
        instead: "ask `crate::clock`, so that a test can set the time",
    },
    Ban {
        crate_folder: "crates/store",
        paths: DICE,
        except: &["clock.rs"],
        instead: "ask `crate::clock` for randomness, so that a seed replays a run",
    },
    Ban {
        crate_folder: "crates/store",
        paths: THREADS,
        except: &["threads.rs", "clock.rs"],
        instead: "start threads with `crate::threads`, wait with `crate::clock`",
    },
    Ban {
        crate_folder: "crates/store",
        paths: OUTSIDE,
        // The holder of a directory's lock names itself; the seed of the dice takes the process id.
        except: &["vfs/", "clock.rs"],
        instead: "the store knows no network, processes or environment: the caller passes options",
    },
    Ban {
        crate_folder: "crates/cell",
        paths: &["std::io", "std::thread"],
        except: &[],
        instead: "`cell` has no I/O and no threads: take the result as an argument",
    },
    Ban {
        crate_folder: "crates/cell",
        paths: DISK,
        except: &[],
        instead: "`cell` touches no disk: take the bytes as an argument",
    },
    Ban {
        crate_folder: "crates/cell",
        paths: CLOCK,
        except: &[],
        instead: "`cell` has no clock: take the time as an argument",
    },
    Ban {
        crate_folder: "crates/cell",
        paths: DICE,
        except: &[],
        instead: "`cell` has no dice: take the number as an argument",
    },
    Ban {
        crate_folder: "crates/cell",
        paths: OUTSIDE,
        except: &[],
        instead: "`cell` knows nothing of the machine: take the value as an argument",
    },
];

/// Objects to a banned path outside its room. Tests may.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let sources = Sources::of(tree);
    let mut findings = Vec::new();
    for (path, source) in sources.product() {
        for ban in BANS
            .iter()
            .filter(|ban| ban.crate_folder == source.crate_folder)
        {
            let inner = path.strip_prefix(ban.crate_folder).unwrap_or(path);
            let inner = inner.strip_prefix("/src/").unwrap_or(inner);
            if ban.except.iter().any(|except| inner.starts_with(except)) {
                continue;
            }
            for used in source.outline.paths.iter().filter(|used| !used.in_test) {
                if ban
                    .paths
                    .iter()
                    .any(|banned| matches(&used.segments, banned))
                {
                    findings.push(Finding::new(
                        path,
                        used.line,
                        format!("`{}` is used outside its room", used.segments.join("::")),
                        ban.instead,
                    ));
                }
            }
        }
    }
    findings
}

/// Whether the path begins with the banned one, or is a glob that takes it in.
fn matches(used: &[String], banned: &str) -> bool {
    let mut used = used.iter();
    for part in banned.split("::") {
        match used.next().map(String::as_str) {
            Some("*") => return true,
            Some(segment) if segment == part => {}
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objections(krate: &str, room: &str, text: &str) -> usize {
        let (manifest, lib) = (
            format!("crates/{krate}/Cargo.toml"),
            format!("crates/{krate}/src/lib.rs"),
        );
        let declared = format!("mod {room};");
        let file = format!("crates/{krate}/src/{room}.rs");
        check(&Tree::of(&[
            (&manifest, ""),
            (&lib, &declared),
            (&file, text),
        ]))
        .len()
    }

    #[test]
    fn each_thing_is_refused_outside_its_room() {
        for text in [
            "use std::fs;",
            "use std::fs::File;",
            "use std::{fs, io};",
            "use std::time::Instant;",
            "use std::time::*;",
            "fn f() { std::thread::sleep(d) }",
            "use rand::Rng;",
            "use std::net::TcpStream;",
        ] {
            assert_eq!(objections("store", "wal", text), 1, "{text}");
        }
        assert_eq!(objections("cell", "key", "use std::io::Read;"), 1);
    }

    #[test]
    fn the_right_room_and_harmless_neighbours_pass() {
        assert_eq!(objections("store", "vfs", "use std::fs::File;"), 0);
        assert_eq!(
            objections("store", "clock", "use std::time::Instant; use rand::Rng;"),
            0
        );
        assert_eq!(
            objections("store", "wal", "use std::time::Duration; use std::io;"),
            0
        );
        assert_eq!(objections("lab", "run", "use std::fs;"), 0);
        assert_eq!(
            objections("store", "wal", "#[cfg(test)] mod tests { use std::fs; }"),
            0
        );
    }
}
