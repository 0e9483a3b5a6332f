//! `events ingest --follow`: a directory whose files grow and are renamed, restarts and kills.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use crate::run::Folder;

const ONCE: &[&str] = &[
    "events",
    "ingest",
    "web",
    "--follow",
    "logs",
    "--until-idle",
    "0",
    "--interval",
    "1ms",
];

/// A type for lines of three fields, and an empty directory.
fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("logs")).unwrap();
    let sample = folder.write("sample.csv", "ts,host,number\n1,a,0\n");
    folder.ok(&["events", "create", "web", "--from", &sample]);
    folder
}

fn lines(numbers: std::ops::Range<u32>) -> String {
    numbers
        .map(|number| format!("{},h{},{number}\n", 1_400_000_000 + number, number % 7))
        .collect()
}

fn append(folder: &Folder, name: &str, text: &str) {
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(folder.path(name))
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// New events and duplicates of one look.
fn look(folder: &Folder) -> (u64, u64) {
    look_at(folder, &[])
}

fn look_at(folder: &Folder, how: &[&str]) -> (u64, u64) {
    let ran = folder.run(&[ONCE, how, &["--json"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let all = ran.json();
    let of = |name: &str| all[0][name].as_u64().unwrap();
    (of("events"), of("duplicates"))
}

/// Follows until nothing was added for a while. Once stderr has the word, something happens. Returns the exit code and
/// stderr.
fn follow_and(folder: &Folder, word: &str, happening: impl FnOnce()) -> (Option<i32>, String) {
    let mut child = folder
        .command(&[&ONCE[..5], &["--interval", "1ms", "--until-idle", "2"]].concat())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut err = String::new();
    while !err.contains(word) {
        assert!(lines.read_line(&mut err).unwrap() > 0, "{err}");
    }
    happening();
    lines.read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code(), err)
}

fn count(folder: &Folder) -> u64 {
    folder.ok(&["events", "check", "web"]);
    let ran = folder.run(&["events", "query", "web", "--count", "--json"]);
    ran.json()[0]["events"].as_u64().unwrap()
}

#[test]
fn what_is_added_is_read_once_and_lines_only_when_they_are_complete() {
    let folder = folder();
    assert_eq!(look(&folder), (0, 0));
    append(&folder, "logs/web.csv", "ts,host,number\n");
    assert_eq!(look(&folder), (0, 0));
    append(&folder, "logs/web.csv", &(lines(0..10) + "1400000010,h"));
    assert_eq!(look(&folder), (10, 0));
    append(&folder, "logs/web.csv", "3,10\n");
    append(
        &folder,
        "logs/other.csv",
        &format!("number,ts,host\n{}", "77,5,x\n"),
    );
    append(&folder, "logs/.hidden.csv", "ts,host,number\n1,x,1000\n");
    append(
        &folder,
        "logs/part.csv.partial",
        "ts,host,number\n1,x,1001\n",
    );
    assert_eq!(look(&folder), (2, 0));
    assert_eq!(look(&folder), (0, 0));
    // A record over two lines, of which one is there.
    append(&folder, "logs/web.csv", "1500000000,\"a\n");
    assert_eq!(look(&folder), (0, 0));
    append(&folder, "logs/web.csv", "b\",2000\n");
    assert_eq!(look(&folder), (1, 0));
    assert_eq!(count(&folder), 13);
}

#[test]
fn renamed_truncated_and_packed_files_are_read_once() {
    let folder = folder();
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(0..100)),
    );
    assert_eq!(look(&folder), (100, 0));
    // Renamed after more was written; a new file takes its place.
    append(&folder, "logs/web.csv", &lines(100..120));
    std::fs::rename(folder.path("logs/web.csv"), folder.path("logs/web.1.csv")).unwrap();
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(120..130)),
    );
    assert_eq!(look(&folder), (30, 0));
    // Truncated and written again.
    folder.write(
        "logs/web.csv",
        format!("ts,host,number\n{}", lines(130..150)),
    );
    assert_eq!(look(&folder), (20, 0));
    // Replaced by other lines of the same length.
    folder.write(
        "logs/web.csv",
        format!("ts,host,number\n{}", lines(150..170)),
    );
    assert_eq!(look(&folder), (20, 0));
    // A copy: its events are stored already.
    std::fs::copy(folder.path("logs/web.csv"), folder.path("logs/copy.csv")).unwrap();
    assert_eq!(look(&folder), (0, 20));
    // Packed: read as a whole.
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed
        .write_all(format!("ts,host,number\n{}", lines(160..200)).as_bytes())
        .unwrap();
    folder.write("logs/old.csv.gz", packed.finish().unwrap());
    assert_eq!(look(&folder), (30, 10));
    assert_eq!(look(&folder), (0, 0));
    assert_eq!(count(&folder), 200);
}

