//! table …

use serde_json::json;

use crate::run::Folder;

#[test]
fn tables_are_created_listed_renamed_cloned_and_deleted() {
    let folder = Folder::new();
    folder.write("splits", "m\n\\xff\n");
    let splits = folder.text("splits");
    folder.ok(&[
        "table",
        "create",
        "a",
        "--splits",
        "c,f",
        "--splits-file",
        &splits,
        "--time-type",
        "logical",
    ]);
    assert_eq!(folder.ok(&["table", "splits", "a"]), "c\nf\nm\n\\xff\n");
    folder.ok(&["put", "a", "x", "f", "q", "v"]);
    folder.ok(&["table", "clone", "a", "b"]);
    folder.ok(&["put", "b", "y", "f", "q", "v"]);
    assert_eq!(folder.ok(&["scan", "a"]).lines().count(), 1);
    assert_eq!(folder.ok(&["scan", "b"]).lines().count(), 2);
    folder.ok(&["table", "rename", "b", "c"]);
    assert_eq!(folder.ok(&["table", "list"]), "a\nc\n");
    let long = folder.run(&["table", "list", "--long", "--json"]).json();
    assert_eq!(
        (long[0]["table"].as_str(), long[0]["tablets"].as_u64()),
        (Some("a"), Some(5))
    );
    assert_eq!(long[0]["time_type"], "logical");
    assert!(
        folder
            .fails(1, &["table", "rename", "c", "a"])
            .contains("error: ")
    );
    assert!(folder.fails(2, &["table", "delete", "c"]).contains("--yes"));
    folder.ok(&["table", "delete", "c", "--yes"]);
    assert!(
        folder
            .fails(1, &["table", "delete", "c", "--yes"])
            .contains("no such table")
    );
    assert_eq!(folder.ok(&["table", "list"]), "a\n");
    assert!(
        folder
            .fails(1, &["table", "create", "a"])
            .contains("error: ")
    );
    folder.fails(2, &["table", "create", "no/name"]);
}

