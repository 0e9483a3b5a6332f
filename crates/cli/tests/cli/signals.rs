//! Ctrl-C, SIGTERM and SIGHUP: one exit code, and nothing that is incomplete stays.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Folder, IMPORT_CSV};

/// More than a pipe holds: when so much was written, the program has begun to read.
const MORE_THAN_A_PIPE: usize = 512 << 10;

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut command = folder.command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    // The shell's own `kill`: the program of that name is not on every system.
    let killed = Command::new("sh")
        .args(["-c", "kill -\"$1\" \"$2\"", "sh", name])
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
}

/// Whether these tests, and so what they start, were started with `nohup`.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_none_or(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

/// Writes lines until the program must have read some of them.
fn feed(child: &mut Child, line: &str) -> ChildStdin {
    let mut input = child.stdin.take().unwrap();
    let text = line.repeat((MORE_THAN_A_PIPE / line.len()).max(1));
    input.write_all(text.as_bytes()).unwrap();
    input.flush().unwrap();
    input
}

/// Its exit code and stderr; the input stays open.
fn ended(child: Child, input: ChildStdin) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    drop(input);
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn an_import_that_waits_for_a_pipe_stops_and_keeps_what_was_read() {
    for (name, code, said) in [
        ("INT", 130, "stopped by Ctrl-C"),
        ("TERM", 143, "stopped by SIGTERM"),
        ("HUP", 129, "stopped by SIGHUP"),
    ] {
        if name == "HUP" && ignores_hang_up() {
            continue;
        }
        let folder = Folder::with_table();
        let mut child = start(&folder, IMPORT_CSV);
        let mut lines = String::new();
        for n in 0..60_000 {
            lines.push_str(&format!("{n:06},v\n"));
        }
        let input = feed(&mut child, &lines);
        signal(&child, name);
        if name == "HUP" {
            // A terminal that is closed has the shell send one, and the kernel another.
            signal(&child, name);
        }
        let (ended_with, err) = ended(child, input);
        assert_eq!(ended_with, Some(code), "{err}");
        assert!(err.contains(said), "{err}");
        let ran = folder.run(&["scan", "t", "--count", "--json"]);
        let entries = ran.json()[0]["entries"].as_u64().unwrap();
        assert!(entries > 1000, "{entries}");
    }
}

#[test]
fn an_ingest_of_events_that_waits_for_stdin_stops_and_keeps_what_was_read() {
    let folder = Folder::new();
    let sample = folder.write("web.csv", "ts,host,number\n1,a,0\n");
    folder.ok(&["events", "create", "web", "--from", &sample]);
    let mut lines = "ts,host,number\n".to_owned();
    for n in 0..40_000 {
        lines.push_str(&format!("{},a,{n}\n", 1_400_000_000 + n));
    }
    let ingest = ["events", "ingest", "web", "-", "--format", "csv"];
    let mut child = start(&folder, &ingest);
    let input = feed(&mut child, &lines);
    signal(&child, "INT");
    let (code, err) = ended(child, input);
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("stopped by Ctrl-C"), "{err}");
    let ran = folder.run(&["events", "query", "web", "--count", "--json"]);
    let events = ran.json()[0]["events"].as_u64().unwrap();
    assert!(events > 1000, "{events}");
}

#[test]
fn a_scan_that_is_stopped_has_printed_complete_lines() {
    const ENTRIES: usize = 50_000;
    let folder = Folder::with_table();
    let lines: String = (0..ENTRIES)
        .map(|n| format!("{n:08},{}\n", "v".repeat(40)))
        .collect();
    let file = folder.write("many.csv", lines);
    folder.ok(&["import", "t", &file, "--no-header", "--row", "1"]);
    for arguments in [&["scan", "t"][..], &["scan", "t", "--json"]] {
        let mut child = start(&folder, arguments);
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        printed.read_line(&mut first).unwrap();
        // It waits for its output to be read, and is stopped there.
        signal(&child, "INT");
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("stopping") {
            assert!(messages.read_line(&mut said).unwrap() > 0, "{said}");
        }
        let mut rest = String::new();
        printed.read_to_string(&mut rest).unwrap();
        messages.read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
        assert!(said.contains("what was printed is complete"), "{said}");
        let last = rest
            .strip_suffix('\n')
            .unwrap()
            .rsplit('\n')
            .next()
            .unwrap();
        assert_eq!(last.len(), first.trim_end().len(), "{last}");
        assert!(rest.lines().count() < ENTRIES - 1);
    }
}

