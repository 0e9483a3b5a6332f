//! Errors say what to do next, and commands that other programs have lead to ours.

use crate::run::Folder;

/// The `next` of a command that must fail.
fn next(folder: &Folder, line: &str) -> String {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let ran = folder.run(&[&["--json"], &arguments[..]].concat());
    assert_ne!(ran.code, 0, "{line}");
    let last = ran.err.lines().last().unwrap_or_default().to_owned();
    let object: serde_json::Value =
        serde_json::from_str(&last).unwrap_or_else(|error| panic!("{line}: {error}: {}", ran.err));
    object["error"]["next"].as_str().unwrap_or_default().into()
}

#[test]
fn errors_say_what_to_do() {
    let folder = Folder::with_table();
    folder.ok(&["namespace", "create", "n"]);
    folder.ok(&["checkpoint", "copy"]);
    let long = format!("table add-splits t {}", "x".repeat(20_000));
    folder.write("empty.csv", "");
    for (line, step) in [
        ("export t absent/out.csv", "mkdir -p absent"),
        ("import t absent.csv --row 1", "check the name"),
        ("import u empty.csv --row 1", "--create"),
        ("table create t", "another name"),
        ("namespace create n", "another name"),
        ("table create bad/name", "such a name"),
        ("checkpoint copy", "does not exist yet"),
        (&long, "table.split.endrow.size.max"),
        (
            "table restore-file copy/files/0000000000009999.sorted",
            "check the name",
        ),
        ("table create u --splits-file absent", "check the name"),
        ("--data absent scan t", "--data"),
        ("lab report nowhere", "check the name"),
        ("lab continuous walk --auths-file absent", "check the name"),
        ("lab run sen2013-table-1 --repeat 0", "leave them out"),
        ("delete-rows t --all", "--yes"),
    ] {
        let found = next(&folder, line);
        assert!(found.contains(step), "{line}: {found}");
    }
    // A file of a number that the store does not know: its own command is no advice.
    std::fs::create_dir_all(folder.path("copy/files")).unwrap();
    folder.write("copy/files/0000000000009999.sorted", "x");
    let found = next(
        &folder,
        "table restore-file copy/files/0000000000009999.sorted",
    );
    assert!(
        found.contains("ostrakon check") && !found.contains("restore-file"),
        "{found}"
    );
}

#[test]
fn names_of_other_programs_lead_to_ours() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    for line in [&["tables"][..], &["ls"], &["table", "ls"]] {
        assert_eq!(folder.ok(line), "t\n");
    }
    assert_eq!(folder.ok(&["get", "t", "a"]), "a f:q []\tv\n");
    for columns in [&["f", "q"][..], &["f"], &["-c", "f:q"], &["-c", "f"]] {
        let line = [&["get", "t", "a"][..], columns, &["--raw"]].concat();
        assert_eq!(folder.ok(&line), "v\n", "{columns:?}");
    }
    assert_eq!(folder.ok(&["get", "t", "a", "f", "nosuch"]), "");
    folder.ok(&["put", "t", "c", "f:g", "q", "w"]);
    assert_eq!(
        folder.ok(&["get", "t", "c", "f\\x3ag", "q", "--raw"]),
        "w\n"
    );
    for columns in [&["f:q"][..], &["f:q", "f:r"]] {
        let err = folder.fails(2, &[&["get", "t", "a"][..], columns].concat());
        assert!(err.contains("--column FAMILY:QUALIFIER"), "{err}");
    }
    assert_eq!(folder.ok(&["get", "t", "b"]), "");
    folder.write("file", "x");
    for (line, step) in [
        ("drop t", "`ostrakon table delete TABLE`"),
        ("rm t", "`ostrakon table delete TABLE`"),
        ("create t", "`ostrakon table create TABLE`"),
        ("insert t a f q v", "`ostrakon put"),
        ("count t", "--count"),
        ("events count web", "`ostrakon events query TYPE"),
        ("events import web a.log", "`ostrakon events ingest"),
        ("droptable t", "`ostrakon table delete"),
        ("deletetable t", "`ostrakon table delete"),
        ("clonetable t u", "`ostrakon table clone"),
        ("getsplits t", "`ostrakon table splits"),
        ("merge t", "`ostrakon table merge"),
        ("online t", "`ostrakon table online"),
        ("setiter t", "`ostrakon table config set"),
        ("table drop-file t", "`ostrakon table delete"),
        ("--data file scan t", "--data"),
        (
            "table compact t --iterator 30,AgeOffFilter,ttl=1d",
            "milliseconds",
        ),
    ] {
        let found = next(&folder, line);
        assert!(found.contains(step), "{line}: {found}");
    }
    folder.ok(&["table", "drop", "t", "--yes"]);
    assert_eq!(folder.ok(&["tables"]), "");
}

#[test]
fn options_that_were_misread_are_refused() {
    let folder = Folder::with_table();
    for (arguments, reason) in [
        (&["scan", "t", "--auths", "\"hr\""][..], "without quotes"),
        (&["scan", "t", "--auths", "hr it"], "\\x20"),
        (&["scan", "t", "--auths", "hr|self"], "labels"),
        (&["--memory", "1", "scan", "t"], "at least 16M"),
        (&["scan", "t", "--begin", "b", "--end", "a"], "swap"),
        (&["table", "merge", "t", "-b", "b", "-e", "a"], "swap"),
        (&["table", "compact", "t", "-b", "b", "-e", "a"], "swap"),
    ] {
        let err = folder.fails(2, arguments);
        assert!(err.contains(reason), "{arguments:?}: {err}");
    }
    folder.ok(&["put", "t", "a", "f", "q", "v", "-l", "\"hr it\""]);
    assert_eq!(
        folder.ok(&["scan", "t", "--auths", "hr\\x20it", "--raw"]),
        "v\n"
    );
}

#[test]
fn iterators_are_listed_with_their_options() {
    let folder = Folder::with_table();
    let all = folder.run(&["iterators", "--json"]).json();
    assert!(all.len() > 10);
    for class in &all {
        let description = class["description"].as_str().unwrap();
        assert!(
            description.contains("Option") || description.contains("option"),
            "{class}"
        );
    }
    let filter = folder.ok(&["iterators", "RegExFilter"]);
    assert!(filter.contains("rowRegex"), "{filter}");
}

#[test]
fn advice_fits_what_failed() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "r", "f", "q", "v"]);
    folder.write("semicolons.csv", "a;b\n1;2\n");
    folder.write("commas.csv", "a,n\n1,x\n");
    let import = |line: &str| next(&folder, &format!("import t {line} --dry-run"));
    let found = import("semicolons.csv --row a");
    assert!(found.contains("--delimiter ';'"), "{found}");
    let found = import("commas.csv --row 33");
    assert!(found.contains("its number from 1"), "{found}");
    let err = folder.fails(
        1,
        &["import", "t", "commas.csv", "--row", "a", "--type", "n=int"],
    );
    assert!(
        err.contains("1 line was rejected; nothing was imported"),
        "{err}"
    );
    std::fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/1.sorted", "not a table file");
    let found = next(&folder, "table import-directory t parts");
    assert!(found.contains("nothing was imported"), "{found}");
    std::fs::remove_file(folder.path("store/catalog")).unwrap();
    let found = next(&folder, "check");
    assert!(
        found.contains("do what the lines above say") && !found.contains("drop-file"),
        "{found}"
    );
    // With a warning that the catalog was restored.
    assert_eq!(folder.run(&["table", "flush", "t"]).code, 0);
    folder.ok(&["check"]);
}
