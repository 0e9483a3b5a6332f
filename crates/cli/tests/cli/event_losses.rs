//! Event types after a part of the log was lost.

use std::path::PathBuf;

use crate::run::Folder;

const TABLES: [&str; 3] = ["events.ev", "events.ev_index", "events.ev_aggregate"];

/// A store with a type `ev`, and a log with events from one second to before another.
fn log(folder: &Folder, name: &str, seconds: std::ops::Range<usize>) -> String {
    let lines: String = seconds
        .map(|n| format!("2026-01-01T00:00:{n:02}Z,h{}\n", n % 5))
        .collect();
    folder.write(name, format!("ts,host\n{lines}"))
}

fn flush(folder: &Folder) {
    for table in TABLES {
        folder.ok(&["table", "flush", table]);
    }
}

/// Makes the store look as if its process was killed, and writes to a table, which begins another segment.
fn begin_segment(folder: &Folder) {
    std::fs::remove_file(folder.path("store/closed")).unwrap();
    folder.ok(&["put", "other", "r", "f", "q", "v"]);
}

/// What the command prints; it may log a warning, too.
fn repair_log(folder: &Folder) -> String {
    let ran = folder.run(&["repair-log", "--yes"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

fn segments(folder: &Folder) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.path("store/wal")).unwrap();
    let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn count(folder: &Folder) -> String {
    let count = folder.ok(&["events", "query", "ev", "--count"]);
    let scanned = folder.ok(&["events", "query", "ev", "--path", "scan"]);
    assert_eq!(count, format!("{} events\n", scanned.lines().count()));
    count
}

#[test]
fn batches_after_a_lost_part_of_the_registry_count_after_a_repair() {
    let folder = Folder::new();
    let first = log(&folder, "first.csv", 10..30);
    let second = log(&folder, "second.csv", 30..50);
    folder.ok(&["events", "create", "ev", "--from", &first]);
    folder.ok(&["table", "create", "other"]);
    folder.ok(&["events", "ingest", "ev", &first]);
    begin_segment(&folder);
    folder.ok(&["events", "ingest", "ev", &second]);
    flush(&folder);
    let lost = segments(&folder).pop().unwrap();
    begin_segment(&folder);
    std::fs::remove_file(lost).unwrap();
    let said = repair_log(&folder);
    assert!(
        said.contains("event type ev: run `ostrakon events check ev`"),
        "{said}"
    );
    assert_eq!(count(&folder), "20 events\n");
    let err = folder.fails(1, &["events", "ingest", "ev", &second]);
    for part in [
        "unknown batches: 2 to 2",
        "next: run `ostrakon events repair",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let checked = folder.run(&["events", "check", "ev"]);
    assert_eq!(checked.code, 1);
    assert!(
        checked.out.contains("batches 2 to 2 are not known"),
        "{}",
        checked.out
    );
    let repaired = folder.ok(&["events", "repair", "ev"]);
    assert!(repaired.contains("batches 2 to 2 taken in"), "{repaired}");
    folder.ok(&["events", "check", "ev"]);
    assert_eq!(count(&folder), "40 events\n");
    folder.ok(&["events", "ingest", "ev", &second]);
    folder.ok(&["events", "check", "ev"]);
    assert_eq!(count(&folder), "40 events\n");
}

#[test]
fn a_deletion_stays_although_the_log_of_it_is_lost() {
    let folder = Folder::new();
    let events = log(&folder, "first.csv", 10..30);
    folder.ok(&["events", "create", "ev", "--from", &events]);
    folder.ok(&["table", "create", "other"]);
    folder.ok(&["events", "ingest", "ev", &events]);
    begin_segment(&folder);
    folder.ok(&["events", "delete", "ev", "host == 'h3'", "--yes"]);
    flush(&folder);
    let lost = segments(&folder).pop().unwrap();
    begin_segment(&folder);
    std::fs::remove_file(lost).unwrap();
    repair_log(&folder);
    assert_eq!(count(&folder), "16 events\n");
    folder.ok(&["events", "check", "ev"]);
    folder.ok(&["events", "ingest", "ev", &events]);
    folder.ok(&["events", "check", "ev"]);
    assert_eq!(count(&folder), "20 events\n");
}

#[test]
fn events_without_their_definition_are_adopted() {
    let folder = Folder::new();
    let events = log(&folder, "first.csv", 10..30);
    folder.ok(&["events", "create", "ev", "--from", &events]);
    folder.ok(&["table", "create", "other"]);
    folder.ok(&["events", "ingest", "ev", &events]);
    let schema = folder.write("ev.toml", folder.ok(&["events", "show", "ev"]));
    flush(&folder);
    let lost = segments(&folder).pop().unwrap();
    begin_segment(&folder);
    std::fs::remove_file(lost).unwrap();
    let said = folder.run(&["repair-log", "--yes", "--json"]).json()[0].clone();
    assert_eq!(
        said["event_types"],
        serde_json::json!([{"type": "ev", "registered": false}])
    );
    for command in [
        &["events", "query", "ev"][..],
        &["events", "repair", "ev"],
        &["events", "create", "ev", "--schema", &schema],
    ] {
        let err = folder.fails(1, command);
        for part in ["--adopt", "events drop"] {
            assert!(err.contains(part), "{command:?}: {err}");
        }
    }
    let adopted = folder.ok(&["events", "create", "ev", "--schema", &schema, "--adopt"]);
    assert!(adopted.contains("events check ev"), "{adopted}");
    folder.ok(&["events", "check", "ev"]);
    assert_eq!(count(&folder), "20 events\n");
    folder.ok(&["events", "ingest", "ev", &events]);
    assert_eq!(count(&folder), "20 events\n");
}
