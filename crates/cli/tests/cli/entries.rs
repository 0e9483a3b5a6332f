//! put, delete, scan, export.

use crate::run::Folder;

#[test]
fn what_is_written_is_there_in_the_next_process() {
    let folder = Folder::with_table();
    folder.ok(&[
        "put", "t", "alice", "contact", "mail", "a@x", "-l", "hr|self",
    ]);
    folder.ok(&["put", "t", "alice", "contact", "phone", "1"]);
    assert_eq!(folder.ok(&["scan", "t"]), "alice contact:phone []\t1\n");
    assert_eq!(
        folder.ok(&["scan", "t", "--auths", "self"]),
        "alice contact:mail [hr|self]\ta@x\nalice contact:phone []\t1\n"
    );
    // Only the newest version is shown, unless the table keeps more.
    folder.ok(&["put", "t", "alice", "contact", "phone", "2"]);
    assert_eq!(folder.ok(&["scan", "t", "--values-only"]), "2\n");
    folder.ok(&["delete", "t", "alice", "contact", "phone"]);
    assert_eq!(folder.ok(&["scan", "t"]), "");
    folder.ok(&["delete-many", "t", "--row", "alice", "-s", "hr", "--yes"]);
    assert_eq!(folder.ok(&["scan", "t", "-s", "hr"]), "");
}

#[test]
fn bytes_go_in_and_out_as_they_are_typed() {
    let folder = Folder::with_table();
    let row = "a\\x00\\xff\\\\ü\\x0a";
    folder.ok(&["put", "t", row, "\\x3a", "\\x09", "\\xc3"]);
    assert_eq!(
        folder.ok(&["scan", "t"]),
        format!("{row} \\x3a:\\x09 []\t\\xc3\n")
    );
    assert_eq!(
        folder
            .ok(&["scan", "t", "--row", row, "-c", "\\x3a:\\x09"])
            .lines()
            .count(),
        1
    );
    let object = &folder.run(&["scan", "t", "--json"]).json()[0];
    assert_eq!(object["row_base64"], "YQD/XMO8Cg==");
    assert_eq!(object["row"], serde_json::Value::Null);
    assert_eq!(
        (&object["family"], &object["qualifier"]),
        (&":".into(), &"\t".into())
    );
    assert_eq!(object["value_base64"], "ww==");
    // Read from stdin unchanged.
    let ran = folder.run_with(&["put", "t", "raw", "", "", "-"], b"\\x41\n\xff");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        folder.ok(&["scan", "t", "-r", "raw", "--values-only"]),
        "\\\\x41\\x0a\\xff\n"
    );
}

#[test]
fn counting_tells_how_many_and_how_fast() {
    let folder = Folder::with_table();
    let lines: String = (0..5000).map(|n| format!("{n:05},x\n")).collect();
    folder.import_csv(&lines);
    let ran = folder.run(&["scan", "t", "--count", "--json"]);
    let object = &ran.json()[0];
    assert_eq!(object["entries"], 5000);
    assert!(object["seconds"].as_f64().unwrap() > 0.0);
    assert!(object["entries_per_second"].as_f64().unwrap() > 0.0);
    let few = ["scan", "t", "--count", "--begin", "00010", "--end", "00019"];
    assert!(folder.ok(&few).starts_with("10 entries"));
    assert!(
        folder
            .ok(&["scan", "t", "--count", "-n", "7"])
            .starts_with("7 entries")
    );
    assert_eq!(
        folder.ok(&["scan", "t", "-n", "3000"]).lines().count(),
        3000
    );
    let wanted: String = (0..5000)
        .step_by(100)
        .map(|n| format!("{n:05}\n"))
        .collect();
    let ran = folder.run_with(
        &["scan", "t", "--batch", "-", "--keys-only"],
        wanted.as_bytes(),
    );
    assert_eq!((ran.code, ran.out.lines().count()), (0, 50));
}

