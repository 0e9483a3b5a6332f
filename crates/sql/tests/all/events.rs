//! Event types as relations.

use std::sync::Arc;

use ostrakon_cell::{Authorizations, Source, TableOptions};
use ostrakon_events::{EventStore, EventType, IngestOptions, Record, register_event_iterators};
use ostrakon_sql::{SqlOptions, SqlSession};
use ostrakon_store::{Components, Store, StoreOptions};

use super::kit::{explain, rows, session, session_of, try_rows};

const TYPE: &str = "
name = 'web'
time = 'ts'
visibility = ''
visibility_field = 'label'
[[shards]]
count = 3
[[fields]]
name = 'ts'
type = 'time'
[[fields]]
name = 'host'
type = 'text'
indexed = true
[[fields]]
name = 'port'
type = 'i64'
indexed = true
[[fields]]
name = 'src'
type = 'ip'
[[fields]]
name = 'size'
type = 'f64'
[[fields]]
name = 'label'
type = 'text'
";

/// Time in seconds, host, port, address, size, label.
const EVENTS: [[&str; 6]; 8] = [
    ["1000.5", "a", "80", "10.0.0.1", "1.5", ""],
    ["1001", "b", "443", "::ffff:10.0.0.1", "-0", ""],
    ["1002", "ab", "80", "2001:db8::1", "0", "s"],
    ["1002", "a", "", "", "", ""],
    ["3000", "", "-7", "10.0.0.2", "2", ""],
    ["90000", "a", "443", "", "1e300", "s"],
    ["-5", "b", "80", "10.0.0.1", "", ""],
    ["200000", "c'c", "65536", "10.0.0.9", "7", ""],
];

fn web() -> Arc<dyn Source> {
    let mut components = Components::default();
    register_event_iterators(&mut components.iterators);
    let source: Arc<dyn Source> =
        Store::in_memory_with(components, StoreOptions::default()).unwrap();
    let store = EventStore::new(source.clone());
    store.create(&EventType::from_toml(TYPE).unwrap()).unwrap();
    let names = ["ts", "host", "port", "src", "size", "label"].map(str::to_owned);
    let mut ingest = store.ingest("web", IngestOptions::default()).unwrap();
    for event in EVENTS {
        let mut record = Record::default();
        for (name, value) in (0..).zip(event) {
            if !value.is_empty() {
                record.push(name, value.as_bytes());
            }
        }
        assert_eq!(ingest.add(&names, &record).unwrap(), None);
    }
    ingest.finish().unwrap();
    source
}

#[test]
fn events_are_rows_with_the_types_of_their_fields() {
    let source = web();
    let session = session(&source);
    assert_eq!(
        rows(
            &session,
            "SELECT time, host, port, src, size FROM events.web ORDER BY time DESC, host"
        ),
        [
            "1970-01-03T07:33:20|c'c|65536|10.0.0.9|7.0",
            "1970-01-01T00:50:00|NULL|-7|10.0.0.2|2.0",
            "1970-01-01T00:16:42|a|NULL|NULL|NULL",
            "1970-01-01T00:16:41|b|443|10.0.0.1|0.0",
            "1970-01-01T00:16:40.500|a|80|10.0.0.1|1.5",
            "1969-12-31T23:59:55|b|80|10.0.0.1|NULL",
        ]
    );
    assert_eq!(
        rows(&session, "SELECT count(*), sum(port) FROM events.web"),
        ["6|66132"]
    );
    let all = session_of(&source, &["s"]);
    assert_eq!(
        rows(
            &all,
            "SELECT visibility, count(*) FROM events.web GROUP BY 1 ORDER BY 1"
        ),
        ["|6", "s|2"]
    );
}

