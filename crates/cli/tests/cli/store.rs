//! The store as a whole: opening, check, checkpoint.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::Stdio;

use crate::run::{Folder, IMPORT_CSV};

/// The non-empty segments of the log, oldest first.
fn log_segments(folder: &Folder) -> Vec<PathBuf> {
    let mut segments: Vec<_> = std::fs::read_dir(folder.path("store/wal"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.metadata().unwrap().len() > 60)
        .collect();
    segments.sort();
    segments
}

/// Makes the store look as if its process was killed, so that the next command begins another log segment.
fn forget_closing(folder: &Folder) {
    std::fs::remove_file(folder.path("store/closed")).unwrap();
}

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
fn a_directory_of_somebody_else_gets_no_lock_file() {
    let folder = Folder::new();
    let other = folder.path("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter.txt"), "dear").unwrap();
    let text = other.display().to_string();
    let err = folder.fails(1, &["--data", &text, "table", "create", "t"]);
    assert!(err.contains("letter.txt"), "{err}");
    assert_eq!(std::fs::read_dir(&other).unwrap().count(), 1);
}

#[test]
fn a_flipped_byte_in_the_log_of_a_closed_store_is_found_and_the_rest_is_readable() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "first"]);
    forget_closing(&folder);
    folder.ok(&["put", "t", "b", "f", "q", "last"]);
    let segments = log_segments(&folder);
    let last = segments.last().unwrap();
    let whole = std::fs::read(last).unwrap();
    // In the header of the segment, and in its only batch, after which there are no others.
    for at in [3, 40, 75] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(last, bytes).unwrap();
        let err = folder.fails(1, &["scan", "t"]);
        let name = last.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            err.contains(&name) && err.contains("--allow-damage"),
            "{err}"
        );
        let ran = folder.run(&["check", "--json"]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        let problems = ran.json()[0]["problems"].as_array().unwrap().clone();
        assert_eq!(problems.len(), 1, "byte {at}: {problems:?}");
        let told: serde_json::Value =
            serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
        let message = told["error"]["message"].as_str().unwrap();
        let next = told["error"]["next"].as_str().unwrap();
        assert!(
            message.contains("writes in the damaged part of the log"),
            "{message}"
        );
        assert!(
            next.contains("ostrakon --allow-damage export") && !next.contains("restore-file"),
            "{next}"
        );
        assert!(problems[0]["file"].as_str().unwrap().ends_with(&name));
        let ran = folder.run(&["--allow-damage", "scan", "t", "--values-only"]);
        assert_eq!((ran.code, &*ran.out), (0, "first\n"), "byte {at}");
        // The missing part is reported.
        assert!(
            ran.err.contains(&name)
                && ran.err.contains("warning: ")
                && ran.err.contains("  next: "),
            "{}",
            ran.err
        );
    }
    std::fs::write(last, whole).unwrap();
    assert!(folder.ok(&["check"]).contains(": 0 problems"));
}

#[test]
fn the_loss_of_a_part_of_the_log_can_be_accepted() {
    let folder = Folder::with_table();
    assert_eq!(
        folder.ok(&["repair-log", "--yes"]),
        "the log is undamaged; nothing was changed\n"
    );
    for row in ["a", "b", "c"] {
        forget_closing(&folder);
        folder.ok(&["put", "t", row, "f", "q", row]);
    }
    let segments = log_segments(&folder);
    std::fs::remove_file(&segments[1]).unwrap();
    let err = folder.fails(1, &["put", "t", "d", "f", "q", "d"]);
    assert!(err.contains("repair-log"), "{err}");
    let err = folder.fails(2, &["repair-log"]);
    assert!(err.contains("--yes"), "{err}");
    folder.fails(1, &["scan", "t"]);
    let repaired = folder.run(&["repair-log", "--yes", "--json"]);
    assert_eq!(repaired.code, 0, "{}", repaired.err);
    let damages = repaired.json()[0]["damages"].clone();
    let name = segments[1].file_name().unwrap().to_str().unwrap();
    assert!(damages[0]["file"].as_str().unwrap().ends_with(name));
    assert_eq!(damages[0]["tables"], serde_json::json!(["t"]));
    assert_eq!(folder.ok(&["scan", "t", "--values-only"]), "a\n");
    let kept = folder
        .path("store/lost")
        .join(segments[2].file_name().unwrap());
    assert!(kept.exists(), "the rest of the log is kept");
    folder.ok(&["put", "t", "d", "f", "q", "d"]);
    assert_eq!(folder.ok(&["scan", "t", "--values-only"]), "a\nd\n");
    assert!(folder.ok(&["check"]).contains(": 0 problems"));
}

