//! Every experiment at a tiny scale on the reference model, so that all of them keep working.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Result, Source};
use ostrakon_testkit::reference_model::MapSource;

use super::*;
use crate::NoProgress;

struct Judge(PathBuf);

impl Rig for Judge {
    fn fresh(&self, _: &RigSettings) -> Result<Arc<dyn Source>> {
        let mut iterators = ostrakon_cell::IteratorRegistry::new();
        ostrakon_events::register_event_iterators(&mut iterators);
        Ok(Arc::new(MapSource::with_iterators(iterators)))
    }
    fn conditions(&self, _: &RigSettings) -> RigConditions {
        RigConditions {
            source: "the reference model".to_owned(),
            version: "0".to_owned(),
            reached: "in the same process".to_owned(),
            memory_budget_bytes: 1 << 30,
            storage: "memory".to_owned(),
        }
    }
    fn scratch(&self) -> &Path {
        &self.0
    }
    fn storage(&self) -> Option<&dyn EmulatedStorage> {
        Some(&Memory)
    }
}

/// The reference model reads no disk that could be slow.
struct Memory;

impl EmulatedStorage for Memory {
    fn emulate(&self, _: Option<DiskModel>) {}
}

#[test]
fn every_experiment_runs_and_leaves_a_record() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Judge(folder.path().to_path_buf());
    let out = folder.path().join("records");
    let options = ExperimentOptions {
        scale: 0.0001,
        repetitions: 2,
        out: out.clone(),
        ..ExperimentOptions::default()
    };
    for one in experiments() {
        let (record, file) = run_experiment(&rig, one.name, &options, &NoProgress).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let read: Record = serde_json::from_str(&text).unwrap();
        assert_eq!(read.experiment, one.name);
        assert_eq!(read.rows.len(), record.rows.len());
        for row in &read.rows {
            assert_eq!(row.repetitions.len(), 2, "{} {}", one.name, row.name);
            if row.name.contains("rank") {
                // The reference model starts no processes: the row stays empty.
                assert!(row.metrics.is_empty(), "{} {}", one.name, row.name);
                continue;
            }
            if row.metrics.contains_key("query.rate") && !row.name.contains('+') {
                // Caches are warmed outside the timer.
                let warm_up = row.metrics.contains_key("query.warm_up");
                assert!(warm_up, "{} {}", one.name, row.name);
            }
            for column in &read.columns {
                let spread = row.metrics.get(&column.key);
                if column.key.ends_with(".max") || column.key.ends_with("sampled_mean") {
                    // Nothing of a run this short is steady.
                    assert!(spread.is_none(), "{} {}", one.name, column.key);
                    continue;
                }
                // Rows of a load and of queries have columns of their own.
                let loads = column.key.starts_with("load.") == (row.name == "load");
                let calibrates =
                    column.key.starts_with("calibrate.") == (row.name == "calibration");
                if one.name.starts_with("sawyer2013") && !(loads && calibrates) {
                    assert!(spread.is_none(), "{} {} {}", one.name, row.name, column.key);
                    continue;
                }
                // A mix has rows of either half alone.
                if row.name.ends_with(" alone") && spread.is_none() {
                    continue;
                }
                // Beside so short an ingest a walker may not get to its first query.
                let Some(spread) = spread.filter(|spread| spread.count == 2) else {
                    let queries = column.key.starts_with("query.");
                    assert!(queries, "{} {} {}", one.name, row.name, column.key);
                    continue;
                };
                if column.key.ends_with(".rate") && !column.key.starts_with("query.") {
                    assert!(spread.mean > 0.0, "{} {}", one.name, column.key);
                }
                if column.key.ends_with("undefined") || column.key.ends_with("missing") {
                    assert_eq!(spread.max, 0.0, "{} {}", one.name, column.key);
                }
            }
            assert!(!row.repetitions[0].host.is_empty());
        }
        let conditions = &read.conditions;
        let entry_bytes = match one.name {
            // These write nothing.
            "kepner2014-figure-3" | "kepner2014-figure-4" => 0.0..1.0,
            name if name.starts_with("fusionio2013") => 120.0..140.0,
            name if name.starts_with("sawyer2013") => 40.0..60.0,
            name if name.starts_with("ivanov2014") => 15.0..40.0,
            name if name.starts_with("kepner2014") => 12.0..18.0,
            "sen2013-table-11" => 85.0..125.0,
            _ => 79.0..104.0,
        };
        assert!(
            entry_bytes.contains(&conditions.entry_bytes),
            "{} {}",
            one.name,
            conditions.entry_bytes
        );
        let durability = match one.name {
            "kepner2014-figure-3" | "kepner2014-figure-4" => "nothing is written",
            "kepner2014-write-ahead-log" => "sync, flush, none",
            _ => "sync",
        };
        assert_eq!(conditions.durability, durability, "{}", one.name);
        let batch = match one.name {
            "kepner2014-figure-3" | "kepner2014-figure-4" => 0,
            name if name.starts_with("kepner2014") => 500_000,
            name if name.starts_with("sawyer2013") => 32 << 20,
            _ => 1 << 20,
        };
        assert_eq!(conditions.batch_bytes, batch, "{}", one.name);
        assert_eq!(conditions.repetitions, 2);
    }
    // The report takes all of them.
    let summary =
        crate::report::write_report(&out, &crate::report::ReportOptions::default()).unwrap();
    assert_eq!(summary.records, experiments().len());
    let page = std::fs::read_to_string(&summary.file).unwrap();
    for one in experiments() {
        assert!(
            page.contains(&format!("id=\"{}\"", one.name)),
            "{}",
            one.name
        );
    }
    assert!(page.contains("<svg") && !page.contains("NaN") && !page.contains("inf</"));
    for outside in ["http://", "https://", "<script", "<link", "@import"] {
        let foreign = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!foreign.contains(outside), "the page asks for {outside}");
    }
}

