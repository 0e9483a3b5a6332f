//! Mistakes that would make cells public, lose records or write the wrong file, if the program went on.

use std::io::Read as _;
use std::process::Stdio;

use crate::run::Folder;

#[test]
fn the_field_with_the_labels_of_an_event_type_must_exist() {
    let folder = Folder::new();
    let log = folder.write(
        "a.jsonl",
        "{\"ts\":\"2024-01-01T00:00:00Z\",\"lab\":\"hr\"}\n",
    );
    let create = |field| {
        folder.run(&[
            "events",
            "create",
            "web",
            "--from",
            &log,
            "--visibility",
            "",
            "--visibility-field",
            field,
        ])
    };
    let ran = create("labb");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains("labb") && ran.err.contains("labels"),
        "{}",
        ran.err
    );
    assert_eq!(create("lab").code, 0);
    folder.ok(&["events", "ingest", "web", &log]);
    assert!(
        folder
            .ok(&["events", "query", "web", "--count"])
            .starts_with("0 events")
    );
    assert!(
        folder
            .ok(&["events", "query", "web", "--count", "-s", "hr"])
            .starts_with("1 event")
    );
    // A later definition must not lose it either.
    let definition = folder
        .ok(&["events", "show", "web"])
        .replace("'lab'", "'labb'")
        .replace("visibility_field = \"lab\"", "visibility_field = \"labb\"");
    let file = folder.write("web.toml", &definition);
    assert!(
        folder
            .fails(2, &["events", "edit", "web", "--schema", &file])
            .contains("labels")
    );
}

#[test]
fn an_export_is_not_read_as_records() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "r", "f", "q", "secret", "--visibility", "hr"]);
    for name in ["t.jsonl", "t.csv"] {
        folder.ok(&["export", "t", name, "--auths", "hr"]);
        let error = folder.fails(2, &["import", "u", name, "--create", "--row", "row"]);
        assert!(error.contains("--entries"), "{error}");
        folder.ok(&["import", "u", name, "--create", "--entries"]);
        assert_eq!(folder.ok(&["scan", "u"]), "");
    }
    // With the labels named, the fields are columns like others.
    folder.ok(&[
        "import",
        "v",
        "t.csv",
        "--create",
        "--row",
        "row",
        "--visibility-field",
        "visibility",
    ]);
    assert_eq!(folder.ok(&["scan", "v"]), "");
}

