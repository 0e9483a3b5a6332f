//! Commands on the reference model, a simple source that is known to be correct.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Parser as _;
use ostrakon_testkit::reference_model::MapSource;

use super::dispatch::on_source;
use crate::args::{Cli, Command};
use crate::output::Output;

/// A stream whose content a test can read.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("one thread").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Session {
    source: MapSource,
    folder: tempfile::TempDir,
}

impl Session {
    fn new() -> Self {
        Self {
            source: MapSource::new(),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path.display().to_string()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).expect("a file")
    }

    /// What the command printed, and its failure if it failed.
    fn try_run(&self, arguments: &[&str]) -> (String, Option<String>) {
        let line = ["ostrakon"].iter().chain(arguments);
        let cli = match Cli::try_parse_from(line) {
            Ok(cli) => cli,
            Err(error) => return (String::new(), Some(error.to_string())),
        };
        let Command::Store(command) = cli.command else {
            panic!("{arguments:?} is not a command on a store");
        };
        let stream = Shared::default();
        let mut out = Output::to(Box::new(stream.clone()), cli.json);
        let outcome = on_source(&self.source, command, &mut out);
        out.finish().expect("memory");
        let text = String::from_utf8(stream.0.lock().expect("one thread").clone()).expect("text");
        (text, outcome.err().map(|failure| format!("{failure:?}")))
    }

    fn run(&self, arguments: &[&str]) -> String {
        let (text, failure) = self.try_run(arguments);
        assert_eq!(failure, None, "{arguments:?}");
        text
    }

    fn fail(&self, arguments: &[&str]) -> String {
        self.try_run(arguments)
            .1
            .unwrap_or_else(|| panic!("{arguments:?} should fail"))
    }

