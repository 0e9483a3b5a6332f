use std::collections::BTreeSet;
use std::sync::Arc;

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
    let make = || -> Arc<dyn ostrakon_cell::Source> { Arc::new(source.clone()) };
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