#[test]
fn a_query_of_events_that_is_stopped_says_how_to_go_on() {
    const EVENTS: usize = 30_000;
    let folder = Folder::new();
    let mut lines = "ts,host,number\n".to_owned();
    for n in 0..EVENTS {
        lines.push_str(&format!("{},a,{n}\n", 1_400_000_000 + n));
    }
    let file = folder.write("web.csv", lines);
    folder.ok(&["events", "create", "web", "--from", &file]);
    folder.ok(&["events", "ingest", "web", &file]);
    let query = ["events", "query", "web", "--json"];
    let mut child = start(&folder, &query);
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    printed.read_line(&mut first).unwrap();
    // It waits for its output to be read, and is stopped there.
    signal(&child, "INT");
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut message = String::new();
    while !message.contains("stopping") {
        assert!(messages.read_line(&mut message).unwrap() > 0, "{message}");
    }
    let (mut rest, mut said) = (String::new(), String::new());
    printed.read_to_string(&mut rest).unwrap();
    messages.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let (events, last) = rest.trim_end().rsplit_once('\n').unwrap();
    let token: serde_json::Value = serde_json::from_str(last).unwrap();
    let token = token["token"].as_str().unwrap();
    assert!(said.contains(&format!("--resume {token}")), "{said}");
    let resumed = folder.run(&[&query[..], &["--resume", token]].concat());
    let before = 1 + events.lines().count();
    assert!(before < EVENTS, "it was not stopped");
    assert_eq!(before + resumed.json().len(), EVENTS);
}

#[test]
fn an_import_stops_inside_a_line_without_end() {
    let folder = Folder::with_table();
    let mut child = start(&folder, IMPORT_CSV);
    let input = feed(&mut child, "x");
    signal(&child, "INT");
    let (code, err) = ended(child, input);
    assert_eq!(code, Some(130), "{err}");
    assert_eq!(folder.ok(&["scan", "t"]), "");
}

#[test]
fn a_named_pipe_that_nothing_writes_to_can_be_interrupted() {
    let folder = Folder::with_table();
    mkfifo(&folder, "pipe");
    let pipe = folder.text("pipe");
    let mut child = start(
        &folder,
        &["import", "t", &pipe, "--format", "lines", "--row", "@line"],
    );
    let input = child.stdin.take().unwrap();
    // Opening the other end succeeds once the program has opened its own.
    let other = std::fs::File::options().write(true).open(&pipe).unwrap();
    signal(&child, "INT");
    let (code, err) = ended(child, input);
    assert_eq!(code, Some(130), "{err}");
    drop(other);
}

#[test]
fn commands_without_a_clean_stop_have_the_same_exit_code() {
    let folder = Folder::with_table();
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let mut child = start(&folder, &["put", "t", "a", "f", "q", "-"]);
        let input = feed(&mut child, "x");
        signal(&child, name);
        assert_eq!(ended(child, input).0, Some(code));
    }
    assert_eq!(folder.ok(&["scan", "t"]), "");
}

#[test]
fn the_lab_has_the_same_exit_code() {
    let folder = Folder::new();
    let all = ["lab", "continuous", "ingest", "--entries", "1B"];
    let mut child = start(&folder, &all);
    let input = child.stdin.take().unwrap();
    let begun = Instant::now();
    while !folder.path("store/catalog").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no store");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, "INT");
    let (code, err) = ended(child, input);
    assert_eq!(code, Some(130), "{err}");
}

/// Work that takes minutes, on values of which a regular expression decides late.
#[test]
fn long_work_on_a_table_has_the_same_exit_code() {
    let folder = Folder::with_table();
    let mut state = 1_u64;
    let mut value = || {
        let mut text = String::with_capacity(20_000);
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text.push(if state >> 63 == 0 { 'a' } else { 'b' });
        }
        text
    };
    let lines: String = (0..1000).map(|n| format!("{n:04},{}\n", value())).collect();
    let file = folder.write("values.csv", lines);
    folder.ok(&["import", "t", &file, "--no-header", "--row", "1"]);
    let slow = "30,RegExFilter,valueRegex=[ab]*a[ab]{100}c";
    for arguments in [
        &["scan", "t", "--iterator", slow][..],
        &["scan", "t", "--count", "--iterator", slow],
        &["table", "compact", "t", "--iterator", slow],
    ] {
        let mut child = start(&folder, arguments);
        let input = child.stdin.take().unwrap();
        std::thread::sleep(Duration::from_millis(1000));
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?} is over");
        let pressed = Instant::now();
        signal(&child, "INT");
        let (code, err) = ended(child, input);
        assert_eq!(code, Some(130), "{arguments:?} {err}");
        // Half a second and what closing the store takes, on a machine that tests much at once.
        assert!(pressed.elapsed() < Duration::from_secs(10), "{arguments:?}");
    }
    assert!(
        folder
            .ok(&["scan", "t", "--count"])
            .starts_with("1,000 entries")
    );
}

