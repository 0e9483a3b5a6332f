//! The workloads on a table, and what their reports say.

use std::sync::Arc;

use ostrakon_cell::{Source, Table, TableOptions};
use ostrakon_lab::NoProgress;
use ostrakon_lab::ycsb::{
    CoreWorkload, Database, FieldValues, Fields, JavaRandom, Records, Status, TableAccess,
    TableClient, WorkloadProperties, Writes, YcsbFigures, YcsbOptions, YcsbPhase, YcsbReport,
    run_ycsb,
};
use ostrakon_store::{Store, StoreOptions};

struct Rig {
    _folder: tempfile::TempDir,
    store: Arc<Store>,
    table: Arc<dyn Table>,
}

fn rig() -> Rig {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    store
        .create_table("usertable", &TableOptions::default())
        .unwrap();
    let table = store.table("usertable").unwrap();
    Rig {
        _folder: folder,
        store,
        table,
    }
}

fn properties(list: &[(&str, &str)]) -> WorkloadProperties {
    let mut properties = WorkloadProperties::default();
    for (name, value) in list {
        properties.set(name, value);
    }
    properties
}

fn run(
    table: &Arc<dyn Table>,
    phase: YcsbPhase,
    writes: Writes,
    properties: &WorkloadProperties,
) -> YcsbReport {
    let options = YcsbOptions {
        phase,
        seed: Some(1),
        duration: None,
        status_clock: None,
    };
    let connect = |_: &CoreWorkload| {
        let access = TableAccess {
            writes,
            ..TableAccess::default()
        };
        Ok(Box::new(TableClient::new(Arc::clone(table), access)) as Box<dyn Database>)
    };
    run_ycsb(properties, &options, &connect, &NoProgress).unwrap()
}

fn figures(report: &YcsbReport) -> YcsbFigures {
    assert!(report.error.is_none(), "{:?}", report.error);
    report.figures().unwrap()
}

const SMALL: &[(&str, &str)] = &[
    ("recordcount", "500"),
    ("operationcount", "600"),
    ("fieldlength", "20"),
    ("threadcount", "3"),
    ("dataintegrity", "true"),
];

#[test]
fn every_core_workload_finds_what_was_loaded() {
    for letter in ["a", "b", "c", "d", "e", "f"] {
        let rig = rig();
        let mut all = WorkloadProperties::default();
        all.add_workload(format!("workload{letter}").as_ref())
            .unwrap();
        for (name, value) in SMALL {
            all.set(name, value);
        }
        let loaded = figures(&run(&rig.table, YcsbPhase::Load, Writes::Buffered, &all));
        assert_eq!((loaded.operations, loaded.phase), (500, "load"));
        assert_eq!(loaded.statuses["INSERT"]["BATCHED_OK"], 500);
        let done = figures(&run(&rig.table, YcsbPhase::Run, Writes::Durable, &all));
        assert_eq!((done.operations, done.threads), (600, 3));
        assert!(done.operations_per_second > 0.0 && done.latency.p99_us > 0);
        for (operation, statuses) in &done.statuses {
            let all_ok = statuses.keys().all(|status| *status == "OK");
            assert!(all_ok, "{letter}: {operation} {statuses:?}");
        }
        let expected: &[&str] = match letter {
            "a" | "b" => &["READ", "UPDATE", "VERIFY"],
            "c" => &["READ", "VERIFY"],
            "d" => &["INSERT", "READ", "VERIFY"],
            "e" => &["INSERT", "SCAN"],
            _ => &["READ", "UPDATE", "VERIFY"],
        };
        let got: Vec<&str> = done.statuses.keys().map(String::as_str).collect();
        assert_eq!(got, expected, "{letter}");
        rig.store.close().unwrap();
    }
}

#[test]
fn missing_records_are_not_found_and_changed_ones_are_unexpected() {
    let rig = rig();
    let half = [
        ("recordcount", "500"),
        ("insertcount", "250"),
        ("dataintegrity", "true"),
    ];
    run(
        &rig.table,
        YcsbPhase::Load,
        Writes::Buffered,
        &properties(&half),
    );
    let reads = [
        ("recordcount", "500"),
        ("operationcount", "500"),
        ("requestdistribution", "sequential"),
        ("readproportion", "1"),
        ("updateproportion", "0"),
        ("dataintegrity", "true"),
        ("fieldlength", "99"),
    ];
    let report = run(
        &rig.table,
        YcsbPhase::Run,
        Writes::Durable,
        &properties(&reads),
    );
    let done = figures(&report);
    assert_eq!(
        done.statuses["READ"],
        [("OK", 250), ("NOT_FOUND", 250)].into()
    );
    assert_eq!(done.latencies["READ-FAILED"].count, 250);
    // Values of another length are not those expected; nothing at all is an error.
    let verified = [("UNEXPECTED_STATE", 250), ("ERROR", 250)].into();
    assert_eq!(done.statuses["VERIFY"], verified);
    let text = report.text(true);
    for line in [
        "[READ], Operations, 250",
        "[READ], Return=NOT_FOUND, 250",
        "[READ-FAILED], Operations, 250",
        "[VERIFY], Return=UNEXPECTED_STATE, 250",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
    }
}

