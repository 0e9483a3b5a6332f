//! Stacked graphs: writers and ranks give the same table.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::{Batch, BulkWriter, ErrorKind, Scanner, Source, TableOptions};
use ostrakon_testkit::reference_model::MapSource;
use parking_lot::Mutex;

use super::*;
use crate::NoProgress;

fn workload() -> GraphWorkload {
    GraphWorkload {
        scale: 6,
        writers: 2,
        tablets: 3,
        ..GraphWorkload::default()
    }
}

type Table = BTreeMap<(Vec<u8>, Vec<u8>), Vec<u8>>;

/// The table that should come about, made the plain way.
fn expected(workload: &GraphWorkload) -> Table {
    let mut table = Table::new();
    for writer in 0..workload.writers {
        let base = BaseGraph::generate(workload, writer).unwrap();
        let mut generated = 0;
        for (row, column, count) in base.iter() {
            generated += u64::from(count);
            for tablet in 0..workload.tablets {
                let stacked = (writer * workload.tablets + tablet) as u64;
                let row = format!("{:010}", stacked * 64 + row);
                let key = (row.into_bytes(), format!("{column:02}").into_bytes());
                let before = table.insert(key, count.to_string().into_bytes());
                assert_eq!(before, None, "an edge stands twice in a base graph");
            }
        }
        assert_eq!(generated, workload.base_edges());
    }
    table
}

#[test]
fn writers_stack_their_graphs() {
    let source: Arc<dyn Source> = Arc::new(MapSource::new());
    source
        .create_table("lab", &TableOptions::default())
        .unwrap();
    let options = GraphIngestOptions {
        workload: workload(),
        ..GraphIngestOptions::default()
    };
    let figures = run_graph_ingest(&source, &options, &NoProgress).unwrap();
    let found: Table = Scanner::new(source.table("lab").unwrap())
        .entries()
        .unwrap()
        .into_iter()
        .map(|entry| ((entry.key.row, entry.key.qualifier), entry.value))
        .collect();
    assert_eq!(found, expected(&workload()));
    assert_eq!(
        (figures.edges, figures.entries),
        (64 * 8 * 6, found.len() as u64)
    );
    assert!(figures.entries < figures.edges);
    assert_eq!(figures.tablets, 6);
    // Tablets are cut where one copy ends and the next begins.
    let splits = workload().splits();
    assert_eq!(
        (splits.len(), splits[0].as_slice()),
        (5, &b"0000000063"[..])
    );
}

type Kept = Arc<Mutex<Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>>>;

/// Keeps what a rank would write to its file.
struct Keeper(Kept);

impl BulkWriter for Keeper {
    fn append(&mut self, batch: &Batch) -> ostrakon_cell::Result<()> {
        let entries = batch.iter().map(|entry| {
            let key = entry.key;
            (
                key.row.to_vec(),
                key.qualifier.to_vec(),
                entry.value.to_vec(),
            )
        });
        self.0.lock().extend(entries);
        Ok(())
    }
    fn finish(self: Box<Self>) -> ostrakon_cell::Result<u64> {
        Ok(self.0.lock().len() as u64)
    }
}

#[test]
fn ranks_leave_sorted_parts_of_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    let splits = folder.path().join("splits");
    let mut text: String = workload()
        .splits()
        .iter()
        .map(|row| format!("here\t{}\n", String::from_utf8_lossy(row)))
        .collect();
    text += "here\t\n";
    std::fs::write(&splits, &text).unwrap();
    let options = |rank, location: &str| RankOptions {
        workload: workload(),
        rank,
        splits: splits.clone(),
        location: location.to_owned(),
    };
    let mut table = Table::new();
    for rank in 0..2 {
        let kept = Kept::default();
        let figures = run_rank(&options(rank, "here"), &|name| {
            assert_eq!(name, format!("part-{rank:05}.sorted"));
            Ok(Box::new(Keeper(kept.clone())))
        })
        .unwrap();
        let kept = kept.lock();
        assert!(kept.is_sorted_by(|a, b| (&a.0, &a.1) < (&b.0, &b.1)));
        assert_eq!(
            (figures.edges, figures.entries),
            (64 * 8 * 3, kept.len() as u64)
        );
        for (row, column, value) in kept.iter().cloned() {
            assert_eq!(table.insert((row, column), value), None);
        }
    }
    assert_eq!(table, expected(&workload()));
    // Tablets that are elsewhere are not this rank's.
    let make: &MakeSorted<'_> = &|_| Ok(Box::new(Keeper(Kept::default())));
    assert_eq!(run_rank(&options(0, "elsewhere"), make).unwrap().entries, 0);
    let error = run_rank(&options(2, "here"), make).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    for wrong in ["no tab\n", "here\tno number\n"] {
        std::fs::write(&splits, wrong).unwrap();
        let error = run_rank(&options(0, "here"), make).unwrap_err();
        assert!(error.to_string().contains("split"), "{error}");
    }
}

#[test]
fn workloads_that_do_not_fit_are_refused() {
    let source: Arc<dyn Source> = Arc::new(MapSource::new());
    source
        .create_table("lab", &TableOptions::default())
        .unwrap();
    for (scale, writers, tablets) in [(0, 1, 1), (4, 0, 1), (4, 1, 0), (30, 1, 32)] {
        let options = GraphIngestOptions {
            workload: GraphWorkload {
                scale,
                writers,
                tablets,
                ..GraphWorkload::default()
            },
            ..GraphIngestOptions::default()
        };
        let error = run_graph_ingest(&source, &options, &NoProgress).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}

#[test]
fn degrees_and_samples_are_counted() {
    let options = GraphWorkload {
        scale: 10,
        ..GraphWorkload::default()
    };
    let base = BaseGraph::generate(&options, 0).unwrap();
    let every = DegreeCurve::of_rows(&base, false);
    let total: u64 = every
        .counts
        .iter()
        .map(|(degree, count)| degree * count)
        .sum();
    assert_eq!(total, base.generated());
    let distinct = DegreeCurve::of_rows(&base, true);
    let total: u64 = distinct
        .counts
        .iter()
        .map(|(degree, count)| degree * count)
        .sum();
    assert_eq!(total, base.entries());
    assert_eq!(every.vertices(), distinct.vertices());
    assert!(every.largest() >= distinct.largest());
    assert!(every.slope_of_ends() < 0.0 && every.slope_fitted() < 0.0);
    let sample = base.sample(10);
    let share = sample.generated() as f64 / base.generated() as f64;
    assert!((0.08..0.12).contains(&share), "{share}");
    assert!(sample.iter().all(|edge| edge.2 > 0));
    let spy = Spy::of(&base, 1 << 10, 16);
    assert_eq!((spy.shown, spy.cells.len()), (base.generated(), 16));
    assert!(spy.cells.iter().all(|row| row.len() == 16));
}

#[test]
fn a_slope_is_that_of_the_line() {
    let curve = DegreeCurve {
        counts: vec![(1, 10_000), (10, 100), (100, 1)],
    };
    assert!((curve.slope_fitted() + 2.0).abs() < 1e-9);
    assert!((curve.slope_of_ends() + 2.0).abs() < 1e-9);
    assert_eq!(DegreeCurve::default().slope_of_ends(), 0.0);
    assert_eq!(DegreeCurve::default().slope_fitted(), 0.0);
}
