//! `ostrakon events`: what commands say about types, values and plans.

use crate::run::Folder;

/// A store with a type `web` of a few events; returns the log.
fn web(folder: &Folder) -> String {
    let lines: String = (0..50)
        .map(|n| format!("2026-01-01T00:00:{n:02}Z,{},10.0.0.{n},-0.0\n", n % 5))
        .collect();
    let log = folder.write("web.csv", format!("ts,port,from,load\n{lines}"));
    folder.ok(&["events", "create", "web", "--from", &log]);
    folder.ok(&["events", "ingest", "web", &log]);
    log
}

#[test]
fn a_time_field_may_be_named() {
    let folder = Folder::new();
    let lines: String = (10..40)
        .map(|n| format!("2026-01-01T00:00:{n}Z,{n},x\n"))
        .collect();
    let text = format!("when,epoch,host\n{lines}soon,1379288667,x\n");
    let log = folder.write("a.csv", text);
    let err = folder.fails(2, &["events", "create", "a", "--from", &log]);
    for part in [
        "`when` does in 30 of 31",
        "--time when",
        "not a time: soon",
        "line: 32",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    folder.ok(&["events", "create", "a", "--from", &log, "--time", "when"]);
    let err = folder.fails(1, &["events", "ingest", "a", &log]);
    assert!(err.contains("`when` is not a time"), "{err}");
    assert_eq!(
        folder.ok(&["events", "query", "a", "--count"]),
        "30 events\n"
    );
    folder.ok(&["events", "create", "b", "--from", &log, "--time", "epoch"]);
    folder.ok(&["events", "ingest", "b", &log]);
    let found = folder.ok(&["events", "query", "b", "--limit", "1", "--fields", "when"]);
    assert_eq!(found, "2013-09-15T23:44:27Z when=soon\n");
    let err = folder.fails(
        1,
        &["events", "create", "a", "--from", &log, "--time", "epoch"],
    );
    assert!(err.contains("exists already"), "{err}");
}

#[test]
fn values_and_settings_out_of_range_are_named() {
    let folder = Folder::new();
    let log = web(&folder);
    let err = folder.fails(1, &["events", "create", "web", "--from", &log]);
    assert!(err.contains("events ingest web FILE"), "{err}");
    for (expression, message) in [
        ("time > ago('99999999d')", "the span of time is too long"),
        (
            "port == 'http'",
            "the field `port` is a u64; 'http' is not one",
        ),
        (
            "from in ('54.0.0.0/8', '10.0.0.0/8')",
            "write `from` in '54.0.0.0/8' for a network",
        ),
    ] {
        let err = folder.fails(2, &["events", "query", "web", expression]);
        assert!(err.contains(message), "{expression}: {err}");
    }
    for (option, message) in [
        ("--threshold=nan", "from 0 to 1"),
        ("--threshold=-1", "from 0 to 1"),
        ("--factor=0", "at least 1"),
    ] {
        let err = folder.fails(2, &["events", "query", "web", option]);
        assert!(err.contains(message), "{option}: {err}");
    }
    let all = ["events", "query", "web", "--count"];
    let last = "time <= '9999-12-31T23:59:59.999999Z'";
    assert_eq!(folder.ok(&[&all[..], &[last]].concat()), "50 events\n");
}

#[test]
fn plans_say_what_matches_and_how_tests_are_answered() {
    let folder = Folder::new();
    web(&folder);
    let plan = folder.ok(&["events", "explain", "web", "port == 3"]);
    for part in [
        "path       scan",
        "because    about 20.0 % of the events match; the index is used below 1.0 %",
        "`port` == '3' (about 10 events; tested while scanning)",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let plan = folder.ok(&["events", "explain", "web", "port == 3", "--path", "index"]);
    assert!(
        plan.contains("(about 10 events; looked up in the index)"),
        "{plan}"
    );
    // Counts have paths of their own: this one had no effect.
    for counted in [
        ["query", "web", "--count", "--path", "index"].as_slice(),
        &["histogram", "web", "--path", "index"],
    ] {
        folder.fails(2, &[&["events"], counted].concat());
    }
}

/// What the store does meanwhile counts events that the reader cannot see.
#[test]
fn commands_with_authorizations_do_not_log_what_the_store_does() {
    let folder = Folder::new();
    let log = web(&folder);
    for command in [
        &["query", "web"][..],
        &["top", "web", "port"],
        &["histogram", "web"],
        &["explain", "web", "port == 3"],
        &["check", "web"],
        &["list"],
        &["show", "web"],
        &["age-off", "web", "--before", "1970-01-02", "--yes"],
        &["ingest", "web", &log],
    ] {
        let ran = folder.run(&[&["-vv", "events"], command].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("opened the store"), "{}", ran.err);
        assert!(!ran.err.contains("recovered"), "{command:?}: {}", ran.err);
        assert!(!ran.err.contains("returned"), "{command:?}: {}", ran.err);
    }
    let ran = folder.run(&["-vv", "events", "drop", "web", "--yes"]);
    assert!(ran.err.contains("to the log"), "{}", ran.err);
}

#[cfg(feature = "sql")]
#[test]
fn both_zeros_are_one_value_in_sql() {
    let folder = Folder::new();
    let log = folder.write(
        "z.json",
        "{\"ts\":1,\"f\":-0.0}\n{\"ts\":2,\"f\":0.0}\n{\"ts\":3,\"f\":1.5}\n",
    );
    folder.ok(&["events", "create", "z", "--from", &log]);
    folder.ok(&["events", "ingest", "z", &log]);
    let sql = "SELECT count(*) AS n, count(DISTINCT f) AS d FROM events.z";
    let found = folder.ok(&["sql", "-c", sql, "--format", "csv"]);
    assert_eq!(found, "n,d\n3,2\n");
    let sql = "SELECT f, count(*) AS n FROM events.z GROUP BY f ORDER BY f";
    let found = folder.ok(&["sql", "-c", sql, "--format", "csv"]);
    assert_eq!(found.lines().count(), 3, "{found}");
    assert!(!found.contains('-'), "{found}");
}

#[test]
fn a_span_of_time_that_ends_before_it_begins_is_an_error() {
    let folder = Folder::new();
    web(&folder);
    let swapped = ["--from", "2026-01-02", "--to", "2026-01-01"];
    for command in [
        &["query", "web"][..],
        &["histogram", "web"],
        &["top", "web", "port"],
        &["explain", "web"],
    ] {
        let arguments = [&["events"], command, &swapped].concat();
        let err = folder.fails(2, &arguments);
        for part in ["swap", "from: 2026-01-02", "to: 2026-01-01"] {
            assert!(err.contains(part), "{command:?}: {err}");
        }
    }
    let same = ["--from", "2026-01-01", "--to", "2026-01-01"];
    let found = folder.ok(&[&["events", "query", "web"][..], &same].concat());
    assert_eq!(found, "");
}

#[test]
fn a_bare_year_is_not_a_time() {
    let folder = Folder::new();
    web(&folder);
    let hint = "write a date such as 2025-01-01, or @2025 for seconds";
    for arguments in [
        &["query", "web", "--from", "2025"][..],
        &["query", "web", "--to", "2025"],
        &["histogram", "web", "--last", "1d", "--now", "2025"],
        &["query", "web", "time > 2025"],
        &["query", "web", "time in ('2025')"],
        &["age-off", "web", "--before", "2025", "--yes"],
    ] {
        let err = folder.fails(2, &[&["events"], arguments].concat());
        assert!(err.contains(hint), "{arguments:?}: {err}");
        assert!(err.contains("given: 2025"), "{arguments:?}: {err}");
    }
    let all = folder.ok(&["events", "query", "web"]);
    for arguments in [
        &["--from", "@2025"][..],
        &["time > @2025"],
        &["--from", "1970-01-01", "time > 100000000"],
    ] {
        let found = folder.ok(&[&["events", "query", "web"], arguments].concat());
        assert_eq!(found, all, "{arguments:?}");
    }
}

#[test]
fn a_new_name_must_be_a_field_of_the_type() {
    let folder = Folder::new();
    let log = web(&folder);
    let ingest = ["events", "ingest", "web", &log, "--map"];
    let err = folder.fails(2, &[&ingest[..], &["port=prot"]].concat());
    for part in [
        "name: prot",
        "fields: ts, port, from, load",
        "did you mean `port`?",
    ] {
        assert!(err.contains(part), "{err}");
    }
    let err = folder.fails(2, &[&ingest[..], &["port=entirely_else"]].concat());
    assert!(err.contains("SOURCE=FIELD"), "{err}");
    let other = folder.write("other.csv", "when,p\n2026-02-01T00:00:00Z,7\n");
    folder.ok(&[
        "events", "ingest", "web", &other, "--map", "when=ts", "--map", "p=port",
    ]);
    let found = folder.ok(&["events", "query", "web", "port == 7", "--fields", "port"]);
    assert_eq!(found, "2026-02-01T00:00:00Z port=7\n");
}

#[test]
fn a_type_without_an_index_says_so() {
    let folder = Folder::new();
    let log = folder.write("a.csv", format!("ts,note\n1400000000,{}\n", "x".repeat(80)));
    let told = folder.ok(&["events", "create", "a", "--from", &log]);
    assert_eq!(told, "created a with 2 fields, time ts, indexed: none\n");
}

#[test]
fn an_open_quote_in_a_header_is_an_error() {
    let folder = Folder::new();
    web(&folder);
    let log = folder.write(
        "quote.csv",
        "ts,\"port,from\n2026-02-01T00:00:00Z,7,10.0.0.1\n2026-02-02T00:00:00Z,8,10.0.0.1\n",
    );
    let err = folder.fails(2, &["events", "ingest", "web", &log]);
    assert!(
        err.contains("an opening quote in the header is not closed"),
        "{err}"
    );
    assert!(err.contains("line: 1"), "{err}");
    let err = folder.fails(2, &["events", "create", "w", "--from", &log]);
    assert!(
        err.contains("an opening quote in the header is not closed"),
        "{err}"
    );
}
