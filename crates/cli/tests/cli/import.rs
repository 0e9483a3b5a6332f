//! import, with realistic files.

use crate::run::{Folder, real_data};

#[test]
fn bad_lines_are_collected_and_good_ones_kept() {
    let folder = Folder::new();
    let mut text = b"id,n,who\n".to_vec();
    for n in 0..1000 {
        match n {
            10 => text.extend_from_slice(b"r0010,ten,a\n"),
            20 => text.extend_from_slice(b"r0020\n"),
            30 => text.extend_from_slice(b"r0030,30,a&&b\n"),
            40 => text.extend_from_slice(b"r0040,\"40,a\n"),
            _ => text.extend_from_slice(format!("r{n:04},{n},a|b\n").as_bytes()),
        }
    }
    let file = folder.write("in.csv", &text);
    let arguments = [
        "import",
        "t",
        &file,
        "--create",
        "--row",
        "id",
        "--type",
        "n=int",
        "--visibility-field",
        "who",
        "--rejects",
        "rejects.tsv",
        "--json",
    ];
    let ran = folder.run(&arguments);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let summary = &ran.json()[0];
    assert_eq!(
        (summary["records"].as_u64(), summary["rejected"].as_u64()),
        (Some(996), Some(4))
    );
    let rejects = folder.read("rejects.tsv");
    let numbers: Vec<&str> = rejects
        .lines()
        .skip(1)
        .filter_map(|line| line.split('\t').nth(1))
        .collect();
    assert_eq!(numbers, ["12", "22", "32", "42"]);
    assert!(
        folder
            .ok(&["scan", "t", "--count", "-s", "a"])
            .starts_with("996 entries")
    );
    // Importing again does not change what a scan returns.
    let ran = folder.run(&[&arguments[..], &["--accept-rejects"]].concat());
    assert_eq!(ran.code, 0);
    assert!(
        folder
            .ok(&["scan", "t", "--count", "-s", "a"])
            .starts_with("996 entries")
    );
}

/// Regression: such records became public.
#[test]
fn a_record_without_its_label_is_rejected() {
    let folder = Folder::with_table();
    let lines = concat!(
        "{\"id\":\"a\",\"n\":1,\"who\":\"x\"}\n",
        "{\"id\":\"b\",\"n\":1}\n",
        "{\"id\":\"c\",\"n\":1,\"who\":null}\n",
        "{\"id\":\"d\",\"n\":1,\"who\":\"\"}\n",
        "{\"id\":\"e\",\"n\":1,\"who\":\"x\",\"who\":\"\"}\n",
    );
    let file = folder.write("in.jsonl", lines);
    let arguments = [
        "import",
        "t",
        &file,
        "--row",
        "id",
        "--visibility-field",
        "who",
    ];
    let err = folder.fails(1, &arguments);
    assert!(err.contains("4 lines were rejected"), "{err}");
    assert!(err.contains("`who` of the label is missing"), "{err}");
    assert!(
        folder
            .ok(&["scan", "t", "--count"])
            .starts_with("0 entries")
    );
    let labelled = folder.ok(&["scan", "t", "--count", "-s", "x"]);
    assert!(
        labelled.starts_with("1 entries") || labelled.starts_with("1 entry"),
        "{labelled}"
    );
    // An explicit empty label is allowed.
    let arguments = [&arguments[..], &["--visibility", "", "--accept-rejects"]].concat();
    folder.ok(&arguments);
    assert!(
        folder
            .ok(&["scan", "t", "--count"])
            .starts_with("3 entries")
    );
}