/// Printed split points can be used for another table, whatever bytes they hold.
#[test]
fn splits_come_from_a_file_or_from_stdin_as_they_are_printed() {
    let folder = Folder::with_table();
    let rows = "\\x0a\\\\\nm\nt\\xff\\x00\n";
    let file = folder.write("splits", format!("\r\n{rows}"));
    folder.ok(&["table", "add-splits", "t", "--splits-file", &file]);
    let printed = folder.ok(&["table", "splits", "t"]);
    assert_eq!(printed, rows);
    folder.ok(&["table", "create", "u", "--splits", "b"]);
    let ran = folder.run_with(
        &["table", "add-splits", "u", "c", "--splits-file", "-"],
        printed.as_bytes(),
    );
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let all = folder.ok(&["table", "splits", "u"]);
    assert_eq!(all, rows.replace('m', "b\nc\nm"));
    let ran = folder.run_with(
        &["table", "create", "v", "--splits-file", "-"],
        printed.as_bytes(),
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(folder.ok(&["table", "splits", "v"]), printed);
    let bad = folder.write("bad", "a\nb\\q\n");
    let err = folder.fails(2, &["table", "add-splits", "t", "--splits-file", &bad]);
    assert!(err.contains("bad:2"), "{err}");
}

#[test]
fn tablets_split_merge_flush_compact_and_are_measured() {
    let folder = Folder::with_table();
    let lines: String = (0..2000)
        .map(|n| format!("{n:04},{}\n", "v".repeat(50)))
        .collect();
    folder.import_csv(&lines);
    folder.ok(&["table", "add-splits", "t", "0500", "1500"]);
    folder.ok(&["table", "flush", "t"]);
    let tablets = folder.run(&["table", "tablets", "t", "--json"]).json();
    assert_eq!(tablets.len(), 3);
    assert_eq!(
        (
            tablets[1]["previous_end"].as_str(),
            tablets[1]["end"].as_str()
        ),
        (Some("0500"), Some("1500"))
    );
    assert!(tablets[1]["entries"].as_u64().unwrap() > 0);
    folder.ok(&["table", "compact", "t", "--begin", "0500", "--end", "1500"]);
    folder.ok(&[
        "table",
        "compact",
        "t",
        "--iterator",
        "30,RegExFilter,rowRegex=0.*",
    ]);
    assert!(
        folder
            .ok(&["scan", "t", "--count"])
            .starts_with("1,000 entries")
    );
    for option in ["--cancel", "--no-wait"] {
        let err = folder.fails(2, &["table", "compact", "t", option]);
        assert!(err.contains("Ctrl-C"), "{err}");
    }
    let du = folder.run(&["table", "du", "--json"]).json();
    assert!(du[0]["bytes"].as_u64().unwrap() > 0);
    assert!(folder.ok(&["table", "du", "t"]).starts_with("table"));
    folder.ok(&["table", "merge", "t", "--begin", "0500"]);
    assert_eq!(folder.ok(&["table", "splits", "t"]), "0500\n");
    assert!(
        folder
            .fails(2, &["table", "merge", "t", "-b", "z", "-e", "a"])
            .contains("swap")
    );
    assert!(
        folder
            .fails(2, &["table", "add-splits", "t"])
            .contains("ROW")
    );
}

#[test]
fn properties_are_read_set_and_taken_back_and_unknown_ones_refused() {
    let folder = Folder::with_table();
    folder.ok(&[
        "table",
        "config",
        "set",
        "t",
        "table.durability=flush",
        "table.split.threshold=64M",
    ]);
    let get = |name: &str| {
        folder
            .run(&["table", "config", "get", "t", name, "--json"])
            .json()[0]["value"]
            .clone()
    };
    assert_eq!(get("table.durability"), "flush");
    folder.ok(&["table", "config", "delete", "t", "table.durability"]);
    assert_eq!(get("table.durability"), "sync");
    assert!(folder.ok(&["table", "config", "get", "t"]).lines().count() > 5);
    let err = folder.fails(2, &["table", "config", "set", "t", "table.durabilty=none"]);
    assert!(err.contains("table.durability"), "{err}");
    folder.fails(
        2,
        &["table", "config", "set", "t", "table.durability=always"],
    );
    folder.fails(
        2,
        &[
            "table",
            "create",
            "u",
            "--property",
            "table.split.treshold=1M",
        ],
    );
    let err = folder.run(&[
        "table",
        "config",
        "set",
        "t",
        "table.iterator.scan.x=30,NoSuchIterator",
    ]);
    assert!(
        err.code != 0 && err.err.contains("NoSuchIterator"),
        "{}",
        err.err
    );
}

#[test]
fn tables_with_iterators_of_the_graph_algorithms_are_read() {
    let folder = Folder::with_table();
    let mut properties = Vec::new();
    for scope in ["scan", "minc", "majc"] {
        let name = format!("table.iterator.{scope}.plus");
        properties.push(format!("{name}=5,ostrakon.graph.NumberCombiner"));
        properties.push(format!("{name}.opt.operation=sum"));
    }
    for property in ["vers.opt.maxVersions=10"] {
        for scope in ["scan", "minc", "majc"] {
            properties.push(format!("table.iterator.{scope}.{property}"));
        }
    }
    let mut arguments = vec!["table", "config", "set", "t"];
    arguments.extend(properties.iter().map(String::as_str));
    folder.ok(&arguments);
    folder.ok(&["put", "t", "a", "f", "q", "1.5"]);
    folder.ok(&["put", "t", "a", "f", "q", "2.25"]);
    folder.ok(&["table", "compact", "t"]);
    folder.ok(&["put", "t", "a", "f", "q", "1"]);
    assert!(folder.ok(&["scan", "t"]).contains("4.75"));
}

#[test]
fn an_offline_table_refuses_reads_until_it_is_online() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "v"]);
    folder.ok(&["table", "offline", "t"]);
    assert!(folder.fails(1, &["scan", "t"]).contains("error: "));
    assert_eq!(
        folder.run(&["table", "list", "--json"]).json()[0]["online"],
        false
    );
    folder.ok(&["table", "online", "t"]);
    assert_eq!(folder.ok(&["scan", "t"]).lines().count(), 1);
}

