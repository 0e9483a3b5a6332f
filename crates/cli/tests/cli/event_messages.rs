//! `ostrakon events`: what it says about mistakes, and what its reports show.

use serde_json::json;

use super::run::Folder;

#[test]
fn what_was_read_before_a_wrong_file_is_stored_and_told() {
    let folder = Folder::new();
    let log = folder.write("web.csv", "ts,host\n1400000000,a\n1400000001,b\n");
    folder.ok(&["events", "create", "web", "--from", &log]);
    let bad = folder.write("bad.csv", "ts,ts\n1,2\n");
    let files = ["events", "ingest", "web", &log, &bad];
    let err = folder.fails(2, &files);
    for part in [
        "the header names `ts` twice",
        "file: ",
        "stored: 2 events of 1 complete file before it",
        "next: correct the file or leave it out, and run the command again",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let count = ["events", "query", "web", "--count"];
    assert_eq!(folder.ok(&count), "2 events\n");
    // Again, nothing is stored twice.
    let err = folder.fails(2, &files);
    assert!(
        err.contains("stored: 0 events of 1 complete file before it; 2 left out"),
        "{err}"
    );
    assert_eq!(folder.ok(&count), "2 events\n");
    // Nothing came before it.
    let err = folder.fails(2, &["events", "ingest", "web", &bad, &log]);
    assert!(!err.contains("stored:"), "{err}");
    let missing = folder.text("missing.csv");
    let err = folder.fails(1, &["events", "ingest", "web", &log, &missing]);
    assert!(err.contains("stored: 0 events of 1 complete"), "{err}");
}

#[test]
fn a_warning_has_the_form_of_an_error() {
    let folder = Folder::new();
    let log = folder.write("web.csv", "ts,host\n1400000000,a\n");
    folder.ok(&["events", "create", "web", "--from", &log]);
    let other = folder.write("other.csv", "ts,b,c,d\n1400000000,1,2,3\n");
    let ran = folder.run(&["events", "ingest", "web", &other]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert!(
        lines[0].starts_with("warning: 3 of 4 fields of the file are not fields of the type"),
        "{}",
        ran.err
    );
    for part in [
        "  file: ",
        "  type: web",
        "  fields: b, c, d",
        "  next: if it is a log of another kind",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(part)),
            "{part}: {}",
            ran.err
        );
    }
    assert!(!ran.err.contains("WARN"), "{}", ran.err);
    let ran = folder.run(&["--json", "events", "ingest", "web", &other]);
    let told: serde_json::Value = serde_json::from_str(ran.err.trim()).unwrap();
    assert_eq!(told["warning"]["context"]["fields"], "b, c, d");
    assert!(
        told["warning"]["next"]
            .as_str()
            .unwrap()
            .contains("events create")
    );
}

#[test]
fn histograms_have_empty_bins_and_the_report_of_an_ingest_has_its_grammar() {
    let folder = Folder::new();
    let line = |at: u64| format!("{at},a\n");
    // More bins than the 400 bars that were shown.
    let far = 1_400_000_000 + 500 * 60;
    let log = folder.write(
        "web.csv",
        format!("ts,host\n{}{}{}", line(1_400_000_000), line(far), line(far)),
    );
    folder.ok(&["events", "create", "web", "--from", &log]);
    let told = folder.ok(&["events", "ingest", "web", &log]);
    let expected = "; 1 left out, because it equals another event of this ingest\n";
    assert!(told.ends_with(expected), "{told}");
    let by = |span| ["events", "histogram", "web", "--by", span];
    let text = folder.ok(&by("1m"));
    assert_eq!(text.lines().count(), 501, "{text}");
    let json = folder.run(&[&by("1m")[..], &["--json"]].concat()).json();
    let bins = json[0]["bins"].as_array().unwrap();
    assert_eq!((bins.len(), &bins[1]["events"]), (501, &json!(0)));
    let ran = folder.run(&by("100ms"));
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
    assert!(
        ran.err
            .starts_with("warning: bins without events are left out")
            && ran.err.contains("next: "),
        "{}",
        ran.err
    );
    // The time stands once, unless its field is asked for.
    let newest = folder.ok(&["events", "query", "web", "-n", "1"]);
    assert_eq!(newest, "2014-05-14T01:13:20Z host=a\n");
    // The letter of earlier builds.
    assert_eq!(newest, folder.ok(&["events", "query", "web", "-l", "1"]));
    let asked = folder.ok(&["events", "query", "web", "-n", "1", "--fields", "ts"]);
    assert_eq!(asked, format!("2014-05-14T01:13:20Z ts={far}\n"));
}

