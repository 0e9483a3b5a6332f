//! The readers of the suite, on lists that ingest wrote.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{
    Authorizations, BatchWriter, BatchWriterConfig, ColumnUpdate, Entry, ErrorKind, Scanner, Source,
};
use ostrakon_testkit::reference_model::MapSource;

use super::*;
use crate::NoProgress;

fn ingested(options: IngestOptions) -> Arc<dyn Source> {
    let source: Arc<dyn Source> = Arc::new(MapSource::new());
    let options = IngestOptions {
        // A whole round: 100 lists of 26 and the links that join them.
        entries: Some(2_699),
        splits: 3,
        ..options
    };
    run_ingest(&source, &options, &NoProgress).unwrap();
    source
}

fn entries(source: &Arc<dyn Source>) -> Vec<Entry> {
    Scanner::new(source.table("ci").unwrap()).entries().unwrap()
}

fn write(source: &Arc<dyn Source>, entry: &Entry, value: Option<&[u8]>) {
    let mut writer = BatchWriter::new(source.table("ci").unwrap(), BatchWriterConfig::default());
    let update = ColumnUpdate {
        family: &entry.key.family,
        qualifier: &entry.key.qualifier,
        value,
        ..ColumnUpdate::default()
    };
    writer.put(&entry.key.row, update).unwrap();
    writer.close().unwrap();
}

/// Deletes every tenth row.
fn lose_rows(source: &Arc<dyn Source>) {
    for entry in entries(source).iter().step_by(10) {
        write(source, entry, None);
    }
}

#[test]
fn walking_a_sound_table_misses_nothing() {
    let source = ingested(IngestOptions::default());
    let options = WalkOptions {
        queries: Some(2_000),
        walkers: 2,
        ..WalkOptions::default()
    };
    let figures = run_walk(&source, &options, &NoProgress).unwrap();
    assert!((2_000..2_010).contains(&figures.queries));
    assert_eq!((figures.missing, figures.corrupt), (0, 0));
    assert_eq!(figures.fault(), None);
    assert_eq!(figures.latency.count, figures.queries);
    assert!(figures.p50_us > 0.0 && figures.p99_us >= figures.p50_us);
    assert!(figures.queries_per_second > 0.0 && figures.starts > 0);
    assert_eq!(figures.samples.last().unwrap().done, figures.queries);
}

/// A line of the file of authorizations may see nothing: the others walk on.
#[test]
fn authorizations_that_see_nothing_do_not_end_a_walk() {
    let labelled = IngestOptions {
        visibilities: vec![b"A".to_vec()],
        ..IngestOptions::default()
    };
    let source = ingested(labelled);
    let sets = |names: &[&str]| -> Vec<Authorizations> {
        let sets = names.iter().map(|names| Authorizations::parse(names));
        sets.collect::<Result<_, _>>().unwrap()
    };
    let walk = |names: &[&str]| {
        let options = WalkOptions {
            queries: Some(500),
            authorizations: sets(names),
            ..WalkOptions::default()
        };
        run_walk(&source, &options, &NoProgress)
    };
    // A walker draws one of its sets for each list, and may not draw the blind one.
    let blind = (0..64).find_map(|_| {
        let figures = walk(&["B", "A"]).unwrap();
        assert!(figures.queries >= 500 && figures.missing == 0);
        (figures.blind_authorizations > 0).then_some(figures.blind_authorizations)
    });
    assert_eq!(blind, Some(1));
    assert_eq!(walk(&["B", "C"]).unwrap_err().kind(), ErrorKind::NotFound);
    let options = BatchWalkOptions {
        queries: Some(500),
        batch_rows: 50,
        authorizations: sets(&["B", "A"]),
        ..BatchWalkOptions::default()
    };
    let blind = (0..64).find_map(|_| {
        let figures = run_batch_walk(&source, &options, &NoProgress).unwrap();
        assert!(figures.queries >= 500 && figures.missing == 0);
        (figures.blind_authorizations > 0).then_some(figures.blind_authorizations)
    });
    assert_eq!(blind, Some(1));
}

#[test]
fn walking_where_no_entry_has_a_link_proves_nothing() {
    let source: Arc<dyn Source> = Arc::new(MapSource::new());
    let options = IngestOptions {
        entries: Some(100),
        flush_interval: Some(100),
        ..IngestOptions::default()
    };
    run_ingest(&source, &options, &NoProgress).unwrap();
    let duration = Some(Duration::from_millis(20));
    let options = WalkOptions {
        duration,
        ..WalkOptions::default()
    };
    let figures = run_walk(&source, &options, &NoProgress).unwrap();
    assert!(figures.starts > 0 && figures.queries == 0);
    assert!(figures.fault().unwrap().contains("nothing is proved"));
    let options = BatchWalkOptions {
        duration,
        ..BatchWalkOptions::default()
    };
    let figures = run_batch_walk(&source, &options, &NoProgress).unwrap();
    assert!(figures.fault().unwrap().contains("nothing is proved"));
}

#[test]
fn walking_stumbles_over_what_is_lost() {
    let source = ingested(IngestOptions::default());
    lose_rows(&source);
    let options = WalkOptions {
        queries: Some(500),
        ..WalkOptions::default()
    };
    let figures = run_walk(&source, &options, &NoProgress).unwrap();
    assert!(figures.missing > 10, "{}", figures.missing);
    assert!(figures.fault().unwrap().contains("missing"));
    assert_eq!(figures.missing_examples.len(), 10);
    assert!(figures.missing_examples[0].contains(" <- "));
    let options = BatchWalkOptions {
        queries: Some(500),
        batch_rows: 100,
        ..BatchWalkOptions::default()
    };
    let figures = run_batch_walk(&source, &options, &NoProgress).unwrap();
    assert!(figures.missing > 10, "{}", figures.missing);
}