/// A message names the field, because a number is not enough in a line with twenty fields.
#[test]
fn rejected_lines_name_the_field() {
    let folder = Folder::with_table();
    let lines = concat!(
        "{\"user\":{\"id\":\"a\"},\"at\":1,\"n\":1,\"who\":\"x\"}\n",
        "{\"user\":{\"name\":\"b\"},\"at\":1,\"n\":1}\n",
        "{\"user\":{\"id\":null},\"at\":1,\"n\":1}\n",
        "{\"user\":{\"id\":\"c\"},\"n\":1}\n",
        "{\"user\":{\"id\":\"d\"},\"at\":\"noon\",\"n\":1}\n",
        "{\"user\":{\"id\":\"e\"},\"at\":1,\"n\":\"one\"}\n",
        "{\"user\":{\"id\":\"f\"},\"at\":1,\"n\":1,\"who\":\"a&&b\"}\n",
        "{\"user\":}\n",
    );
    let file = folder.write("in.jsonl", lines);
    let err = folder.fails(
        1,
        &[
            "import",
            "t",
            &file,
            "--row",
            "user.id,@line",
            "--timestamp-field",
            "at",
            "--timestamp-format",
            "seconds",
            "--type",
            "n=int",
            "--visibility-field",
            "who",
            "--visibility",
            "x",
            "--rejects",
            "rejects.tsv",
        ],
    );
    assert!(err.contains("field `user.id` of the row"), "{err}");
    let rejects = folder.read("rejects.tsv");
    assert!(rejects.contains("\t8\tnot a JSON object"), "{rejects}");
    assert!(!rejects.contains("at line 1"), "it is another: {rejects}");
    let fields: Vec<&str> = rejects
        .lines()
        .skip(1)
        .filter_map(|line| line.split('`').nth(1))
        .collect();
    assert_eq!(fields, ["user.id", "user.id", "at", "at", "n", "who"]);
    // Without names, it is the number of the field in the line, not in --row.
    let file = folder.write("in.csv", "a,b,c\nd,,f\n");
    let arguments = ["import", "t", &file, "--no-header", "--row", "1,2"];
    let err = folder.fails(1, &arguments);
    assert!(err.contains("in.csv:2: field `2` of the row"), "{err}");
}

#[test]
fn quoted_names_of_an_edge_list_are_names() {
    let folder = Folder::new();
    let file = folder.write(
        "cities.edges",
        "# a comment\n\"New York\" Boston 7\nBoston,\"San \"\"F\"\"\"\n\"open x\nO'Hare 3\" 1\n",
    );
    let import = ["import", "t", &file, "--create"];
    let err = folder.fails(1, &import);
    assert!(
        err.contains("cities.edges:4") && err.contains("--no-quotes"),
        "{err}"
    );
    let found = folder.ok(&["scan", "t"]);
    assert_eq!(
        found,
        "Boston edge:San\\x20\"F\" []\t1\nNew\\x20York edge:Boston []\t7\nO'Hare edge:3\" []\t1\n"
    );
    folder.ok(&[
        "import",
        "raw",
        &file,
        "--create",
        "--no-quotes",
        "--accept-rejects",
    ]);
    assert!(folder.ok(&["scan", "raw"]).contains("\"open edge:x"));
    let file = folder.write("semi.edges", "\"a;b\";c;\"1\"\n");
    folder.ok(&["import", "semi", &file, "--create", "--delimiter", ";"]);
    assert_eq!(folder.ok(&["scan", "semi"]), "a;b edge:c []\t1\n");
}

#[test]
fn an_oversized_row_is_rejected_and_the_next_line_imported() {
    let folder = Folder::with_table();
    let long = "x".repeat((1 << 20) + 1);
    let file = folder.write("long.tsv", format!("row\tv\n{long}\t1\nshort\t2\n"));
    let err = folder.fails(1, &["import", "t", &file, "--row", "row"]);
    assert!(err.contains("a key holds at most"), "{err}");
    assert_eq!(folder.ok(&["scan", "t"]), "short :v []\t2\n");
}

/// Regression: the value ended the import, and the lines in the same batch were lost.
#[test]
fn a_value_above_the_memory_is_rejected_and_no_other_line() {
    let folder = Folder::with_table();
    let large = "x".repeat(17 << 20);
    let file = folder.write("in.csv", format!("id,v\na,1\nb,{large}\nc,3\n"));
    let import = [
        "--memory",
        "16M",
        "import",
        "t",
        &file,
        "--row",
        "id",
        "--rejects",
        "rejects.tsv",
    ];
    let err = folder.fails(1, &import);
    assert!(err.contains("1 line was rejected"), "{err}");
    assert!(
        err.contains("in.csv:3:") && err.contains("--memory"),
        "{err}"
    );
    assert!(folder.read("rejects.tsv").contains("\t3\tthe batch has"));
    assert_eq!(folder.ok(&["scan", "t"]), "a :v []\t1\nc :v []\t3\n");
}

