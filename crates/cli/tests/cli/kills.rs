//! Kills every command that changes something, at any moment. Afterwards the store opens without damage, and the
//! change is complete or absent, or, where a command works in steps, complete up to some of them. The command can be
//! repeated. `OSTRAKON_FAULTS=N` kills N times as often.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Instant;

use ostrakon_cell::{Batch, Key};
use ostrakon_store::sorted_file::{BulkFileWriter, WriterOptions};
use ostrakon_testkit::disk::rounds_wanted;

use crate::run::Folder;

/// What a killed command leaves.
#[derive(Clone, Copy, PartialEq)]
enum Leaves {
    /// Everything or nothing.
    Whole,
    /// Some of its steps; each line that is seen is one from before or after.
    Steps,
}
use Leaves::{Steps, Whole};

type Command = (Leaves, &'static [&'static str]);

/// A store with a table of two files and some memory, split once, and what the commands need.
fn store() -> Folder {
    let folder = Folder::with_table();
    let lines = |range: std::ops::Range<usize>| -> String {
        range.map(|n| format!("{n:04},x\n")).collect()
    };
    folder.import_csv(&lines(0..400));
    folder.ok(&["table", "flush", "t"]);
    folder.import_csv(&lines(300..700));
    folder.ok(&["table", "flush", "t"]);
    folder.import_csv(&lines(600..1000));
    folder.ok(&["table", "add-splits", "t", "0500"]);
    folder.ok(&["namespace", "create", "space"]);
    folder.ok(&["table", "create", "space.v"]);
    folder.ok(&["table", "create", "off"]);
    folder.ok(&["table", "offline", "off"]);
    folder.ok(&[
        "sql",
        "-c",
        "CREATE TABLE city (name VARCHAR, people BIGINT, PRIMARY KEY (name))",
    ]);
    folder.write("more.csv", lines(900..3000));
    let cities: String = (0..500).map(|n| format!("city {n},{n}\n")).collect();
    folder.write("city.csv", format!("name,people\n{cities}"));
    std::fs::create_dir(folder.path("parts")).unwrap();
    for part in 0..3_u32 {
        let mut batch = Batch::new();
        for row in 0..50 {
            let mut key = Key::new(format!("{:04}", 5000 + 3 * row + part), "f", "q");
            key.timestamp = 1;
            batch.push(key.as_ref(), b"imported").unwrap();
        }
        let path = folder.path(&format!("parts/part-{part}.sorted"));
        let mut writer = BulkFileWriter::create(&path, WriterOptions::default()).unwrap();
        writer.append(&batch).unwrap();
        writer.finish().unwrap();
    }
    folder
}

/// Commands on tables.
const COMMANDS: &[Command] = &[
    (Whole, &["put", "t", "new", "f", "q", "v"]),
    (Whole, &["delete", "t", "0001", "", "1"]),
    (
        Whole,
        &[
            "delete-rows",
            "t",
            "--begin",
            "0100",
            "--end",
            "0200",
            "--yes",
        ],
    ),
    (Steps, &["delete-many", "t", "--prefix", "05", "--yes"]),
    (
        Steps,
        &[
            "import",
            "t",
            "more.csv",
            "--format",
            "csv",
            "--no-header",
            "--row",
            "1",
        ],
    ),
    (Whole, &["table", "import-directory", "t", "parts"]),
    (Whole, &["table", "create", "other"]),
    (Whole, &["table", "rename", "t", "u"]),
    (Whole, &["table", "clone", "t", "copy"]),
    (Whole, &["table", "delete", "t", "--yes"]),
    (Whole, &["table", "offline", "t"]),
    (Whole, &["table", "online", "off"]),
    (Whole, &["table", "flush", "t"]),
    (Whole, &["table", "compact", "t"]),
    (Whole, &["table", "add-splits", "t", "0250", "0750"]),
    (Whole, &["table", "merge", "t"]),
    (
        Whole,
        &["table", "config", "set", "t", "table.split.threshold=64M"],
    ),
    (Whole, &["config", "set", "table.split.threshold=32M"]),
    (
        Whole,
        &[
            "config",
            "set",
            "--namespace",
            "space",
            "table.split.threshold=16M",
        ],
    ),
    (Whole, &["namespace", "create", "room"]),
    (Whole, &["namespace", "rename", "space", "room"]),
    (Whole, &["checkpoint", "monday"]),
    (
        Steps,
        &["sql", "-c", "INSERT INTO city SELECT * FROM 'city.csv'"],
    ),
    (
        Steps,
        &[
            "sql",
            "-c",
            "DROP TABLE IF EXISTS other; CREATE TABLE other (PRIMARY KEY (name)) AS SELECT * FROM 'city.csv'",
        ],
    ),
];

/// The visible state: tables, split points, entries, properties, namespaces, and a checkpoint.
fn seen(folder: &Folder) -> String {
    let mut all = folder.ok(&["table", "list"]);
    all.push_str(&folder.ok(&["namespace", "list"]));
    for table in ["t", "u", "copy", "other", "off", "city"] {
        if all.contains(table) {
            let ran = folder.run(&["scan", table]);
            all.push_str(&format!("{table} {}\n", ran.code));
            all.extend(ran.out.lines().map(|line| format!("{table} {line}\n")));
        }
    }
    all.push_str(&folder.run(&["table", "splits", "t"]).out);
    for command in [
        &["table", "config", "get", "t", "table.split.threshold"][..],
        &["config", "get"],
        &["config", "get", "--namespace", "space"],
    ] {
        all.push_str(&format!("{command:?} {}\n", folder.run(command).out));
    }
    if folder.path("monday").exists() {
        all.push_str(&folder.ok(&["--data", "monday", "scan", "t"]));
    }
    all
}