#[test]
fn a_damaged_entry_is_counted_on_the_way() {
    let source = ingested(IngestOptions::default());
    for entry in entries(&source).iter().step_by(10) {
        let mut value = entry.value.clone();
        value[40] ^= 2;
        write(&source, entry, Some(&value));
    }
    let options = WalkOptions {
        queries: Some(300),
        ..WalkOptions::default()
    };
    let figures = run_walk(&source, &options, &NoProgress).unwrap();
    assert!(figures.corrupt > 0 && figures.missing == 0);
}

#[test]
fn pauses_count_by_the_clock_only() {
    let source = ingested(IngestOptions::default());
    let options = WalkOptions {
        duration: Some(Duration::from_millis(200)),
        pause: Some(Duration::from_millis(10)),
        ..WalkOptions::default()
    };
    let figures = run_walk(&source, &options, &NoProgress).unwrap();
    assert!((3..=21).contains(&figures.queries), "{}", figures.queries);
    assert!(figures.queries_per_second > 2.0 * figures.queries_per_second_with_pauses);
}

#[test]
fn batches_find_every_row() {
    let source = ingested(IngestOptions::default());
    let options = BatchWalkOptions {
        queries: Some(3_000),
        batch_rows: 500,
        threads: 2,
        ..BatchWalkOptions::default()
    };
    let figures = run_batch_walk(&source, &options, &NoProgress).unwrap();
    assert!(figures.queries >= 3_000 && figures.batches >= 6);
    assert_eq!((figures.missing, figures.corrupt), (0, 0));
    assert_eq!(figures.latency.count, figures.batches);
    assert!(figures.entries >= figures.queries);
}

#[test]
fn readers_with_different_authorizations_miss_nothing() {
    let source = ingested(IngestOptions {
        visibilities: vec![b"A".to_vec(), b"B".to_vec(), b"A&B".to_vec()],
        flush_interval: Some(10),
        max_depth: 5,
        ..IngestOptions::default()
    });
    let sets = |lists: &[&str]| -> Vec<Authorizations> {
        lists
            .iter()
            .map(|list| Authorizations::parse(list).unwrap())
            .collect()
    };
    let authorizations = sets(&["A", "B", "A,B"]);
    let options = WalkOptions {
        queries: Some(500),
        authorizations: authorizations.clone(),
        ..WalkOptions::default()
    };
    let figures = run_walk(&source, &options, &NoProgress).unwrap();
    assert_eq!(figures.missing, 0);
    let options = BatchWalkOptions {
        queries: Some(500),
        batch_rows: 100,
        authorizations,
        ..BatchWalkOptions::default()
    };
    let figures = run_batch_walk(&source, &options, &NoProgress).unwrap();
    assert_eq!(figures.missing, 0);
    // Who may see nothing finds nothing to start from.
    let blind = run_walk(&source, &WalkOptions::default(), &NoProgress).unwrap_err();
    assert_eq!(blind.kind(), ErrorKind::NotFound);
}

#[test]
fn scans_adapt_to_the_number_wanted() {
    let source = ingested(IngestOptions::default());
    let options = ScanTestOptions {
        scans: Some(60),
        entries_per_scan: 100,
        seed: Some(1),
        ..ScanTestOptions::default()
    };
    let figures = run_scan(&source, &options, &NoProgress).unwrap();
    assert_eq!((figures.scans, figures.corrupt), (60, 0));
    let mean = figures.entries as f64 / 60.0;
    assert!((40.0..160.0).contains(&mean), "{mean}");
}

#[test]
fn moru_answers_every_link_and_leaves_the_table_sound() {
    let source = ingested(IngestOptions {
        flush_interval: Some(100),
        ..IngestOptions::default()
    });
    let before = entries(&source);
    let links = before
        .iter()
        .filter(|entry| entry.value.len() == 79)
        .count() as u64;
    let options = MoruOptions {
        threads: 2,
        ..MoruOptions::default()
    };
    let figures = run_moru(&source, &options, &NoProgress).unwrap();
    assert_eq!((figures.corrupt, figures.foreign), (0, 0));
    assert_eq!(figures.written, links);
    assert_eq!(figures.entries - figures.self_read, before.len() as u64);
    let verify = run_verify(&source, &VerifyOptions::default(), &NoProgress).unwrap();
    assert!(verify.is_sound());
    assert_eq!(verify.entries, before.len() as u64 + links);
    assert_eq!(verify.unreferenced, 0, "every row is pointed back to now");
}

#[test]
fn tables_that_are_not_there_are_named() {
    let source: Arc<dyn Source> = Arc::new(MapSource::new());
    let kinds = [
        run_walk(&source, &WalkOptions::default(), &NoProgress).map(|_| ()),
        run_batch_walk(&source, &BatchWalkOptions::default(), &NoProgress).map(|_| ()),
        run_scan(&source, &ScanTestOptions::default(), &NoProgress).map(|_| ()),
        run_moru(&source, &MoruOptions::default(), &NoProgress).map(|_| ()),
        run_verify(&source, &VerifyOptions::default(), &NoProgress).map(|_| ()),
    ]
    .map(|outcome| outcome.unwrap_err().kind());
    assert_eq!(kinds, [ErrorKind::TableNotFound; 5]);
}