#[test]
fn a_directory_in_the_place_of_a_file_is_a_damaged_store() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    folder.ok(&["table", "flush", "t"]);
    forget_closing(&folder);
    folder.ok(&["put", "t", "b", "f", "q", "v"]);
    let files = std::fs::read_dir(folder.path("store/files")).unwrap();
    let mut all = log_segments(&folder);
    all.extend(files.map(|file| file.unwrap().path()));
    assert!(all.len() >= 2, "{all:?}");
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        let err = folder.fails(1, &["scan", "t"]);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(err.contains(&name), "{err}");
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
    }
    assert_eq!(folder.ok(&["scan", "t", "--values-only"]), "v\nv\n");
}

#[test]
fn any_memory_budget_opens_a_store() {
    let folder = Folder::new();
    for memory in ["16M", "3000000000G", "18446744073709551615"] {
        let name = format!("t{}", memory.len());
        folder.ok(&["--memory", memory, "table", "create", &name]);
        folder.ok(&["--memory", memory, "put", &name, "a", "f", "q", "v"]);
        assert_eq!(
            folder.ok(&["--memory", memory, "scan", &name, "--values-only"]),
            "v\n"
        );
    }
}

#[test]
fn a_log_segment_that_somebody_deleted_is_missed() {
    let folder = Folder::with_table();
    for row in ["a", "b", "c"] {
        forget_closing(&folder);
        folder.ok(&["put", "t", row, "f", "q", row]);
    }
    // After reading, or a session without writes, a missing log loses no data.
    folder.ok(&["table", "list"]);
    let segments = log_segments(&folder);
    assert_eq!(segments.len(), 3);
    // Writes after the gap are not read, because a delete may be missing.
    for (path, rest) in segments.iter().zip(["", "a\n", "a\nb\n"]) {
        let bytes = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let err = folder.fails(1, &["scan", "t"]);
        for word in [&*name, "missing", "--allow-damage"] {
            assert!(err.contains(word), "{word}: {err}");
        }
        let ran = folder.run(&["check", "--json"]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        let problems = ran.json()[0]["problems"].as_array().unwrap().clone();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0]["file"].as_str().unwrap().ends_with(&name));
        let ran = folder.run(&["--allow-damage", "scan", "t", "--values-only"]);
        assert_eq!((ran.code, &*ran.out), (0, rest), "{}", ran.err);
        assert!(
            ran.err.contains(&name),
            "what is missing is named: {}",
            ran.err
        );
        std::fs::write(path, bytes).unwrap();
    }
    assert!(folder.ok(&["check"]).contains(": 0 problems"));
    folder.ok(&["table", "flush", "t"]);
    folder.ok(&["put", "t", "d", "f", "q", "d"]);
    assert!(!segments[0].exists(), "flushed and deleted");
    assert!(folder.ok(&["check"]).contains(": 0 problems"));
}