#[test]
fn equal_lines_that_are_kept_are_read_once_across_restarts() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("logs")).unwrap();
    let sample = folder.write("sample.csv", "ts,host,number\n1,a,0\n");
    let keep = ["--equal-records", "keep"];
    folder.ok(&[&["events", "create", "web", "--from", &sample][..], &keep].concat());
    assert!(
        folder
            .ok(&["events", "show", "web"])
            .contains("equal_records = \"keep\"")
    );
    let same = "1400000000,h,1\n".repeat(3);
    append(&folder, "logs/web.csv", "ts,host,number\n1400000000,h,1");
    assert_eq!(look(&folder), (0, 0));
    append(&folder, "logs/web.csv", &format!("\n{same}"));
    assert_eq!(look(&folder), (4, 0));
    append(&folder, "logs/web.csv", &same);
    std::fs::rename(folder.path("logs/web.csv"), folder.path("logs/web.1.csv")).unwrap();
    assert_eq!(look(&folder), (3, 0));
    // The whole file under any name, packed or not, adds nothing.
    let whole = folder.text("logs/web.1.csv");
    let report = |arguments: &[&str]| {
        let ran = folder.run(&[&["events", "ingest", "web"][..], arguments, &["--json"]].concat());
        let all = ran.json();
        ["events", "duplicates", "repeated"].map(|name| all[0][name].as_u64().unwrap())
    };
    assert_eq!(report(&[&whole]), [0, 7, 0]);
    std::fs::copy(&whole, folder.path("copy.csv")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&std::fs::read(&whole).unwrap()).unwrap();
    let gz = folder.write("web.csv.gz", packed.finish().unwrap());
    assert_eq!(report(&[&folder.text("copy.csv"), &gz]), [0, 14, 0]);
    // Another file.
    let other = folder.write(
        "other.csv",
        format!("ts,host,number\n1300000000,h,1\n{same}"),
    );
    assert_eq!(report(&[&other, &other]), [4, 4, 4]);
    assert_eq!(count(&folder), 11);
}

