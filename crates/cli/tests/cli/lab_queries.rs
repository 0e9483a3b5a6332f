//! `lab run` of the experiments on events and on SQL: what a record and its page must hold, whatever the time it took.

use ostrakon_lab::web_requests::{FIELDS, WebRequests};
use serde_json::Value;

use crate::run::Folder;

/// Runs an experiment in a small size, and returns its record.
fn run(folder: &Folder, name: &str, scale: &str) -> Value {
    let arguments = [
        "lab", "run", name, "--scale", scale, "--repeat", "1", "--out", "records", "--json",
    ];
    let ran = folder.run(&arguments);
    assert_eq!(ran.code, 0, "{name}: {}", ran.err);
    let record = ran.json()[0]["record"].as_str().unwrap().to_owned();
    serde_json::from_str(&folder.read(&record)).unwrap()
}

fn row<'a>(record: &'a Value, name: &str) -> &'a Value {
    let rows = record["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no row {name}: {rows:?}"))
}

fn mean(row: &Value, metric: &str) -> f64 {
    let mean = row["metrics"][metric]["mean"].as_f64();
    mean.unwrap_or_else(|| panic!("no {metric}: {}", row["metrics"]))
}

/// The requests that an experiment of the scale 0.005 makes, and those of one of the scale 0.05, which are enough to
/// calibrate the planner.
const REQUESTS: u64 = 1000;
const MORE: u64 = 10_000;

fn counted(all: u64, wanted: impl Fn(&WebRequests, u64) -> bool) -> f64 {
    let requests = WebRequests::new(all, WebRequests::SEED);
    (0..all).filter(|&number| wanted(&requests, number)).count() as f64
}

#[test]
fn scans_and_filters_have_the_entries_that_were_generated() {
    let folder = Folder::new();
    let record = run(&folder, "sawyer2013-figure-4", "0.005");
    // All fields of each request, and its marker.
    let entries = (REQUESTS * (FIELDS.len() as u64 + 1)) as f64;
    for clients in ["1 client", "2 clients"] {
        assert_eq!(mean(row(&record, clients), "scan.entries"), entries);
    }
    let loaded = mean(row(&record, "load"), "load.entries");
    let indexed = FIELDS.iter().filter(|field| field.indexed).count() as f64;
    // Counts come on top.
    assert!(loaded > entries + indexed * REQUESTS as f64, "{loaded}");
    assert_eq!(mean(row(&record, "1 client"), "scan.speedup"), 1.0);

    let record = run(&folder, "sawyer2013-figure-5", "0.05");
    let entries = entries / REQUESTS as f64 * MORE as f64;
    for (acceptance, share) in [("0.01", "s0.01"), ("0.1", "s0.1")] {
        let expected = counted(MORE, |requests, number| {
            requests.share(number).is_some_and(|one| one.name == share)
        });
        assert!(expected > 0.0);
        for path in ["filter", "index"] {
            let row = row(
                &record,
                &format!("{path}, acceptance {acceptance}, 1 client"),
            );
            assert_eq!(mean(row, "select.events"), expected, "{path} {acceptance}");
            let fields = mean(row, "select.entries");
            assert_eq!(fields, expected * FIELDS.len() as f64);
        }
        let handled = |path: &str| {
            let row = row(
                &record,
                &format!("{path}, acceptance {acceptance}, 1 client"),
            );
            mean(row, "select.handled_rate") * mean(row, "select.seconds")
        };
        // A filter handles every entry of the time, the index those of the events it names.
        assert!(
            (handled("filter") / entries - 1.0).abs() < 1e-3,
            "{}",
            handled("filter")
        );
        assert!(handled("index") < entries / 2.0, "{}", handled("index"));
    }
    assert!(mean(row(&record, "calibration"), "calibrate.threshold") > 0.0);

    folder.ok(&["lab", "report", "records"]);
    let page = folder.read("records/report.html");
    for expected in [
        "Scanning with parallel clients",
        "Entries handled per second",
        "Index against scan, n = 1",
        "29.8 Mbps",
        "The threshold that the planner measures for itself",
    ] {
        assert!(page.contains(expected), "the page lacks {expected:?}");
    }
}

#[test]
fn histograms_and_lookups_find_the_requests_to_a_domain() {
    let folder = Folder::new();
    let to_first = |requests: &WebRequests, number| requests.domain_rank(number) == 0;
    let all = counted(REQUESTS, to_first);
    let hour = counted(REQUESTS, |requests, number| {
        to_first(requests, number) && requests.time(number) >= requests.last_hour().0
    });
    assert!(hour > 0.0 && hour < all);
    let record = run(&folder, "sawyer2013-figure-6", "0.005");
    for clients in ["1 client", "2 clients"] {
        let row = row(&record, clients);
        assert_eq!(mean(row, "hour.events"), hour);
        assert_eq!(mean(row, "all.events"), all);
    }
    let record = run(&folder, "sawyer2013-figure-7", "0.005");
    assert_eq!(mean(row(&record, "2 clients"), "lookup.events"), all);
    // One field of each.
    assert_eq!(mean(row(&record, "2 clients"), "lookup.entries"), all);
    let record = run(&folder, "sawyer2013-planner", "0.005");
    for path in ["scan", "index"] {
        let at_once = row(&record, &format!("frequent, {path}, at once"));
        assert_eq!(mean(at_once, "planned.events"), all);
        assert_eq!(mean(at_once, "planned.windows"), 1.0);
    }
}

#[cfg(feature = "sql")]
#[test]
fn tables_of_hibench_grow_as_in_the_paper() {
    let folder = Folder::new();
    let record = run(&folder, "ivanov2014-table-17", "0.011");
    // 1,100 visits in the first size, 12 pages for 100 visits.
    for (name, visits, change) in [
        ("as 240 GB", 1100.0, 0.0),
        ("as 340 GB", 1700.0, 54.5),
        ("as 440 GB", 2200.0, 100.0),
    ] {
        let row = row(&record, name);
        assert_eq!(mean(row, "load.visits"), visits);
        assert_eq!(mean(row, "load.pages"), (visits * 0.12_f64).floor());
        assert_eq!(mean(row, "join.rows"), 1.0);
        assert!(mean(row, "aggregation.rows") > visits * 0.99);
        let grown = mean(row, "aggregation.bytes_change");
        assert!((grown - change).abs() < 3.0, "{name}: {grown}");
    }
    folder.ok(&["lab", "report", "records"]);
    let page = folder.read("records/report.html");
    for expected in [
        "Time against size",
        "1837.43",
        "From 240 to 440 GB, join: data +",
    ] {
        assert!(page.contains(expected), "the page lacks {expected:?}");
    }
}