#[test]
fn a_store_without_a_catalog_is_not_taken_for_another_directory() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    let catalogs = ["store/catalog", "store/catalog.mirror"].map(|name| folder.path(name));
    let away = ["catalog", "catalog.mirror"].map(|name| folder.path(name));
    let refused = || {
        for command in [&["scan", "t"][..], &["table", "create", "u"], &["check"]] {
            let err = folder.fails(1, command);
            assert!(
                err.contains("the mirror of the catalog are missing") && !err.contains("next:"),
                "{err}"
            );
        }
    };
    for (from, to) in catalogs.iter().zip(&away) {
        std::fs::rename(from, to).unwrap();
    }
    // The value is in the log alone.
    refused();
    for (from, to) in away.iter().zip(&catalogs) {
        std::fs::rename(from, to).unwrap();
    }
    folder.ok(&["table", "flush", "t"]);
    for catalog in &catalogs {
        std::fs::copy(catalog, &away[0]).unwrap();
        std::fs::remove_file(catalog).unwrap();
    }
    refused();
    std::fs::rename(&away[0], &catalogs[0]).unwrap();
    let ran = folder.run(&["scan", "t", "--values-only"]);
    assert_eq!((ran.code, &*ran.out), (0, "v\n"), "{}", ran.err);
}