#[test]
fn files_that_cannot_be_read_do_not_stop_the_others() {
    let folder = folder();
    append(&folder, "logs/a.bin", "what is this\n");
    folder.write("logs/cut.csv.gz", b"\x1f\x8b\x08\x00cut");
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(0..5)),
    );
    let ran = folder.run(ONCE);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert_eq!(ran.err.matches("not read:").count(), 3, "{}", ran.err);
    let last = "not read: logs/a.bin, logs/cut.csv.gz";
    assert!(
        ran.err.contains("2 files were not read") && ran.err.contains(last),
        "{}",
        ran.err
    );
    assert_eq!(count(&folder), 5);
    // Rejected lines are told by the exit code.
    append(&folder, "logs/web.csv", "noon,x,1\n");
    let ran = folder.run(&[ONCE, &["--rejects", "rejects"]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(folder.read("rejects").ends_with("noon,x,1\n"));
    assert!(ran.err.contains("2 files were not read"), "{}", ran.err);
    assert!(ran.err.contains("1 line was rejected"), "{}", ran.err);
    // Those that are corrected are read.
    std::fs::remove_file(folder.path("logs/a.bin")).unwrap();
    folder.write("logs/cut.csv.gz", "ts,host,number\n1400000099,a,99\n");
    assert_eq!(look(&folder), (1, 0));
}

/// The numbers are those of the file, whatever was read of it before.
#[test]
fn rejected_lines_of_followed_files_have_their_numbers() {
    let folder = folder();
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(0..5)),
    );
    assert_eq!(look(&folder), (5, 0));
    append(
        &folder,
        "logs/web.csv",
        &format!("{}noon,x,1\n", lines(5..7)),
    );
    let err = folder.fails(1, ONCE);
    assert!(err.contains("rejected: logs/web.csv:9:"), "{err}");
    append(&folder, "logs/web.csv", "late,x,2\n");
    let err = folder.fails(1, ONCE);
    assert!(err.contains("rejected: logs/web.csv:10:"), "{err}");
}

/// Rejected lines are not read again, so that those of all runs are kept.
#[test]
fn rejected_lines_of_followed_files_are_appended() {
    let folder = folder();
    append(&folder, "logs/web.csv", "ts,host,number\n");
    let rejects = [ONCE, &["--rejects", "rejects.tsv"]].concat();
    for text in ["noon,x,1\n", "late,x,2\n"] {
        append(&folder, "logs/web.csv", text);
        let ran = folder.run(&rejects);
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(
            ran.err.starts_with("rejected: logs/web.csv:"),
            "{}",
            ran.err
        );
        assert!(!ran.err.contains("they are not kept"), "{}", ran.err);
    }
    let kept = folder.read("rejects.tsv");
    assert_eq!(
        kept.matches("file\tline\treason\ttext").count(),
        1,
        "{kept}"
    );
    assert!(
        kept.contains("\tnoon,x,1\n") && kept.contains("\tlate,x,2\n"),
        "{kept}"
    );
    // Without a file, it is said how to collect the lines, of which the first are shown.
    let many: String = (0..9).map(|number| format!("never,y,{number}\n")).collect();
    append(&folder, "logs/web.csv", &many);
    let err = folder.fails(1, ONCE);
    assert_eq!(err.matches("rejected: ").count(), 6, "{err}");
    assert_eq!(err.matches("they are not kept").count(), 1, "{err}");
    assert!(
        err.contains("does not read rejected lines again") && err.contains("no event was stored"),
        "{err}"
    );
    let again = [
        "events",
        "ingest",
        "web",
        "logs/web.csv",
        "--rejects",
        "all.tsv",
    ];
    folder.fails(1, &again);
    assert_eq!(folder.read("all.tsv").lines().count(), 1 + 2 + 9);
    let inside = [ONCE, &["--rejects", "logs/rejects"]].concat();
    let err = folder.fails(2, &inside);
    assert!(err.contains("is followed"), "{err}");
}

#[test]
fn a_followed_log_of_another_kind_is_told_once_and_names_choose_the_files() {
    let folder = folder();
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(0..3)),
    );
    append(
        &folder,
        "logs/dns.csv",
        "ts,query,answer,ttl,server\n5,a,b,c,d\n",
    );
    assert_eq!(
        look_at(&folder, &["--name", "web*", "--name", "other.?"]),
        (3, 0)
    );
    let ran = folder.run(ONCE);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        ran.err.matches("it may be a log of another kind").count(),
        1,
        "{}",
        ran.err
    );
    assert!(ran.err.contains("dns.csv"), "{}", ran.err);
    assert_eq!(look_at(&folder, &[]), (0, 0));
    let err = folder.fails(2, &[ONCE, &["--name", "[a"]].concat());
    assert!(err.contains("--name"), "{err}");
}