const CONDITIONS: [&str; 44] = [
    "time >= TIMESTAMP '1970-01-01T00:16:41'",
    "time < TIMESTAMP '1970-01-01T00:16:42'",
    "time BETWEEN TIMESTAMP '1970-01-01T00:16:40.5' AND TIMESTAMP '1970-01-01T00:16:42'",
    "time = TIMESTAMP '1970-01-01T00:16:42' OR time > TIMESTAMP '1970-01-02'",
    "host = 'a'",
    "host <> 'a'",
    "host IN ('a', 'c''c')",
    "host > 'a'",
    "host IS NULL",
    "host IS NOT NULL",
    "port = 80",
    "port < 80",
    "port BETWEEN 80 AND 500",
    "port IS NOT NULL",
    "NOT (port = 80)",
    "src = '10.0.0.1'",
    "src < '10.0.0.2'",
    "src IN ('10.0.0.2', '::ffff:10.0.0.1')",
    "size >= 0",
    "size = 0",
    "size < 0",
    "size > 1e100",
    "host = 'a' OR port = 443",
    "visibility = 's'",
    "host LIKE 'a%'",
    "host LIKE 'a_'",
    "host LIKE 'ab'",
    "host LIKE '%b'",
    "host LIKE 'c''_%c'",
    "host NOT LIKE 'a%'",
    "starts_with(host, 'a')",
    "src LIKE '10.0.0.%'",
    "host LIKE '%b%'",
    "host LIKE '%%c%%'",
    "host LIKE '%'",
    "host LIKE '%a%b'",
    "host LIKE '%_'",
    "host LIKE '_%'",
    r"host LIKE '%\_%'",
    r"host LIKE '%\'",
    "host ILIKE '%B%'",
    "src LIKE '%1%'",
    "contains(host, 'b')",
    "ends_with(host, 'b')",
];

/// Each condition alone and with others, against the same condition where the engine evaluates it.
#[test]
fn pushed_conditions_select_what_the_engine_selects() {
    let session = session_of(&web(), &["s"]);
    for (at, a) in CONDITIONS.iter().enumerate() {
        for b in CONDITIONS.iter().cycle().skip(at).step_by(5).take(4) {
            let pushed = format!(
                "SELECT time, host, port FROM events.web WHERE ({a}) AND ({b}) ORDER BY 1, 2, 3"
            );
            let kept = format!(
                "SELECT time, host, port FROM events.web WHERE CASE WHEN random() < 2 THEN ({a}) AND ({b}) END ORDER BY 1, 2, 3"
            );
            assert_eq!(
                rows(&session, &pushed),
                rows(&session, &kept),
                "{a} AND {b}"
            );
        }
    }
}

#[test]
fn the_planner_gets_times_conditions_and_limits() {
    let session = session(&web());
    let query = "SELECT host FROM events.web WHERE port = 80 AND time >= TIMESTAMP '1970-01-01T00:10:00' ORDER BY time DESC LIMIT 1";
    let plan = explain(&session, query);
    for part in [
        "events=web",
        "where=`port` == '80'",
        "from=1970-01-01T00:10:00Z",
        "limit=1",
    ] {
        assert!(plan.contains(part), "{part}\n{plan}");
    }
    assert!(
        !plan.contains("SortExec") && !plan.contains("FilterExec"),
        "{plan}"
    );
    assert_eq!(rows(&session, query), ["a"]);
    let plan = explain(
        &session,
        "SELECT host FROM events.web WHERE host LIKE 'a%' AND time >= DATE '1970-01-01'",
    );
    assert!(
        plan.contains("where=`host` startswith 'a'") && plan.contains("from=1970-01-01T00:00:00Z"),
        "{plan}"
    );
    assert!(!plan.contains("FilterExec"), "{plan}");
    for (condition, test) in [
        ("host LIKE '%a%'", "where=`host` contains 'a'"),
        ("host LIKE '%%a%%'", "where=`host` contains 'a'"),
        ("host LIKE '%a'", "where=`host` endswith 'a'"),
        (r"host LIKE '%50\%'", "where=`host` endswith '50%'"),
        (r"host LIKE '%\_%'", "where=`host` contains '_'"),
        ("contains(host, 'a')", "where=`host` contains 'a'"),
        ("ends_with(host, 'a')", "where=`host` endswith 'a'"),
    ] {
        let plan = explain(
            &session,
            &format!("SELECT host FROM events.web WHERE {condition}"),
        );
        assert!(plan.contains(test), "{condition}\n{plan}");
        assert!(!plan.contains("FilterExec"), "{condition}\n{plan}");
    }
    for condition in ["host LIKE '%a_'", "host LIKE '%a%b'", "host ILIKE '%a%'"] {
        let plan = explain(
            &session,
            &format!("SELECT host FROM events.web WHERE {condition}"),
        );
        assert!(
            !plan.contains("where=") && plan.contains("FilterExec"),
            "{condition}\n{plan}"
        );
    }
    assert!(try_rows(&session, "INSERT INTO events.web VALUES (1)").is_err());
}