#[test]
fn a_directory_of_sorted_files_is_taken_over_whole() {
    use ostrakon_cell::{Batch, Key};
    use ostrakon_store::sorted_file::{BulkFileWriter, WriterOptions};

    let folder = Folder::new();
    folder.ok(&["table", "create", "t", "--splits", "0005"]);
    let parts = std::path::PathBuf::from(folder.text("parts"));
    std::fs::create_dir(&parts).unwrap();
    for part in 0..3_u32 {
        let mut batch = Batch::new();
        for row in 0..4 {
            let key = Key::new(format!("{:04}", 3 * row + part), "f", "q");
            batch.push(key.as_ref(), b"v").unwrap();
        }
        let path = parts.join(format!("part-{part}.sorted"));
        let mut writer = BulkFileWriter::create(&path, WriterOptions::default()).unwrap();
        writer.append(&batch).unwrap();
        writer.finish().unwrap();
    }
    let directory = parts.to_str().unwrap();
    std::fs::write(parts.join("zz.sorted"), "cut").unwrap();
    let refused = folder.fails(1, &["table", "import-directory", "t", directory]);
    assert!(refused.contains("zz.sorted"), "{refused}");
    assert_eq!(folder.ok(&["scan", "t"]), "");
    std::fs::remove_file(parts.join("zz.sorted")).unwrap();
    let told = folder.ok(&[
        "table",
        "import-directory",
        "t",
        directory,
        "--keep",
        "--verify",
    ]);
    assert_eq!(told, "12 entries in 3 files\n");
    assert_eq!(std::fs::read_dir(&parts).unwrap().count(), 3);
    let told = folder
        .run(&["table", "import-directory", "t", directory, "--json"])
        .json();
    assert_eq!(
        (told[0]["files"].as_u64(), told[0]["files_left"].as_u64()),
        (Some(3), Some(0))
    );
    assert_eq!(std::fs::read_dir(&parts).unwrap().count(), 0);
    // Importing the same entries again gives the same cells.
    assert_eq!(folder.ok(&["scan", "t"]).lines().count(), 12);
    folder.fails(1, &["table", "import-directory", "t", directory]);
    folder.ok(&["table", "import-directory", "t", directory, "--allow-empty"]);
}

#[test]
fn a_property_that_is_not_there_cannot_be_taken_back() {
    let folder = Folder::with_table();
    let err = folder.fails(2, &["table", "config", "delete", "t", "table.durabilty"]);
    assert!(err.contains("`table.durability`"), "{err}");
    folder.ok(&["table", "config", "delete", "t", "table.durability"]);
}

#[test]
fn rows_are_located_and_classes_looked_up() {
    let folder = Folder::with_table();
    folder.ok(&["table", "add-splits", "t", "g", "n"]);
    let told = folder.run(&["table", "locate", "t", "a", "g", "\\xff", "--json"]);
    let ends: Vec<_> = told
        .json()
        .iter()
        .map(|one| {
            assert_eq!(one["location"], "local");
            (one["previous_end"].clone(), one["end"].clone())
        })
        .collect();
    let (none, g, n) = (json!(null), json!("g"), json!("n"));
    assert_eq!(
        ends,
        [(none.clone(), g.clone()), (none.clone(), g), (n, none)],
        "{}",
        told.out
    );
    assert!(folder.ok(&["table", "locate", "t", "h"]).contains("local"));
    let full = "org.apache.accumulo.core.iterators.user.RegExFilter";
    for name in ["RegExFilter", full] {
        let found = folder.run(&["iterators", name, "--json"]).json();
        assert_eq!(found[0]["class"], full);
    }
    assert!(folder.ok(&["iterators"]).contains(full));
    let constraints = folder.ok(&["iterators", "--constraints"]);
    assert!(
        constraints.contains("VisibilityConstraint"),
        "{constraints}"
    );
    let err = folder.fails(2, &["iterators", "RegexFilter"]);
    assert!(err.contains("did you mean `RegExFilter`?"), "{err}");
}

