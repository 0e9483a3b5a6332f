use super::super::record::{Record, Row};
use super::verdicts;
use crate::measure::spread;

fn record(name: &str, rows: &[(&str, &[(&str, f64)])]) -> Record {
    Record {
        experiment: name.to_owned(),
        rows: rows
            .iter()
            .map(|(name, metrics)| Row {
                name: (*name).to_owned(),
                data_bytes: 40,
                memory_bytes: 10,
                metrics: metrics
                    .iter()
                    .map(|(metric, value)| ((*metric).to_owned(), spread(&[*value])))
                    .collect(),
                ..Row::default()
            })
            .collect(),
        ..Record::default()
    }
}

fn one(name: &str, rows: &[(&str, &[(&str, f64)])]) -> String {
    verdicts(&record(name, rows), &[]).join(" | ")
}

#[test]
fn the_cost_of_splitting_stands_beside_the_papers() {
    let text = one(
        "sen2013-table-2",
        &[
            (
                "1 tablet that splits",
                &[
                    ("ingest.rate", 40.0),
                    ("ingest.settled_rate", 10.0),
                    ("table.tablets", 33.0),
                ],
            ),
            (
                "pre-split into 32",
                &[("ingest.rate", 50.0), ("ingest.settled_rate", 20.0)],
            ),
        ],
    );
    assert!(
        text.contains(
            "the paper −86 to −95 %, here −20 % (−50 % with flush and compaction), with 33 tablets"
        ),
        "{text}"
    );
}

#[test]
fn a_mix_is_compared_with_each_half_alone() {
    let text = one(
        "sen2013-table-7",
        &[
            ("2 ingest alone", &[("ingest.rate", 100.0)]),
            ("2 walk alone", &[("query.rate", 100.0)]),
            (
                "2 ingest + 2 walk",
                &[("ingest.rate", 60.0), ("query.rate", 10.0)],
            ),
        ],
    );
    assert!(text.contains("ingest −40 %, queries −90 %."), "{text}");
}

#[test]
fn factors_changes_and_losses_are_said() {
    let text = one(
        "sen2013-table-3",
        &[
            ("1 walker", &[("query.rate", 50.0)]),
            ("2 walkers", &[("query.rate", 95.0)]),
            ("2 walkers, little memory", &[("query.rate", 19.0)]),
        ],
    );
    assert!(text.contains("1.9 times the query rate"), "{text}");
    assert!(
        text.contains("the table is 4 times the memory, the rate changes by −80 %"),
        "{text}"
    );
    let log: &[(&str, &[(&str, f64)])] = &[
        (
            "sync: on the disk when acknowledged",
            &[("ingest.rate", 10.0), ("ingest.flushed_rate", 10.0)],
        ),
        (
            "none: no log",
            &[("ingest.rate", 15.0), ("ingest.flushed_rate", 11.0)],
        ),
    ];
    let text = one("kepner2014-write-ahead-log", log);
    assert!(text.contains("here +50 % until the last"), "{text}");
    let lost = one(
        "sen2013-table-12",
        &[("1 thread", &[("verify.undefined", 3.0)])],
    );
    assert!(lost.contains("DATA IS LOST"), "{lost}");
    assert_eq!(one("sen2013-table-2", &[]), "");
    assert_eq!(one("something else", log), "");
    let labels: &[(&str, &[(&str, f64)])] = &[
        (
            "without labels",
            &[("ingest.rate", 100.0), ("verify.undefined", 0.0)],
        ),
        ("a random label per list", &[("ingest.rate", 90.0)]),
        ("a label of its own per entry", &[("ingest.rate", 50.0)]),
    ];
    let text = one("sen2013-table-11", labels);
    assert!(
        text.contains(
            "with one for each list −10 %, with one for each entry −50 %; the paper +13.6"
        ),
        "{text}"
    );
    assert!(text.contains("Nothing is undefined"), "{text}");
    let run = [("ingest.writer_rate", 400_000.0), ("ingest.seconds", 5.0)];
    let text = one("kepner2014-figure-5", &[("2 writers", &run)]);
    assert!(
        text.contains("400 k edges/s each on average, for 5"),
        "{text}"
    );
}

