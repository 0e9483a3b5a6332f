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
    assert!(err.contains("events ingest TYPE FILE"), "{err}");
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
}

/// What the store does meanwhile counts events that the reader cannot see.
#[test]
fn commands_with_authorizations_do_not_log_what_the_store_does() {
    let folder = Folder::new();
    web(&folder);
    for command in [
        &["query", "web"][..],
        &["top", "web", "port"],
        &["histogram", "web"],
        &["explain", "web", "port == 3"],
        &["check", "web"],
    ] {
        let ran = folder.run(&[&["-vv", "events"], command].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("opened the store"), "{}", ran.err);
        assert!(!ran.err.contains("recovered"), "{command:?}: {}", ran.err);
    }
    let ran = folder.run(&["-vv", "events", "list"]);
    assert!(ran.err.contains("recovered"), "{}", ran.err);
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
