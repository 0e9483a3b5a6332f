//! The model test on the store.

use ostrakon_store::StoreOptions;
use ostrakon_testkit::model::{Plan, Runs, generate, play, run};

use crate::harness::{StoreHarness, tiny};

fn quiet() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

#[test]
fn a_store_answers_as_the_judge_does() {
    let plan = Plan {
        operations: 200,
        crashes: false,
    };
    run("quiet disk", Runs::from_environment(8), plan, &|seed| {
        Box::new(StoreHarness::new(seed, tiny(), &[]))
    });
}

#[test]
fn a_store_on_a_dying_disk_keeps_what_it_promised() {
    let plan = Plan {
        operations: 200,
        crashes: true,
    };
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
fn the_same_operations_give_the_same_answers_under_any_options() {
    let plan = Plan {
        operations: 150,
        crashes: false,
    };
    for seed in Runs::from_environment(4).seeds() {
        let operations = generate(seed, plan);
        let mut first: Option<Vec<String>> = None;
        for (options, properties) in variants() {
            let what = format!("OSTRAKON_SEED={seed}, {properties:?}, {options:?}");
            let mut harness = StoreHarness::new(seed, options, &properties);
            let transcript = play(&mut harness, &operations)
                .unwrap_or_else(|failure| panic!("{what}: {failure:?}"));
            match &first {
                None => first = Some(transcript),
                Some(first) => {
                    let differ = first.iter().zip(&transcript).find(|(a, b)| a != b);
                    assert!(differ.is_none(), "{what}: {differ:?}");
                    assert_eq!(first.len(), transcript.len(), "{what}");
                }
            }
        }
    }
}
