//! Streams, signals and exit codes.

use std::io::Read as _;
use std::process::Stdio;

use crate::run::{Folder, finish, program};

#[test]
fn help_and_version_are_no_mistakes() {
    let run = |arguments: &[&str]| {
        let mut command = program();
        command.args(arguments);
        finish(command, b"")
    };
    for arguments in [
        &["--help"][..],
        &["help", "scan"],
        &["table", "create", "-h"],
        &["lab", "continuous", "--help"],
    ] {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{arguments:?}");
        assert!(ran.out.contains("Usage: ostrakon"));
        assert!(!ran.out.contains('\u{1b}'), "no colours in a pipe");
    }
    assert!(run(&["help", "import"]).out.contains("Examples:"));
    let version = run(&["--version"]);
    assert!(version.out.starts_with("ostrakon 0."), "{}", version.out);
    assert_eq!((version.code, version.err.as_str()), (0, ""));
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() {
    for argument in ["--help", "--version"] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let mut command = program();
        let status = command.arg(argument).stdout(full).stderr(Stdio::piped());
        let output = status.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{argument}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("error: "));
    }
}

#[test]
fn a_wrong_command_line_ends_with_2_and_a_suggestion() {
    let folder = Folder::new();
    assert!(folder.fails(2, &["scna"]).contains("'scan'"));
    assert!(
        folder
            .fails(2, &["table", "create", "t", "--propery", "b"])
            .contains("--property")
    );
    assert!(
        folder
            .fails(2, &["put", "t", "a\\q", "f", "q", "v"])
            .contains("position 2")
    );
    assert!(
        folder
            .fails(2, &["put", "t", "a", "f", "q", "v", "-l", "a&b|c"])
            .contains("--visibility")
    );
    assert!(
        folder
            .fails(2, &["scan", "t", "--iterator", "RegExFilter"])
            .contains("PRIORITY,CLASS")
    );
    assert!(
        folder
            .fails(2, &["scan", "t", "--limit", "-1"])
            .contains("an integer")
    );
    let timestamp = ["put", "t", "a", "f", "q", "v", "--timestamp", "now"];
    assert!(
        folder
            .fails(2, &timestamp)
            .contains("milliseconds since 1970")
    );
    let seconds = ["lab", "continuous", "walk", "--seconds", "-1"];
    assert!(folder.fails(2, &seconds).contains("number of seconds"));
    folder.fails(2, &[]);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let mut command = program();
        command.args(["scan", "t", "--row"]);
        command.arg(std::ffi::OsStr::from_bytes(b"r\xff"));
        let ran = finish(command, b"");
        assert!(ran.code == 2 && ran.err.contains("\\xNN"), "{}", ran.err);
    }
    let mut command = program();
    command.env("OSTRAKON_DATA", "").args(["scan", "t"]);
    let ran = finish(command, b"");
    assert!(ran.err.contains("no store is given"), "{}", ran.err);
    let mut command = program();
    command.args(["scan", "t"]);
    let ran = finish(command, b"");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--data DIR"), "{}", ran.err);
}

/// The store is set by the environment, which makes it no part of the usage.
#[test]
fn usage_shows_options_of_the_command_line_alone() {
    let folder = Folder::with_table();
    let err = folder.fails(2, &["put", "t"]);
    assert!(
        err.contains("Usage: ostrakon put ")
            && !err.contains("--data")
            && !err.contains("--memory"),
        "{err}"
    );
    let mut command = folder.command(&["scan", "t"]);
    command.env("OSTRAKON_MEMORY", "1");
    let ran = finish(command, b"");
    assert!(
        ran.code == 2 && ran.err.contains("at least 16M"),
        "{}",
        ran.err
    );
}

#[test]
fn errors_are_one_object_for_machines() {
    let folder = Folder::with_table();
    let err = folder.fails(1, &["scan", "tt", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert_eq!(object["error"]["kind"], "table not found");
    assert_eq!(object["error"]["context"]["table"], "tt");
    assert_eq!(object["error"]["message"], "no such table");
    assert_eq!(object["error"]["next"], "did you mean `t`?");
}

/// `scan | head` must end soon, without a panic or an error.
#[test]
fn a_reader_that_goes_away_ends_a_scan_quietly() {
    let folder = Folder::with_table();
    let lines: String = (0..50_000)
        .map(|n| format!("{n:08},{}\n", "v".repeat(40)))
        .collect();
    let file = folder.write("many.csv", lines);
    folder.ok(&["import", "t", &file, "--no-header", "--row", "1"]);
    for arguments in [
        &["scan", "t"][..],
        &["scan", "t", "--json"],
        &["export", "t", "-"],
        &["export", "t", "-", "--format", "csv"],
        &["export", "t", "-", "--format", "tsv"],
    ] {
        let mut command = folder.command(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn completions_and_manual_pages_cover_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let calling = folder.ok(&["completions", shell]);
        assert!(calling.contains("COMPLETE"), "{shell}: {calling}");
        let text = folder.ok(&["completions", shell, "--fixed"]);
        for name in ["add-splits", "batch-walk", "splits-file"] {
            assert!(text.contains(name), "{shell} {name}");
        }
        // Completions of elvish and powershell do not list values.
        if matches!(shell, "bash" | "zsh" | "fish") {
            assert!(text.contains("kepner2014-figure-6"), "{shell}");
        }
        // Hidden commands and options are left out.
        for hidden in ["agitated", "graph-scale"] {
            assert!(!text.contains(hidden), "{shell} {hidden}");
        }
    }
    folder.ok(&["man", "pages"]);
    assert!(folder.read("pages/ostrakon-scan.1").contains("limit"));
    assert!(folder.path("pages/ostrakon-table-compact.1").exists());
    assert!(!folder.path("pages/ostrakon-lab-rank.1").exists());
    let first = folder.read("pages/ostrakon.1");
    assert!(first.contains("Exit codes"), "{first}");
}
