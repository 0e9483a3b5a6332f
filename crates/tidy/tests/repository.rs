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
    assert!(findings.is_empty(), "{} findings:{report}", findings.len());
}

#[test]
fn crates_import_downward() {
    hold(rules::imports::check);
}

#[test]
fn modules_import_lower_layers() {
    hold(rules::layers::check);
}

#[test]
fn files_are_not_too_long() {
    hold(rules::length::check);
}

#[test]
fn no_file_is_large() {
    hold(rules::size::check);
}

#[test]
fn format_pages_are_tied_to_their_modules() {
    hold(rules::pages::check);
}

#[test]
fn every_rust_file_is_compiled() {
    hold(rules::dead_files::check);
}

#[test]
fn links_have_targets() {
    hold(rules::links::check);
}

#[test]
fn every_crate_takes_the_lints() {
    hold(rules::lints::check);
}

#[test]
fn published_packages_are_complete() {
    hold(rules::packages::check);
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
fn the_map_is_complete() {
    hold(rules::map::check);
}

#[test]
fn formats_are_fuzzed() {
    hold(rules::fuzzed::check);
}

#[test]
fn pages_and_help_use_standard_terms() {
    hold(rules::language::check);
}

#[test]
fn patches_of_fixed_faults_apply() {
    hold(rules::mutants::check);
}

/// For this platform: dependencies of others need not be downloaded.
#[test]
fn dependencies_are_allowed() {
    let output = |program: &str, arguments: &[&str]| {
        let ran = std::process::Command::new(program)
            .args(arguments)
            .current_dir(ostrakon_tidy::tree::root())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{program}: {error}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let about = output("rustc", &["-vV"]);
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    let metadata = output(
        "cargo",
        &[
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
            host.unwrap(),
        ],
    );
    let tree = Tree::of_this_repository().unwrap();
    let findings = rules::dependencies::check(&metadata, tree.text("deny.toml").unwrap()).unwrap();
    let report: String = findings
        .iter()
        .map(|finding| format!("\n{finding}"))
        .collect();
    assert!(findings.is_empty(), "{} findings:{report}", findings.len());
}
