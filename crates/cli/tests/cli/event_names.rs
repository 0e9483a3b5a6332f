//! Names in questions about events: of types, of fields, `time`, and those of files without a header.

use crate::run::Folder;

const LOG: &str = "ts,host,port\n2026-02-01T00:00:00Z,a,1\n2026-02-01T00:00:00Z,b,2\n";

fn web() -> Folder {
    let folder = Folder::new();
    let log = folder.write("web.csv", LOG);
    folder.ok(&["events", "create", "web", "--from", &log]);
    folder.ok(&["events", "ingest", "web", &log]);
    folder
}

#[test]
fn time_is_the_time_of_the_event_whatever_its_field_is_called() {
    let folder = web();
    let top = |field: &str| folder.ok(&["events", "top", "web", field]);
    assert_eq!(top("ts"), "events  ts\n     2  2026-02-01T00:00:00Z\n");
    assert_eq!(top("time"), top("ts").replace("ts\n", "time\n"));
    for field in ["ts", "time"] {
        for own in ["ts", "time"] {
            let then = format!("web.{own}={field}");
            let count = folder.ok(&["events", "query", "web", "host == 'a'", "--then", &then]);
            assert_eq!(count.lines().count(), 2, "{then}: {count}");
        }
        for format in ["text", "table", "csv", "json"] {
            let asked = ["--fields", field, "--format", format];
            let out = folder.ok(&[&["events", "query", "web"], &asked[..]].concat());
            assert!(out.contains("2026-02-01T00:00:00Z"), "{out}");
        }
    }
}

#[test]
fn unknown_names_suggest_similar_ones() {
    let folder = web();
    for command in [
        &["query", "wbe"][..],
        &["histogram", "wbe"],
        &["top", "wbe", "host"],
        &["show", "wbe"],
        &["drop", "wbe", "--yes"],
        &["check", "wbe"],
        &["ingest", "wbe", "web.csv"],
        &["query", "web", "--then", "wbe.host=host"],
    ] {
        let err = folder.fails(1, &[&["events"], command].concat());
        assert!(err.contains("did you mean `web`?"), "{command:?}: {err}");
    }
    for command in [
        &["query", "web", "hots == 'a'"][..],
        &["query", "web", "--fields", "hots"],
        &["top", "web", "hots"],
        &["query", "web", "--then", "web.hots=host"],
        &["query", "web", "--then", "web.host=hots"],
        &["create", "x", "--from", "web.csv", "--time", "hots"],
    ] {
        let err = folder.fails(2, &[&["events"], command].concat());
        assert!(err.contains("did you mean `host`?"), "{command:?}: {err}");
        assert!(err.contains("fields: "), "{err}");
        assert!(err.contains(", "), "{err}");
    }
    let err = folder.fails(1, &["events", "query", "entirely_else"]);
    assert!(err.contains("events list"), "{err}");
}

#[test]
fn a_file_without_a_header_is_refused() {
    let folder = web();
    let none = folder.write(
        "none.csv",
        "2026-02-01T00:00:00Z,a,1\n2026-02-01T00:00:01Z,b,2\n",
    );
    for command in [
        &["create", "x", "--from", &none][..],
        &["ingest", "web", &none],
    ] {
        let err = folder.fails(2, &[&["events"], command].concat());
        for part in [
            "seems to have no header",
            "put a line with the names",
            "none.csv",
        ] {
            assert!(err.contains(part), "{part}: {err}");
        }
    }
    assert_eq!(
        folder.ok(&["events", "query", "web", "--count"]),
        "2 events\n"
    );
}

#[test]
fn the_condition_of_a_warning_finds_the_events_of_another_kind() {
    let folder = web();
    let other = folder.write(
        "dns.csv",
        "ts,query,answer,ttl\n2026-02-01T00:00:00Z,q,r,5\n",
    );
    let ran = folder.run(&["--json", "events", "ingest", "web", &other]);
    let told: serde_json::Value = serde_json::from_str(ran.err.trim()).unwrap();
    let next = told["warning"]["next"].as_str().unwrap();
    let condition = next.split('\'').nth(1).unwrap();
    assert_eq!(condition, "not host exists and not port exists");
    let count = |condition: &str| folder.ok(&["events", "query", "web", condition, "--count"]);
    assert_eq!(
        (count("").as_str(), count(condition).as_str()),
        ("3 events\n", "1 event\n")
    );
    let err = folder.fails(2, &["events", "delete", "web", condition]);
    let said = "error: 1 event would be deleted, and there is no terminal to ask\n  next: confirm with --yes";
    assert!(err.contains(said), "{err}");
    folder.ok(&["events", "delete", "web", condition, "--yes"]);
    assert_eq!(count(""), "2 events\n");
    // With all fields of the type, no field tells its events apart.
    let all = folder.write(
        "all.csv",
        "ts,host,port,a,b,c,d\n2026-02-01T00:00:00Z,q,5,1,2,3,4\n",
    );
    let ran = folder.run(&["events", "ingest", "web", &all]);
    assert!(ran.err.contains("create a type for it"), "{}", ran.err);
    assert!(!ran.err.contains("events delete"), "{}", ran.err);
}