#[test]
fn what_fails_is_shown_with_the_way_out() {
    let folder = Folder::with_table();
    let sum = "table.iterator.minc.sum";
    folder.ok(&[
        "table",
        "create",
        "sums",
        "--no-default-iterators",
        "--property",
        &format!("{sum}=10,SummingCombiner"),
        "--property",
        &format!("{sum}.opt.type=STRING"),
        "--property",
        &format!("{sum}.opt.all=true"),
    ]);
    for word in ["one", "two"] {
        folder.ok(&["put", "sums", "secret-row", "f", "q", word]);
    }
    assert_eq!(folder.ok(&["table", "status"]), "");
    let ran = folder.run(&["table", "status", "--try", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let problems = ran.json();
    let problem = &problems[0];
    assert_eq!(
        (&problem["table"], &problem["activity"]),
        (&"sums".into(), &"flush".into())
    );
    assert!(
        problem["way_out"]
            .as_str()
            .unwrap()
            .contains("table config"),
        "{problem}"
    );
    assert!(!problem.to_string().contains("secret-row"), "{problem}");
    // The command is valid, but the table's data are not.
    let err = folder.fails(1, &["table", "flush", "sums"]);
    assert!(!err.contains("secret-row"), "{err}");
    folder.ok(&["table", "config", "delete", "sums", sum]);
    assert_eq!(folder.ok(&["table", "status", "sums", "--try"]), "");
    folder.fails(1, &["table", "status", "nosuch"]);
}

#[test]
fn a_missing_table_file_is_put_back_from_a_checkpoint() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "row", "f", "q", "value"]);
    folder.ok(&["table", "flush", "t"]);
    folder.ok(&["checkpoint", &folder.text("copy")]);
    let files = folder.path("store/files");
    let file = std::fs::read_dir(&files).unwrap().next().unwrap().unwrap();
    let lost = file.file_name().to_string_lossy().into_owned();
    std::fs::remove_file(file.path()).unwrap();
    let err = folder.fails(1, &["scan", "t", "--json"]);
    let error: serde_json::Value = serde_json::from_str(err.lines().last().unwrap()).unwrap();
    let next = error["error"]["next"].as_str().unwrap();
    assert!(next.contains("ostrakon table restore-file"), "{err}");
    assert!(!error["error"]["message"].to_string().contains("restore"));
    let checked = folder.run(&["check"]);
    assert!(
        checked.code == 1 && checked.err.contains("ostrakon table restore-file"),
        "{} {}",
        checked.out,
        checked.err
    );
    // This command has not read the damaged file; with `--try` it does.
    folder.ok(&["table", "status", "t"]);
    let status = folder.run(&["table", "status", "t", "--try"]);
    assert_eq!(status.code, 1, "{} {}", status.out, status.err);
    assert!(status.out.contains("restore-file"), "{}", status.out);
    let err = folder.fails(
        2,
        &["table", "restore-file", &folder.text("copy/nosuch.sorted")],
    );
    assert!(!err.is_empty());
    // A checkpoint on the same disk shares its files: the copy may be damaged, too.
    let copy = folder.path(&format!("copy/files/{lost}"));
    let sound = std::fs::read(&copy).unwrap();
    let mut damaged = sound.clone();
    damaged[sound.len() / 2] ^= 0xff;
    std::fs::write(&copy, damaged).unwrap();
    let err = folder.fails(1, &["table", "restore-file", &copy.display().to_string()]);
    assert!(err.contains("another disk"), "{err}");
    std::fs::write(&copy, sound).unwrap();
    folder.ok(&[
        "table",
        "restore-file",
        &folder.text(&format!("copy/files/{lost}")),
    ]);
    assert_eq!(folder.ok(&["scan", "t", "--values-only"]), "value\n");
    assert!(folder.ok(&["check"]).contains(": 0 problems"));
}

#[test]
fn a_table_file_without_a_copy_is_dropped() {
    let folder = Folder::with_table();
    for row in ["a", "b"] {
        folder.ok(&["put", "t", row, "f", "q", row]);
        folder.ok(&["table", "flush", "t"]);
    }
    folder.ok(&["table", "clone", "t", "copy"]);
    let files = folder.path("store/files");
    let mut names: Vec<String> = std::fs::read_dir(&files)
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let [sound, damaged] = names.as_slice() else {
        panic!("{names:?}");
    };
    let path = files.join(damaged);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let checked = folder.run(&["check"]);
    assert!(
        checked.err.contains("ostrakon table drop-file")
            && checked.err.contains("export TABLE FILE --skip-damaged")
            && checked
                .err
                .contains("everything that is not listed is still readable"),
        "{}",
        checked.err
    );
    let err = folder.fails(2, &["table", "drop-file", damaged]);
    assert!(err.contains("--yes"), "{err}");
    let err = folder.fails(1, &["table", "drop-file", sound, "--yes"]);
    assert!(
        err.contains("undamaged") && err.contains("ostrakon check"),
        "{err}"
    );
    folder.fails(2, &["table", "drop-file", "letter.txt", "--yes"]);
    // A wrong name is told before anything is asked.
    let err = folder.fails(2, &["table", "drop-file", "t"]);
    assert!(
        err.contains("files/NUMBER.sorted") && !err.contains("--yes"),
        "{err}"
    );
    folder.fails(1, &["table", "drop-file", "99", "--yes"]);
    let shown = folder.ok(&["table", "drop-file", &format!("files/{damaged}"), "--yes"]);
    assert!(
        shown.contains("1 entry") && shown.contains("lost/"),
        "{shown}"
    );
    assert_eq!(
        std::fs::read(folder.path("store/lost").join(damaged)).unwrap(),
        bytes
    );
    for table in ["t", "copy"] {
        assert_eq!(folder.ok(&["scan", table, "--values-only"]), "a\n");
    }
    assert!(folder.ok(&["check"]).contains(": 0 problems"));
}

