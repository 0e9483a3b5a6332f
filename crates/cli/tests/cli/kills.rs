//! Kills every command that changes something, at any moment. Afterwards the store opens without damage, and the
//! change is complete or absent, or, where a command works in steps, complete up to some of them. The command can be
//! repeated. `OSTRAKON_FAULTS=N` kills N times as often.

use std::process::Stdio;
use std::time::Instant;

use ostrakon_cell::Source;
use ostrakon_events::register_event_iterators;
use ostrakon_store::{Components, Store, StoreOptions};
use ostrakon_testkit::disk::rounds_wanted;

use crate::changes::{
    COMMANDS, Command, EVENT_COMMANDS, Steps, Whole, copy_of, events, is_between, repeat, seen,
    seen_events, store, walk,
};
use crate::run::Folder;

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
            repeat(&folder, command, &what);
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
    // The program refuses to do this.
    let mut components = Components::default();
    register_event_iterators(&mut components.iterators);
    let directory = sample.path("store");
    let store = Store::open_with(components, directory, StoreOptions::default()).unwrap();
    let index = store.table("events.web_index").unwrap();
    index.delete_rows(None, None).unwrap();
    store.close().unwrap();
    drop((index, store));
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
    let name: &'static str = damaged
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned()
        .leak();
    let file: &'static str = format!("monday/files/{name}").leak();
    let arguments = ["table", "restore-file", file].to_vec().leak();
    kill(&sample, (Whole, arguments), seen, true);
    let arguments = ["table", "drop-file", name, "--yes"].to_vec().leak();
    kill(&sample, (Whole, arguments), seen, true);
}

#[test]
fn giving_up_a_damaged_log_can_be_repeated_after_a_kill() {
    let sample = store();
    sample.ok(&["put", "t", "9999", "f", "q", "v"]);
    let segments = walk(&sample.path("store/wal"));
    let longest = segments
        .iter()
        .max_by_key(|path| std::fs::metadata(path).unwrap().len());
    let longest = longest.unwrap();
    let mut bytes = std::fs::read(longest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 8;
    std::fs::write(longest, bytes).unwrap();
    // Nothing is seen of a store whose log is damaged.
    fn seen_if_open(folder: &Folder) -> String {
        match folder.run(&["table", "list"]).code {
            0 => seen(folder),
            _ => String::new(),
        }
    }
    assert_eq!(seen_if_open(&sample), "");
    let command: Command = (Whole, &["repair-log", "--yes"]);
    kill(&sample, command, seen_if_open, true);
}
