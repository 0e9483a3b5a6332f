//! Commands that change something, for tests that interrupt them: the stores on which they run, and what is seen of
//! the change.

use std::collections::BTreeSet;

use ostrakon_cell::{Batch, Key};
use ostrakon_store::sorted_file::{BulkFileWriter, WriterOptions};

use crate::run::Folder;

/// What a command that did not end leaves.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Leaves {
    /// Everything or nothing.
    Whole,
    /// Some of its steps; each line that is seen is one from before or after.
    Steps,
}
pub(crate) use Leaves::{Steps, Whole};

pub(crate) type Command = (Leaves, &'static [&'static str]);

/// A store with a table of two files and some memory, split once, and what the commands need.
pub(crate) fn store() -> Folder {
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
    folder.ok(&["namespace", "create", "empty"]);
    folder.ok(&["table", "create", "space.v"]);
    folder.ok(&["table", "config", "set", "t", "table.split.threshold=48M"]);
    folder.ok(&["config", "set", "table.file.max=20"]);
    folder.ok(&["config", "set", "--namespace", "space", "table.file.max=25"]);
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
pub(crate) const COMMANDS: &[Command] = &[
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
    (
        Whole,
        &["table", "config", "delete", "t", "table.split.threshold"],
    ),
    (Whole, &["config", "delete", "table.file.max"]),
    (
        Whole,
        &["config", "delete", "--namespace", "space", "table.file.max"],
    ),
    (Whole, &["namespace", "create", "room"]),
    (Whole, &["namespace", "delete", "empty"]),
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
pub(crate) fn seen(folder: &Folder) -> String {
    let tables = folder.ok(&["table", "list"]);
    // A killed statement leaves the table that it was filling.
    let tables = tables
        .lines()
        .filter(|line| !line.starts_with("unfinished__"));
    let mut all: String = tables.map(|line| format!("{line}\n")).collect();
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
pub(crate) fn events() -> Folder {
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
    let shown = folder.ok(&["events", "show", "web"]);
    let others = shown.lines().filter(|line| !line.starts_with("keep"));
    let kept: Vec<&str> = std::iter::once("keep = \"9000d\"").chain(others).collect();
    folder.write("edited.toml", kept.join("\n"));
    folder
}

/// Commands on events.
pub(crate) const EVENT_COMMANDS: &[Command] = &[
    (Steps, &["events", "create", "other", "--from", LOG]),
    (Steps, &["events", "ingest", "web", "more.json"]),
    (Whole, &["events", "edit", "web", "--schema", "edited.toml"]),
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
pub(crate) fn seen_events(folder: &Folder) -> String {
    let mut all = folder.ok(&["events", "list"]);
    all.push_str(&folder.run(&["events", "show", "web"]).out);
    for query in [
        &["events", "query", "web"][..],
        &["events", "query", "web", "host == 'b'"],
    ] {
        all.push_str(&folder.run(query).out);
    }
    all
}

/// A copy of a folder.
pub(crate) fn copy_of(folder: &Folder) -> Folder {
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

pub(crate) fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
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

/// Whether `now` is a state that a command may leave that did not end.
pub(crate) fn is_between(leaves: Leaves, before: &str, now: &str, after: &str) -> bool {
    if now == before || now == after {
        return true;
    }
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (before, now, after) = (lines(before), lines(now), lines(after));
    leaves == Steps
        && now.is_subset(&before.union(&after).cloned().collect())
        && before.intersection(&after).all(|line| now.contains(line))
}

/// Runs a command again that did not end, which must succeed.
pub(crate) fn repeat(folder: &Folder, command: &[&str], what: &str) {
    let mut again = folder.run(command);
    // Some of the tables of a type are there; whether with events, only the user knows.
    if again.err.contains("`ostrakon events drop ") {
        folder.ok(&["events", "drop", "other", "--yes"]);
        again = folder.run(command);
    }
    assert_eq!(again.code, 0, "{what}, again: {}", again.err);
}
