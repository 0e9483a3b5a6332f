//! Where results are written: pipes and links are kept, and `-` is stdout.
#![cfg(unix)]

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, symlink};
use std::process::Command;

use crate::run::Folder;

fn folder() -> Folder {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "r", "f", "q", "v", "-t", "1"]);
    folder
}

const CSV: &str = "row,family,qualifier,visibility,timestamp,value\nr,f,q,,1,v\n";

#[test]
fn pipes_are_written_and_not_replaced() {
    let folder = folder();
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.unwrap().success());
    symlink("pipe", folder.path("link")).unwrap();
    // Open for both, so that neither side waits for the other.
    let mut reader = File::options()
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(folder.path("pipe"))
        .unwrap();
    for arguments in [
        &["export", "t", "pipe", "--format", "csv"][..],
        &["export", "t", "pipe", "--format", "csv", "--force"],
        &["export", "t", "link", "--format", "csv", "--force"],
        #[cfg(feature = "sql")]
        &[
            "sql",
            "-c",
            "SELECT * FROM t",
            "--format",
            "csv",
            "--output",
            "pipe",
            "--force",
        ],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?} {}", ran.err);
        let found = std::fs::symlink_metadata(folder.path("pipe")).unwrap();
        assert!(found.file_type().is_fifo(), "{arguments:?}");
        assert!(folder.path("link").is_symlink(), "{arguments:?}");
        let mut text = [0; 1000];
        let length = reader.read(&mut text).unwrap();
        let text = String::from_utf8_lossy(&text[..length]);
        assert!(
            text.starts_with("row,family,") && text.lines().count() == 2,
            "{arguments:?} {text}"
        );
    }
    // A failure after the beginning leaves the pipe, too.
    folder.fails(
        2,
        &[
            "export",
            "t",
            "pipe",
            "--iterator",
            "30,RegExFilter,valueRegex=(",
        ],
    );
    assert!(folder.path("pipe").exists());
}

#[test]
fn links_to_files_are_followed() {
    let folder = folder();
    std::fs::create_dir(folder.path("files")).unwrap();
    folder.write("files/old.csv", "old");
    symlink("files/old.csv", folder.path("old.csv")).unwrap();
    symlink("files/new.csv", folder.path("new.csv")).unwrap();
    let err = folder.fails(1, &["export", "t", "old.csv"]);
    assert!(
        err.contains("--force") && err.contains("- for stdout"),
        "{err}"
    );
    assert_eq!(folder.read("files/old.csv"), "old");
    folder.ok(&["export", "t", "old.csv", "--force"]);
    folder.ok(&["export", "t", "new.csv"]);
    for name in ["old.csv", "new.csv"] {
        assert!(folder.path(name).is_symlink(), "{name}");
        assert_eq!(folder.read(&format!("files/{name}")), CSV, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path("files")).unwrap().count(), 2);
}

#[test]
fn a_directory_is_not_replaced() {
    let folder = folder();
    std::fs::create_dir(folder.path("d")).unwrap();
    for force in [&[][..], &["--force"]] {
        let err = folder.fails(1, &[&["export", "t", "d"][..], force].concat());
        assert!(err.contains("not a directory"), "{err}");
    }
    assert!(folder.path("d").is_dir());
}

#[test]
fn names_of_stdout_are_stdout() {
    let folder = folder();
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        assert_eq!(
            folder.ok(&["export", "t", name, "--format", "csv"]),
            CSV,
            "{name}"
        );
        #[cfg(feature = "sql")]
        assert_eq!(
            folder.ok(&[
                "sql",
                "-c",
                "SELECT row FROM t",
                "--format",
                "csv",
                "-o",
                name
            ]),
            "row\nr\n",
            "{name}"
        );
    }
    assert!(!folder.path("-").exists());
}

#[test]
fn files_that_cannot_be_stdout_say_so() {
    let folder = folder();
    let lines = folder.write("lines.csv", CSV);
    for command in [
        &["import", "t", &lines, "--rejects", "-"][..],
        &["events", "ingest", "web", &lines, "--rejects", "-"],
        &["lab", "report", "records", "--output", "-"],
    ] {
        let err = folder.fails(2, command);
        assert!(err.contains("stdout is not supported here"), "{err}");
    }
    assert!(!folder.path("-").exists());
}

#[test]
fn files_of_a_store_are_not_replaced() {
    let folder = folder();
    let catalog = folder.text("store/catalog");
    let before = std::fs::read(&catalog).unwrap();
    symlink("store/catalog", folder.text("link")).unwrap();
    // Through these, new files would be made.
    symlink("store/files/new.csv", folder.text("absent")).unwrap();
    symlink("absent", folder.text("twice")).unwrap();
    for file in [&catalog, "link", "store/catalog.mirror", "absent", "twice"] {
        let said = folder.fails(1, &["export", "t", file, "--format", "csv", "--force"]);
        assert!(said.contains("is part of a store"), "{said}");
        let query = ["sql", "SELECT 1", "--format", "csv", "--output", file];
        let said = folder.fails(1, &[&query[..], &["--force"]].concat());
        assert!(said.contains("is part of a store"), "{said}");
    }
    assert_eq!(std::fs::read(&catalog).unwrap(), before);
    folder.ok(&["check"]);
    // The user's own files may be anywhere.
    for file in ["store/own.csv", "store/own.csv"] {
        folder.ok(&["export", "t", file, "--format", "csv", "--force"]);
    }
}

#[test]
fn rejected_lines_replace_nothing_but_rejected_lines() {
    let folder = folder();
    std::fs::write(folder.text("bad.csv"), "id,n\na,x\n").unwrap();
    std::fs::write(folder.text("notes.txt"), "notes\n").unwrap();
    let import = |rejects: &str| {
        folder.run(&[
            "import",
            "t",
            "bad.csv",
            "--row",
            "id",
            "--type",
            "n=int",
            "--rejects",
            rejects,
        ])
    };
    for (file, reason) in [
        ("notes.txt", "content that is not rejected lines"),
        ("store/catalog", "part of a store"),
    ] {
        let before = std::fs::read(folder.text(file)).unwrap();
        let ran = import(file);
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains(reason), "{}", ran.err);
        assert_eq!(std::fs::read(folder.text(file)).unwrap(), before);
    }
    // Of an earlier run, of one that was killed while it began, and a new file.
    for start in [
        Some("file\tline\treason\ttext\nold\t1\tr\tt\n"),
        Some("file\tli"),
        Some(""),
        None,
    ] {
        if let Some(start) = start {
            std::fs::write(folder.text("rejects"), start).unwrap();
        }
        let ran = import("rejects");
        assert!(ran.err.contains("rejects lists each"), "{}", ran.err);
        let lines = folder.read("rejects");
        assert!(
            lines.starts_with("file\tline\treason\ttext\n") && lines.lines().count() == 2,
            "{lines}"
        );
        if start == Some("") {
            std::fs::remove_file(folder.text("rejects")).unwrap();
        }
    }
    let ran = import("/dev/null");
    assert!(ran.err.contains("/dev/null lists each"), "{}", ran.err);
}
