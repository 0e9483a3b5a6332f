//! Comparisons of times with and without a zone. Both sides of one are times of the zone, so a column without a zone that is
//! taken as one of any zone compares with constants as the column does.

use std::collections::HashMap;

use super::kit::{rows, session, store};

/// Zones, and their offsets in winter.
const ZONES: [(&str, &str); 7] = [
    ("UTC", "+00:00"),
    ("+00:00", "+00:00"),
    ("+02:00", "+02:00"),
    ("-05:00", "-05:00"),
    ("Europe/Zurich", "+01:00"),
    ("America/New_York", "-05:00"),
    ("Asia/Kolkata", "+05:30"),
];

#[test]
fn times_of_a_zone_compare_with_constants_as_the_times_that_they_were() {
    let session = session(&store());
    rows(
        &session,
        "CREATE TABLE p (id BIGINT PRIMARY KEY, t TIMESTAMP)",
    );
    let times = (0..48).map(|at| {
        let (day, hour) = (15 + at / 24, at % 24);
        format!("({at}, TIMESTAMP '2024-01-{day} {hour:02}:30:00')")
    });
    let times = times.collect::<Vec<_>>().join(", ");
    rows(
        &session,
        &format!("INSERT INTO p VALUES {times}, (48, NULL)"),
    );
    let noon = "TIMESTAMP '2024-01-15 12:30:00'";
    let next = "TIMESTAMP '2024-01-16 06:30:00'";
    // What the conditions without a zone give, which is the same for all zones.
    let mut without_zone = HashMap::new();
    for (zone, offset) in ZONES {
        let column = format!("(t AT TIME ZONE '{zone}')");
        // The same moment as noon in the zone, without its zone.
        let local = format!("(TIMESTAMPTZ '2024-01-15 12:30:00{offset}' AT TIME ZONE '{zone}')");
        let day = "DATE '2024-01-16'";
        let mut pairs = Vec::new();
        for operator in ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"] {
            pairs.push((
                format!("({column} {operator} {noon})"),
                format!("(t {operator} {noon})"),
            ));
            pairs.push((
                format!("({noon} {operator} {column})"),
                format!("({noon} {operator} t)"),
            ));
            pairs.push((
                format!("({column} {operator} {day})"),
                format!("(t {operator} {day})"),
            ));
            pairs.push((
                format!("(t {operator} {local})"),
                format!("(t {operator} {noon})"),
            ));
        }
        let others = [
            "{} BETWEEN {noon} AND {next}",
            "{} NOT BETWEEN {noon} AND {next}",
            "{} BETWEEN {day} AND {next}",
            "{} BETWEEN {noon} AND {day}",
            "{} BETWEEN {day} AND DATE '2024-01-17'",
            "{} IN ({day}, {next})",
            "{} IN ({day})",
            "{} IN (SELECT {day})",
            "{} NOT IN (SELECT {day})",
            "{} >= ANY (SELECT {day})",
            "{} < ALL (SELECT {day})",
            "{day} IN (SELECT max({}) FROM p)",
            "{day} <= ALL (SELECT {} FROM p WHERE id > 23)",
            "CASE {} WHEN {day} THEN true ELSE false END",
            "{} IN ({noon}, {next})",
            "{} NOT IN ({noon}, {next})",
            "CASE {} WHEN {noon} THEN true ELSE false END",
        ];
        for form in others {
            let form = form.replace("{noon}", noon).replace("{next}", next);
            let form = form.replace("{day}", day);
            pairs.push((form.replace("{}", &column), form.replace("{}", "t")));
        }
        for (ours, wanted) in pairs {
            let of = |condition: &str| {
                let ids = format!("SELECT id FROM p WHERE {condition} ORDER BY id");
                let values = format!("SELECT id, {condition} AS c FROM p ORDER BY id");
                (rows(&session, &ids), rows(&session, &values))
            };
            let found = of(&ours);
            let expected = without_zone
                .entry(wanted)
                .or_insert_with_key(|condition| of(condition));
            assert_eq!(found, *expected, "{ours}");
        }
    }
}

/// Midnights that clocks go over, and that there are twice.
#[test]
fn a_day_begins_with_its_first_time() {
    let session = session(&store());
    for (zone, day, first) in [
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04 03:00:00"),
        ("America/Havana", "2026-11-01", "2026-11-01 04:00:00"),
        ("Europe/Zurich", "2024-01-16", "2024-01-15 23:00:00"),
    ] {
        let times = format!(
            "(SELECT CAST(column1 AS TIMESTAMP) AT TIME ZONE 'UTC' AT TIME ZONE '{zone}' AS z, column2 AS n FROM \
             (VALUES (TIMESTAMP '{first}' - INTERVAL '1 second', 1), (TIMESTAMP '{first}', 2)) v) t"
        );
        for (condition, wanted) in [
            (format!("z >= DATE '{day}'"), "2"),
            (format!("z < DATE '{day}'"), "1"),
            (format!("DATE '{day}' IN (z)"), "2"),
            (format!("z IN (SELECT DATE '{day}')"), "2"),
        ] {
            let found = rows(
                &session,
                &format!("SELECT n FROM {times} WHERE {condition}"),
            );
            assert_eq!(found, [wanted], "{zone} {condition}");
        }
    }
}
