use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchWriter, BatchWriterConfig, ErrorKind, Mutation, Range, ScanOptions, Source,
    TableOptions,
};

use super::broken::{BrokenSource, FAULTS, Fault};
use super::catalogue::SCENARIOS;
use super::{Examination, Report, examine_source};
use crate::reference_model::MapSource;

#[test]
fn the_reference_model_passes() {
    let report = examine_source("the reference model", &|| Arc::new(MapSource::new()));
    report.assert_passed();
    assert_eq!(report.skipped(), ["Z1", "Z2"]);
}

fn examine(fault: Fault, only: &[&str]) -> Report {
    let source = BrokenSource::new(fault);
    let open = source.clone();
    let open = move |directory: &std::path::Path| open.open_copy(directory);
    let make = || -> Arc<dyn Source> { Arc::new(source.clone()) };
    Examination::new(&format!("{fault:?}"), &make)
        .with_open_copy(&open)
        .only(only)
        .run()
}

#[test]
fn the_wrapper_without_a_fault_passes_everything() {
    let report = examine(Fault::Nothing, &[]);
    report.assert_passed();
    assert_eq!(report.passed().len(), SCENARIOS.len());
}

#[test]
fn every_fault_is_found() {
    for (fault, caught_by) in FAULTS {
        let report = examine(*fault, caught_by);
        assert!(
            report.passed().is_empty(),
            "{fault:?} got through: {report}"
        );
        assert_eq!(report.failed().len(), caught_by.len(), "{report}");
    }
}

#[test]
fn every_scenario_is_known_to_fail() {
    let seen: BTreeSet<&str> = FAULTS.iter().flat_map(|fault| fault.1).copied().collect();
    let all: BTreeSet<&str> = SCENARIOS.iter().map(|scenario| scenario.id).collect();
    assert_eq!(seen, all);
    assert_eq!(all.len(), SCENARIOS.len(), "two scenarios share a number");
}

/// A source of many servers may apply a part of a batch. Its writer says so, for good.
#[test]
fn a_writer_reports_a_batch_that_was_applied_in_part() {
    let source: Arc<dyn Source> = Arc::new(BrokenSource::new(Fault::AppliesPartly));
    source.create_table("t", &TableOptions::default()).unwrap();
    let table = source.table("t").unwrap();
    let mutation = |row: &str| {
        let mut mutation = Mutation::new(row);
        mutation.put("f", "q", "v").unwrap();
        mutation
    };
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    writer.add(&mutation("row-1")).unwrap();
    writer.flush().unwrap();
    writer.add(&mutation("row-2")).unwrap();
    writer.add(&mutation("row-9")).unwrap();
    let error = writer.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.context().contains(&("tablets", "1".to_owned())),
        "{error}"
    );
    let again = [
        writer.add(&mutation("row-3")),
        writer.flush(),
        writer.close(),
    ];
    for outcome in again {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unavailable);
    }
    let mut scan = table
        .scan(&[Range::all()], &ScanOptions::default())
        .unwrap();
    let mut batch = Batch::new();
    assert!(scan.next_batch(&mut batch).unwrap());
    let rows: Vec<&[u8]> = batch.iter().map(|entry| entry.key.row).collect();
    assert_eq!(rows, [b"row-1", b"row-2"]);
}