/// A command that does not stop by itself is ended at once, and says so.
#[test]
fn a_command_that_a_signal_ends_says_so() {
    let folder = Folder::with_table();
    for (name, shown, code) in [("INT", "Ctrl-C", 130), ("TERM", "SIGTERM", 143)] {
        let said = format!("stopped by {shown}");
        for json in [false, true] {
            let mut arguments = vec!["put", "t", "r", "f", "q", "-"];
            if json {
                arguments.push("--json");
            }
            let mut child = start(&folder, &arguments);
            let input = child.stdin.take().unwrap();
            std::thread::sleep(Duration::from_millis(500));
            signal(&child, name);
            let (ended_with, err) = ended(child, input);
            assert_eq!(ended_with, Some(code), "{err}");
            if json {
                let object: serde_json::Value =
                    serde_json::from_str(err.lines().last().unwrap()).unwrap();
                assert!(object.to_string().contains(&said), "{object}");
            } else {
                assert_eq!(err, format!("error: {said}\n"));
            }
        }
    }
    assert_eq!(folder.ok(&["scan", "t"]), "");
}

/// An ended deletion may have deleted a part, unless it was still looking for the events.
#[test]
fn a_deletion_that_a_signal_ends_says_what_to_do() {
    let folder = Folder::new();
    let lines: String = (0..60_000)
        .map(|n| format!("{},x{n}\n", 1_400_000_000 + n))
        .collect();
    let file = folder.write("e.csv", format!("ts,a\n{lines}"));
    folder.ok(&["events", "create", "t", "--from", &file]);
    folder.ok(&["events", "ingest", "t", &file]);
    for attempt in 1..=40 {
        let mut child = start(&folder, &["events", "delete", "t", "--yes"]);
        let input = child.stdin.take().unwrap();
        std::thread::sleep(Duration::from_millis(75 + 25 * attempt));
        signal(&child, "INT");
        let (code, err) = ended(child, input);
        // `None`: it had not yet begun to watch for signals.
        assert!(matches!(code, None | Some(130)), "over: {code:?} {err}");
        folder.ok(&["events", "check", "t"]);
        if err.contains("run the command again to delete the rest") {
            break;
        }
        assert!(
            err.is_empty() || err == "error: stopped by Ctrl-C\n",
            "{err}"
        );
        assert!(attempt < 40, "never said");
    }
    folder.ok(&["events", "delete", "t", "--yes"]);
    assert!(folder.ok(&["events", "query", "t"]).is_empty());
}

fn mkfifo(folder: &Folder, name: &str) {
    let made = Command::new("mkfifo").arg(folder.path(name)).status();
    assert!(made.unwrap().success());
}

/// An export into a pipe of the name of its incomplete file, so that the test decides how far it comes.
fn export_into_pipe() -> (Folder, Child, ChildStdin, std::fs::File) {
    let folder = Folder::with_table();
    let lines: String = (0..50_000)
        .map(|n| format!("{n:08},{}\n", "v".repeat(40)))
        .collect();
    let file = folder.write("many.csv", lines);
    folder.ok(&["import", "t", &file, "--no-header", "--row", "1"]);
    mkfifo(&folder, "out.jsonl.partial");
    let mut child = start(&folder, &["export", "t", "out.jsonl"]);
    let input = child.stdin.take().unwrap();
    let mut pipe = std::fs::File::open(folder.path("out.jsonl.partial")).unwrap();
    pipe.read_exact(&mut [0; 1000]).unwrap();
    (folder, child, input, pipe)
}

#[test]
fn an_export_that_is_ended_leaves_no_file() {
    let (folder, mut child, input, mut pipe) = export_into_pipe();
    signal(&child, "TERM");
    let mut said = String::new();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    err.read_line(&mut said).unwrap();
    assert_eq!(said, "stopping\n");
    std::io::copy(&mut pipe, &mut std::io::sink()).unwrap();
    assert_eq!(ended(child, input).0, Some(143));
    assert!(!folder.path("out.jsonl.partial").exists());
    assert!(!folder.path("out.jsonl").exists());
}

#[test]
fn a_second_signal_ends_an_export_at_once_and_removes_the_file() {
    let (folder, mut child, input, pipe) = export_into_pipe();
    signal(&child, "TERM");
    let mut said = String::new();
    let mut err = BufReader::new(child.stderr.take().unwrap());
    err.read_line(&mut said).unwrap();
    signal(&child, "TERM");
    assert_eq!(ended(child, input).0, Some(143));
    assert!(!folder.path("out.jsonl.partial").exists());
    drop(pipe);
}

