//! Ingest, reopen, walk, verify: the table comes through whole.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Durability, Source};
use ostrakon_lab::NoProgress;
use ostrakon_lab::continuous::{
    BatchWalkOptions, IngestOptions, MoruOptions, ScanTestOptions, StatsOptions, VerifyOptions,
    WalkOptions, run_batch_walk, run_ingest, run_moru, run_scan, run_stats, run_verify, run_walk,
};
use ostrakon_store::{Store, StoreOptions};

fn open(directory: &std::path::Path) -> (Arc<Store>, Arc<dyn Source>) {
    let store = Store::open(directory, StoreOptions::default()).unwrap();
    let source: Arc<dyn Source> = store.clone();
    (store, source)
}

#[test]
fn a_list_survives_reopening_and_reads_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (store, source) = open(folder.path());
    let ingest = IngestOptions {
        entries: Some(120_000),
        splits: 3,
        writers: 2,
        durability: Some(Durability::Flush),
        ..IngestOptions::default()
    };
    let written = run_ingest(&source, &ingest, &NoProgress).unwrap();
    assert_eq!((written.entries, written.tablets), (120_000, 4));
    drop(source);
    store.close().unwrap();
    drop(store);

    let (store, source) = open(folder.path());
    let verify = VerifyOptions {
        scratch: folder.path().to_path_buf(),
        ..VerifyOptions::default()
    };
    let sound = run_verify(&source, &verify, &NoProgress).unwrap();
    assert!(sound.is_sound(), "{sound:?}");
    assert_eq!(sound.entries, written.entries - written.rewritten);

    let walk = WalkOptions {
        queries: Some(5_000),
        walkers: 2,
        ..WalkOptions::default()
    };
    let walked = run_walk(&source, &walk, &NoProgress).unwrap();
    assert_eq!((walked.missing, walked.corrupt), (0, 0));
    let batch = BatchWalkOptions {
        queries: Some(20_000),
        batch_rows: 2_000,
        ..BatchWalkOptions::default()
    };
    let walked = run_batch_walk(&source, &batch, &NoProgress).unwrap();
    assert_eq!((walked.missing, walked.corrupt), (0, 0));
    let scan = ScanTestOptions {
        scans: Some(50),
        ..ScanTestOptions::default()
    };
    let scanned = run_scan(&source, &scan, &NoProgress).unwrap();
    assert!(scanned.entries > 0 && scanned.corrupt == 0);
    let stats = StatsOptions {
        lines: Some(1),
        interval: Duration::ZERO,
        ..StatsOptions::default()
    };
    let lines = run_stats(&source, &stats, &NoProgress).unwrap().lines;
    assert_eq!(lines[0].tablets, 4);
    assert!(lines[0].table_bytes > 0 && lines[0].table_entries > 0);

    let moru = run_moru(&source, &MoruOptions::default(), &NoProgress).unwrap();
    assert!(moru.written > 0);
    let sound = run_verify(&source, &verify, &NoProgress).unwrap();
    assert!(sound.is_sound(), "{sound:?}");
    drop(source);
    store.close().unwrap();
}