#[test]
fn a_table_that_split_is_compared_with_the_pre_split_one() {
    let rows: &[(&str, &[(&str, f64)])] = &[("2 walkers", &[("query.rate", 50.0)])];
    let five = record("sen2013-table-5", rows);
    let mut three = record(
        "sen2013-table-3",
        &[("2 walkers", &[("query.rate", 100.0)])],
    );
    three.paper.label = "Table III".to_owned();
    let text = verdicts(&five, std::slice::from_ref(&three)).join(" ");
    assert!(
        text.contains("against Table III: the paper −23, −1 and −88 %, here −50 %"),
        "{text}"
    );
    assert!(verdicts(&three, std::slice::from_ref(&three)).is_empty());
}

#[test]
fn queries_of_requests_stand_beside_the_papers() {
    let text = one(
        "sawyer2013-figure-7",
        &[
            (
                "1 client",
                &[("lookup.seconds", 2.0), ("index.seconds", 0.03)],
            ),
            ("2 clients", &[("lookup.speedup", 1.5)]),
            ("4 clients", &[("lookup.speedup", 1.25)]),
        ],
    );
    assert!(
        text.contains(
            "2 clients are 1.5 times as fast as one, 4 clients 1.25 times; the paper: slower"
        ),
        "{text}"
    );
    assert!(text.contains("takes 1.5 % of the time"), "{text}");
    let text = one(
        "sawyer2013-figure-6",
        &[
            ("1 client", &[("all.speedup", 1.0), ("hour.speedup", 1.0)]),
            ("5 clients", &[("all.speedup", 1.9), ("hour.speedup", 0.9)]),
        ],
    );
    assert!(
        text.contains("8 hours: the highest speed-up is 1.9 times with 5 clients"),
        "{text}"
    );
    assert!(
        text.contains("1 hour: the highest speed-up is 1 times with 1 client"),
        "{text}"
    );
    let text = one(
        "sawyer2013-figure-4",
        &[
            ("1 client", &[("scan.rate", 4e6)]),
            ("2 clients", &[("scan.rate", 6e6)]),
        ],
    );
    assert!(text.contains("6 M entries/s with 2 clients"), "{text}");
}

#[test]
fn fast_and_slow_storage_stand_beside_the_papers() {
    let row = |rate, micros| [("a.rate", rate), ("all.mean_us", micros)];
    let (fast, slow) = (row(50_000.0, 400.0), row(1_000.0, 12_000.0));
    let rows: &[(&str, &[(&str, f64)])] = &[
        ("this machine, 64 threads", &fast),
        ("emulated disks, 64 threads", &slow),
        ("this machine, 256 threads", &fast),
        ("emulated disks, 256 threads", &slow),
    ];
    let text = one("fusionio2013-figure-3", rows);
    assert!(
        text.contains("50 times the transactions per second"),
        "{text}"
    );
    assert!(text.contains("the paper 10 times"), "{text}");
    let text = one("fusionio2013-figure-4", rows);
    assert!(text.contains("30 times the mean latency"), "{text}");
}

#[test]
fn tables_and_queries_of_hibench_stand_beside_the_papers() {
    let small: &[(&str, f64)] = &[
        ("aggregation.seconds", 2.0),
        ("join.seconds", 1.0),
        ("aggregation.rate", 5e5),
        ("join.rate", 1e6),
        ("load.page_bytes", 81.6),
        ("load.visit_bytes", 190.0),
        ("load.visits", 1100.0),
        ("load.bytes", 1000.0),
        ("load.seconds", 10.0),
    ];
    let large: &[(&str, f64)] = &[
        ("load.visits", 2200.0),
        ("load.bytes", 2010.0),
        ("load.seconds", 19.0),
    ];
    let rows = [("as 240 GB", small), ("as 440 GB", large)];
    let text = one("ivanov2014-table-14", &rows);
    assert!(
        text.contains("0.5 times the time of the aggregation; the paper 0.81"),
        "{text}"
    );
    assert!(
        text.contains("500 k visits/s in the aggregation and 1 M in the join"),
        "{text}"
    );
    let text = one("ivanov2014-table-15", &rows);
    assert!(text.contains("82 bytes and a visit 190"), "{text}");
    let text = one("ivanov2014-table-16", &rows);
    assert!(
        text.contains("visits +100 %, text +101 %, time of the load +90 %"),
        "{text}"
    );
}

#[test]
fn every_experiment_has_sentences() {
    for experiment in super::super::experiments() {
        assert!(
            super::sentences(&record(experiment.name, &[]), &[]).is_some(),
            "{} has no verdict",
            experiment.name
        );
    }
}