    /// The entries of a table, by a scan of the command line.
    fn scan(&self, table: &str) -> Vec<String> {
        let text = self.run(&["scan", table, "--auths", "a,b,hr,x"]);
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn what_is_put_is_scanned_and_deleted() {
    let session = Session::new();
    session.run(&["table", "create", "t", "--splits", "g,n\\x2c"]);
    assert_eq!(session.run(&["table", "splits", "t"]), "g\nn,\n");
    session.run(&[
        "put",
        "t",
        "a\\x00",
        "f",
        "q",
        "-1",
        "-l",
        "hr|x",
        "--timestamp",
        "-5",
    ]);
    session.run(&["put", "t", "b", "f", "q", "v\\\\"]);
    assert_eq!(session.run(&["scan", "t"]), "b f:q []\tv\\\\\n");
    assert_eq!(
        session.run(&["scan", "t", "--auths", "hr", "--timestamps", "-r", "a\\x00"]),
        "a\\x00 f:q [hr|x] -5\t-1\n"
    );
    session.run(&["delete", "t", "b", "f", "q"]);
    let count = session.run(&["scan", "t", "--count", "--json"]);
    assert!(count.contains("\"entries\":0"), "{count}");
    let text = session.run(&["delete-many", "t", "--auths", "x", "--yes"]);
    assert_eq!(text, "deleted 1 entry\n");
    assert_eq!(session.scan("t"), Vec::<String>::new());
}

#[test]
fn scans_select_rows_columns_and_how_many() {
    let session = Session::new();
    session.run(&["table", "create", "t"]);
    for row in ["a", "ab", "b", "c"] {
        for qualifier in ["p", "q"] {
            session.run(&["put", "t", row, "f", qualifier, "v"]);
        }
    }
    let rows = |arguments: &[&str]| -> String {
        let arguments = [&["scan", "t", "-c", "f:p", "--keys-only"], arguments].concat();
        let text = session.run(&arguments);
        text.lines()
            .filter_map(|line| line.split(' ').next())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(rows(&[]), "a ab b c");
    assert_eq!(rows(&["--begin", "ab", "--end", "b"]), "ab b");
    assert_eq!(
        rows(&[
            "--begin",
            "a",
            "--begin-exclusive",
            "--end",
            "c",
            "--end-exclusive"
        ]),
        "ab b"
    );
    assert_eq!(rows(&["--prefix", "a", "--row", "c"]), "a ab c");
    assert_eq!(rows(&["--limit", "3"]), "a ab b");
    assert_eq!(rows(&["--limit", "0"]), "");
    let batch = session.file("batch", "c\n\na\tab\n");
    let text = rows(&["--batch", &batch]);
    let mut found: Vec<&str> = text.split(' ').collect();
    found.sort_unstable();
    assert_eq!(found, ["a", "ab", "c"]);
    let empty = session.file("empty", "");
    assert_eq!(
        rows(&["--batch", &empty]),
        "",
        "no range is not every range"
    );
    assert!(
        session
            .fail(&["scan", "t", "-b", "c", "-e", "a"])
            .contains("swap")
    );
}

#[test]
fn a_csv_file_becomes_rows_and_bad_lines_are_collected() {
    let session = Session::new();
    let file = session.file(
        "people.csv",
        "id,name,age,who\n1,Ann,30,a|b\n2,\"Bob, jr\",x,\n3,Cy,,\n4,Di\n5,Ed,7,a&\n,Flo,8,\n6,\\N,9,\n",
    );
    let rejects = session
        .folder
        .path()
        .join("rejects.tsv")
        .display()
        .to_string();
    let arguments = [
        "import",
        "people",
        &file,
        "--row",
        "id",
        "--create",
        "--type",
        "age=int",
        "--family",
        "p",
        "--visibility-field",
        "who",
        "--visibility",
        "b",
        "--rejects",
        &rejects,
    ];
    let (text, failure) = session.try_run(&arguments);
    assert!(
        text.starts_with("imported 3 records, 4 entries, 4 rejected"),
        "{text}"
    );
    assert!(failure.is_some_and(|failure| failure.contains("4 lines were rejected")));
    assert_eq!(
        session.scan("people"),
        [
            "1 p:age [a|b]\t30",
            "1 p:name [a|b]\tAnn",
            "3 p:name [b]\tCy",
            "6 p:age [b]\t9"
        ]
    );
    let rejected = session.read("rejects.tsv");
    let lines: Vec<Vec<&str>> = rejected
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(lines[0], ["file", "line", "reason", "text"]);
    let numbers: Vec<&str> = lines[1..].iter().map(|line| line[1]).collect();
    assert_eq!(numbers, ["3", "5", "6", "7"]);
    assert!(lines[1][2].contains("`x` is not a valid 64-bit") && lines[1][3] == "2,\"Bob, jr\",x,");
    assert!(lines[2][2].contains("2 fields where 4"));
    assert!(lines[3][2].contains("visibility"));
    assert!(lines[4][2].contains("missing"));
    let accepted = [&arguments[..], &["--accept-rejects"]].concat();
    session.run(&accepted);
}

#[test]
fn a_graph_comes_from_csv_and_from_an_edge_list() {
    let session = Session::new();
    let file = session.file("routes.dat", "2B,AER,KZN,1\n2B,KZN,\\N,1\n9E,KZN,AER,2\n");
    session.run(&[
        "import",
        "routes",
        &file,
        "--create",
        "--format",
        "csv",
        "--no-header",
        "--row",
        "2",
        "--qualifier-field",
        "3",
        "--family",
        "edge",
        "--value-field",
        "1",
        "--accept-rejects",
    ]);
    assert_eq!(
        session.scan("routes"),
        ["AER edge:KZN []\t2B", "KZN edge:AER []\t9E"]
    );
    let file = session.file(
        "friends.edges",
        "# who knows whom\nann bob 0.5\ncy\tdi\nann ann\n",
    );
    session.run(&["import", "friends", &file, "--create", "--both-ways"]);
    assert_eq!(
        session.scan("friends"),
        [
            "ann edge:ann []\t1",
            "ann edge:bob []\t0.5",
            "bob edge:ann []\t0.5",
            "cy edge:di []\t1",
            "di edge:cy []\t1"
        ]
    );
}

#[test]
fn json_zeek_and_web_logs_are_understood() {
    let session = Session::new();
    let file = session.file(
        "events.jsonl",
        "{\"user\":{\"id\":7},\"at\":\"2015-05-17T10:05:03Z\",\"n\":1.50}\nnot json\n{\"n\":2}\n",
    );
    session.run(&[
        "import",
        "events",
        &file,
        "--create",
        "--row",
        "user.id,@line",
        "--timestamp-field",
        "at",
        "--timestamp-format",
        "rfc3339",
        "--skip",
        "at",
        "--accept-rejects",
    ]);
    assert_eq!(
        session.run(&["scan", "events", "-t"]),
        "7|0000000001 :n [] 1431857103000\t1.50\n"
    );
    let file = session.file(
        "conn.log",
        "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n\
         #fields\tts\tuid\tport\ttags\n#types\ttime\tstring\tport\tset[string]\n\
         1379288667.706265\tC1\t80\t(empty)\n1379288668.5\tC2\t-\t-\n1379288669\tC3\tnone\t-\n#close\tx\n",
    );
    let (_, failure) = session.try_run(&[
        "import",
        "conn",
        &file,
        "--create",
        "--row",
        "uid",
        "--timestamp-field",
        "ts",
    ]);
    assert!(
        failure.is_some_and(
            |failure| failure.contains(":9: field `port`: `none` is not a valid 64-bit")
        )
    );
    assert_eq!(
        session.scan("conn"),
        [
            "C1 :port []\t80",
            "C1 :tags []\t",
            "C1 :ts []\t1379288667.706265",
            "C2 :ts []\t1379288668.5"
        ]
    );
    let file = session.file(
        "access.log",
        "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /x HTTP/1.1\" 200 5 \"-\" \"M\"\n",
    );
    session.run(&[
        "import",
        "access",
        &file,
        "--create",
        "--format",
        "weblog",
        "--row",
        "host",
        "--timestamp-field",
        "time",
        "--only",
        "path,status",
        "--map",
        "agent=from:browser",
        "--explode",
    ]);
    assert_eq!(
        session.run(&["scan", "access", "-t"]),
        "1.2.3.4 :path|/x [] 1431857103000\t1\n1.2.3.4 :status|200 [] 1431857103000\t1\n\
         1.2.3.4 from:browser|M [] 1431857103000\t1\n"
    );
}

/// Names that appear late must be handled like the first ones, and a file with a new name per line
/// must not take quadratic time.
#[test]
fn fields_of_json_may_come_at_any_line() {
    let session = Session::new();
    let mut text =
        String::from("{\"id\":1,\"a\":1}\n{\"id\":2,\"who\":\"a|b\",\"secret\":1,\"b\":2}\n");
    for n in 0..20_000 {
        text.push_str(&format!("{{\"id\":\"n\",\"f{n}\":1}}\n"));
    }
    let file = session.file("late.jsonl", &text);
    session.run(&[
        "import",
        "late",
        &file,
        "--create",
        "--row",
        "id",
        "--visibility-field",
        "who",
        "--visibility",
        "",
        "--skip",
        "secret",
        "--map",
        "b=fam:bee",
    ]);
    assert_eq!(
        session.run(&["scan", "late", "--end", "2", "-s", "a"]),
        "1 :a []\t1\n2 fam:bee [a|b]\t2\n"
    );
    let count = session.run(&["scan", "late", "--row", "n", "--count"]);
    assert!(count.starts_with("20,000 entries"), "{count}");
}

#[test]
fn an_export_comes_back_whole_in_every_format() {
    let session = Session::new();
    session.run(&["table", "create", "t"]);
    session.run(&[
        "put",
        "t",
        "r\\x0a\\xff,\"",
        "f\\x09",
        "q\\\\",
        "line\\x0d\\x0a",
        "-l",
        "a|b",
        "-t",
        "7",
    ]);
    session.run(&["put", "t", "Zürich", "", "", "", "-t", "8"]);
    let before = session.run(&["scan", "t", "-t", "-s", "a"]);
    for ending in ["csv", "tsv", "jsonl"] {
        let file = session
            .folder
            .path()
            .join(format!("out.{ending}"))
            .display()
            .to_string();
        session.run(&["export", "t", &file, "--auths", "a"]);
        assert!(session.fail(&["export", "t", &file]).contains("--force"));
        let copy = format!("copy_{ending}");
        session.run(&["import", &copy, &file, "--entries", "--create"]);
        assert_eq!(
            session.run(&["scan", &copy, "-t", "-s", "a"]),
            before,
            "{ending}"
        );
    }
    let to_stdout = session.run(&["export", "t", "--format", "tsv"]);
    assert_eq!(
        to_stdout,
        "row\tfamily\tqualifier\tvisibility\ttimestamp\tvalue\nZürich\t\t\t\t8\t\n"
    );
}

#[test]
fn an_invalid_import_fails_before_anything_is_written() {
    let session = Session::new();
    let file = session.file("a.csv", "id,name\n1,x\n");
    session.run(&["table", "create", "t"]);
    let fail = |more: &[&str]| session.fail(&[&["import", "t", &file], more].concat());
    assert!(fail(&[]).contains("no fields are given for the row"));
    assert!(fail(&["--row", "idd"]).contains("did you mean `id`?"));
    assert!(fail(&["--row", "3"]).contains("no field `3`"));
    assert!(fail(&["--row", "id", "--type", "name=number"]).contains("types are bytes"));
    assert!(fail(&["--row", "id", "--timestamp-field", "name"]).contains("--timestamp-format"));
    assert!(fail(&["--row", "id", "--visibility", "a&b|c"]).contains("--visibility"));
    assert!(fail(&["--row", "id", "--format", "regex"]).contains("--pattern"));
    assert!(fail(&["--row", "id", "--rejects", &file]).contains("the file of --rejects"));
    assert!(
        session
            .fail(&["import", "tt", &file, "--row", "id"])
            .contains("did you mean `t`?")
    );
    let unknown = session.file("a.xyz", "hello\n");
    assert!(
        session
            .fail(&["import", "t", &unknown, "--row", "1"])
            .contains("--format")
    );
    let (text, _) = session.try_run(&["import", "t", &file, "--row", "id", "--dry-run"]);
    assert!(text.starts_with("checked 1 record, 1 entry"), "{text}");
    assert_eq!(session.scan("t"), Vec::<String>::new());
}

#[test]
fn tables_are_listed_changed_and_missed_by_name() {
    let session = Session::new();
    session.run(&[
        "table",
        "create",
        "people",
        "--property",
        "table.split.threshold=64M",
    ]);
    assert!(
        session
            .fail(&["table", "create", "people"])
            .contains("AlreadyExists")
    );
    assert!(
        session
            .fail(&["scan", "peple"])
            .contains("did you mean `people`?")
    );
    session.run(&["table", "clone", "people", "copy"]);
    session.run(&["table", "rename", "copy", "kopie"]);
    assert_eq!(session.run(&["table", "list"]), "kopie\npeople\n");
    assert!(
        session
            .run(&["table", "list", "--long"])
            .starts_with("table   id")
    );
    let json = session.run(&["table", "list", "--long", "--json"]);
    assert!(
        json.lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
    let threshold = [
        "table",
        "config",
        "get",
        "people",
        "split.threshold",
        "--json",
    ];
    let found: serde_json::Value = serde_json::from_str(&session.run(&threshold)).unwrap();
    assert_eq!(found["property"], "table.split.threshold");
    assert_eq!(found["value"], "64M");
    assert_eq!(found["level"], "table");
    session.run(&[
        "table",
        "config",
        "set",
        "people",
        "table.split.threshold=1M",
    ]);
    session.run(&[
        "table",
        "config",
        "delete",
        "people",
        "table.split.threshold",
    ]);
    assert!(!session.run(&threshold).contains("\"1M\""));
    let refused = session.fail(&[
        "table",
        "config",
        "set",
        "people",
        "table.split.treshold=1M",
    ]);
    assert!(refused.contains("table.split.threshold"), "{refused}");
    session.run(&["table", "add-splits", "people", "m"]);
    assert!(
        session
            .run(&["table", "tablets", "people"])
            .contains("(first)    m")
    );
    session.run(&["table", "merge", "people"]);
    assert_eq!(session.run(&["table", "splits", "people"]), "");
    assert!(
        session
            .fail(&["table", "merge", "people", "-b", "z", "-e", "a"])
            .contains("swap")
    );
    for command in [
        ["table", "flush"],
        ["table", "compact"],
        ["table", "du"],
        ["table", "offline"],
        ["table", "online"],
    ] {
        session.run(&[command[0], command[1], "people"]);
    }
    session.run(&["table", "delete", "people", "kopie", "--yes"]);
    assert_eq!(session.run(&["table", "list"]), "");
}
