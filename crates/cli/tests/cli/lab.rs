//! lab …: the figures as JSON.

use crate::run::Folder;

#[test]
fn the_continuous_test_runs_and_its_figures_have_their_names() {
    let folder = Folder::new();
    let one = |arguments: &[&str], names: &[&str]| {
        let arguments = [
            &["lab", "continuous"],
            arguments,
            &["--table", "ci", "--json"],
        ]
        .concat();
        let ran = folder.run(&arguments);
        assert_eq!(ran.code, 0, "{arguments:?} {} {}", ran.out, ran.err);
        let lines = ran.json();
        assert_eq!(lines.len(), 1, "{}", ran.out);
        for name in names {
            assert!(lines[0][name].is_number(), "{arguments:?} lacks {name}");
        }
        lines[0].clone()
    };
    let ingested = one(
        &[
            "ingest",
            "--splits",
            "3",
            "--entries",
            "20000",
            "--writers",
            "2",
            "--durability",
            "flush",
        ],
        &[
            "entries",
            "seconds",
            "entries_per_second",
            "settled_seconds",
        ],
    );
    assert!(ingested["entries"].as_u64().unwrap() >= 19_000);
    let verified = one(
        &["verify"],
        &[
            "referenced",
            "unreferenced",
            "undefined",
            "corrupt",
            "entries_per_second",
        ],
    );
    assert_eq!(
        (verified["undefined"].as_u64(), verified["corrupt"].as_u64()),
        (Some(0), Some(0))
    );
    assert!(verified["referenced"].as_u64().unwrap() > 0);
    let names = [
        "queries",
        "missing",
        "queries_per_second",
        "p50_us",
        "p99_us",
    ];
    assert_eq!(one(&["walk", "--seconds", "1"], &names)["missing"], 0);
    assert_eq!(one(&["batch-walk", "--seconds", "1"], &names)["missing"], 0);
    one(&["scan", "--seconds", "1"], &["scans", "entries"]);
    one(&["moru"], &["entries", "written"]);
    let splits = folder.ok(&["table", "splits", "ci"]);
    assert_eq!(splits.lines().count(), 3);
}