#[test]
fn properties_come_from_levels_and_namespaces_have_tables() {
    let folder = Folder::new();
    folder.ok(&["namespace", "create", "people"]);
    folder.ok(&["table", "create", "people.a"]);
    assert_eq!(
        folder.ok(&["namespace", "list"]),
        "(default)\naccumulo\npeople\n"
    );
    let err = folder.run(&["namespace", "delete", "(default)"]).err;
    assert!(err.contains("always there"), "{err}");
    assert!(
        folder
            .fails(1, &["table", "create", "nowhere.a"])
            .contains("namespace create")
    );
    folder.ok(&["config", "set", "table.file.max=5"]);
    folder.ok(&[
        "config",
        "set",
        "--namespace",
        "people",
        "table.durability=log",
    ]);
    let get = |name: &str| {
        folder
            .run(&["table", "config", "get", "people.a", name, "--json"])
            .json()
    };
    let max = &get("table.file.max")[0];
    assert_eq!(
        (max["value"].as_str(), max["level"].as_str()),
        (Some("5"), Some("system"))
    );
    assert_eq!(get("table.durability")[0]["level"], "namespace");
    let ran = folder.run(&[
        "table",
        "config",
        "set",
        "people.a",
        "table.file.compress.type=gz",
    ]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("zstd"), "{}", ran.err);
    let ran = folder.run(&["table", "config", "set", "people.a", "table.balancer=x"]);
    assert!(
        ran.code == 0 && ran.err.contains("no effect"),
        "{}",
        ran.err
    );
    let long = folder.ok(&[
        "table",
        "config",
        "get",
        "people.a",
        "compress.type",
        "--long",
    ]);
    assert!(
        long.contains("zstd is used") && long.contains("table"),
        "{long}"
    );
    assert_eq!(
        folder
            .ok(&["config", "get", "--namespace", "people"])
            .lines()
            .last()
            .map(str::trim_end),
        Some("table.durability  log")
    );
    folder.ok(&[
        "config",
        "delete",
        "--namespace",
        "people",
        "table.durability",
    ]);
    assert_eq!(get("table.durability")[0]["level"], "default");
    let err = folder.fails(2, &["config", "delete", "table.nothing"]);
    assert!(!err.contains("did you mean"), "{err}");
    let own = folder.ok(&["config", "get", "nothing"]);
    assert!(!own.contains("table.file.max"), "{own}");
    folder.fails(1, &["namespace", "delete", "people"]);
    folder.ok(&["namespace", "rename", "people", "authors"]);
    assert_eq!(folder.ok(&["table", "list"]), "authors.a\n");
    folder.ok(&["table", "delete", "authors.a", "--yes"]);
    folder.ok(&["namespace", "delete", "authors"]);
}

#[test]
fn a_name_that_is_too_long_is_told_the_limit() {
    let folder = Folder::with_table();
    let long = "n".repeat(1025);
    for arguments in [
        &["table", "create", &long][..],
        &["table", "rename", "t", &long],
        &["table", "clone", "t", &long],
    ] {
        let err = folder.fails(2, arguments);
        assert!(err.contains("at most 1024"), "{err}");
    }
    let err = folder.fails(2, &["namespace", "create", &"n".repeat(513)]);
    assert!(err.contains("at most 512"), "{err}");
    folder.ok(&["table", "create", &"n".repeat(1024)]);
}
