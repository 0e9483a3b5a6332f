use std::sync::Arc;

use ostrakon_cell::{Durability, Result, Source};

use super::{
    Change, Harness, JudgeHarness, Operation, Plan, Runs, Style, Trouble, generate, play, run,
};
use crate::disk::Crash;
use crate::judge::{MapSnapshot, MapSource};

const PLAN: Plan = Plan {
    operations: 120,
    crashes: true,
};

/// Goes back some steps when it crashes.
struct Forgetful {
    source: MapSource,
    before_each_step: Vec<MapSnapshot>,
    steps_lost: usize,
}

impl Forgetful {
    fn of(steps_lost: usize) -> Self {
        Self {
            source: MapSource::new(),
            before_each_step: Vec::new(),
            steps_lost,
        }
    }
}

impl Harness for Forgetful {
    fn source(&self) -> Arc<dyn Source> {
        Arc::new(self.source.clone())
    }

    fn set_millis(&mut self, millis: i64) {
        self.before_each_step.push(self.source.snapshot());
        self.source.set_millis(millis);
    }

    fn reopen(&mut self) -> Result<()> {
        Ok(())
    }

    fn crash(&mut self, _: Crash) -> Result<()> {
        // The step that is the crash itself has its copy too.
        let at = self.before_each_step.len().checked_sub(1 + self.steps_lost);
        if let Some(snapshot) = at.and_then(|at| self.before_each_step.get(at)) {
            self.source.restore(snapshot);
        }
        Ok(())
    }

    fn disturb(&mut self, _: Option<Trouble>) {}
}

fn story(durability: Durability, crash: Crash) -> Vec<(usize, Operation)> {
    let style = Style {
        versions: Some(1),
        logical: false,
        split: false,
    };
    let write = |row: &str, durability| Operation::Write {
        table: 0,
        changes: vec![Change {
            row: row.to_owned(),
            family: "f",
            qualifier: String::new(),
            label: "a",
            timestamp: None,
            value: Some("v".to_owned()),
        }],
        durability: Some(durability),
    };
    [
        Operation::Create { table: 0, style },
        write("kept", Durability::Sync),
        write("last", durability),
        Operation::Crash(crash),
        write("after", Durability::Sync),
    ]
    .into_iter()
    .enumerate()
    .collect()
}

#[test]
fn the_judge_agrees_with_itself() {
    for seed in 1..=40 {
        let operations = generate(seed, PLAN);
        let transcript = play(&mut JudgeHarness::default(), &operations)
            .unwrap_or_else(|failure| panic!("seed {seed}: {failure:?}"));
        assert!(transcript.len() > 60, "seed {seed} did next to nothing");
    }
}

#[test]
fn a_seed_gives_the_same_operations_again() {
    assert_eq!(generate(7, PLAN), generate(7, PLAN));
    assert_ne!(generate(7, PLAN), generate(8, PLAN));
}

#[test]
fn what_was_not_promised_may_be_lost_and_what_was_promised_may_not() {
    let cases = [
        (Durability::None, Crash::Process, true),
        (Durability::Log, Crash::Process, false),
        (Durability::Log, Crash::PowerLost, true),
        (Durability::Flush, Crash::Process, false),
        (Durability::Flush, Crash::PowerLost, true),
        (Durability::Sync, Crash::PowerLost, false),
        (Durability::Sync, Crash::PowerLostTorn, false),
    ];
    for (durability, crash, may_be_lost) in cases {
        let outcome = play(&mut Forgetful::of(1), &story(durability, crash));
        assert_eq!(
            outcome.is_ok(),
            may_be_lost,
            "{durability} {crash:?} {outcome:?}"
        );
    }
    // Two steps back lies a write that was promised, whatever came after it.
    let outcome = play(
        &mut Forgetful::of(2),
        &story(Durability::None, Crash::PowerLost),
    );
    assert!(outcome.is_err());
}

#[test]
fn a_source_that_forgets_is_found_and_the_story_is_short() {
    let failed = std::panic::catch_unwind(|| {
        let runs = Runs { first: 1, count: 5 };
        run("forgetful", runs, PLAN, &|_| Box::new(Forgetful::of(30)));
    });
    let panic = failed.expect_err("it forgets thirty steps");
    let text = panic.downcast_ref::<String>().expect("a message");
    assert!(text.contains("OSTRAKON_SEED=1 "), "{text}");
    assert!(text.lines().count() < 45, "{text}");
}
