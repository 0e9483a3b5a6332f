//! The model test on the store.

use ostrakon_store::StoreOptions;
use ostrakon_testkit::model::{Harness, NotYet, Plan, Runs, generate, play, play_threads, run};

use crate::harness::{StoreHarness, tiny};

/// What the store is known to get wrong: nothing.
const NOT_YET: &[NotYet] = &[];

fn quiet() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

fn plan(operations: usize, crashes: bool) -> Plan {
    Plan {
        operations,
        crashes,
        not_yet: NOT_YET,
    }
}

/// What must come up in the runs by hand: each was a fault once, or hides one.
const SITUATIONS: &[&str] = &[
    "puts above a put",
    "puts at the time of a put",
    "puts below a put",
    "puts above a delete",
    "puts at the time of a delete",
    "puts below a delete",
    "deletes above a put",
    "deletes at the time of a put",
    "deletes below a put",
    "imported puts above a put",
    "imported puts at the time of a put",
    "imported puts below a put",
    "imported puts above a delete",
    "imported puts at the time of a delete",
    "imported puts below a delete",
    "imported deletes above a put",
    "imported deletes at the time of a put",
    "imported deletes below a put",
    "puts behind a delete in one batch",
    "puts behind a delete in one batch, time counted",
    "puts in the tick of a delete before",
    "equal keys in files of one import",
    "imports of several files",
    "imports beside memory",
    "flushes cut into files",
    "files that may be merged",
    "files that may not be merged",
    "merges of some files",
    "merges of some files after an import of several",
    "merges of some files after a merge of tablets",
    "merges of some files of a clone or its origin",
    "merges of some files under a combiner at minc",
    "merges of some files under a combiner at majc",
    "steps while the clock stands",
    "steps while the clock goes on",
    "steps back of the clock",
    "jumps of the clock",
    "names used again",
    "clones",
    "deletions of rows",
    "writes with mutations refused",
    "conditions answered Accepted",
    "conditions answered Rejected",
    "conditions answered Violated",
    "conditions answered MalformedVisibility",
    "conditions answered InvisibleVisibility",
    "conditions with an iterator",
    "conditions with a timestamp",
    "conditions of absence",
    "conditions on a row that their list wrote to",
    "conditional lists of which several are written",
    "malformed labels behind what is written",
    "changes of properties with writes in memory",
    "changes of table.bloom.enabled",
    "changes of table.bloom.error.rate",
    "changes of table.bloom.key.functor",
    "changes of table.cache.block.enable",
    "changes of table.compaction.major.everything.idle",
    "changes of table.compaction.major.ratio",
    "changes of table.constraint.9",
    "changes of table.custom.note",
    "changes of table.durability",
    "changes of table.file.compress.blocksize",
    "changes of table.file.compress.type",
    "changes of table.file.max",
    "changes of table.group.left",
    "changes of table.groups.enabled",
    "changes of table.iterator.majc.sum",
    "changes of table.iterator.majc.vers.opt.maxVersions",
    "changes of table.iterator.minc.sum",
    "changes of table.iterator.minc.vers.opt.maxVersions",
    "changes of table.iterator.scan.grep",
    "changes of table.iterator.scan.vers.opt.maxVersions",
    "changes of table.security.scan.visibility.default",
    "changes of table.split.endrow.size.max",
    "changes of table.split.threshold",
];

#[test]
fn a_quiet_store_answers_as_the_model_does() {
    let (plan, usual) = (plan(150, false), 30);
    let runs = Runs::from_environment(usual);
    let coverage = run("by hand", runs, plan, &|seed| {
        Box::new(StoreHarness::new(seed, quiet(), &[]))
    });
    println!("in {} runs by hand:\n{coverage}", runs.count);
    if runs.count >= usual {
        assert_eq!(coverage.missing(SITUATIONS), [""; 0], "{coverage}");
    }
}

#[test]
fn a_store_answers_as_the_model_does() {
    let plan = plan(200, false);
    run("quiet disk", Runs::from_environment(8), plan, &|seed| {
        Box::new(StoreHarness::new(seed, tiny(), &[]))
    });
}

#[test]
fn a_store_on_a_failing_disk_keeps_what_it_acknowledged() {
    let plan = plan(200, true);
    let runs = Runs::from_environment(20);
    let coverage = run("dying disk", runs, plan, &|seed| {
        // Half the runs decide themselves when to flush and compact.
        let options = if seed % 2 == 0 { tiny() } else { quiet() };
        Box::new(StoreHarness::new(seed, options, &[]))
    });
    println!("in {} runs on a dying disk:\n{coverage}", runs.count);
}

/// A write of which nothing was written counted as the promise that what is in the log before it is durable.
#[test]
fn a_write_that_is_refused_whole_promises_nothing() {
    let runs = Runs {
        first: 674_536_037_521,
        count: 1,
    };
    run("dying disk", runs, plan(200, true), &|seed| {
        let options = if seed % 2 == 0 { tiny() } else { quiet() };
        Box::new(StoreHarness::new(seed, options, &[]))
    });
}

/// Options and properties under which a store keeps entries differently and answers the same.
fn variants() -> Vec<(StoreOptions, Vec<(&'static str, &'static str)>)> {
    vec![
        (StoreOptions::default(), vec![]),
        (tiny(), vec![("table.split.threshold", "2K")]),
        (
            quiet(),
            vec![
                ("table.file.compress.type", "none"),
                ("table.file.compress.blocksize", "1K"),
                ("table.bloom.enabled", "true"),
            ],
        ),
        (
            tiny(),
            vec![
                ("table.file.compress.type", "zstd"),
                ("table.groups.enabled", "left"),
                ("table.durability", "none"),
                ("table.file.max", "2"),
            ],
        ),
        (
            StoreOptions {
                max_open_files: 16,
                compaction_threads: 1,
                ..tiny()
            },
            vec![
                ("table.bloom.enabled", "true"),
                (
                    "table.bloom.key.functor",
                    "org.apache.accumulo.core.file.keyfunctor.ColumnQualifierFunctor",
                ),
                ("table.cache.block.enable", "false"),
                ("table.durability", "flush"),
            ],
        ),
    ]
}

#[test]
fn a_store_answers_as_the_model_does_under_any_options() {
    let plan = plan(150, false);
    for seed in Runs::from_environment(4).seeds() {
        let steps = generate(seed, plan);
        for (options, properties) in variants() {
            let what = format!("OSTRAKON_MODEL_SEED={seed}, {properties:?}, {options:?}");
            let mut store = StoreHarness::new(seed, options, &properties);
            if let Err(failure) = play(&mut store, &steps) {
                panic!("{what}: {failure:?}");
            }
        }
    }
}

#[test]
fn several_threads_see_their_own_writes_in_their_order() {
    for seed in Runs::from_environment(4).seeds() {
        let mut store = StoreHarness::new(seed, tiny(), &[]);
        let played = play_threads(&store, seed, plan(120, false)).and_then(|threads| {
            store.reopen().map_err(|error| format!("{error:?}"))?;
            threads.compare(&*Harness::source(&store))
        });
        if let Err(what) = played {
            panic!("several threads, OSTRAKON_MODEL_SEED={seed}: {what}");
        }
    }
}