#[test]
fn a_damaged_catalog_is_restored_from_its_mirror_and_it_is_said() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    let catalog = folder.path("store/catalog");
    let mirror = folder.path("store/catalog.mirror");
    let flip = |path: &std::path::Path| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[100] ^= 1;
        bytes[3] ^= 1;
        std::fs::write(path, bytes).unwrap();
    };
    let problems = || -> Vec<String> {
        let ran = folder.run(&["--read-only", "check", "--json"]);
        let problems = ran.json()[0]["problems"].as_array().unwrap().clone();
        assert_eq!(ran.code, i32::from(!problems.is_empty()), "{}", ran.err);
        let files = problems
            .iter()
            .map(|p| p["file"].as_str().unwrap().to_owned());
        files.collect()
    };
    assert_eq!(problems(), Vec::<String>::new());
    for (path, name) in [(&catalog, "catalog"), (&mirror, "catalog.mirror")] {
        flip(path);
        assert_eq!(problems(), [name]);
        let ran = folder.run(&["--read-only", "scan", "t", "--values-only"]);
        assert_eq!((ran.code, &*ran.out), (0, "v\n"), "{}", ran.err);
        // A command that writes restores it.
        let ran = folder.run(&["put", "t", "a", "f", "q", "v"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(
            ran.err.contains("WARN") && ran.err.contains(name),
            "{}",
            ran.err
        );
        assert!(folder.run(&["scan", "t"]).err.is_empty(), "said once");
        assert_eq!(problems(), Vec::<String>::new());
    }
    flip(&catalog);
    flip(&mirror);
    let err = folder.fails(1, &["scan", "t"]);
    assert!(
        err.contains("catalog") && err.contains("checkpoint"),
        "{err}"
    );
}

#[test]
fn a_store_opened_for_reading_says_why_it_is_not_written() {
    let folder = Folder::with_table();
    let err = folder.fails(1, &["--read-only", "put", "t", "a", "f", "q", "v"]);
    assert!(err.contains("opened read-only"), "{err}");
    assert!(!err.contains("disk"), "{err}");
}

#[test]
fn check_counts_the_entries_of_the_log() {
    let folder = Folder::with_table();
    folder.import_csv("a,1\nb,2\nc,3\n");
    let report = &folder.run(&["check", "--json"]).json()[0];
    assert_eq!(
        (&report["entries"], &report["log_entries"]),
        (&0.into(), &3.into())
    );
    assert!(report["bytes"].as_u64() > Some(0));
    let text = folder.ok(&["check"]);
    assert!(
        text.contains("0 entries in table files and 3 in the log"),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn a_store_behind_a_dangling_link_is_named() {
    let folder = Folder::new();
    std::os::unix::fs::symlink(folder.path("absent"), folder.path("store")).unwrap();
    for command in [&["table", "create", "t"][..], &["table", "list"]] {
        let err = folder.fails(1, command);
        assert!(err.contains("symbolic link to nothing"), "{err}");
        assert!(err.contains("absent"), "{err}");
    }
    std::fs::create_dir(folder.path("absent")).unwrap();
    folder.ok(&["table", "create", "t"]);
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

#[test]
fn a_missing_mirror_is_named_and_a_checkpoint_lies_outside() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "row", "f", "q", "value"]);
    for inside in ["store/copy", "store/files/copy"] {
        let err = folder.fails(1, &["checkpoint", &folder.text(inside)]);
        assert!(err.contains("outside"), "{err}");
    }
    assert!(
        folder
            .ok(&["--read-only", "check"])
            .contains(": 0 problems")
    );
    std::fs::remove_file(folder.path("store/catalog.mirror")).unwrap();
    let ran = folder.run(&["--read-only", "check"]);
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    assert!(ran.out.contains("catalog.mirror"), "{}", ran.out);
    folder.ok(&["table", "create", "another"]);
    assert!(folder.path("store/catalog.mirror").exists());
}

/// A compaction that finds a damaged block is tried again five times per second, but logged once.
#[test]
fn what_background_work_fails_of_is_said_once_a_command() {
    let folder = Folder::new();
    let ratio = "table.compaction.major.ratio";
    let never = format!("{ratio}=100");
    folder.ok(&["table", "create", "t", "--property", &never]);
    for part in 0..4 {
        let lines: String = (0..1000).map(|n| format!("{part}{n:04},v{n}\n")).collect();
        folder.import_csv(&lines);
        folder.ok(&["table", "flush", "t"]);
    }
    let damaged = damage_largest_file(&folder.path("store"));
    folder.run(&["table", "config", "set", "t", &format!("{ratio}=1")]);
    let mut command = folder.command(IMPORT_CSV);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The first record opens the store, whose compactions fail from then on.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a,b\n").unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut err = String::new();
    while !err.contains("WARN") {
        assert_ne!(stderr.read_line(&mut err).unwrap(), 0, "no warning: {err}");
    }
    // Time for half a dozen attempts, none of which may say it again.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    drop(stdin);
    stderr.read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{err}");
    let told = err.lines().filter(|line| line.contains("WARN")).count();
    assert_eq!(told, 1, "{err}");
    assert!(err.contains(&damaged), "{err}");
}

/// Flips bytes in the middle of the largest table file, and returns its name.
fn damage_largest_file(store: &std::path::Path) -> String {
    let mut folders = vec![store.to_owned()];
    let mut largest = (0, PathBuf::new());
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).unwrap().flatten() {
            let kind = file.file_type().unwrap();
            let path = file.path();
            let size = file.metadata().unwrap().len();
            if kind.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "sorted") && size > largest.0 {
                largest = (size, path);
            }
        }
    }
    let (size, path) = largest;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[size as usize / 2] ^= 0xff;
    // A new file, because the checkpoint shares the old one.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn a_second_process_is_told_which_process_has_the_store_open() {
    let folder = Folder::with_table();
    // This call may get the lock first; then the holder fails, and another takes its place.
    let found = (0..20).find_map(|_| {
        let mut command = folder.command(&["import", "t", "-", "--format", "csv", "--row", "1"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut holder = command.spawn().unwrap();
        // An import takes the store for its first record.
        let mut input = holder.stdin.take().unwrap();
        input.write_all(b"id,v\n1,2\n").unwrap();
        let (mut told, mut asked) = (None, 0);
        while told.is_none() && asked < 50 && holder.try_wait().unwrap().is_none() {
            let ran = folder.run(&["--wait", "0", "table", "list"]);
            // The holder takes the lock first and then writes its name, so the name may be missing.
            let named = ran.code == 1 && ran.err.contains(&holder.id().to_string());
            told = named.then_some(ran.err);
            asked += 1;
        }
        drop(input);
        holder.wait().unwrap();
        told
    });
    let told = found.expect("somebody is told the holder's process id");
    assert!(told.contains("in use by process"), "{told}");
    folder.ok(&["table", "list"]);
}

/// Regression: nineteen of twenty failed.
#[test]
fn commands_at_the_same_time_wait_for_each_other() {
    let folder = Folder::with_table();
    let rows: Vec<String> = (0..8).map(|row| format!("row{row}")).collect();
    let writers: Vec<_> = rows
        .iter()
        .map(|row| {
            let mut command = folder.command(&["--wait", "60", "put", "t", row, "f", "q", "v"]);
            command.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let counted = folder.ok(&["scan", "t", "--count"]);
    assert!(counted.starts_with("8 entries "), "{counted}");
}

#[test]
fn commands_that_read_share_a_store_and_change_nothing() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    let state = || {
        let mut files: Vec<_> = ["store", "store/wal", "store/files"]
            .iter()
            .flat_map(|dir| std::fs::read_dir(folder.path(dir)).unwrap())
            .map(|entry| {
                let entry = entry.unwrap();
                let metadata = entry.metadata().unwrap();
                let written = metadata.modified().unwrap();
                (
                    entry.path(),
                    metadata.is_file().then_some((metadata.len(), written)),
                )
            })
            .collect();
        files.sort();
        files
    };
    let before = state();
    for command in [
        &["table", "list"][..],
        &["table", "list", "--long"],
        &["table", "splits", "t"],
        &["table", "tablets", "t"],
        &["table", "du"],
        &["table", "config", "get", "t"],
        &["scan", "t"],
        &["export", "t", "-"],
        &["check"],
    ] {
        let ran = folder.run(command);
        assert_eq!((ran.code, &*ran.err), (0, ""), "{command:?}");
        assert_eq!(state(), before, "{command:?}");
    }
    let err = folder.fails(2, &["--allow-damage", "put", "t", "a", "f", "q", "v"]);
    assert!(err.contains("--allow-damage"), "{err}");
}

#[test]
fn check_notes_that_nothing_proves_the_end_of_the_log() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "row", "f", "q", "value"]);
    let sound = folder.run(&["check", "--json"]).json();
    assert_eq!(sound[0]["notes"], serde_json::json!([]));
    std::fs::remove_file(folder.path("store/closed")).unwrap();
    let told = folder.ok(&["check"]);
    assert!(
        told.contains(": 0 problems\nnote: the file `closed`"),
        "{told}"
    );
    let told = folder.run(&["check", "--json"]).json();
    assert_eq!(told[0]["notes"].as_array().unwrap().len(), 1);
    // The next clean shutdown writes it again.
    folder.ok(&["put", "t", "row", "f", "q", "value"]);
    assert!(!folder.ok(&["check"]).contains("note:"));
}