const LOG: &str = "logs.json";

/// A store with events of two days.
fn events() -> Folder {
    let folder = Folder::new();
    let lines = |days: std::ops::Range<usize>| -> String {
        let hours = days.flat_map(|day| (0..24).map(move |hour| (day, hour)));
        hours
            .map(|(day, hour)| {
                let host = ["a", "b", "c"][hour % 3];
                format!("{{\"ts\":\"2026-01-{day:02}T{hour:02}:00:00Z\",\"host\":\"{host}\",\"n\":{hour}}}\n")
            })
            .collect()
    };
    folder.write(LOG, lines(1..3));
    folder.write("more.json", lines(3..20));
    folder.ok(&["events", "create", "web", "--from", LOG]);
    folder.ok(&["events", "ingest", "web", LOG]);
    folder
}

/// Commands on events.
const EVENT_COMMANDS: &[Command] = &[
    (Steps, &["events", "create", "other", "--from", LOG]),
    (Steps, &["events", "ingest", "web", "more.json"]),
    (Steps, &["events", "drop", "web", "--yes"]),
    (Steps, &["events", "delete", "web", "host == 'a'", "--yes"]),
    (
        Steps,
        &[
            "events",
            "age-off",
            "web",
            "--before",
            "2026-01-02T00:00",
            "--yes",
        ],
    ),
];

/// The event types, and the events that queries find, by a scan and by the index.
fn seen_events(folder: &Folder) -> String {
    let mut all = folder.ok(&["events", "list"]);
    for query in [
        &["events", "query", "web"][..],
        &["events", "query", "web", "host == 'b'"],
    ] {
        all.push_str(&folder.run(query).out);
    }
    all
}

/// A copy of a folder.
fn copy_of(folder: &Folder) -> Folder {
    let copy = Folder::new();
    for entry in walk(&folder.path("")) {
        let to = copy
            .path("")
            .join(entry.strip_prefix(folder.path("")).unwrap());
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

/// Whether `now` is a state that a killed command may leave.
fn is_between(leaves: Leaves, before: &str, now: &str, after: &str) -> bool {
    if now == before || now == after {
        return true;
    }
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (before, now, after) = (lines(before), lines(now), lines(after));
    leaves == Steps
        && now.is_subset(&before.union(&after).cloned().collect())
        && before.intersection(&after).all(|line| now.contains(line))
}

/// Kills one command several times, each time on a copy of `sample`; `damaged` if the store is until the command
/// has repaired it.
fn kill(sample: &Folder, command: Command, seen: fn(&Folder) -> String, damaged: bool) {
    let (leaves, command) = command;
    let before = seen(sample);
    let kills = rounds_wanted(2);
    let whole = copy_of(sample);
    let begun = Instant::now();
    let ran = whole.run(command);
    let took = begun.elapsed();
    assert_eq!(ran.code, 0, "{command:?}: {}", ran.err);
    let after = seen(&whole);
    for kill in 0..kills {
        let folder = copy_of(sample);
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
        let what = format!("{command:?}, killed after part {kill} of {kills}");
        assert!(is_between(leaves, &before, &now, &after), "{what}: {now}");
        if !damaged || now == after {
            assert!(folder.ok(&["check"]).contains(": 0 problems"), "{what}");
        }
        // An interrupted command can be repeated.
        if now != after {
            let mut again = folder.run(command);
            // Some of the tables of a type are there; whether with events, only the user knows.
            if again.err.contains("drop the type") {
                folder.ok(&["events", "drop", "other", "--yes"]);
                again = folder.run(command);
            }
            assert_eq!(again.code, 0, "{what}, again: {}", again.err);
            assert_eq!(seen(&folder), after, "{what}, again");
        }
    }
}

#[test]
fn a_command_that_is_killed_is_done_whole_or_not_at_all() {
    let sample = store();
    for command in COMMANDS {
        kill(&sample, *command, seen, false);
    }
}

#[test]
fn a_command_on_events_that_is_killed_can_be_repeated() {
    let sample = events();
    for command in EVENT_COMMANDS {
        kill(&sample, *command, seen_events, false);
    }
}

/// Repairing brings back what index and counts lack, and changes no event.
#[test]
fn a_repair_of_events_that_is_killed_can_be_repeated() {
    let sample = events();
    let lists = sample.ok(&["table", "list"]);
    let index = lists.lines().find(|name| name.ends_with("index")).unwrap();
    sample.ok(&["delete-rows", index, "--all", "--yes"]);
    let command: Command = (Steps, &["events", "repair", "web"]);
    kill(&sample, command, seen_events, false);
}

#[test]
fn a_restoration_that_is_killed_can_be_repeated() {
    let sample = store();
    sample.ok(&["checkpoint", "monday"]);
    let files = walk(&sample.path("store/files"));
    let damaged = files.iter().min().unwrap();
    let mut bytes = std::fs::read(damaged).unwrap();
    bytes[40] ^= 8;
    // Not in place: the checkpoint shares the file.
    std::fs::remove_file(damaged).unwrap();
    std::fs::write(damaged, bytes).unwrap();
    let name = damaged.file_name().unwrap().to_str().unwrap();
    let file: &'static str = format!("monday/files/{name}").leak();
    let arguments = ["table", "restore-file", file].to_vec().leak();
    kill(&sample, (Whole, arguments), seen, true);
}
