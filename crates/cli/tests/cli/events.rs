//! `ostrakon events`: output for programs, and a killed ingest.

use std::process::Command;

use super::run::Folder;

const CONN: &str = "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n\
#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\n\
#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\n";

fn json(folder: &Folder, arguments: &[&str]) -> Vec<serde_json::Value> {
    let text = folder.ok(arguments);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn log(lines: &[&str]) -> String {
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.replace(' ', "\t") + "\n")
        .collect();
    CONN.to_owned() + &lines.concat()
}

/// A folder of logs.
fn logs(folder: &Folder) {
    std::fs::create_dir(folder.path("logs")).unwrap();
    folder.write(
        "logs/conn.log",
        log(&[
            "1379288667.706265 CoyZrY 192.168.33.10 1032 54.245.228.191 80 tcp http 0.447460 601",
            "1379288668.093470 CaJxA8 192.168.33.10 1039 54.245.228.191 80 tcp http 0.116953 311",
            "1379288669.359003 CcPje8 192.168.33.10 1082 4.2.2.3 53 udp dns 0.017286 48",
        ]),
    );
    folder.write(
        "logs/conn.2.log",
        log(&[
            "1379296800.153861 CBKqil 192.168.33.12 1122 54.245.228.191 443 tcp ssl 0.056384 370",
            "1379296801.977052 C7z7TO 192.168.33.11 1125 108.59.9.32 80 tcp http 0.449916 375",
        ]),
    );
}

