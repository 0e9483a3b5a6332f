//! The model test on the store.

use ostrakon_store::StoreOptions;
use ostrakon_testkit::model::{Plan, Runs, run};

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