#[test]
fn names_that_match_no_file_are_told_at_the_start() {
    let folder = folder();
    let log = format!("ts,host,number\n{}", lines(0..3));
    append(&folder, "logs/web.csv", &log);
    append(&folder, "logs/.hidden.csv", &log);
    let ran = folder.run(&[ONCE, &["--name", "conn*", "--name", "web"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "warning: no file of the directory has a name that matches --name yet",
        "directory: logs\n",
        "name: conn*, web\n",
        "files in the directory: 1\n",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(ran.out.starts_with("0 events"), "{}", ran.out);
    assert_eq!(
        look_at(&folder, &["--name", "conn*", "--name", "web*"]),
        (3, 0)
    );
}

/// Files that cannot be opened ended the command.
#[cfg(unix)]
#[test]
fn what_is_no_file_or_cannot_be_opened_does_not_stop_the_others() {
    use std::os::unix::fs::symlink;

    let folder = folder();
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(0..3)),
    );
    std::fs::create_dir(folder.path("logs/sub")).unwrap();
    std::fs::create_dir(folder.path("logs/.git")).unwrap();
    symlink("gone.csv", folder.path("logs/latest.csv")).unwrap();
    symlink("web.csv", folder.path("logs/present.csv")).unwrap();
    symlink("loop.csv", folder.path("logs/loop.csv")).unwrap();
    let (code, err) = follow_and(&folder, "not read: ", || {
        // The target of a link comes later.
        folder.write("logs/gone.csv", format!("ts,host,number\n{}", lines(5..7)));
    });
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(err.matches("warning:").count(), 1, "{err}");
    let told = "not read: logs/latest.csv (a link that leads nowhere), logs/loop.csv (a link that leads nowhere), \
                logs/sub (a directory)\n";
    assert!(err.contains(told), "{err}");
    assert_eq!(count(&folder), 5);
}

/// Not even root can open this file of the kernel for reading. It ended the command.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_opened_is_told_once_and_does_not_stop_the_others() {
    use std::os::unix::fs::symlink;

    let folder = folder();
    symlink("/sys/bus/cpu/drivers_probe", folder.path("logs/a.csv")).unwrap();
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(0..3)),
    );
    let (code, err) = follow_and(&folder, "Permission denied", || {
        append(&folder, "logs/web.csv", &lines(3..5));
    });
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(err.matches("Permission denied").count(), 1, "{err}");
    assert_eq!(err.matches("not read: logs/a.csv").count(), 2, "{err}");
    assert!(err.contains("permissions of the file"), "{err}");
    assert_eq!(count(&folder), 5);
    // It is read once it can be opened.
    std::fs::remove_file(folder.path("logs/a.csv")).unwrap();
    folder.write("logs/a.csv", format!("ts,host,number\n{}", lines(5..6)));
    assert_eq!(look(&folder), (1, 0));
}

/// A log that grows, whose format is not clear, was told about at each look.
#[test]
fn a_file_that_grows_and_cannot_be_read_is_told_once() {
    let folder = folder();
    append(&folder, "logs/a.bin", "what is this\n");
    let (code, err) = follow_and(&folder, "not read: ", || {
        for _ in 0..5 {
            append(&folder, "logs/a.bin", "and this\n");
            std::thread::sleep(std::time::Duration::from_millis(150));
        }
    });
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(err.matches("the format is not clear").count(), 1, "{err}");
    // What is wrong with it now is another thing.
    folder.write(
        "logs/a.bin",
        "\u{feff}"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>(),
    );
    let err = folder.fails(1, ONCE);
    assert!(err.contains("UTF-16"), "{err}");
}