/// Counts by the event store against counts by the engine, for readers of all and of some events.
#[test]
fn counts_of_the_event_store_equal_those_of_the_engine() {
    let source = web();
    let counted = [
        ("", "count(*)", ""),
        ("", "count(*) AS n", ""),
        (
            "date_bin(INTERVAL '1 hour', time) AS t, ",
            "count(*)",
            "GROUP BY t ORDER BY t",
        ),
        (
            "date_bin(INTERVAL '1 day', time), ",
            "count(*)",
            "GROUP BY 1 ORDER BY 1 DESC",
        ),
        (
            "date_trunc('hour', time), ",
            "count(1)",
            "GROUP BY 1 ORDER BY 1",
        ),
        (
            "date_trunc('day', time) AS day, ",
            "count(*)",
            "GROUP BY day HAVING count(*) > 1 ORDER BY day",
        ),
    ];
    for authorizations in [&[][..], &["s"]] {
        let session = session_of(&source, authorizations);
        for (at, (start, count, end)) in counted.into_iter().enumerate() {
            let of = |relation: &str| format!("SELECT {start}{count} FROM {relation} {end}");
            let mut fewest = usize::MAX;
            for condition in CONDITIONS.iter().skip(at).step_by(counted.len()) {
                let pushed = of(&format!("events.web AS w WHERE {condition}"));
                let limited =
                    format!("(SELECT * FROM events.web WHERE {condition} LIMIT 1000) AS w");
                assert_eq!(
                    rows(&session, &pushed),
                    rows(&session, &of(&limited)),
                    "{pushed}"
                );
                fewest = fewest.min(explain(&session, &pushed).matches("AggregateExec").count());
            }
            assert_eq!(fewest, 0, "{count}: the engine counts");
            let limited = of("(SELECT * FROM events.web LIMIT 1000) AS w");
            assert!(!explain(&session, &limited).contains("counts=web"));
            let plan = explain(&session, &of("events.web"));
            assert!(
                plan.contains("counts=web") && !plan.contains("AggregateExec"),
                "{plan}"
            );
        }
    }
}

#[test]
fn other_aggregations_are_left_to_the_engine() {
    let session = session(&web());
    for query in [
        "SELECT count(host) FROM events.web",
        "SELECT count(DISTINCT time) FROM events.web",
        "SELECT count(*) FILTER (WHERE port = 80) FROM events.web",
        "SELECT count(*), max(port) FROM events.web",
        "SELECT count(NULL) FROM events.web",
        "SELECT host, count(*) FROM events.web WHERE port = 80 GROUP BY host",
        "SELECT size, count(*) FROM events.web GROUP BY size",
        "SELECT src, count(*) FROM events.web GROUP BY src",
        "SELECT visibility, count(*) FROM events.web GROUP BY visibility",
        "SELECT time, count(*) FROM events.web GROUP BY time",
        "SELECT host, port, count(*) FROM events.web GROUP BY host, port",
        "SELECT host, count(*) FROM events.web GROUP BY ROLLUP(host)",
        "SELECT host, date_bin(INTERVAL '500 milliseconds', time), count(*) FROM events.web GROUP BY 1, 2",
        "SELECT date_trunc('week', time), count(*) FROM events.web GROUP BY 1",
        "SELECT date_bin(INTERVAL '1 month', time), count(*) FROM events.web GROUP BY 1",
        "SELECT date_bin(INTERVAL '1 hour', time, TIMESTAMP '1970-01-01T00:01:00'), count(*) FROM events.web GROUP BY 1",
        "SELECT count(*) FROM events.web WHERE length(host) = 1",
        "SELECT date_bin(INTERVAL '500 milliseconds', time), count(*) FROM events.web GROUP BY 1",
        "SELECT date_trunc('hour', arrow_cast(time, 'Timestamp(Second, None)')), count(*) FROM events.web GROUP BY 1",
        "SELECT date_bin(INTERVAL '1 hour', CAST(time AS TIMESTAMP(0))), count(*) FROM events.web GROUP BY 1",
        "SELECT count(*) FROM (SELECT DISTINCT src FROM events.web)",
    ] {
        assert!(!explain(&session, query).contains("counts=web"), "{query}");
        assert!(try_rows(&session, query).is_ok(), "{query}");
    }
}

