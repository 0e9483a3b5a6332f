//! The rules, on this repository. `cargo test -p ostrakon-tidy`

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use ostrakon_tidy::finding::Finding;
use ostrakon_tidy::rules;
use ostrakon_tidy::tree::Tree;

fn hold(check: fn(&Tree) -> Vec<Finding>) {
    let tree = Tree::of_this_repository().unwrap();
    let findings = check(&tree);
    let report: String = findings
        .iter()
        .map(|finding| format!("\n{finding}"))
        .collect();
    assert!(
        findings.is_empty(),
        "{} objections:{report}",
        findings.len()
    );
}

#[test]
fn crates_import_downward() {
    hold(rules::imports::check);
}

#[test]
fn rooms_of_the_store_import_downward() {
    hold(rules::rooms::check);
}

#[test]
fn front_desks_hold_no_logic_and_are_not_passed_by() {
    hold(rules::front_desks::check);
}

#[test]
fn disk_clock_dice_and_threads_keep_to_their_rooms() {
    hold(rules::places::check);
}

#[test]
fn files_are_not_too_long() {
    hold(rules::length::check);
}

#[test]
fn format_pages_are_tied_to_their_modules() {
    hold(rules::pages::check);
}

#[test]
fn no_file_is_dead() {
    hold(rules::dead_files::check);
}

#[test]
fn links_lead_somewhere() {
    hold(rules::links::check);
}

#[test]
fn no_left_over_words() {
    hold(rules::words::check);
}

#[test]
fn layout_is_kept() {
    hold(rules::layout::check);
}

#[test]
fn every_crate_takes_the_lints() {
    hold(rules::lints::check);
}

#[test]
fn decisions_are_numbered() {
    hold(rules::decisions::check);
}

#[test]
fn fixtures_are_explained() {
    hold(rules::fixtures::check);
}

#[test]
fn exemptions_have_reasons() {
    hold(rules::reasons::check);
}

#[test]
fn the_map_is_true() {
    hold(rules::map::check);
}

#[test]
fn formats_are_fuzzed() {
    hold(rules::fuzzed::check);
}