/// Kills the program while the files grow. Whatever was committed, the next one goes on without loss and without
/// duplicates.
#[test]
fn a_killed_follower_loses_nothing_and_stores_nothing_twice() {
    let folder = folder();
    append(&folder, "logs/web.csv", "ts,host,number\n");
    let mut written = 0;
    for wait in [5, 40, 90, 150] {
        append(&folder, "logs/web.csv", &lines(written..written + 2500));
        written += 2500;
        let mut child = folder
            .command(&[
                "events",
                "ingest",
                "web",
                "--follow",
                "logs",
                "--interval",
                "1ms",
                "--batch-events",
                "100",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Where it then is depends on the machine; any place is fine.
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(count(&folder) % 100, 0);
    }
    look(&folder);
    assert_eq!(count(&folder), u64::from(written));
    assert_eq!(look(&folder), (0, 0));
}

/// Ctrl-C ends a follower. Before that, what it reads can be queried.
#[cfg(unix)]
#[test]
fn a_follower_ends_at_ctrl_c_and_leaves_the_store_to_others_meanwhile() {
    let folder = folder();
    append(
        &folder,
        "logs/web.csv",
        &format!("ts,host,number\n{}", lines(0..10)),
    );
    let mut child = folder
        .command(&[
            "events",
            "ingest",
            "web",
            "--follow",
            "logs",
            "--interval",
            "1ms",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = std::time::Instant::now();
    for expected in [10, 30] {
        append(&folder, "logs/web.csv", &lines(10..expected));
        loop {
            let ran = folder.run(&[
                "--wait", "10", "events", "query", "web", "--count", "--json",
            ]);
            if ran.code == 0 && ran.json()[0]["events"] == expected {
                break;
            }
            assert!(begun.elapsed().as_secs() < 120, "{}", ran.err);
        }
    }
    let id = child.id().to_string();
    let killed = std::process::Command::new("sh")
        .args(["-c", "kill -INT \"$1\"", "sh", &id])
        .status()
        .unwrap();
    assert!(killed.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert_eq!(count(&folder), 30);
}

/// They were ignored together with files.
#[test]
fn options_of_following_are_refused_with_files() {
    let folder = Folder::new();
    for option in [&["--name", "*.log"][..], &["--until-idle", "0"]] {
        let arguments = [&["events", "ingest", "web", "web.csv"], option].concat();
        let err = folder.fails(2, &arguments);
        assert!(err.contains(option[0]) && err.contains("FILE"), "{err}");
    }
    let arguments = ["events", "ingest", "web", "web.csv", "--batch-events", "0"];
    let err = folder.fails(2, &arguments);
    assert!(err.contains("1 or more"), "{err}");
}

/// A log of Zeek may name its fields again at any place.
#[test]
fn lines_are_read_by_the_last_header_before_them() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("logs")).unwrap();
    let header = |fields: &str| {
        let types = "time\tstring\tstring";
        format!("#fields\t{fields}\n#types\t{types}\n")
    };
    let first = [
        &header("ts\ta\tb"),
        "1\ta1\tb1\n",
        &header("ts\tb\ta"),
        "2\tb2\ta2\n",
    ]
    .concat();
    folder.write("logs/x.log", &first);
    folder.ok(&["events", "create", "web", "--from", "logs/x.log"]);
    assert_eq!(look(&folder), (2, 0));
    for (added, new) in [
        ("3\tb3\ta3\n", 1),
        ("#close\n4\tb4\ta4\n", 1),
        (&header("ts\ta\tb"), 0),
        ("5\ta5\tb5\n", 1),
    ] {
        append(&folder, "logs/x.log", added);
        assert_eq!(look(&folder), (new, 0), "{added}");
    }
    let found = folder.run(&["events", "query", "web", "--json"]).json();
    let values: Vec<String> = found
        .iter()
        .map(|event| {
            format!(
                "{} {}",
                event["fields"]["a"].as_str().unwrap(),
                event["fields"]["b"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(values, ["a5 b5", "a4 b4", "a3 b3", "a2 b2", "a1 b1"]);
    // Read as a whole, it has the same events.
    let again = folder
        .run(&["events", "ingest", "web", "logs/x.log", "--json"])
        .json();
    assert_eq!(again[0]["events"], 0, "{again:?}");
}