/// A page that says "2 M entries each" of a run of 2,000 would be believed.
#[test]
fn the_text_of_an_experiment_has_the_sizes_it_ran_with() {
    let text = |name: &str, scale| {
        let plan = (experiment(name).unwrap().plan)(plan::Sizes(scale));
        format!("{} {}", plan.scaling, plan.state)
    };
    for one in experiments() {
        let (whole, small) = (text(one.name, 1.0), text(one.name, 0.001));
        assert_ne!(whole, small, "{}", one.name);
        assert!(!small.contains(" M entries"), "{}: {small}", one.name);
    }
    assert!(text("sen2013-table-1", 1.0).contains("with 4 M entries each"));
    assert!(text("sen2013-table-1", 0.001).contains("with 4000 entries each"));
    let mixed = text("sen2013-table-7", 0.1);
    assert!(mixed.contains("200 k entries at the start"), "{mixed}");
    assert!(mixed.contains("of each for 0.5 s"), "{mixed}");
    assert!(mixed.contains("a table of 200 k entries"), "{mixed}");
    let graphs = |scale| text("kepner2014-figure-6", scale);
    assert!(graphs(1.0).contains("SCALE 14 (16,384 vertices, 131,072 edges) instead of 17"));
    assert!(graphs(8.0).contains("edges), as in the paper, stacked"));
    assert!(
        graphs(1.0).contains("4.19 M edges a writer"),
        "{}",
        graphs(1.0)
    );
    let picture = text("kepner2014-figure-3", 1.0);
    assert!(
        picture.starts_with("The paper's size: SCALE 17"),
        "{picture}"
    );
    assert!(picture.contains("about 410 rows"), "{picture}");
}

/// Charts against clients count what the rows have.
#[test]
fn an_axis_says_what_the_clients_are() {
    for (name, clients) in [
        ("sen2013-table-1", "ingest clients"),
        ("sen2013-table-3", "walkers"),
        ("sen2013-table-4", "batch walkers"),
        ("sen2013-table-7", "ingest clients and walkers together"),
        ("sen2013-table-12", "threads"),
        ("kepner2014-figure-6", "writers or ranks"),
    ] {
        let plan = (experiment(name).unwrap().plan)(plan::Sizes(1.0));
        assert_eq!(plan.clients, clients, "{name}");
    }
}

/// Rows that a sentence compares differ in one thing.
#[test]
fn verification_is_compared_on_tables_of_one_size() {
    let plan = (experiment("sen2013-table-12").unwrap().plan)(plan::Sizes(1.0));
    let entries: Vec<Option<u64>> = plan
        .rows
        .iter()
        .filter_map(|row| match row.phases.first() {
            Some(plan::Phase::Load(options)) => Some(options.entries),
            _ => None,
        })
        .collect();
    assert_eq!(entries, [Some(4_000_000); 4]);
}

#[test]
fn bad_calls_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Judge(folder.path().to_path_buf());
    let options = ExperimentOptions {
        scale: 0.0,
        out: folder.path().to_path_buf(),
        ..ExperimentOptions::default()
    };
    let run = |name, options: &ExperimentOptions| {
        run_experiment(&rig, name, options, &NoProgress)
            .map(|_| ())
            .unwrap_err()
            .kind()
    };
    assert_eq!(run("sen2013-table-1", &options), ErrorKind::InvalidArgument);
    assert_eq!(
        run("nothing", &ExperimentOptions::default()),
        ErrorKind::NotFound
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let options = ExperimentOptions {
        out: file.join("below"),
        ..ExperimentOptions::default()
    };
    assert_eq!(run("sen2013-table-1", &options), ErrorKind::Io);
}