#[test]
fn definitions_are_told_apart_from_toml_and_from_what_is_there() {
    let folder = web();
    let err = folder.fails(2, &["events", "create", "x"]);
    assert!(err.contains("give --from FILE or --schema FILE"), "{err}");
    let text = folder.ok(&["events", "show", "web"]);
    folder.write("same.toml", &text);
    let edit = |file: &'static str| ["events", "edit", "web", "--schema", file];
    let ok = |file| folder.ok(&edit(file));
    assert_eq!(ok("same.toml"), "unchanged web\n");
    folder.write("kept.toml", format!("keep = '30d'\n{text}"));
    assert_eq!(ok("kept.toml"), "changed web\n");
    assert_eq!(ok("kept.toml"), "unchanged web\n");
    for (name, text, said) in [
        (
            "type.toml",
            text.replace("count = 2", "count = 'x'"),
            "the definition of the event type is not valid",
        ),
        ("syntax.toml", format!("= {text}"), "not valid TOML"),
    ] {
        folder.write(name, text);
        let err = folder.fails(2, &edit(name));
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn tables_of_events_are_exported_with_types_by_sql() {
    let folder = web();
    let err = folder.fails(1, &["export", "events.web", "c.parquet"]);
    assert!(
        err.contains("ostrakon sql -c 'SELECT * FROM events.web' --output FILE.parquet"),
        "{err}"
    );
    let err = folder.fails(1, &["export", "events.web_index", "c.parquet"]);
    assert!(
        err.contains("use --binary") && !err.contains("sql"),
        "{err}"
    );
}

#[test]
fn the_time_of_an_event_is_rounded_for_follow_ups_and_top_values() {
    let folder = Folder::new();
    let log = folder.write(
        "v.csv",
        "ts,b\n2020-01-01T00:00:00.25Z,a\n2020-01-01T00:00:00.75Z,c\n",
    );
    let toml = "name = \"v\"\ntime = \"ts\"\nresolution = \"s\"\n[[shards]]\ncount = 1\n\
                [[fields]]\nname = \"ts\"\ntype = \"time\"\n[[fields]]\nname = \"b\"\ntype = \"text\"\n";
    let schema = folder.write("v.toml", toml);
    folder.ok(&["events", "create", "v", "--schema", &schema]);
    folder.ok(&["events", "ingest", "v", &log]);
    for field in ["ts", "time"] {
        let then = format!("v.{field}={field}");
        let found = folder.ok(&["events", "query", "v", "b == 'a'", "--then", &then]);
        assert_eq!(found.lines().count(), 2, "{found}");
        let top = folder.ok(&["events", "top", "v", field]);
        assert_eq!(
            top,
            format!("events  {field}\n     2  2020-01-01T00:00:00Z\n")
        );
    }
}

#[cfg(feature = "sql")]
#[test]
fn patterns_of_bytes_are_compared_as_bytes() {
    let folder = Folder::new();
    let log = folder.path("v.tsv");
    std::fs::write(
        &log,
        b"ts\tb\n1577836800\tab\n1577836801\t\xffab\xff\n1577836802\tb\n",
    )
    .unwrap();
    let toml = "name = \"v\"\ntime = \"ts\"\n[[shards]]\ncount = 1\n\
                [[fields]]\nname = \"ts\"\ntype = \"time\"\n[[fields]]\nname = \"b\"\ntype = \"bytes\"\n";
    let schema = folder.write("v.toml", toml);
    folder.ok(&["events", "create", "v", "--schema", &schema]);
    folder.ok(&["events", "ingest", "v", &log.display().to_string()]);
    for (pattern, count) in [("a%", 1), ("%ab%", 2), ("%b", 2), ("ab", 1)] {
        let query = format!("SELECT count(*) AS n FROM events.v WHERE b LIKE '{pattern}'");
        let found = folder.ok(&["sql", "--json", &query]);
        assert_eq!(found, format!("{{\"n\":{count}}}\n"), "{pattern}");
    }
}

#[test]
fn a_reader_does_not_read_the_registry() {
    let folder = web();
    folder.ok(&["scan", "events.types"]);
    for auths in ["", "hr"] {
        for command in [
            &["scan", "events.types"][..],
            &["get", "events.types", "web"],
            &["export", "events.types", "-", "--format", "csv"],
        ] {
            let err = folder.fails(1, &[command, &["--auths", auths]].concat());
            assert!(err.contains("a reader with authorizations"), "{err}");
        }
        #[cfg(feature = "sql")]
        {
            let query = ["sql", "SELECT * FROM events.types", "--auths", auths];
            let ran = folder.run(&query);
            assert_ne!(ran.code, 0);
            assert!(
                ran.err.contains("a session with authorizations"),
                "{}",
                ran.err
            );
        }
    }
}
