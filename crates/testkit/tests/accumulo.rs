//! A real Accumulo and Ostrakon play the same scripts: one cluster for everything here. Without Java and Maven this
//! fails and says what to install; `OSTRAKON_SKIP_ACCUMULO=1` leaves it out.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;

use ostrakon_testkit::conformance::{Examination, Peer, examine, generate, load, skipped};

/// How many random scripts are played besides the written ones.
const RANDOM: u64 = 48;

fn scripts() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/accumulo/scripts")
}

#[test]
fn accumulo_answers_as_a_store_does() {
    if let Some(notice) = skipped() {
        eprintln!("{notice}");
        return;
    }
    let mut all = load(&scripts()).unwrap();
    let differing = load(&scripts().join("differs")).unwrap();
    assert!(
        differing
            .iter()
            .all(|script| script.note("differs").is_some())
    );
    all.extend(differing);
    // The same ones each time: what a change breaks shows with it. `make conformance` plays new ones.
    all.extend((1..=RANDOM).map(generate));
    let how = Examination {
        seed: 1,
        shorten: true,
    };
    let play = || Peer::start(12).and_then(|mut peer| examine(&mut peer, &all, how));
    // On a machine that is busy a cluster may fail to start, or to work. That is not an answer, so another one is asked.
    let played = play()
        .or_else(|problem| {
            eprintln!("the cluster failed, and another one is started: {problem}");
            play()
        })
        .unwrap_or_else(|problem| panic!("{problem}"));
    for fault in &played.faults {
        eprintln!("known fault: {fault}");
    }
    for name in &played.unsteady {
        eprintln!("the cluster gave two answers to {name}");
    }
    let shown: Vec<String> = played.differences.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    assert!(
        played.agreeing.is_empty(),
        "these agree now, take them off the list: {:?}",
        played.agreeing
    );
    assert_eq!(played.scripts, all.len());
}

/// `ostrakon_cell::lexicoder` is tested against this file.
#[test]
fn accumulo_encodes_values_as_the_file_says() {
    if let Some(notice) = skipped() {
        eprintln!("{notice}");
        return;
    }
    let written =
        ostrakon_testkit::conformance::lexicoders().unwrap_or_else(|problem| panic!("{problem}"));
    assert!(
        written == include_str!("../../cell/src/lexicoder/accumulo.txt"),
        "the lexicoders of Accumulo write other bytes than accumulo.txt has"
    );
}