/// Deletes a row that others point to: verify must report it, also by its exit code.
#[test]
fn verify_notices_a_loss() {
    let folder = Folder::new();
    let ran = folder.run(&[
        "lab",
        "continuous",
        "ingest",
        "--entries",
        "5000",
        "--settle",
        "no",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let first = folder
        .run(&["scan", "ci", "--limit", "200", "--json"])
        .json();
    for entry in first.iter().take(20) {
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        folder.ok(&[
            "delete",
            "ci",
            &text("row"),
            &text("family"),
            &text("qualifier"),
        ]);
    }
    let ran = folder.run(&["lab", "continuous", "verify", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let figures = &ran.json()[0];
    assert!(figures["undefined"].as_u64().unwrap() > 0);
    assert!(!figures["undefined_examples"].as_array().unwrap().is_empty());
}
#[test]
fn agitate_kills_and_loses_nothing() {
    let folder = Folder::new();
    let ran = folder.run(&[
        "lab",
        "continuous",
        "agitate",
        "--kills",
        "2",
        "--life-min",
        "0.2",
        "--life-max",
        "0.6",
        "--flush-interval",
        "2000",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    let figures = &ran.json()[0];
    assert_eq!(
        (figures["kills"].as_u64(), figures["undefined"].as_u64()),
        (Some(2), Some(0))
    );
    assert_eq!(figures["corrupt"], 0);
    assert!(figures["entries"].as_u64().unwrap() > 0);
    // The reports of the children arrive; without them, a loss of the newest entries would not be noticed.
    assert!(figures["acknowledged"].as_u64().unwrap() > 0, "{figures}");
    assert!(figures["referenced"].as_u64().unwrap() > 0, "{figures}");
}

#[test]
fn statistics_are_lines_or_objects() {
    let folder = Folder::new();
    folder.ok(&["table", "create", "ci"]);
    let stats = [
        "lab",
        "continuous",
        "stats",
        "--interval",
        "0.1",
        "--lines",
        "2",
    ];
    assert_eq!(folder.ok(&stats).lines().count(), 2);
    let json = folder.run(&[&stats[..], &["--json"]].concat()).json();
    assert_eq!(json.len(), 2);
    assert!(json[1]["tablets"].is_number());
}

#[test]
fn experiments_are_listed_and_unknown_ones_refused() {
    let folder = Folder::new();
    let list = folder.ok(&["lab", "list"]);
    assert!(
        list.contains("sen2013-table-1") && list.contains("kepner2014-figure-6"),
        "{list}"
    );
    let err = folder.fails(2, &["lab", "run", "sen2013-tabel-1"]);
    assert!(err.contains("did you mean"), "{err}");
    folder.fails(2, &["lab", "run", "sen2013-table-1", "--repeat", "0"]);
    folder.fails(1, &["lab", "report", "nowhere"]);
}

#[test]
fn an_experiment_leaves_a_record_and_a_page_and_no_store() {
    let folder = Folder::new();
    let run = [
        "lab",
        "run",
        "sen2013-table-12",
        "--scale",
        "0.001",
        "--repeat",
        "1",
        "--out",
        "records",
        "--json",
    ];
    let ran = folder.run(&run);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let shown = &ran.json()[0];
    let record = shown["record"].as_str().unwrap().to_owned();
    // JSON output has the content of the file, and its path.
    let mut written: serde_json::Value = serde_json::from_str(&folder.read(&record)).unwrap();
    written["record"] = shown["record"].clone();
    assert_eq!(shown, &written);
    folder.ok(&["lab", "report", "records"]);
    let page = folder.read("records/report.html");
    assert!(
        page.contains("4000 entries by 1 thread"),
        "the sizes of this run"
    );
    assert!(
        folder
            .read("records/report.html")
            .contains("sen2013-table-12")
    );
    let left: Vec<_> = std::fs::read_dir(folder.path("records"))
        .unwrap()
        .flatten()
        .collect();
    assert!(
        left.iter().all(|file| !file.file_type().unwrap().is_dir()),
        "{left:?}"
    );
    assert!(!folder.path("store").exists(), "--data is not touched");
}

#[test]
fn an_experiment_shows_its_rates_and_the_papers_to_people() {
    let folder = Folder::new();
    let run = [
        "lab",
        "run",
        "sen2013-table-1",
        "sen2013-table-12",
        "--scale",
        "0.001",
        "--repeat",
        "2",
        "--out",
        "records",
    ];
    let ran = folder.run(&run);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for expected in [
        "sen2013-table-1: Ingest into a pre-split table",
        "\nThis machine (scale 0.001, mean ± standard deviation of 2,",
        "measured Entries / time Entries / that time",
        // A verdict.
        "From 1 client to 2 clients: ",
        "\n2 clients, longer  ",
        "\nThe paper (Table I)\n",
        "\n1000, sustained  26.0 ",
        "\nrecord: records/sen2013-table-1-",
        "sen2013-table-12: Verification",
        "0.98 B",
    ] {
        let columns = expected.split_whitespace().collect::<Vec<_>>().join(" ");
        let squeezed = ran
            .out
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let found = squeezed.into_iter().any(|line| line.contains(&columns));
        assert!(found, "{expected:?} in {}", ran.out);
    }
    let longer = ran
        .out
        .lines()
        .find(|line| line.starts_with("2 clients, longer"));
    // On a busy machine the run is long enough for a maximum too.
    assert!(longer.unwrap().matches(" ± ").count() >= 2, "{}", ran.out);
}

#[test]
fn ranks_sort_their_parts_and_one_import_takes_them_all() {
    let folder = Folder::new();
    let run = [
        "lab",
        "run",
        "kepner2014-figure-7",
        "--scale",
        "0.01",
        "--repeat",
        "1",
        "--out",
        "records",
        "--json",
    ];
    let ran = folder.run(&run);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let record = ran.json()[0]["record"].as_str().unwrap().to_owned();
    let record: serde_json::Value = serde_json::from_str(&folder.read(&record)).unwrap();
    let rows = record["rows"].as_array().unwrap();
    let edges = |row: &serde_json::Value| row["metrics"]["ingest.edges"]["mean"].as_f64();
    // 2 writers, 32 tablets each, 128 vertices, 8 edges per vertex, in both directions.
    let expected = Some(f64::from(2 * 32 * 128 * 8));
    assert_eq!((edges(&rows[0]), edges(&rows[1])), (expected, expected));
    let stored = |row: &serde_json::Value| row["metrics"]["ingest.entries"]["mean"].as_f64();
    assert_eq!(stored(&rows[0]), stored(&rows[1]));
    assert!(stored(&rows[0]) < expected);
    folder.ok(&["lab", "report", "records"]);
    let page = folder.read("records/report.html");
    assert!(page.contains("100,000,000 database inserts") && page.contains("here, 2 ranks"));
    // A rank that fails reports the reason.
    let err = folder.fails(
        1,
        &[
            "lab",
            "rank",
            "nowhere",
            "--rank=0",
            "--ranks=1",
            "--tablets=1",
            "--graph-scale=4",
            "--edges-per-vertex=8",
            "--seed=1",
            "--location=local",
            "--splits=nothing",
        ],
    );
    assert!(
        err.contains("split file") && err.contains("nothing"),
        "{err}"
    );
}

/// Runs of the continuous test leave records, and the report says that nothing was lost.
#[test]
fn runs_of_the_continuous_test_are_in_the_report() {
    let folder = Folder::new();
    let run = |arguments: &[&str]| {
        let arguments = [&["lab", "continuous"], arguments, &["--record", "records"]].concat();
        folder.ok(&arguments)
    };
    run(&[
        "ingest",
        "--entries",
        "20000",
        "--max-cf",
        "3",
        "--max-cq",
        "5",
    ]);
    run(&["walk", "--queries", "500"]);
    run(&["batch-walk", "--queries", "500", "--batch-rows", "100"]);
    run(&["scan", "--scans", "5"]);
    run(&["verify"]);
    run(&[
        "agitate",
        "--table",
        "agitated",
        "--kills",
        "1",
        "--life-min",
        "0.2",
        "--life-max",
        "0.4",
        "--down",
        "0.1",
        "--flush-interval",
        "500",
    ]);
    folder.ok(&["lab", "report", "records"]);
    let page = folder.read("records/report.html");
    for expected in [
        "The continuous test on this machine",
        "Nothing lost: 1 kills, ",
        "Verified: ",
        "batch-walk",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    // Against itself nothing changed, so the page names no losses either.
    folder.ok(&[
        "lab",
        "report",
        "records",
        "--baseline",
        "records",
        "--output",
        "page.html",
    ]);
    assert!(!folder.read("page.html").contains("LOST"));
    // Families are below 3 and qualifiers below 5.
    for entry in folder
        .run(&["scan", "ci", "--limit", "50", "--json"])
        .json()
    {
        let number = |name: &str| u32::from_str_radix(entry[name].as_str().unwrap(), 16).unwrap();
        assert!(number("family") < 3 && number("qualifier") < 5, "{entry}");
    }
}

/// The demo at a tiny size: every step runs, and the page is where it says.
#[test]
fn the_demo_runs_to_its_end() {
    let folder = Folder::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/demo");
    let ran = std::process::Command::new("sh")
        .arg(script)
        .env("OSTRAKON", env!("CARGO_BIN_EXE_ostrakon"))
        .env("DEMO_DIR", folder.path("demo"))
        .env("DEMO_ENTRIES", "20000")
        .env("DEMO_SECONDS", "0.5")
        .env("DEMO_KILLS", "1")
        .env("DEMO_LINES", "2000")
        .env("DEMO_SCALE", "0.002")
        .env("DEMO_NO_PYTHON", "1")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{out}{err}");
    let sees = |pattern: &str| out.matches(pattern).count();
    assert_eq!(sees("alice@example.org --visibility"), 1, "{out}");
    // The mail is shown to one of the two readers, the city to both.
    let shown = out
        .lines()
        .filter(|line| line.starts_with("    ") && line.contains("alice"));
    assert_eq!(shown.count(), 3, "{out}");
    for expected in [
        "lost",
        "undefined",
        "2,000 events in",
        "status=500",
        "events top web path",
        "Three commands to try next",
        "records/report.html",
    ] {
        assert!(out.contains(expected), "{expected} in {out}");
    }
    let page = folder.read("demo/records/report.html");
    assert!(page.contains("Nothing lost: 1 kills"), "{out}");
    // The commands to try next work; the last one takes long.
    let next: Vec<&str> = out
        .lines()
        .skip_while(|line| !line.starts_with("Three"))
        .skip(1)
        .collect();
    for line in &next[..2] {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let store = folder.path("demo/store").display().to_string();
        let shown = folder.ok(&[&["--data", &store], &words[..]].concat());
        assert!(shown.lines().count() >= 5, "{line}: {shown}");
    }
}