#[test]
fn iterators_of_a_scan_filter_and_unknown_ones_are_named() {
    let folder = Folder::with_table();
    for (row, value) in [("a", "yes"), ("b", "no"), ("c", "yes,sir")] {
        folder.ok(&["put", "t", row, "f", "q", value]);
    }
    let found = folder.ok(&[
        "scan",
        "t",
        "--iterator",
        "30,RegExFilter,valueRegex=yes.*",
        "--keys-only",
    ]);
    assert_eq!(found, "a f:q []\nc f:q []\n");
    let err = folder.fails(2, &["scan", "t", "--iterator", "30,RegexFilter"]);
    assert!(err.contains("RegExFilter"), "{err}");
}

#[test]
fn an_export_comes_back_and_never_replaces_a_file_unasked() {
    let folder = Folder::with_table();
    folder.ok(&[
        "put", "t", "r\\x0a", "f,", "\"q\"", "\\xff", "-l", "a", "-t", "5",
    ]);
    folder.ok(&["put", "t", "s", "f", "q", "", "-t", "6"]);
    let before = folder.ok(&["scan", "t", "-t", "-s", "a"]);
    for ending in ["csv", "tsv", "jsonl"] {
        let file = folder.text(&format!("e.{ending}"));
        folder.ok(&["export", "t", &file, "-s", "a"]);
        assert!(folder.fails(1, &["export", "t", &file]).contains("--force"));
        folder.ok(&["export", "t", &file, "-s", "a", "--force"]);
        assert!(!folder.path(&format!("e.{ending}.partial")).exists());
        let table = format!("from_{ending}");
        folder.ok(&["import", &table, &file, "--entries", "--create"]);
        assert_eq!(
            folder.ok(&["scan", &table, "-t", "-s", "a"]),
            before,
            "{ending}"
        );
    }
    let limited = folder.ok(&["export", "t", "-", "-s", "a", "--limit", "1"]);
    assert_eq!(limited.lines().count(), 1);
    assert_eq!(folder.ok(&["export", "t", "-", "-n", "0"]), "");
    let file = folder.text("head.csv");
    let told = folder.run(&["export", "t", &file, "-s", "a", "-n", "1", "--json"]);
    assert_eq!(told.json()[0]["entries"], 1);
    assert_eq!(folder.read("head.csv").lines().count(), 2, "head and entry");
    let piped = folder.ok(&["export", "t", "-", "-s", "a"]);
    let ran = folder.run_with(
        &["import", "piped", "-", "--entries", "--create"],
        piped.as_bytes(),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(folder.ok(&["scan", "piped", "-t", "-s", "a"]), before);
}

#[test]
fn rows_are_deleted_at_once_and_only_when_meant() {
    let folder = Folder::with_table();
    for row in ["a", "b", "c", "d"] {
        folder.ok(&["put", "t", row, "f", "q", "v", "-l", "x"]);
    }
    assert!(
        folder
            .fails(2, &["delete-rows", "t", "--begin", "a"])
            .contains("--yes")
    );
    assert!(
        folder
            .fails(2, &["delete-rows", "t", "--yes"])
            .contains("--all")
    );
    assert!(
        folder
            .fails(2, &["delete-rows", "t", "-b", "c", "-e", "a", "--yes"])
            .contains("swap")
    );
    folder.ok(&["delete-rows", "t", "--begin", "a", "--end", "c", "--yes"]);
    let left = folder.ok(&["scan", "t", "-s", "x", "--keys-only"]);
    assert_eq!(left, "a f:q [x]\nd f:q [x]\n");
    folder.ok(&["delete-rows", "t", "--all", "--yes"]);
    assert_eq!(folder.ok(&["scan", "t", "-s", "x"]), "");
}

#[test]
fn a_deletion_tells_programs_what_was_written() {
    let folder = Folder::with_table();
    let told = folder.run(&["delete", "t", "absent", "f", "q", "--json"]);
    let told = told.json();
    assert_eq!(told[0]["deletes_written"], 1);
    assert!(
        told[0].get("deleted").is_none(),
        "it was not there: {told:?}"
    );
}