#[test]
fn an_export_goes_on_behind_damage_if_asked() {
    let folder = Folder::with_table();
    let lines: String = (0..20_000_u64)
        .map(|n| {
            let value = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            format!("row-{n:06},{value:020}{:020}\n", value.rotate_left(17))
        })
        .collect();
    folder.import_csv(&lines);
    folder.ok(&["table", "compact", "t"]);
    let all = folder.ok(&["export", "t", "-", "--format", "tsv"]);
    let files: Vec<_> = std::fs::read_dir(folder.path("store/files"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1);
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&files[0], bytes).unwrap();
    let err = folder.fails(1, &["export", "t", "out.tsv"]);
    assert!(err.contains("file: ") && err.contains("next: "), "{err}");
    assert!(!folder.path("out.tsv").exists());
    let ran = folder.run(&["export", "t", "out.tsv", "--skip-damaged", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let told = &ran.json()[0];
    let lost = told["lost"].as_array().unwrap();
    assert_eq!(lost.len(), 1, "{told}");
    // The rows between were in the damaged block; the row where it begins was read.
    let exported = folder.read("out.tsv");
    let row = |line: &str| line.split('\t').next().unwrap().to_owned();
    // Between two rows there may be bytes that are shown as escapes.
    let bound = |name: &str| {
        let shown = lost[0][name].as_str().unwrap();
        let mut parts = shown.split("\\x");
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            let (hex, rest) = part.split_at(2);
            bytes.push(u8::from_str_radix(hex, 16).unwrap());
            bytes.extend_from_slice(rest.as_bytes());
        }
        bytes
    };
    let (begin, before) = (bound("begin"), bound("before"));
    let is_kept = |line: &str| {
        let row = row(line).into_bytes();
        row <= begin || row >= before
    };
    let expected: Vec<&str> = all.lines().filter(|line| is_kept(line)).collect();
    assert!(exported.lines().eq(expected.iter().copied()), "{told}");
    assert!(
        expected.len() > 15_000 && expected.len() < 20_001,
        "{}",
        expected.len()
    );
    assert_eq!(told["entries"].as_u64(), Some(expected.len() as u64 - 1));
    let ran = folder.run(&["export", "t", "-", "--format", "tsv", "--skip-damaged"]);
    assert_eq!((ran.code, ran.out), (1, exported));
    assert!(ran.err.contains("ranges lost: 1"), "{}", ran.err);
}

#[test]
fn files_under_names_that_the_store_does_not_give_harm_nothing() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    let segment = folder.path("store/wal/0000000000000001.wal");
    let works = |row: &str| {
        // With a warning about the directory.
        let ran = folder.run(&["put", "t", row, "f", "q", "v"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        folder.ok(&["check"]);
        let rows = folder.ok(&["scan", "t", "--row", "a", "--count"]);
        assert!(rows.starts_with("1 entry"), "{rows}");
    };
    for name in [
        "files/18446744073709551615.sorted",
        "files/1.sorted",
        "wal/18446744073709551615.wal",
    ] {
        folder.write(&format!("store/{name}"), "");
        works("b");
        assert!(folder.path(&format!("store/{name}")).exists(), "{name}");
    }
    std::fs::copy(&segment, folder.path("store/wal/18446744073709551614.wal")).unwrap();
    works("c");
    std::fs::create_dir(folder.path("store/files/0000000000000099.sorted")).unwrap();
    works("d");
    assert_eq!(folder.run(&["table", "compact", "t"]).code, 0);
    // A far number is not continued: the files after it have 16 digits.
    folder.write("store/files/9999999999999999.sorted", "");
    works("d");
    assert_eq!(folder.run(&["table", "compact", "t"]).code, 0);
    let names = std::fs::read_dir(folder.path("store/files")).unwrap();
    let names: Vec<String> = names
        .map(|name| name.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().all(|name| !name.starts_with("10000")),
        "{names:?}"
    );
    // The last number of all: the log is damaged, and can be repaired.
    std::fs::copy(&segment, folder.path("store/wal/9999999999999999.wal")).unwrap();
    folder.fails(1, &["put", "t", "e", "f", "q", "v"]);
    folder.run(&["repair-log", "--yes"]);
    works("e");
    assert!(!folder.path("store/wal/9999999999999999.wal").exists());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_lock_is_not_waited_for() {
    let folder = Folder::with_table();
    let lock = folder.path("store/LOCK");
    std::fs::remove_file(&lock).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&lock).status();
    assert!(made.unwrap().success());
    folder.ok(&["scan", "t"]);
    folder.fails(1, &["put", "t", "a", "f", "q", "v"]);
}

#[test]
fn a_directory_in_the_place_of_a_file_of_the_store_is_named() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    for file in ["LOCK", "catalog", "catalog.mirror"] {
        let path = folder.path("store").join(file);
        let aside = folder.path("aside");
        std::fs::rename(&path, &aside).unwrap();
        std::fs::create_dir_all(path.join("inside")).unwrap();
        let read = folder.run(&["scan", "t"]);
        assert_eq!(read.code, 0, "{read:?}");
        assert!(read.out.contains('v'), "{file}: {read:?}");
        let error = folder.fails(1, &["put", "t", "b", "f", "q", "v"]);
        assert!(error.contains(file), "{error}");
        assert!(error.contains("move"), "{error}");
        std::fs::remove_dir_all(&path).unwrap();
        std::fs::rename(&aside, &path).unwrap();
    }
    folder.ok(&["put", "t", "b", "f", "q", "v"]);
}

/// A link in a store that comes from elsewhere could name any file of the user.
#[cfg(unix)]
#[test]
fn nothing_is_written_through_links_in_a_store() {
    use std::os::unix::fs::symlink;

    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    let precious = folder.write(
        "precious",
        "mine, and longer than what a store writes to its small files, ".repeat(9),
    );
    for file in ["LOCK", "closed"] {
        let path = folder.path("store").join(file);
        std::fs::remove_file(&path).unwrap();
        symlink(&precious, &path).unwrap();
        folder.run(&["scan", "t"]);
        let ran = folder.run(&["put", "t", "b", "f", "q", "v"]);
        assert!(ran.err.contains("symbolic link"), "{file}: {ran:?}");
        assert!(folder.read("precious").starts_with("mine"), "{file}");
        assert!(folder.read("precious").ends_with("files, "), "{file}");
        std::fs::remove_file(&path).unwrap();
    }
    // A checkpoint is built beside its destination, where others may write.
    std::fs::create_dir(folder.path("copy.partial")).unwrap();
    symlink(&precious, folder.path("copy.partial/LOCK")).unwrap();
    let copy = folder.text("copy");
    assert!(
        folder
            .fails(1, &["checkpoint", &copy])
            .contains("symbolic link")
    );
    // The first file of a new store.
    std::fs::create_dir(folder.path("new")).unwrap();
    symlink(folder.path("elsewhere"), folder.path("new/catalog.new")).unwrap();
    let new = folder.text("new");
    folder.run(&["--data", &new, "table", "create", "t"]);
    assert!(!folder.path("elsewhere").exists());
    assert!(folder.read("precious").ends_with("files, "));
}

#[test]
fn files_of_the_user_are_not_made_among_those_of_a_store() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    folder.write("data.csv", "id,n\n1,x\n");
    for file in [
        "store/wal/0000000000000009.wal",
        "store/closed",
        "store/files/0000000000000009.sorted",
    ] {
        let target = folder.text(file);
        for arguments in [
            &["export", "t", &target, "--force", "--format", "csv"][..],
            &[
                "import",
                "t",
                "data.csv",
                "--row",
                "id",
                "--rejects",
                &target,
            ],
        ] {
            let error = folder.fails(1, arguments);
            assert!(error.contains("part of a store"), "{arguments:?}: {error}");
        }
    }
    folder.ok(&["scan", "t"]);
    let beside = folder.text("store/of-mine.tsv");
    folder.ok(&["export", "t", &beside]);
    assert!(folder.path("store/of-mine.tsv").exists());
}

