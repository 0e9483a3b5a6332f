//! The store as a whole: opening, check, checkpoint.

use std::process::Stdio;

use crate::run::Folder;

#[test]
fn a_directory_without_a_store_is_told_and_left_alone() {
    let folder = Folder::new();
    let err = folder.fails(1, &["table", "list"]);
    assert!(err.contains("table create"), "{err}");
    assert!(!folder.path("store").exists(), "looking makes no store");
    let other = folder.path("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter.txt"), "dear").unwrap();
    let text = other.display().to_string();
    folder.fails(1, &["--data", &text, "table", "list"]);
}

#[test]
fn a_checkpoint_is_a_store_and_check_finds_what_is_damaged() {
    let folder = Folder::with_table();
    let lines: String = (0..3000)
        .map(|n| format!("{n:04},{}\n", "v".repeat(50)))
        .collect();
    folder.import_csv(&lines);
    folder.ok(&["table", "flush", "t"]);
    let copy = folder.text("copy");
    folder.ok(&["checkpoint", &copy]);
    assert_ne!(
        folder.run(&["checkpoint", &copy]).code,
        0,
        "it exists already"
    );
    assert!(
        folder
            .ok(&["--data", &copy, "scan", "t", "--count"])
            .starts_with("3,000 entries")
    );
    let report = &folder.run(&["check", "--json"]).json()[0];
    assert_eq!(report["problems"].as_array().unwrap().len(), 0);
    assert!(report["entries"].as_u64().unwrap() >= 3000);
    assert!(folder.ok(&["check"]).contains(": 0 problems"));
    let damaged = damage_largest_file(&folder.path("store"));
    let ran = folder.run(&["check", "--json"]);
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    if let Some(report) = ran.json().first() {
        let problems = report["problems"].to_string();
        assert!(
            problems.contains(&damaged),
            "{problems} does not name {damaged}"
        );
    }
    let sound = folder.ok(&["--data", &copy, "check"]);
    assert!(sound.contains(": 0 problems"), "{sound}");
}

/// Flips bytes in the middle of the largest table file; its name.
fn damage_largest_file(store: &std::path::Path) -> String {
    let mut folders = vec![store.to_owned()];
    let mut largest = (0, std::path::PathBuf::new());
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).unwrap().flatten() {
            let kind = file.file_type().unwrap();
            let path = file.path();
            let size = file.metadata().unwrap().len();
            if kind.is_dir() {
                folders.push(path);
            } else if path.parent() != Some(store) && size > largest.0 {
                largest = (size, path);
            }
        }
    }
    let (size, path) = largest;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[size as usize / 2] ^= 0xff;
    // A new file: the checkpoint shares the old one.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn a_second_process_is_told_who_holds_the_store() {
    let folder = Folder::with_table();
    // Whoever asks may be first; then the holder is refused and another takes its place.
    let found = (0..20).find_map(|_| {
        let mut command = folder.command(&["import", "t", "-", "--format", "csv", "--row", "1"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut holder = command.spawn().unwrap();
        let (mut told, mut asked) = (None, 0);
        while told.is_none() && asked < 50 && holder.try_wait().unwrap().is_none() {
            let ran = folder.run(&["table", "list"]);
            // Between taking the lock and writing its name there the holder is nameless.
            let named = ran.code == 1 && ran.err.contains(&holder.id().to_string());
            told = named.then_some(ran.err);
            asked += 1;
        }
        drop(holder.stdin.take());
        holder.wait().unwrap();
        told
    });
    let told = found.expect("somebody is told the holder's process id");
    assert!(told.contains("in use by process"), "{told}");
    folder.ok(&["table", "list"]);
}