/// Scans of one name are one scan to the engine.
#[test]
fn counts_of_one_query_are_told_apart() {
    let session = session(&web());
    let of = |condition: &str| format!("(SELECT count(*) FROM events.web WHERE {condition})");
    let time = "TIMESTAMP '1970-01-01T00:16:42'";
    let counts = [
        of("true"),
        of("port = 80"),
        of("port = 443"),
        of(&format!("time < {time}")),
        of(&format!("time >= {time}")),
    ];
    let named = counts.iter().enumerate();
    let named: Vec<String> = named
        .map(|(at, count)| format!("{count} AS c{at}"))
        .collect();
    let query = format!("SELECT {}", named.join(", "));
    assert_eq!(explain(&session, &query).matches("counts=web").count(), 5);
    assert_eq!(rows(&session, &query), ["6|2|1|3|3"]);
    let spans = "SELECT count(*) FROM (SELECT date_bin(INTERVAL '1 hour', time), count(*) FROM events.web GROUP BY 1) a, \
                 (SELECT date_bin(INTERVAL '1 day', time), count(*) FROM events.web GROUP BY 1) b";
    assert_eq!(rows(&session, spans), ["9"]);
}

/// Counts by values of indexed fields, by the event store and by the engine.
#[test]
fn counts_of_values_equal_those_of_the_engine() {
    let source = web();
    let times = [
        "true",
        "time >= TIMESTAMP '1970-01-01T00:16:41'",
        "time < TIMESTAMP '1970-01-01T00:16:42'",
        "time > TIMESTAMP '1970-01-01T00:00:00' AND time < TIMESTAMP '1970-01-02T13:00:00.5'",
        "time BETWEEN TIMESTAMP '1970-01-01T00:16:40.5' AND TIMESTAMP '1970-01-01T00:16:42'",
        "time > TIMESTAMP '1980-01-01'",
    ];
    let questions = [
        "host, count(*) FROM R GROUP BY host ORDER BY host",
        "count(*) AS n, w.host AS h FROM R GROUP BY h ORDER BY n DESC, h",
        "port, count(*) FROM R GROUP BY 1 HAVING count(*) > 1 ORDER BY 1",
        "port, date_bin(INTERVAL '1 hour', time) AS t, count(*) FROM R GROUP BY port, t ORDER BY t, port",
        "date_trunc('day', time), host, count(*) FROM R GROUP BY 1, 2 ORDER BY 1, 2",
        "count(*) FROM (SELECT host, count(*) FROM R GROUP BY host)",
        "max(n) FROM (SELECT host, count(*) AS n FROM R GROUP BY host)",
        "count(*) FROM R GROUP BY port ORDER BY 1",
        "DISTINCT host FROM R ORDER BY host",
        "count(DISTINCT port) FROM R",
        "host, count(*) AS n FROM R GROUP BY host UNION SELECT 'x', 1 ORDER BY 1, 2",
        "host, sum(n) FROM (SELECT * FROM (SELECT host, count(*) AS n FROM R GROUP BY host) UNION ALL SELECT 'x', 1) GROUP BY host ORDER BY host",
        "count(n), max(n) FROM (SELECT port, count(*) AS n FROM R GROUP BY port) WHERE n IS NOT NULL",
        "port, date_trunc('hour', time) AS t FROM R GROUP BY 1, 2 ORDER BY 1, 2",
    ];
    for authorizations in [&[][..], &["s"]] {
        let session = session_of(&source, authorizations);
        for condition in times {
            for question in questions {
                let of = |relation: &str| {
                    let from = format!("FROM {relation}");
                    format!("SELECT {}", question.replace("FROM R", &from))
                };
                let pushed = of(&format!("events.web AS w WHERE {condition}"));
                let limited = of(&format!(
                    "(SELECT * FROM events.web WHERE {condition} LIMIT 1000) AS w"
                ));
                assert_eq!(
                    rows(&session, &pushed),
                    rows(&session, &limited),
                    "{pushed}"
                );
                let plan = explain(&session, &pushed);
                assert!(plan.contains("counts=web, by="), "{pushed}\n{plan}");
                assert!(!explain(&session, &limited).contains("counts=web"));
            }
        }
    }
}