#[test]
fn a_definition_is_read_from_stdin() {
    let folder = Folder::new();
    logs(&folder);
    let log = folder.text("logs/conn.log");
    folder.ok(&["events", "create", "conn", "--from", &log]);
    let shown = folder.ok(&["events", "show", "conn"]);
    let create = ["events", "create", "copy", "--schema", "-"];
    let ran = folder.run_with(&create, shown.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let copy = folder.ok(&["events", "show", "copy"]);
    assert_eq!(copy, shown.replacen("conn", "copy", 1));
}

#[test]
fn tables_of_events_are_neither_deleted_nor_renamed_alone() {
    let folder = Folder::new();
    let log = folder.write(
        "web.json",
        "{\"ts\":\"2026-01-01T00:00:00Z\",\"host\":\"a\"}\n",
    );
    folder.ok(&["events", "create", "web", "--from", &log]);
    folder.ok(&["events", "ingest", "web", &log]);
    for table in [
        "events.web",
        "events.web_index",
        "events.web_aggregate",
        "events.types",
    ] {
        for command in [
            &["table", "delete", table, "--yes"][..],
            &["table", "rename", table, "other"],
            &["sql", "-c", &format!("DROP TABLE \"{table}\"")],
            &[
                "sql",
                "-c",
                &format!("DROP TABLE ostrakon.public.\"{table}\""),
            ],
            &["sql", "-c", &format!("DROP TABLE {table}")],
            &["sql", "-c", &format!("DELETE FROM \"{table}\"")],
        ] {
            let err = folder.fails(2, command);
            assert!(err.contains("event"), "{command:?}: {err}");
        }
    }
    folder.fails(2, &["namespace", "rename", "events", "other"]);
    assert!(
        folder
            .ok(&["events", "query", "web", "--count"])
            .starts_with("1 event")
    );
    folder.ok(&["events", "drop", "web", "--yes"]);
    folder.ok(&["table", "delete", "events.types", "--yes"]);
}

#[test]
fn entries_of_events_are_changed_by_the_commands_of_events_alone() {
    let folder = Folder::with_table();
    let log = folder.write("web.csv", "ts,host\n1,a\n2,b\n");
    folder.ok(&["events", "create", "web", "--from", &log]);
    folder.ok(&["events", "ingest", "web", &log]);
    folder.ok(&["put", "t", "r", "f", "q", "v"]);
    folder.ok(&["export", "t", "t.jsonl"]);
    std::fs::create_dir(folder.path("sorted")).unwrap();
    for table in [
        "events.web",
        "events.web_index",
        "events.web_aggregate",
        "events.types",
    ] {
        for command in [
            &["put", table, "a", "b", "c", "d"][..],
            &["delete", table, "a", "b", "c"],
            &["delete-many", table, "--yes"],
            &["delete-rows", table, "--all", "--yes"],
            &["import", table, &log, "--row", "ts"],
            &["import", table, "t.jsonl", "--entries"],
            &[
                "table",
                "import-directory",
                table,
                "sorted",
                "--allow-empty",
            ],
            &[
                "table",
                "compact",
                table,
                "--iterator",
                "30,AgeOffFilter,ttl=1",
            ],
            &[
                "table",
                "config",
                "set",
                table,
                "table.iterator.majc.age=30,AgeOffFilter",
                "table.iterator.majc.age.opt.ttl=1",
            ],
            &[
                "table",
                "config",
                "delete",
                table,
                "table.iterator.scan.sum",
            ],
            &[
                "table",
                "config",
                "set",
                table,
                "table.constraint.1=DefaultKeySizeConstraint",
            ],
            &[
                "table",
                "config",
                "set",
                table,
                "table.security.scan.visibility.default=secret",
            ],
        ] {
            let err = folder.fails(2, command);
            assert!(
                err.contains("event type") && err.contains("ostrakon events "),
                "{command:?}: {err}"
            );
        }
        // These keep all entries.
        folder.ok(&["table", "flush", table]);
        folder.ok(&["table", "add-splits", table, "m"]);
        folder.ok(&["table", "merge", table]);
        folder.ok(&["table", "compact", table]);
        folder.ok(&["table", "config", "set", table, "table.file.max=20"]);
    }
    let iterator = "table.iterator.majc.age=30,AgeOffFilter";
    let err = folder.fails(2, &["config", "set", "--namespace", "events", iterator]);
    assert!(err.contains("event types"), "{err}");
    assert!(
        folder
            .ok(&["events", "check", "web"])
            .starts_with("2 events")
    );
    // A table of the namespace that belongs to no type is a table like any other.
    folder.ok(&["table", "create", "events.other"]);
    folder.ok(&["put", "events.other", "a", "b", "c", "d"]);
}

#[test]
fn tables_of_events_take_no_iterators_over() {
    let folder = Folder::new();
    let log = folder.write(
        "web.csv",
        "time,host\n2026-01-01T00:00:00Z,a\n2026-01-01T00:00:01Z,b\n",
    );
    let iterator = [
        "table.iterator.majc.grep=50,GrepIterator",
        "table.iterator.majc.grep.opt.term=zzz",
    ];
    let names = iterator.map(|one| one.split_once('=').unwrap().0);
    let label = "table.security.scan.visibility.default";
    let secret = format!("{label}=secret");
    folder.ok(&["namespace", "create", "events"]);
    let levels: [&[&str]; 2] = [&[], &["--namespace", "events"]];
    for level in levels {
        let set = [&["config", "set"], level, &iterator].concat();
        let delete = [&["config", "delete"], level, &names].concat();
        // Before there are types, they are a setting like any other, and no type is created under them.
        folder.ok(&set);
        let create = ["events", "create", "web", "--from", &log];
        let err = folder.fails(2, &create);
        assert!(err.contains(names[0]) && err.contains("remove"), "{err}");
        folder.ok(&delete);
        folder.ok(&create);
        folder.ok(&["events", "ingest", "web", &log]);
        let err = folder.fails(2, &set);
        assert!(err.contains("event types"), "{err}");
        // What was set by other means can be removed.
        folder.ok(&delete);
        folder.ok(&["table", "compact", "events.web"]);
        let checked = folder.ok(&["events", "check", "web"]);
        assert!(checked.starts_with("2 events"), "{checked}");
        folder.ok(&["events", "drop", "web", "--yes"]);
    }
    folder.ok(&["events", "create", "web", "--from", &log]);
    let err = folder.fails(2, &["config", "set", "--namespace", "events", &secret]);
    assert!(err.contains("event types"), "{err}");
    // The label of the whole store hides events, index and counts alike, and not that there is a type.
    folder.ok(&["config", "set", &secret]);
    folder.ok(&["events", "ingest", "web", &log]);
    let count = |auths| folder.ok(&["events", "query", "web", "--count", "--auths", auths]);
    assert!(count("").starts_with("0 events"), "{}", count(""));
    assert!(count("secret").starts_with("2 events"));
    let top = ["events", "top", "web", "host", "--auths", ""];
    assert!(!folder.ok(&top).contains('1'), "{}", folder.ok(&top));
    let err = folder.fails(2, &["put", "events.web", "a", "b", "c", "d"]);
    assert!(err.contains("event type"), "{err}");
    folder.ok(&["config", "delete", label]);
    assert!(count("").starts_with("2 events"));
    let checked = folder.ok(&["events", "check", "web"]);
    assert!(checked.starts_with("2 events"), "{checked}");
}

#[test]
fn an_empty_file_is_a_log_without_lines() {
    let folder = Folder::new();
    let log = folder.write("access.log", "ts,host\n1,a\n");
    let empty = folder.write("empty.log", "");
    let how = ["--format", "csv"];
    folder.ok(&[&["events", "create", "web", "--from", &log][..], &how].concat());
    for files in [&[&*empty, &*log][..], &[&*log, &*empty]] {
        folder.ok(&[&["events", "ingest", "web"][..], files, &how].concat());
    }
    let json = folder.write("web.json", "{\"ts\":2,\"host\":\"b\"}\n");
    assert!(
        folder
            .ok(&["events", "ingest", "web", &json, &empty])
            .starts_with("1 event ")
    );
    assert!(
        folder
            .ok(&["events", "ingest", "web", &empty])
            .starts_with("0 events ")
    );
    let err = folder.fails(2, &["events", "create", "none", "--from", &empty]);
    assert!(err.contains("record"), "{err}");
}

#[test]
fn rejected_lines_are_told_as_those_of_an_import() {
    let folder = Folder::new();
    let log = folder.write("web.csv", "ts,host\n1,a\n");
    folder.ok(&["events", "create", "web", "--from", &log]);
    let bad = folder.write("bad.csv", "ts,host\n1,a\nnoon,\"x\ny\"\nlate,b\n");
    let ran = folder.run(&["events", "ingest", "web", &bad, "--rejects", "rejects.tsv"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    // The record over two lines is named by its first one.
    for part in [
        "error: 2 lines were rejected; all others are stored",
        "bad.csv:3:",
        "rejected 2: ",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert!(!ran.err.contains("WARN"), "{}", ran.err);
    let kept = folder.read("rejects.tsv");
    let lines: Vec<Vec<&str>> = kept
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines[0], ["file", "line", "reason", "text"]);
    assert_eq!((lines[1][1], lines[1][3]), ("3", "noon,\"x\\x0ay\""));
    assert_eq!((lines[2][1], lines[2][3]), ("5", "late,b"));
    let none = folder.write("none.csv", "ts,host\nnoon,x\n");
    let err = folder.fails(1, &["events", "ingest", "web", &none]);
    assert!(
        err.contains("1 line was rejected; no event was stored"),
        "{err}"
    );
}

#[test]
fn the_last_time_span_of_an_old_log_is_explained() {
    let folder = Folder::new();
    let log = folder.write(
        "web.csv",
        "ts,host,label\n1400000000.5,a,\n1500000000,b,soc\n",
    );
    let create = ["events", "create", "web", "--from", &log];
    let labels = ["--visibility-field", "label", "--visibility", ""];
    folder.ok(&[&create[..], &labels].concat());
    folder.ok(&["events", "ingest", "web", &log]);
    for command in [
        &["query", "web"][..],
        &["query", "web", "--count"],
        &["histogram", "web"],
        &["top", "web", "host"],
    ] {
        let ran = folder.run(&[&["events"][..], command, &["--last", "1d"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        // What the reader does not see is not told.
        assert_eq!(
            ran.err,
            "note: the newest event of web is from 2014-05-13T16:53:20.5Z, which is before the last 1d; to count from \
             there, use --now 2014-05-13T16:53:21Z\n",
            "{command:?}"
        );
    }
    let now = ["--last", "1d", "--now", "2014-05-13T16:53:21Z"];
    let found = folder.ok(&[&["events", "query", "web", "--count"][..], &now].concat());
    assert_eq!(found, "1 event\n");
    folder.ok(&["events", "query", "web", "host == 'z'", "--last", "9999d"]);
}

#[test]
fn printed_values_with_blanks_are_in_quotes_and_fields_in_the_order_asked_for() {
    let folder = Folder::new();
    let log = folder.write(
        "web.csv",
        "ts,a,b,c\n1,Failed password for root pid=12,\"say \"\"x\"\"\",z\n",
    );
    folder.ok(&["events", "create", "web", "--from", &log]);
    folder.ok(&["events", "ingest", "web", &log]);
    assert_eq!(
        folder.ok(&["events", "query", "web", "--fields", "c,b,a"]),
        "1970-01-01T00:00:01Z c=z b=\"say \\x22x\\x22\" a=\"Failed password for root pid=12\"\n"
    );
}

/// Events with a comma, quotes, a line end, a long value, a value that is missing and one that is empty, and labels.
fn odd_values(folder: &Folder) {
    let long = "x".repeat(70);
    let log = folder.write(
        "odd.json",
        format!(
            "{{\"ts\":1,\"host\":\"a,b\",\"note\":\"say \\\"x\\\"\\nthen\",\"port\":80}}\n\
             {{\"ts\":2,\"host\":\"\",\"note\":\"{long}\",\"port\":8080,\"label\":\"soc\"}}\n\
             {{\"ts\":3,\"note\":\"b  c…\",\"port\":1}}\n"
        ),
    );
    let labels = ["--visibility-field", "label", "--visibility", ""];
    folder.ok(&[&["events", "create", "odd", "--from", &log][..], &labels].concat());
    folder.ok(&["events", "ingest", "odd", &log]);
}

#[test]
fn events_are_printed_as_csv_with_every_field_of_the_type() {
    let folder = Folder::new();
    odd_values(&folder);
    let csv = |more: &[&str]| {
        let query = [
            "events", "query", "odd", "--auths", "soc", "--format", "csv",
        ];
        folder.ok(&[&query[..], more].concat())
    };
    let long = "x".repeat(70);
    assert_eq!(
        csv(&[]),
        format!(
            "time,host,note,port,label,visibility\n\
             1970-01-01T00:00:03Z,,b  c…,1,,\n\
             1970-01-01T00:00:02Z,,{long},8080,soc,soc\n\
             1970-01-01T00:00:01Z,\"a,b\",\"say \"\"x\"\"\nthen\",80,,\n"
        )
    );
    assert_eq!(
        csv(&["port > 80", "--fields", "port,time,host,port"]),
        "time,port,host,visibility\n1970-01-01T00:00:02Z,8080,,soc\n"
    );
    assert_eq!(
        csv(&["port == 2", "--fields", "port"]),
        "time,port,visibility\n"
    );
    // A query that fails prints no header.
    let ran = folder.run(&["events", "query", "odd", "nothing == 1", "--format", "csv"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    // The rows are those of SQL.
    let sql = "SELECT time, host, note, port, label, visibility FROM events.odd ORDER BY time DESC";
    let by_sql = folder.ok(&["sql", "-c", sql, "--format", "csv", "--auths", "soc"]);
    assert_eq!(csv(&[]).replace('Z', ""), by_sql.replace('Z', ""));
    // With limits, a token tells how to go on, beside the records.
    let ran = folder.run(&[
        "-v", "events", "query", "odd", "--format", "csv", "--limit", "1",
    ]);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
}

#[test]
fn events_are_printed_as_aligned_columns() {
    let folder = Folder::new();
    odd_values(&folder);
    let query = [
        "events", "query", "odd", "--auths", "soc", "--format", "table",
    ];
    let table = |more: &[&str]| folder.ok(&[&query[..], more].concat());
    let cut = "x".repeat(60);
    assert_eq!(
        table(&["--fields", "host,port,note"]),
        format!(
            "time                  host  port  {:<61}  visibility\n\
             1970-01-01T00:00:03Z           1  \"b  c\\xe2\\x80\\xa6\"\n\
             1970-01-01T00:00:02Z  \"\"    8080  {cut}…  soc\n\
             1970-01-01T00:00:01Z  a,b     80  \"say \\x22x\\x22\\x0athen\"\n",
            "note"
        )
    );
    assert_eq!(
        table(&["port == 2", "--fields", "port"]),
        "time  port  visibility\n"
    );
}

#[test]
fn json_is_a_format_of_events_too() {
    let folder = Folder::new();
    odd_values(&folder);
    let query = ["events", "query", "odd", "--limit", "1"];
    let json = folder.ok(&[&query[..], &["--json"]].concat());
    assert_eq!(json.lines().count(), 2, "an event and a token: {json}");
    assert_eq!(
        folder.ok(&[&query[..], &["--format", "json"]].concat()),
        json
    );
    let text = folder.ok(&query);
    let both = ["--format", "text", "--json"];
    assert_eq!(folder.ok(&[&query[..], &both].concat()), text);
    folder.fails(2, &["events", "query", "odd", "--count", "--format", "csv"]);
}

#[test]
fn a_byte_in_a_regular_expression_is_written_as_the_error_says() {
    let folder = Folder::new();
    let log = folder.write("web.csv", b"ts,agent\n1,a\xffb\n2,ab\n");
    folder.ok(&["events", "create", "web", "--from", &log]);
    folder.ok(&["events", "ingest", "web", &log]);
    let count = |pattern: &str| folder.run(&["events", "query", "web", pattern, "--count"]);
    let wrong = count(r"agent =~ '\xff'");
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(wrong.err.contains(r"(?-u)\\xNN"), "{}", wrong.err);
    assert_eq!(count(r"agent =~ '(?-u)\\xff'").out, "1 event\n");
}

#[test]
fn programs_get_stable_objects() {
    let folder = Folder::new();
    logs(&folder);
    let first = folder.text("logs/conn.log");
    folder.ok(&["events", "create", "conn", "--from", &first]);
    let ingested = json(&folder, &["events", "ingest", "conn", &first, "--json"]);
    assert_eq!(
        (
            ingested[0]["events"].as_u64(),
            ingested[0]["duplicates"].as_u64()
        ),
        (Some(3), Some(0))
    );
    assert!(ingested[0]["entries"].as_u64() > Some(30) && ingested[0]["seconds"].is_number());
    let again = json(&folder, &["events", "ingest", "conn", &first, "--json"]);
    assert_eq!(
        (again[0]["events"].as_u64(), again[0]["duplicates"].as_u64()),
        (Some(0), Some(3))
    );
    let seen = json(
        &folder,
        &["events", "query", "conn", "service == 'dns'", "--json"],
    );
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0]["time"], "2013-09-15T23:44:29.359003Z");
    assert_eq!(seen[0]["fields"]["id.resp_h"], "4.2.2.3");
    let page = json(
        &folder,
        &["events", "query", "conn", "--limit", "2", "--json"],
    );
    let token = page[2]["token"].as_str().unwrap();
    let rest = json(
        &folder,
        &["events", "query", "conn", "--resume", token, "--json"],
    );
    assert_eq!((page.len(), rest.len()), (3, 1));
    let bins = json(
        &folder,
        &["events", "histogram", "conn", "--by", "1h", "--json"],
    );
    assert_eq!(bins[0]["bins"][0]["events"], 3);
    let plan = json(
        &folder,
        &[
            "events",
            "explain",
            "conn",
            "uid == 'CcPje8'",
            "--analyze",
            "--json",
        ],
    );
    assert_eq!(plan[0]["actual"]["events"], 1);
    let check = json(&folder, &["events", "check", "conn", "--json"]);
    assert_eq!(check[0]["disagreements"], serde_json::json!([]));
    let wrong = folder.run(&["events", "query", "conn", "servise == 'dns'"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("no such field"), "{}", wrong.err);
    assert_eq!(
        folder.run(&["events", "query", "conn", "service =="]).code,
        2
    );
}

#[test]
fn rejected_lines_are_kept_with_their_reasons() {
    let folder = Folder::new();
    logs(&folder);
    let first = folder.text("logs/conn.log");
    folder.ok(&["events", "create", "conn", "--from", &first]);
    let broken = folder.write(
        "broken.log",
        log(&["never x y", "1 C 10.0.0.1 port 10.0.0.2 80 tcp http 1 2"]),
    );
    let rejects = folder.text("rejects");
    let ran = folder.run(&["events", "ingest", "conn", &broken, "--rejects", &rejects]);
    assert_eq!(ran.code, 1);
    let kept = std::fs::read_to_string(&rejects).unwrap();
    assert!(
        kept.contains("broken.log\t8\tthe line has 7 fields fewer"),
        "{kept}"
    );
    assert!(
        kept.contains("`id.orig_p` is not of type u64: port"),
        "{kept}"
    );
    // A file of the input is not overwritten, under whatever name.
    let before = folder.read("broken.log");
    let other = folder.text("logs/../broken.log");
    let err = folder.fails(
        2,
        &["events", "ingest", "conn", &broken, "--rejects", &other],
    );
    assert!(err.contains("one of the files to read"), "{err}");
    assert_eq!(folder.read("broken.log"), before);
}

#[test]
fn logs_of_json_and_of_labels() {
    let folder = Folder::new();
    let lines = "{\"ts\":1.5,\"host\":\"a\",\"who\":\"soc\"}\n{\"ts\":2.5,\"host\":\"b\",\"who\":\"noc\"}\n";
    let file = folder.write("web.json", lines);
    folder.ok(&[
        "events",
        "create",
        "web",
        "--from",
        &file,
        "--visibility-field",
        "who",
    ]);
    folder.ok(&["events", "ingest", "web", &file]);
    assert_eq!(
        folder.ok(&["events", "query", "web", "--auths", "noc"]),
        "1970-01-01T00:00:02.5Z [noc] host=b who=noc\n"
    );
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count"]),
        "0 events\n"
    );
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count", "--auths", "soc,noc"]),
        "2 events\n"
    );
    folder.ok(&[
        "events",
        "delete",
        "web",
        "host == 'a'",
        "--yes",
        "--auths",
        "soc",
    ]);
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count", "--auths", "soc,noc"]),
        "1 event\n"
    );
    folder.ok(&["events", "check", "web", "--auths", "soc,noc"]);
}

#[test]
fn the_planner_can_be_set_and_explains_its_ranges() {
    let folder = Folder::new();
    let file = folder.write("web.csv", "ts,host\n1,a\n2,b\n3,c\n4,a\n");
    folder.ok(&["events", "create", "web", "--from", &file, "--shards", "3"]);
    folder.ok(&["events", "ingest", "web", &file]);
    let explain = ["events", "explain", "web", "host in ('a', 'b')", "--json"];
    for (threshold, path, ranges) in [("1", "index", 2), ("0.1", "scan", 3)] {
        let plan = json(
            &folder,
            &[&explain[..], &["--threshold", threshold]].concat(),
        );
        assert_eq!(plan[0]["path"], path);
        assert_eq!(plan[0]["ranges"], ranges);
    }
    let small = [
        "--first-events",
        "1",
        "--window-events",
        "1",
        "--window-growth",
        "2",
    ];
    let one = json(&folder, &[&explain[..], &["--analyze"]].concat());
    let many = json(&folder, &[&explain[..], &["--analyze"], &small].concat());
    assert_eq!(one[0]["actual"]["windows"], 1);
    assert!(many[0]["actual"]["windows"].as_u64() > Some(1), "{many:?}");
    assert_eq!(many[0]["actual"]["events"], 3);
    let query = [
        "events",
        "query",
        "web",
        "--count",
        "--window-short",
        "never",
    ];
    folder.fails(2, &query);
}

#[test]
fn a_table_of_an_event_type_is_not_deleted_alone() {
    let folder = Folder::new();
    let file = folder.write("web.csv", "ts,host\n1,a\n");
    folder.ok(&["events", "create", "web", "--from", &file]);
    folder.ok(&["events", "ingest", "web", &file]);
    for table in ["events.web", "events.web_index", "events.web_aggregate"] {
        let err = folder.fails(2, &["table", "delete", table, "--yes"]);
        assert!(err.contains("events drop web"), "{err}");
    }
    folder.ok(&["events", "check", "web"]);
    folder.ok(&["events", "drop", "web", "--yes"]);
}

#[test]
fn json_has_the_bytes_of_fields_and_labels() {
    let folder = Folder::new();
    let file = folder.write(
        "web.csv",
        b"ts,note,note_base64\n1,\xff\xfe,text\n2,a\\b\xc3\xbc,x\n",
    );
    folder.ok(&["events", "create", "web", "--from", &file]);
    folder.ok(&["events", "ingest", "web", &file]);
    let seen = json(&folder, &["events", "query", "web", "--json"]);
    assert_eq!(
        seen[0]["fields"],
        serde_json::json!({"ts": "2", "note": "a\\bü", "note_base64": "x"})
    );
    // The name that would say base64 belongs to another field of this event.
    assert_eq!(
        seen[1]["fields"],
        serde_json::json!({"ts": "1", "note_base64_base64": "//4=", "note_base64": "text"})
    );
    let only = ["events", "query", "web", "--fields", "note", "--json"];
    assert_eq!(
        json(&folder, &only)[1]["fields"],
        serde_json::json!({"note_base64": "//4="})
    );
    let top = json(&folder, &["events", "top", "web", "note", "--json"]);
    let values = top[0]["values"].as_array().unwrap();
    assert!(values.contains(&serde_json::json!({"value": "a\\bü", "events": 1})));
    assert!(values.contains(&serde_json::json!({"value_base64": "//4=", "events": 1})));
}

#[test]
fn old_events_are_removed_in_whole_bins_and_only_if_that_is_confirmed() {
    let folder = Folder::new();
    let file = folder.write(
        "web.csv",
        "ts,label\n2020-01-01T09:59:00Z,\n2020-01-01T09:59:01Z,soc\n2020-01-01T10:04:00Z,\n",
    );
    let create = [
        "events",
        "create",
        "web",
        "--from",
        &file,
        "--visibility-field",
        "label",
        "--visibility",
        "",
    ];
    folder.ok(&create);
    folder.ok(&["events", "ingest", "web", &file]);
    let off = ["events", "age-off", "web", "--before", "2020-01-01T10:05"];
    let err = folder.fails(2, &off);
    assert!(
        err.contains("before 2020-01-01T10:00:00Z") && err.contains("--yes"),
        "{err}"
    );
    let all = ["events", "query", "web", "--count", "--auths", "soc"];
    assert_eq!(folder.ok(&all), "3 events\n");
    let off = [&off[..], &["--yes", "--auths", "soc"]].concat();
    assert_eq!(
        folder.ok(&off),
        "removed the events before 2020-01-01T10:00:00Z; --auths could see 2 events\n"
    );
    assert_eq!(folder.ok(&all), "1 event\n");
}

#[test]
fn fields_get_other_names_and_more_columns() {
    let folder = Folder::new();
    let file = folder.write(
        "web.csv",
        "ts,time,client\n1,noon,10.0.0.1\n2,late,10.0.0.2\n",
    );
    let hosts = folder.write(
        "hosts.csv",
        "address,owner,site\n10.0.0.1,ann,\n10.0.0.9,bob,x\n",
    );
    let err = folder.fails(2, &["events", "create", "web", "--from", &file]);
    assert!(err.contains("--map time=NAME"), "{err}");
    let enrich = format!("address={hosts}");
    let how = [
        "--map",
        "time=said",
        "--map",
        "client=address",
        "--enrich",
        &enrich,
    ];
    folder.ok(&[&["events", "create", "web", "--from", &file], &how[..]].concat());
    folder.ok(&[&["events", "ingest", "web", &file], &how[..]].concat());
    assert_eq!(
        folder.ok(&["events", "query", "web"]),
        "1970-01-01T00:00:02Z address=10.0.0.2 said=late\n\
         1970-01-01T00:00:01Z address=10.0.0.1 owner=ann said=noon\n"
    );
    assert_eq!(
        folder.ok(&["events", "query", "web", "owner == 'ann'", "--count"]),
        "1 event\n"
    );
    for wrong in ["a", "=b", "a=", "a=b c"] {
        folder.fails(2, &["events", "ingest", "web", &file, "--map", wrong]);
    }
    let twice = folder.write("hosts.csv", "address,owner\na,1\na,2\n");
    let enrich = format!("address={twice}");
    let err = folder.fails(2, &["events", "ingest", "web", &file, "--enrich", &enrich]);
    assert!(
        err.contains("occurs twice") && err.contains("line: 3"),
        "{err}"
    );
}

#[test]
fn follow_ups_find_events_that_share_a_value() {
    let folder = Folder::new();
    let dns = folder.write(
        "dns.csv",
        "ts,host,query\n1,a,x.org\n2,b,y.org\n3,c,x.org\n",
    );
    let conn = folder.write("conn.csv", "ts,from,to\n4,a,k\n5,b,l\n6,c,m\n7,a,n\n");
    let seen = folder.write("seen.csv", "ts,who\n8,k\n9,l\n10,q\n");
    for (name, file) in [("dns", &dns), ("conn", &conn), ("seen", &seen)] {
        folder.ok(&["events", "create", name, "--from", file]);
        folder.ok(&["events", "ingest", name, file]);
    }
    let first = [
        "events",
        "query",
        "dns",
        "query == 'x.org'",
        "--then",
        "conn.from=host",
    ];
    assert_eq!(
        folder.ok(&[&first[..], &["--fields", "from,to"]].concat()),
        "1970-01-01T00:00:07Z from=a to=n\n1970-01-01T00:00:06Z from=c to=m\n1970-01-01T00:00:04Z from=a to=k\n"
    );
    let second = [&first[..], &["--then", "seen.who=to"]].concat();
    assert_eq!(folder.ok(&second), "1970-01-01T00:00:08Z who=k\n");
    let none = [
        "events",
        "query",
        "dns",
        "query == 'z.org'",
        "--then",
        "conn.from=host",
    ];
    assert_eq!(folder.ok(&none), "");
    let ran = folder.run(&["events", "query", "dns", "--then", "conn.nothing=host"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    folder.fails(2, &["events", "query", "dns", "--then", "conn"]);
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_are_events() {
    let folder = Folder::with_table();
    folder.import_csv("r1,v\nr2,w\n");
    let file = folder.text("t.parquet");
    folder.ok(&["export", "t", &file]);
    let how = ["--map", "timestamp=ts"];
    folder.ok(&[&["events", "create", "cells", "--from", &file], &how[..]].concat());
    for expected in [(2, 0), (0, 2)] {
        let ran = json(
            &folder,
            &[&["events", "ingest", "cells", &file, "--json"], &how[..]].concat(),
        );
        let counts = (ran[0]["events"].as_u64(), ran[0]["duplicates"].as_u64());
        assert_eq!(counts, (Some(expected.0), Some(expected.1)));
    }
    assert_eq!(
        folder.ok(&["events", "query", "cells", "row == 'r2'", "--count"]),
        "1 event\n"
    );
    let cut = std::fs::read(&file).unwrap();
    let cut = folder.write("cut.parquet", &cut[..cut.len() / 2]);
    folder.fails(1, &["events", "ingest", "cells", &cut]);
}

/// Kills the program at several moments of an ingest; what is visible then agrees, and the rest can be added.
#[test]
fn a_killed_ingest_leaves_tables_that_agree() {
    let folder = Folder::new();
    let mut text = "ts,host,number\n".to_owned();
    for number in 0..4000 {
        text.push_str(&format!(
            "{},h{},{number}\n",
            1_400_000_000 + number * 7,
            number % 13
        ));
    }
    let file = folder.write("web.csv", &text);
    folder.ok(&["events", "create", "web", "--from", &file]);
    for wait in [30, 80, 150] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ostrakon"))
            .args(["events", "ingest", "web", &file, "--batch-events", "100"])
            .env("OSTRAKON_DATA", folder.path("store"))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let check = json(&folder, &["events", "check", "web", "--json"]);
        assert_eq!(check[0]["disagreements"], serde_json::json!([]));
        let seen = check[0]["events"].as_u64().unwrap();
        assert_eq!(seen % 100, 0, "batches are visible as a whole");
        let count = json(&folder, &["events", "query", "web", "--count", "--json"]);
        assert_eq!(count[0]["events"].as_u64(), Some(seen));
    }
    folder.ok(&["events", "ingest", "web", &file]);
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count"]),
        "4,000 events\n"
    );
    folder.ok(&["events", "check", "web"]);
}

/// Values at which the library panics.
#[cfg(feature = "sql")]
#[test]
fn values_of_parquet_that_no_calendar_has_are_errors() {
    let folder = Folder::with_table();
    for (name, date) in [
        ("ok", "DATE '2020-01-03'"),
        ("bad", "arrow_cast(CAST(2147483647 AS INT), 'Date32')"),
    ] {
        let query =
            format!("SELECT TIMESTAMP '2020-01-03 00:00:00' AS ts, '{name}' AS a, {date} AS day");
        folder.ok(&["sql", "-c", &query, "--output", &format!("{name}.parquet")]);
    }
    folder.ok(&["events", "create", "t", "--from", "ok.parquet"]);
    let failed = folder.run(&[
        "events",
        "ingest",
        "t",
        "ok.parquet",
        "bad.parquet",
        "--json",
    ]);
    assert_eq!(failed.code, 1, "{}", failed.err);
    for said in ["\"error\"", "bad.parquet", "cannot be read"] {
        assert!(failed.err.contains(said), "{}", failed.err);
    }
    assert!(!failed.err.contains("panicked"), "{}", failed.err);
    let count = folder
        .run(&["events", "query", "t", "--count", "--json"])
        .json();
    assert_eq!(count[0]["events"], 1, "{count:?}");
}
