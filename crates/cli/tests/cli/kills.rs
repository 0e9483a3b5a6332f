//! Kills every command that changes something, at any moment. Afterwards the store opens without damage, and the
//! change is complete or absent. `OSTRAKON_FAULTS=N` kills N times as often.

use std::process::Stdio;
use std::time::Instant;

use ostrakon_testkit::disk::rounds_wanted;

use crate::run::Folder;

/// A store with a table of two files and some memory, split once.
fn store() -> Folder {
    let folder = Folder::with_table();
    let lines =
        |from: usize| -> String { (from..from + 400).map(|n| format!("{n:04},x\n")).collect() };
    folder.import_csv(&lines(0));
    folder.ok(&["table", "flush", "t"]);
    folder.import_csv(&lines(300));
    folder.ok(&["table", "flush", "t"]);
    folder.import_csv(&lines(600));
    folder.ok(&["table", "add-splits", "t", "0500"]);
    folder
}

/// Commands, and how to see whether they are done.
const COMMANDS: &[&[&str]] = &[
    &["put", "t", "new", "f", "q", "v"],
    &["delete", "t", "0001", "", "1"],
    &[
        "delete-rows",
        "t",
        "--begin",
        "0100",
        "--end",
        "0200",
        "--yes",
    ],
    &["table", "create", "other"],
    &["table", "rename", "t", "u"],
    &["table", "clone", "t", "copy"],
    &["table", "delete", "t", "--yes"],
    &["table", "flush", "t"],
    &["table", "compact", "t"],
    &["table", "add-splits", "t", "0250", "0750"],
    &["table", "merge", "t"],
];

/// The visible state: tables, split points and entries.
fn seen(folder: &Folder) -> String {
    let mut all = folder.ok(&["table", "list"]);
    for table in ["t", "u", "copy", "other"] {
        let ran = folder.run(&["scan", table]);
        all.push_str(&format!("{table} {} {}\n", ran.code, ran.out));
        all.push_str(&folder.run(&["table", "splits", table]).out);
    }
    all
}

/// A copy of the store's files, in its own folder.
fn copy_of(folder: &Folder) -> Folder {
    let copy = Folder::new();
    for entry in walk(&folder.path("store")) {
        let to = copy
            .path("store")
            .join(entry.strip_prefix(folder.path("store")).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&entry, to).unwrap();
    }
    copy
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(walk(&path)),
            false => files.push(path),
        }
    }
    files
}

#[test]
fn a_command_that_is_killed_is_done_whole_or_not_at_all() {
    let sample = store();
    let before = seen(&sample);
    let kills = rounds_wanted(3);
    for command in COMMANDS {
        let whole = copy_of(&sample);
        let begun = Instant::now();
        let ran = whole.run(command);
        let took = begun.elapsed();
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.err);
        let after = seen(&whole);
        for kill in 0..kills {
            let folder = copy_of(&sample);
            let mut child = folder
                .command(command)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // A point in the time that the command took. Where it then is depends on the machine; any place is fine.
            std::thread::sleep(took.mul_f64((kill as f64 + 0.5) / kills as f64));
            let _ = child.kill();
            child.wait().unwrap();
            let now = seen(&folder);
            assert!(
                now == before || now == after,
                "{command:?}, killed after part {kill} of {kills}: {now}"
            );
            assert!(
                folder.ok(&["check"]).contains(": 0 problems"),
                "{command:?}"
            );
            // An interrupted command can be repeated.
            if now != after {
                let again = folder.run(command);
                assert_eq!(again.code, 0, "{command:?}, again: {}", again.err);
                assert_eq!(seen(&folder), after, "{command:?}, again");
            }
        }
    }
}
