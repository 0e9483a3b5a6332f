//! lab ycsb: reports, and the commands of the guide.

use crate::run::Folder;

#[test]
fn a_load_and_a_run_report_what_they_did() {
    let folder = Folder::new();
    let sizes = [
        "-p",
        "recordcount=300",
        "-p",
        "operationcount=400",
        "-p",
        "fieldlength=10",
    ];
    let one = |what: &[&str]| {
        let ran = folder.run(&[&["lab", "ycsb"], what, &sizes, &["--threads", "2"]].concat());
        assert_eq!(ran.code, 0, "{what:?} {} {}", ran.out, ran.err);
        ran
    };
    let loaded = &one(&["load", "-P", "workloada", "--splits", "3", "--json"]).json()[0];
    assert_eq!(
        (&loaded["operations"], &loaded["writes"]),
        (&300.into(), &"buffered".into())
    );
    assert_eq!(
        folder.ok(&["table", "splits", "usertable"]).lines().count(),
        3
    );
    let done = &one(&["run", "-P", "workloadf", "--json"]).json()[0];
    assert_eq!(
        (&done["operations"], &done["writes"]),
        (&400.into(), &"durable".into())
    );
    for name in [
        "operations_per_second",
        "seconds",
        "p50_us",
        "p90_us",
        "p95_us",
        "p99_us",
        "max_us",
    ] {
        assert!(done[name].as_f64().unwrap() > 0.0, "{name}: {done}");
    }
    assert!(
        done["latencies"]["READ-MODIFY-WRITE"]["p99_us"].is_number(),
        "{done}"
    );
    assert_eq!(done["statuses"]["READ"]["OK"], 400);
    let text = one(&["run", "-P", "workloadc", "-s"]);
    let lines: Vec<&str> = text.out.lines().collect();
    assert!(
        lines[0].starts_with("[OVERALL], RunTime(ms), "),
        "{}",
        text.out
    );
    assert!(lines.contains(&"[READ], Operations, 400"), "{}", text.out);
    assert!(lines.contains(&"[READ], Return=OK, 400"), "{}", text.out);
    assert!(
        lines.iter().all(|line| line.split(", ").count() == 3),
        "{}",
        text.out
    );
    assert!(text.err.contains(" sec: 400 operations; "), "{}", text.err);
    assert!(text.err.contains("[READ: Count="), "{}", text.err);
}

#[test]
fn labelled_records_are_not_found_without_authorizations() {
    let folder = Folder::new();
    let sizes = ["-p", "recordcount=50", "-p", "operationcount=50"];
    folder.ok(&[
        &["lab", "ycsb", "load", "--visibility", "secret"],
        &sizes[..],
    ]
    .concat());
    let read = |auths: &str| {
        let ran = folder.run(
            &[
                &[
                    "lab",
                    "ycsb",
                    "run",
                    "-P",
                    "workloadc",
                    "--json",
                    "--auths",
                    auths,
                ],
                &sizes[..],
            ]
            .concat(),
        );
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.json()[0]["statuses"]["READ"].to_string()
    };
    assert_eq!(read("secret"), r#"{"OK":50}"#);
    assert_eq!(read(""), r#"{"NOT_FOUND":50}"#);
}

#[test]
fn wrong_calls_say_what_to_do() {
    let folder = Folder::new();
    let ran = folder.run(&["lab", "ycsb", "run", "-P", "workloada"]);
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("ostrakon table create"), "{}", ran.err);
    folder.ok(&["lab", "ycsb", "load", "-p", "recordcount=10"]);
    for (arguments, word) in [
        (&["run"][..], "operationcount"),
        (&["run", "-P", "workloadx"], "workloada to workloadf"),
        (
            &[
                "run",
                "-p",
                "operationcount=5",
                "-p",
                "requestdistribution=zipf",
            ],
            "zipfian",
        ),
        (&["load"], "recordcount"),
        (
            &["run", "-p", "operationcount=5", "-p", "zeropadding=65536"],
            "zeropadding",
        ),
        (
            &[
                "run",
                "-p",
                "operationcount=5",
                "-p",
                "fieldlength=99999999999",
            ],
            "fieldlength",
        ),
        (
            &[
                "run",
                "-p",
                "operationcount=5",
                "-p",
                "fieldcount=99999999999",
            ],
            "fieldcount",
        ),
        (
            &["run", "-p", "operationcount=5", "-p", "readproportion=-1"],
            "readproportion",
        ),
        (
            &["run", "-p", "operationcount=5", "-p", "target=-1"],
            "target",
        ),
        (
            &["run", "-p", "operationcount=5", "-p", "threadcount=0"],
            "threadcount",
        ),
    ] {
        let ran = folder.run(&[&["lab", "ycsb"], arguments].concat());
        assert_ne!(ran.code, 0, "{arguments:?}");
        assert!(ran.err.contains(word), "{arguments:?}: {}", ran.err);
    }
    for (properties, parts) in [
        (
            &["requestdistribution=hotspot", "hotspotdatafraction=1.5"][..],
            &["from 0 to 1", "hotspotdatafraction", "1.5"][..],
        ),
        (
            &["requestdistribution=hotspot", "hotspotopnfraction=-0.1"],
            &["from 0 to 1", "hotspotopnfraction", "-0.1"],
        ),
        (
            &["requestdistribution=hotspot", "hotspotopnfraction=NaN"],
            &["from 0 to 1", "hotspotopnfraction", "NaN"],
        ),
        (
            &["minscanlength=20", "maxscanlength=10"],
            &[
                "minscanlength is above maxscanlength",
                "minscanlength: 20",
                "maxscanlength: 10",
            ],
        ),
        (
            &["fieldlengthdistribution=uniform", "minfieldlength=200"],
            &[
                "minfieldlength is above fieldlength",
                "minfieldlength: 200",
                "fieldlength: 100",
            ],
        ),
        (
            &[
                "fieldlengthdistribution=histogram",
                "fieldlengthhistogram=absent.txt",
            ],
            &[
                "file: absent.txt",
                "property: fieldlengthhistogram",
                "check the name",
            ],
        ),
        (&["foo"], &["foo", "-p NAME=VALUE", "recordcount"]),
    ] {
        let mut arguments = vec!["lab", "ycsb", "run", "-p", "operationcount=5"];
        for property in properties {
            arguments.extend(["-p", property]);
        }
        let ran = folder.run(&arguments);
        assert_ne!(ran.code, 0, "{arguments:?}");
        for part in parts {
            assert!(ran.err.contains(part), "{part}: {}", ran.err);
        }
    }
    let ran = folder.run(&[
        "lab",
        "ycsb",
        "load",
        "-p",
        "recordcount=10",
        "-p",
        "fieldcnt=3",
    ]);
    assert!(
        ran.code == 0 && ran.err.contains("fieldcount"),
        "{}",
        ran.err
    );
}
