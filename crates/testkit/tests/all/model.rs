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

#[test]
fn a_quiet_store_answers_as_the_model_does() {
    let plan = plan(150, false);
    run("by hand", Runs::from_environment(30), plan, &|seed| {
        Box::new(StoreHarness::new(seed, quiet(), &[]))
    });
}

#[test]
fn a_store_answers_as_the_model_does() {
    let plan = plan(200, false);
    run("quiet disk", Runs::from_environment(8), plan, &|seed| {
        Box::new(StoreHarness::new(seed, tiny(), &[]))
    });
}

#[test]
fn a_store_on_a_dying_disk_keeps_what_it_promised() {
    let plan = plan(200, true);
    run("dying disk", Runs::from_environment(20), plan, &|seed| {
        // Half the runs decide themselves when to flush and compact.
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