#[test]
fn an_import_that_cannot_read_on_says_what_is_stored() {
    use std::io::Write as _;

    let folder = Folder::with_table();
    let lines: String = (0..200_000).map(|n| format!("r{n:06},{n}\n")).collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(lines.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let file = folder.write("cut.csv.gz", &packed[..packed.len() / 2]);
    let import = ["import", "t", &file, "--no-header", "--row", "1"];
    let ran = folder.run(&[&["--json"], &import[..]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let error: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    let stored = error["error"]["context"]["stored"].as_str().unwrap();
    let kept = entries(&folder);
    assert!(kept > 0);
    let number: String = stored.chars().filter(char::is_ascii_digit).collect();
    assert_eq!(number, kept.to_string(), "{stored}");
    let next = error["error"]["next"].as_str().unwrap();
    assert!(next.contains("gzip -t"), "{next}");
}

fn entries(folder: &Folder) -> u64 {
    let counted = folder.run(&["scan", "t", "--count", "--json"]).json();
    counted[0]["entries"].as_u64().unwrap()
}

/// What a damaged file gives before its checksum may be wrong, and was stored.
#[test]
fn nothing_is_read_from_a_compressed_file_with_a_wrong_checksum() {
    use std::io::Write as _;

    let lines: String = (0..20_000)
        .map(|n| format!("{n},2026-01-01T00:00:00Z,{}\n", n * 7919 % 100_003))
        .collect();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(lines.as_bytes()).unwrap();
    let gzip = packed.finish().unwrap();
    let mut packed = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    packed.include_checksum(true).unwrap();
    packed.write_all(lines.as_bytes()).unwrap();
    let zstd = packed.finish().unwrap();
    let folder = Folder::with_table();
    folder.write("head.csv", "id,at,v\n0,2026-01-01T00:00:00Z,0\n");
    folder.ok(&["events", "create", "e", "--from", &folder.text("head.csv")]);
    for (name, whole) in [("x.csv.gz", gzip), ("x.csv.zst", zstd)] {
        for part in 1..8 {
            let mut damaged = whole.clone();
            let at = whole.len() * part / 8;
            damaged[at] ^= 1 << part;
            let file = folder.write(name, damaged);
            let err = folder.fails(1, &["import", "t", &file, "--no-header", "--row", "1"]);
            assert!(err.contains("damaged") && err.contains(name), "{err}");
            assert_eq!(entries(&folder), 0);
            let err = folder.fails(1, &["events", "ingest", "e", &file]);
            assert!(err.contains("damaged") && err.contains(name), "{err}");
        }
        let file = folder.write(name, whole);
        folder.ok(&["import", "t", &file, "--no-header", "--row", "1"]);
        assert_eq!(entries(&folder), 40_000);
        folder.ok(&["delete-rows", "t", "--all", "--yes"]);
    }
    assert_eq!(folder.ok(&["events", "query", "e"]), "");
}

/// Regression: the import opened the store first, the scan failed, and its output was empty.
#[test]
fn a_pipe_from_a_store_into_itself_works_or_fails_with_a_next_step() {
    use std::process::Stdio;

    let folder = Folder::with_table();
    let lines: String = (0..50_000)
        .map(|n| format!("{n:08},{}\n", "v".repeat(40)))
        .collect();
    let file = folder.write("many.csv", lines);
    folder.ok(&["import", "t", &file, "--no-header", "--row", "1"]);
    let pipe = |limit: &[&str]| {
        let mut scan = folder.command(&[&["scan", "t", "--json"], limit].concat());
        let mut scan = scan.stdout(Stdio::piped()).spawn().unwrap();
        // A scan without a limit cannot end before its output is read.
        let wait = if limit.is_empty() { "0.2" } else { "60" };
        let mut command = folder.command(&[
            "--wait",
            wait,
            "import",
            "u",
            "-",
            "--entries",
            "--format",
            "jsonl",
            "--create",
        ]);
        let import = command.stdin(scan.stdout.take().unwrap()).output().unwrap();
        // It still holds the pipe, without whose end the scan would wait.
        drop(command);
        scan.wait().unwrap();
        let err = String::from_utf8(import.stderr).unwrap();
        (import.status.code(), err)
    };
    let (code, err) = pipe(&[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("in use"), "{err}");
    assert!(
        err.contains("next: if the command that writes to the pipe"),
        "{err}"
    );
    assert_eq!(folder.ok(&["table", "list"]), "t\n");
    // What fits into the pipe is there when the scan has ended.
    let (code, err) = pipe(&["--limit", "3"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(
        folder
            .ok(&["scan", "u", "--count"])
            .starts_with("3 entries")
    );
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let folder = Folder::with_table();
    let file = folder.write("in.csv", "id,\u{1b}]0;title\u{7},n\u{9b}31m\n1,2\n");
    let err = folder.fails(2, &["import", "t", &file, "--row", "idd"]);
    assert!(err.contains("\\x1b]0;title\\x07"), "{err}");
    let control = |text: &str| text.chars().any(|one| one.is_control() && one != '\n');
    assert!(!control(&err), "{err:?}");
    let typed = "\u{1b}]0;title\u{7}=int";
    let file = folder.write("in.csv", "id,\u{1b}]0;title\u{7}\n1,\u{1b}[31m\n");
    let err = folder.fails(1, &["import", "t", &file, "--row", "id", "--type", typed]);
    assert!(err.contains("\\x1b]0;title"), "{err}");
    assert!(!control(&err), "{err:?}");
}

#[test]
fn a_missing_file_or_table_is_named() {
    let folder = Folder::with_table();
    let err = folder.fails(1, &["import", "t", "nowhere.csv", "--row", "1"]);
    assert!(err.contains("nowhere.csv"), "{err}");
    let file = folder.write("a.csv", "a,b\n1,2\n");
    let err = folder.fails(1, &["import", "u", &file, "--row", "a"]);
    assert!(err.contains("--create"), "{err}");
    // All files are opened before any is stored.
    folder.fails(1, &["import", "t", &file, "nowhere.csv", "--row", "a"]);
    assert_eq!(folder.ok(&["scan", "t"]), "");
}

#[test]
#[ignore = "needs real data: OSTRAKON_TEST_DATA=FOLDER cargo test -p ostrakon-cli -- --ignored"]
fn flight_routes_become_a_graph() {
    let folder = Folder::new();
    let file = real_data("openflights-routes.dat").display().to_string();
    let ran = folder.run(&[
        "import",
        "routes",
        &file,
        "--create",
        "--format",
        "csv",
        "--no-header",
        "--fields",
        "airline,airline_id,from,from_id,to,to_id,codeshare,stops,equipment",
        "--row",
        "from",
        "--qualifier-field",
        "to,airline",
        "--family",
        "edge",
        "--value-field",
        "equipment",
        "--type",
        "stops=uint",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(ran.json()[0]["records"], 67_663);
    let out = folder.ok(&["scan", "routes", "--row", "AER", "--keys-only"]);
    assert!(
        out.lines().any(|line| line.starts_with("AER edge:KZN|2B")),
        "{out}"
    );
    assert_eq!(
        folder.run(&["scan", "routes", "--count", "--json"]).json()[0]["entries"],
        67_663
    );
}

#[test]
#[ignore = "needs real data: OSTRAKON_TEST_DATA=FOLDER cargo test -p ostrakon-cli -- --ignored"]
fn a_web_log_and_zeek_logs_are_imported_without_a_reject() {
    let folder = Folder::new();
    for (file, more) in [
        (
            "apache-access.log",
            &[
                "--format",
                "weblog",
                "--row",
                "host,@line",
                "--timestamp-field",
                "time",
            ][..],
        ),
        (
            "zeek-conn.log",
            &["--row", "uid", "--timestamp-field", "ts"],
        ),
        (
            "zeek-dns.log",
            &["--row", "uid,@line", "--timestamp-field", "ts"],
        ),
        (
            "zeek-http.log",
            &["--row", "uid,@line", "--timestamp-field", "ts"],
        ),
        (
            "zeek-ssl.log",
            &["--row", "uid,@line", "--timestamp-field", "ts"],
        ),
    ] {
        let table = file.replace(['-', '.'], "_");
        let path = real_data(file).display().to_string();
        let ran = folder.run(&[&["import", &table, &path, "--create", "--json"], more].concat());
        assert_eq!(ran.code, 0, "{file}: {}", ran.err);
        let summary = &ran.json()[0];
        assert_eq!(summary["rejected"], 0);
        assert_eq!(
            folder.run(&["scan", &table, "--count", "--json"]).json()[0]["entries"],
            summary["entries"],
            "{file}"
        );
    }
}

#[test]
fn an_import_that_cannot_begin_makes_neither_table_nor_store() {
    let folder = Folder::new();
    let file = folder.write("what.dat", "1,2\n");
    let err = folder.fails(2, &["import", "t", &file, "--create", "--row", "1"]);
    assert!(err.contains("--format"), "{err}");
    folder.fails(1, &["import", "t", "absent.csv", "--create", "--row", "1"]);
    folder.fails(2, &["import", "t", &file, "--create", "--format", "csv"]);
    let pattern = [
        "import",
        "t",
        &file,
        "--create",
        "--row",
        "1",
        "--pattern",
        "x",
    ];
    let err = folder.fails(2, &[&pattern[..], &["--format", "csv"]].concat());
    assert!(err.contains("--format regex"), "{err}");
    let lines = folder.write("in.jsonl", "{\"a\":1}\n{\"a\":}\n");
    for idle in [
        &["--fields", "x"][..],
        &["--no-header"],
        &["--escape", "\\"],
    ] {
        let arguments = [&["import", "t", &lines, "--create", "--row", "a"], idle].concat();
        let err = folder.fails(2, &arguments);
        assert!(
            err.contains(idle[0]) && err.contains("--format csv"),
            "{err}"
        );
    }
    assert!(!folder.path("store").exists());
}

#[test]
fn files_without_lines_and_folders_are_told_apart() {
    let folder = Folder::with_table();
    for (name, text) in [
        ("empty.csv", ""),
        ("blank.csv", "\n\n"),
        ("head.csv", "id,n\n"),
    ] {
        let file = folder.write(name, text);
        let told = folder.ok(&["import", "t", &file, "--row", "id"]);
        assert!(told.starts_with("imported 0 records"), "{name}: {told}");
    }
    let err = folder.fails(2, &["import", "t", "head.csv", "--row", "idd"]);
    assert!(err.contains("did you mean `id`?"), "{err}");
    std::fs::create_dir(folder.path("parts")).unwrap();
    let err = folder.fails(
        1,
        &["import", "t", "parts", "--row", "1", "--format", "csv"],
    );
    assert!(
        err.contains("cannot read the file") && err.contains("parts"),
        "{err}"
    );
}

#[test]
fn bytes_between_fields_and_before_quotes_are_written_as_people_write_them() {
    let folder = Folder::with_table();
    let file = folder.write("in.csv", "a\t\"say \\\"b\\\"\"\n");
    let arguments = ["import", "t", &file, "--no-header", "--row", "1"];
    folder.ok(&[&arguments[..], &["--delimiter", "\\t", "--escape", "\\"]].concat());
    assert_eq!(folder.ok(&["scan", "t", "--values-only"]), "say \"b\"\n");
    let err = folder.fails(2, &[&arguments[..], &["--delimiter", "::"]].concat());
    assert!(err.contains("one byte"), "{err}");
}

#[test]
fn a_web_log_is_known_by_its_first_line() {
    let folder = Folder::new();
    let line = r#"10.0.0.1 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 12 "-" "x""#;
    let file = folder.write("access.log", format!("{line}\n"));
    folder.ok(&["import", "t", &file, "--create", "--row", "host,@line"]);
    let found = folder.ok(&["scan", "t", "--column", ":path", "--values-only"]);
    assert_eq!(found, "/a\n");
}

#[test]
fn line_ends_within_quotes_are_imported_as_they_are() {
    let folder = Folder::with_table();
    let file = folder.write("a.csv", "id,v\r\n1,\"a\r\nb\"\r\n2,\"a\nb\"\r\n");
    folder.ok(&["import", "t", &file, "--row", "id"]);
    assert_eq!(
        folder.ok(&["scan", "t", "--raw", "--null"]),
        "a\r\nb\0a\nb\0"
    );
}

#[test]
fn a_file_whose_lines_end_with_carriage_returns_is_refused() {
    let folder = Folder::with_table();
    let file = folder.write("mac.csv", "id,v\r1,a\r2,b\r");
    let err = folder.fails(2, &["import", "t", &file, "--row", "1"]);
    assert!(err.contains("carriage return"), "{err}");
    let log = folder.write("log.csv", "ts,v\n1,a\n");
    folder.ok(&["events", "create", "e", "--from", &log]);
    let log = folder.write("mac.csv", "ts,v\r1,a\r2,b\r");
    let err = folder.fails(2, &["events", "ingest", "e", &log]);
    assert!(
        err.contains("carriage return") && err.contains("mac.csv"),
        "{err}"
    );
}