/// Values that the kept counts only have hashes of.
#[test]
fn long_values_are_counted_one_by_one() {
    let source = web();
    let store = EventStore::new(source.clone());
    let mut ingest = store.ingest("web", IngestOptions::default()).unwrap();
    let long = "x".repeat(300);
    let names = ["ts", "host"].map(str::to_owned);
    for time in ["5", "6"] {
        let mut record = Record::default();
        record.push(0, time.as_bytes());
        record.push(1, long.as_bytes());
        assert_eq!(ingest.add(&names, &record).unwrap(), None);
    }
    ingest.finish().unwrap();
    let session = session(&source);
    let found = rows(
        &session,
        "SELECT length(host), count(*) FROM events.web GROUP BY host ORDER BY host",
    );
    assert_eq!(found, ["1|2", "1|2", "3|1", "300|2", "NULL|1"]);
}

#[test]
fn the_tables_of_events_are_the_event_stores() {
    let session = session(&web());
    for statement in [
        "DROP TABLE events.web",
        "DROP TABLE IF EXISTS events.types",
        "DROP TABLE events.web_index",
        "CREATE TABLE events.mine (k BIGINT PRIMARY KEY)",
        "INSERT INTO events.web SELECT * FROM events.web",
        "DELETE FROM events.web",
    ] {
        let error = try_rows(&session, statement).expect_err(statement);
        assert!(
            error.to_string().contains("ostrakon events"),
            "{statement}: {error}"
        );
    }
    assert_eq!(rows(&session, "SELECT count(*) FROM events.web"), ["6"]);
}

/// What a session does not read is not listed, so that what lists tables and opens them does not fail.
#[test]
fn readers_list_the_tables_that_they_can_open() {
    let source = web();
    source.create_table("t", &TableOptions::default()).unwrap();
    for (sees_layout, is_listed) in [(false, false), (true, true)] {
        let options = SqlOptions {
            sees_layout,
            ..SqlOptions::default()
        };
        let authorizations = Authorizations::new(["s"]).unwrap();
        let session = SqlSession::new(source.clone(), authorizations, options).unwrap();
        let listed = "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema <> 'information_schema'";
        let columns = "SELECT DISTINCT table_schema, table_name FROM information_schema.columns WHERE table_schema <> 'information_schema'";
        assert_eq!(
            rows(&session, "SHOW TABLES"),
            ["events.web|events", "t|entries"]
        );
        for statement in [listed, columns] {
            let found = rows(&session, statement).join("\n");
            for table in ["events|web", "public|t"] {
                assert!(found.contains(table), "{statement}: {found}");
            }
            assert_eq!(found.contains("types"), is_listed, "{statement}: {found}");
        }
        let types = "events.types".to_owned();
        assert_eq!(session.tables().unwrap().contains(&types), is_listed);
        let read = try_rows(&session, "SELECT count(*) FROM events.types");
        assert_eq!(read.is_ok(), is_listed);
    }
}

/// The engine's own function has no bins before 1677 and after 2262.
#[test]
fn bins_of_far_times_are_those_of_near_ones() {
    let session = session(&web());
    for (time, width, bin) in [
        ("2500-01-01 05:06:07", "1 hour", "2500-01-01T05:00:00"),
        ("0001-01-01 05:06:07", "1 day", "0001-01-01T00:00:00"),
        (
            "2500-01-01 05:06:07.5",
            "100 milliseconds",
            "2500-01-01T05:06:07.500",
        ),
        ("1969-12-31 23:59:59", "10 minutes", "1969-12-31T23:50:00"),
    ] {
        let query = format!("SELECT date_bin(INTERVAL '{width}', TIMESTAMP '{time}')");
        assert_eq!(rows(&session, &query), [bin], "{query}");
        let query = format!(
            "SELECT date_bin(INTERVAL '{width}', t) FROM (VALUES (TIMESTAMP '{time}'), (NULL)) AS v (t)"
        );
        assert_eq!(rows(&session, &query), [bin, "NULL"], "{query}");
    }
    let month = "SELECT date_bin(INTERVAL '1 month', TIMESTAMP '2500-01-01 00:00:00')";
    assert!(try_rows(&session, month).is_err());
    let month = "SELECT date_bin(INTERVAL '1 month', TIMESTAMP '2200-01-05 00:00:00')";
    assert_eq!(rows(&session, month), ["2200-01-01T00:00:00"]);
}