#[test]
fn a_header_row_has_each_name_once_and_data_is_not_taken_for_one_silently() {
    let folder = Folder::new();
    let twice = folder.write("twice.csv", "id,n,n\n1,2,3\n");
    let error = folder.fails(2, &["import", "t", &twice, "--create", "--row", "id"]);
    assert!(
        error.contains("same name") && error.contains("--no-header"),
        "{error}"
    );
    let data = folder.write("data.csv", "2B,410,AER\n2B,411,ASF\n");
    let ran = folder.run(&["import", "t", &data, "--create", "--row", "1,2"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("--no-header"), "{}", ran.err);
}

#[test]
fn an_import_of_several_files_opens_all_of_them_before_it_stores_any() {
    let folder = Folder::new();
    let good = folder.write("good.csv", "id,n\n1,2\n");
    let error = folder.fails(
        1,
        &[
            "import",
            "t",
            &good,
            "missing.csv",
            "--create",
            "--row",
            "id",
        ],
    );
    assert!(error.contains("missing.csv"), "{error}");
    assert!(!folder.path("store").exists());
}

#[test]
fn a_dry_run_does_not_say_that_it_imported() {
    let folder = Folder::new();
    let bad = folder.write("bad.csv", "id,n\n1,x\n");
    let error = folder.fails(
        1,
        &[
            "import",
            "t",
            &bad,
            "--create",
            "--row",
            "id",
            "--type",
            "n=int",
            "--dry-run",
        ],
    );
    assert!(
        error.contains("would be rejected; nothing was written"),
        "{error}"
    );
}

#[cfg(feature = "sql")]
#[test]
fn a_table_of_records_takes_no_plain_values() {
    let folder = Folder::new();
    folder.ok(&[
        "sql",
        "-c",
        "CREATE TABLE z (code VARCHAR, n BIGINT, PRIMARY KEY (code))",
    ]);
    folder.ok(&["sql", "-c", "INSERT INTO z VALUES ('a', 7)"]);
    let file = folder.write("z.csv", "code,n\nb,8\n");
    assert!(
        folder
            .fails(2, &["put", "z", "c", "", "n", "9"])
            .contains("sql")
    );
    assert!(
        folder
            .fails(2, &["import", "z", &file, "--row", "code"])
            .contains("INSERT INTO")
    );
    assert_eq!(
        folder.ok(&["sql", "-c", "SELECT * FROM z", "--format", "csv"]),
        "code,n\na,7\n"
    );
    // What was exported can be imported.
    folder.ok(&["export", "z", "z.jsonl"]);
    folder.ok(&["import", "z", "z.jsonl", "--entries"]);
}

#[cfg(feature = "sql")]
#[test]
fn the_extension_of_the_output_names_the_format() {
    let folder = Folder::with_table();
    let write = |name: &str| {
        folder.ok(&["sql", "-c", "SELECT 1 AS one", "-o", name]);
        std::fs::read(folder.path(name)).unwrap()
    };
    assert!(write("a.parquet").starts_with(b"PAR1"));
    assert_eq!(write("a.csv"), b"one\n1\n");
    assert_eq!(write("a.jsonl"), b"{\"one\":1}\n");
}

#[test]
fn a_query_of_events_ends_quietly_when_its_reader_has_enough() {
    let folder = Folder::new();
    let lines: String = (0..5000)
        .map(|at| {
            format!(
                "{{\"ts\":\"2024-01-01T00:{:02}:{:02}Z\",\"n\":{at},\"text\":\"{}\"}}\n",
                at / 60 % 60,
                at % 60,
                "x".repeat(80)
            )
        })
        .collect();
    let log = folder.write("a.jsonl", lines);
    folder.ok(&[
        "events",
        "create",
        "web",
        "--from",
        &log,
        "--visibility",
        "",
    ]);
    folder.ok(&["events", "ingest", "web", &log]);
    for arguments in [
        &["events", "query", "web"][..],
        &["events", "query", "web", "--json"],
    ] {
        let mut command = folder.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = [0; 100];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn the_scope_of_an_iterator_must_exist() {
    let folder = Folder::with_table();
    let error = folder.fails(
        2,
        &[
            "table",
            "config",
            "set",
            "t",
            "table.iterator.scn.z=40,AgeOffFilter",
        ],
    );
    assert!(error.contains("scan, minc or majc"), "{error}");
}

#[test]
fn a_log_of_another_kind_is_noticed() {
    let folder = Folder::new();
    let web = folder.write(
        "web.jsonl",
        "{\"ts\":\"2024-01-01T00:00:00Z\",\"host\":\"a\",\"port\":80}\n",
    );
    let dns = folder.write(
        "dns.jsonl",
        "{\"ts\":\"2024-01-01T00:00:00Z\",\"query\":\"q\",\"answer\":\"a\"}\n",
    );
    folder.ok(&[
        "events",
        "create",
        "web",
        "--from",
        &web,
        "--visibility",
        "",
    ]);
    folder.ok(&["events", "ingest", "web", &web]);
    let ran = folder.run(&["events", "ingest", "web", &dns]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("2 of 3 fields") && ran.err.contains("answer, query"),
        "{}",
        ran.err
    );
    // Equal events count as such, also within a file.
    let again = folder.ok(&["events", "ingest", "web", &web]);
    assert!(
        again.contains("1 left out, because it equals another event"),
        "{again}"
    );
}