#[test]
fn a_client_reads_the_fields_and_the_number_of_records_asked_for() {
    let rig = rig();
    let mut client = TableClient::new(Arc::clone(&rig.table), TableAccess::default());
    let mut values = FieldValues::default();
    for row in 0..300 {
        values.clear();
        for field in ["f0", "f1", "f2"] {
            values.push(field, |bytes| {
                bytes.extend_from_slice(format!("{field}{row}").as_bytes());
            });
        }
        let key = format!("user{row:03}");
        assert_eq!(client.insert(key.as_bytes(), &values).unwrap(), Status::Ok);
    }
    let mut found = Records::default();
    let two = ["f0".to_owned(), "f2".to_owned()];
    for (fields, expected) in [
        (Fields::All, vec!["f07", "f17", "f27"]),
        (Fields::Named(&two), vec!["f07", "f27"]),
        (Fields::Named(&two[1..]), vec!["f27"]),
        (Fields::All, vec!["f07", "f17", "f27"]),
    ] {
        found.clear();
        let status = client.read(b"user007", fields, &mut found).unwrap();
        let got: Vec<_> = found.all_fields().map(|field| field.1).collect();
        let expected: Vec<&[u8]> = expected.iter().map(|value| value.as_bytes()).collect();
        assert_eq!((status, got), (Status::Ok, expected), "{fields:?}");
    }
    found.clear();
    let status = client.read(b"user00", Fields::All, &mut found).unwrap();
    assert_eq!((status, found.len()), (Status::NotFound, 0));
    for (start, count, fields, expected) in [
        ("user100", 5, Fields::All, (5, 15)),
        ("user100", 100, Fields::Named(&two[..1]), (100, 100)),
        ("user290", 100, Fields::All, (10, 30)),
        ("user290", 0, Fields::All, (0, 0)),
    ] {
        found.clear();
        let scanned = client
            .scan(start.as_bytes(), count, fields, &mut found)
            .unwrap();
        assert_eq!((found.len(), found.field_count()), expected);
        assert_eq!(scanned, Status::Ok);
    }
    found.clear();
    let beyond = client.scan(b"v", 3, Fields::All, &mut found).unwrap();
    assert_eq!(beyond, Status::NotFound);
}

#[test]
fn buffered_writes_are_there_when_the_run_has_ended() {
    let rig = rig();
    let all = properties(&[("recordcount", "50")]);
    let report = run(&rig.table, YcsbPhase::Load, Writes::Buffered, &all);
    assert!(
        report
            .text(true)
            .contains("[INSERT], Return=BATCHED_OK, 50")
    );
    let entries: usize = ostrakon_cell::Scanner::new(Arc::clone(&rig.table))
        .entries()
        .unwrap()
        .len();
    assert_eq!(entries, 500);
}

#[test]
fn a_target_rate_is_kept_and_times_count_from_the_schedule() {
    let rig = rig();
    let all = properties(&[
        ("recordcount", "40"),
        ("operationcount", "40"),
        ("target", "400"),
        ("threadcount", "2"),
        ("measurement.interval", "both"),
        ("measurementtype", "hdrhistogram+raw"),
    ]);
    run(
        &rig.table,
        YcsbPhase::Load,
        Writes::Buffered,
        &properties(&[("recordcount", "40")]),
    );
    let report = run(&rig.table, YcsbPhase::Run, Writes::Durable, &all);
    // The machine may be slower than the schedule, never faster.
    assert!(report.seconds >= 0.095, "{}", report.seconds);
    let text = report.text(true);
    assert!(text.contains("[HdrREAD], Operations, "), "{text}");
    assert!(
        text.contains("[RawIntended-READ], Total Operations, "),
        "{text}"
    );
    let raw = report.raw();
    let reads = raw.lines().filter(|line| line.starts_with("RawREAD,"));
    assert_eq!(
        reads.count() as u64,
        figures(&report).latencies["READ"].count
    );
}

#[test]
fn contradictions_are_refused_before_anything_runs() {
    let mut random = JavaRandom::new(1);
    for (list, word) in [
        (
            &[("recordcount", "10"), ("insertstart", "11")][..],
            "insertstart",
        ),
        (
            &[("recordcount", "10"), ("requestdistribution", "zipf")],
            "requestdistribution",
        ),
        (
            &[
                ("dataintegrity", "true"),
                ("fieldlengthdistribution", "uniform"),
            ],
            "dataintegrity",
        ),
        (
            &[("readproportion", "0"), ("updateproportion", "0")],
            "proportion",
        ),
        (&[("fieldcount", "0")], "fieldcount"),
        (
            &[("minscanlength", "9"), ("maxscanlength", "8")],
            "minscanlength",
        ),
    ] {
        let error = CoreWorkload::new(&properties(list), &mut random).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}