/// They opened the store for writing, and failed while another process read it.
#[test]
fn commands_that_only_read_work_beside_a_reader_and_write_nothing() {
    let folder = Folder::with_table();
    folder.ok(&["lab", "continuous", "ingest", "--entries", "1k", "--json"]);
    folder.ok(&["put", "t", "row", "f", "q", "value"]);
    let options = ostrakon_store::StoreOptions {
        create: false,
        read_only: true,
        ..ostrakon_store::StoreOptions::default()
    };
    let reader = ostrakon_store::Store::open(folder.path("store"), options).unwrap();
    let catalog = || std::fs::read(folder.path("store/catalog")).unwrap();
    let before = catalog();
    for words in [
        "table status",
        "table status t",
        "table list --long",
        "table tablets t",
        "table du",
        "table splits t",
        "table locate t a",
        "table config get t",
        "config get",
        "namespace list",
        "iterators",
        "scan t",
        "get t row",
        "export t",
        "check",
        "lab continuous verify",
        "lab continuous stats --lines 1 --interval 0.1",
        "lab continuous walk --seconds 0.1",
    ] {
        let arguments: Vec<&str> = words.split(' ').collect();
        let ran = folder.run(&arguments);
        assert_eq!(ran.code, 0, "{words}: {} {}", ran.out, ran.err);
    }
    assert_eq!(catalog(), before);
    reader.close().unwrap();
}
