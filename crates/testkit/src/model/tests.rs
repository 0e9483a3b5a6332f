use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ostrakon_cell::{Batch, Durability, Result, Source};

use super::generate::POWERS;
use super::operation::PROBE;
use super::{
    Change, Harness, ModelHarness, Operation, Plan, Runs, Step, Style, Trouble, generate, play, run,
};
use crate::disk::Crash;
use crate::reference_model::{MapSnapshot, MapSource};

const PLAN: Plan = Plan {
    operations: 120,
    crashes: true,
    not_yet: &[],
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

    fn import(&mut self, table: &str, files: &[Batch]) -> Result<u64> {
        self.source.import_files(table, files)
    }
}

fn story(durability: Durability, crash: Crash) -> Vec<Step> {
    let style = Style {
        versions: Some(1),
        summed: false,
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
            value: Some("1".to_owned()),
            apart: true,
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
    .map(|(number, operation)| Step {
        number,
        millis: 1_700_000_000_000 + number as i64,
        operation,
    })
    .collect()
}

#[test]
fn the_model_agrees_with_itself() {
    for seed in 1..=40 {
        let operations = generate(seed, PLAN);
        let played = play(&mut ModelHarness::default(), &operations)
            .unwrap_or_else(|failure| panic!("seed {seed}: {failure:?}"));
        assert!(
            played.transcript.len() > 60,
            "seed {seed} did next to nothing"
        );
    }
}

/// All that an import has may be hidden. Then a model that must decide whether a failed one survived could be wrong.
#[test]
fn every_import_leaves_a_trace() {
    let is_trace = |change: &Change| change.family == PROBE;
    let mut imports = 0;
    for seed in 0..20 {
        for step in generate(seed, PLAN) {
            let traced = match &step.operation {
                Operation::Bulk { changes, .. } => changes.iter().any(is_trace),
                Operation::Import { files, .. } => files.iter().flatten().any(is_trace),
                _ => continue,
            };
            assert!(traced, "{:?}", step.operation);
            imports += 1;
        }
    }
    assert!(imports > 20, "{imports}");
}

#[test]
fn a_seed_gives_the_same_operations_again() {
    assert_eq!(generate(7, PLAN), generate(7, PLAN));
    assert_ne!(generate(7, PLAN), generate(8, PLAN));
}

#[test]
fn only_unacknowledged_writes_may_be_lost() {
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
    assert!(text.contains("OSTRAKON_MODEL_SEED="), "{text}");
    assert!(text.lines().count() < 60, "{text}");
}

/// Which of two equal parts a sum has cannot be told. If one of them is deleted later, what is left is wrong.
#[test]
fn the_values_of_a_column_differ() {
    let mut most = 0;
    for seed in 1..=40 {
        let mut columns: HashMap<(u8, String), HashSet<String>> = HashMap::new();
        for step in generate(seed, PLAN) {
            let (table, changes) = match step.operation {
                Operation::Write { table, changes, .. } | Operation::Bulk { table, changes } => {
                    (table, changes)
                }
                Operation::Import { table, files } => (table, files.concat()),
                Operation::Conditional { table, list } => (
                    table,
                    list.into_iter().flat_map(|one| one.changes).collect(),
                ),
                Operation::Clone { from, to } | Operation::Rename { from, to } => {
                    for ((table, column), values) in columns.clone() {
                        if table == from {
                            columns.entry((to, column)).or_default().extend(values);
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            for change in changes.into_iter().filter(|one| one.family != PROBE) {
                let column = [
                    &*change.row,
                    change.family,
                    &*change.qualifier,
                    change.label,
                ];
                let values = columns.entry((table, column.join("/"))).or_default();
                let Some(value) = change.value else {
                    continue;
                };
                if !values.insert(value.trim_start_matches('0').to_owned()) {
                    assert_eq!(values.len(), POWERS as usize, "seed {seed}, {column:?}");
                    values.retain(|one| *one == value.trim_start_matches('0'));
                }
                most = most.max(values.len());
            }
        }
    }
    assert!(most > 20, "no column has many values: {most}");
}