#[test]
fn mistakes_of_logs_and_queries_say_what_to_do() {
    let folder = Folder::new();
    let log = folder.write("web.csv", "ts,host,status\n1400000000,a,200\n");
    folder.ok(&["events", "create", "web", "--from", &log]);
    let text = folder.write("x.log", "nothing\nhere\n");
    let lines = folder.write(
        "lines.jsonl",
        "{\"ts\":1400000000}\n{\"a\":\n{\"o\":{\"a\":1 2}}\n",
    );
    for (code, command, parts) in [
        (
            2,
            vec!["create", "x", "--from", &text, "--format", "json"],
            vec![
                "lines read: 2",
                "first line: 1",
                "text: nothing",
                "x.log",
                "--format",
            ],
        ),
        (
            2,
            vec!["create", "x", "--from", &text, "--format", "csv"],
            vec![
                "no field holds times",
                "--time FIELD",
                "records read: 1",
                "x.log",
            ],
        ),
        (
            1,
            vec!["ingest", "web", &lines],
            vec![
                "lines.jsonl:2: not a JSON object: EOF",
                "lines.jsonl:3: not a JSON object",
            ],
        ),
        (
            2,
            vec!["histogram", "web", "--by", "0d"],
            vec!["longer than 0"],
        ),
        (
            2,
            vec!["query", "web", "--limit", "-1"],
            vec!["is 0 or more"],
        ),
        (
            2,
            vec!["query", "web", "--last", "-1d"],
            vec!["not negative", "--OPTION=VALUE"],
        ),
        (
            2,
            vec!["query", "web", "status contains '4'"],
            vec!["`contains` is for text", "`status` >= 400"],
        ),
    ] {
        let err = folder.fails(code, &[&["events"], &command[..]].concat());
        for part in parts {
            assert!(err.contains(part), "{part}: {err}");
        }
        assert!(!err.contains("at line 1"), "{err}");
    }
}

#[test]
fn mistakes_in_definitions_are_named() {
    let folder = Folder::new();
    let log = folder.write("web.csv", "ts,host\n1400000000,a\n");
    let map = [
        "events", "create", "other", "--from", &log, "--map", "hots=h",
    ];
    let ran = folder.run(&map);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in ["warning: --map renames", "field: hots", "fields: ts, host"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    folder.ok(&["events", "create", "web", "--from", &log, "--map", "host=h"]);
    folder.ok(&["events", "ingest", "web", &log, "--map", "host=h"]);
    let shown = folder.ok(&["events", "show", "web"]);
    assert!(shown.contains("bin = \"1h\""), "{shown}");
    let changed = folder.write("bin.toml", shown.replace("bin = \"1h\"", "bin = \"2h\""));
    let err = folder.fails(2, &["events", "edit", "web", "--schema", &changed]);
    assert!(err.contains("changed: bin"), "{err}");
    let (before, rest) = shown.split_once("[[shards]]").unwrap();
    let fields = rest.find("[[fields]]").and_then(|at| rest.get(at..));
    let fields = fields.unwrap_or_default();
    let without = folder.write("shards.toml", format!("{before}{fields}"));
    let err = folder.fails(2, &["events", "create", "b", "--schema", &without]);
    assert!(err.contains("add [[shards]] with count = 1"), "{err}");
}