/// Bytes of the files in a directory and those in it.
fn bytes_in(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

/// The exit code of a query that gets a signal once it has temporary files. None of them are left.
fn stop_when_it_has_spilled(folder: &Folder, name: &str) -> Option<i32> {
    let query = "SELECT count(*) FROM (SELECT k, p, row_number() OVER (ORDER BY k, p) AS n FROM 'big.csv') WHERE n % 2 = 0";
    let mut command = folder.command(&["sql", "--memory", "16M", "-c", query]);
    command
        .env("TMPDIR", folder.path("temporary"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    while bytes_in(&folder.path("temporary")) == 0 {
        if let Some(ended) = child.try_wait().unwrap() {
            return ended.code();
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "nothing spills");
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(&child, name);
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let code = ended.status.code();
    assert!([Some(130), Some(143), Some(0)].contains(&code), "{said}");
    let left = std::fs::read_dir(folder.path("temporary")).unwrap();
    assert_eq!(left.count(), 0, "{said}");
    code
}

/// They hold cells. Nothing would remove them later.
#[test]
fn a_stopped_query_leaves_no_temporary_files() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let folder = Folder::with_table();
        let line = "x".repeat(100);
        let lines: String = (0..200_000)
            .map(|n| format!("{},{line}\n", n * 7919 % 200_000))
            .collect();
        folder.write("big.csv", format!("k,p\n{lines}"));
        std::fs::create_dir(folder.path("temporary")).unwrap();
        // A query may end before the signal comes, on a machine that is busy.
        let is_stopped = (0..10).any(|_| stop_when_it_has_spilled(&folder, name) == Some(code));
        assert!(is_stopped, "no query was stopped by {name}");
    }
}

/// As a full disk is: the signal that a limit raises would end the program without a word.
#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let folder = Folder::with_table();
    let lines: String = (0..2000)
        .map(|n| format!("{n:06},{}\n", "v".repeat(100)))
        .collect();
    folder.import_csv(&lines);
    let limited = "ulimit -f 16; exec \"$0\" export t out.csv";
    let ran = Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_ostrakon")])
        .current_dir(folder.path(""))
        .env("OSTRAKON_DATA", folder.path("store"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("error: "), "{said}");
    let left = std::fs::read_dir(folder.path("")).unwrap().flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("out.csv"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[cfg(feature = "sql")]
fn a_table_that_could_not_be_filled_is_gone() {
    let folder = Folder::with_table();
    let numbers = "SELECT value AS k, value * 2 AS v FROM range(1000000000)";
    let fill = format!("CREATE TABLE u (PRIMARY KEY (k)) AS {numbers}");
    let mut ended = 0;
    for wait in [150, 300, 450, 600, 750, 900, 2000] {
        let child = start(&folder, &["sql", "-c", &fill]);
        std::thread::sleep(Duration::from_millis(wait));
        signal(&child, "INT");
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let err = String::from_utf8(stderr).unwrap();
        // On a busy machine the signal may come before the program handles it.
        let before_the_handler = status.signal() == Some(2) && err.is_empty();
        assert!(
            status.code() == Some(130) || before_the_handler,
            "{status} {err}"
        );
        ended += usize::from(status.code() == Some(130));
        // A signal before the first statement ends the program without a word.
        let tables = folder.ok(&["table", "list"]);
        assert!(!tables.contains("u\n"), "after {wait} ms: {tables}\n{err}");
    }
    assert!(ended > 0, "no statement was ended by a signal");
}

#[test]
fn an_ingest_of_events_keeps_every_complete_line_that_it_read_from_a_pipe() {
    const EVENTS: usize = 250_000;
    let folder = Folder::new();
    let sample = folder.write("web.csv", "ts,host,number\n1,a,0\n");
    folder.ok(&["events", "create", "web", "--from", &sample]);
    let mut lines = "ts,host,number\n".to_owned();
    for n in 0..EVENTS {
        lines.push_str(&format!("{},a,{n}\n", 1_400_000_000 + n));
    }
    lines.push_str("1500000000,a,1");
    let ingest = ["events", "ingest", "web", "-", "--format", "csv"];
    let mut child = start(&folder, &ingest);
    let input = feed(&mut child, &lines);
    // It reads what is left in the pipe, and waits.
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, "INT");
    let (code, err) = ended(child, input);
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("250,000 events are stored"), "{err}");
    assert!(
        err.contains("every complete line that was read is stored"),
        "{err}"
    );
    let ran = folder.run(&["events", "query", "web", "--count", "--json"]);
    assert_eq!(ran.json()[0]["events"], EVENTS);
}

#[test]
fn an_export_to_a_pipe_writes_into_it() {
    use std::os::unix::fs::FileTypeExt as _;

    let folder = Folder::with_table();
    folder.ok(&["put", "t", "r", "f", "q", "v"]);
    mkfifo(&folder, "pipe.jsonl");
    let pipe = folder.path("pipe.jsonl");
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    folder.ok(&["export", "t", "pipe.jsonl", "--force"]);
    let kind = std::fs::metadata(&pipe).unwrap().file_type();
    assert!(kind.is_fifo(), "it was replaced by a file");
    assert!(reader.join().unwrap().contains("\"row\":\"r\""));
}
