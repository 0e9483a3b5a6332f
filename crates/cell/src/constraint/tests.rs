use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::mutation::MutationRef;
use crate::source::Properties;
use crate::{ErrorKind, Mutation, MutationBatch};

/// Rejects rows that begin with `x` (code 1) and more than two updates (code 2, reported twice).
#[derive(Default)]
struct Picky {
    asked: AtomicUsize,
}

impl Constraint for Picky {
    fn names(&self) -> &[&str] {
        &["org.example.Picky"]
    }
    fn describe(&self) -> &str {
        "refuses rows that begin with x"
    }
    fn describe_violation(&self, code: i16) -> Option<&str> {
        (code == 1).then_some("begins with x")
    }
    fn check(
        &self,
        environment: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    ) {
        assert_eq!(&*environment.table, "t");
        self.asked.fetch_add(1, Ordering::Relaxed);
        if mutation.row().starts_with(b"x") {
            violated.push(1);
        }
        if mutation.updates().count() > 2 {
            violated.extend([2, 2]);
        }
    }
    fn passes_whole(&self, batch: &MutationBatch) -> bool {
        batch.len() == 1
    }
}

fn registry() -> (Arc<Picky>, ConstraintRegistry) {
    let picky = Arc::new(Picky::default());
    let mut registry = ConstraintRegistry::new();
    registry.register(picky.clone());
    (picky, registry)
}

fn properties(pairs: &[(&str, &str)]) -> Properties {
    pairs
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
}

fn batch(rows: &[(&str, usize)]) -> MutationBatch {
    let mut batch = MutationBatch::new();
    for (row, updates) in rows {
        let mut mutation = Mutation::new(*row);
        for column in 0..*updates {
            mutation.put("f", column.to_string(), "v").expect("small");
        }
        batch.push(&mutation).expect("small");
    }
    batch
}

fn environment() -> ConstraintEnvironment {
    ConstraintEnvironment {
        table: "t".into(),
        ..ConstraintEnvironment::default()
    }
}

#[test]
fn violating_mutations_are_removed_and_counted_by_code() {
    let (picky, registry) = registry();
    let set = ConstraintSet::from_properties(
        &properties(&[
            ("table.constraint.2", "org.example.Picky"),
            ("table.custom.x", "y"),
        ]),
        &registry,
    );
    let rows = [("a", 2), ("x1", 1), ("b", 3), ("x2", 4), ("c", 1)];
    let Screened {
        kept,
        rejections,
        refused,
    } = set.screen(&environment(), batch(&rows));
    assert_eq!(kept, batch(&[("a", 2), ("c", 1)]));
    assert_eq!(refused, [1, 2, 3]);
    let found: Vec<_> = rejections
        .iter()
        .map(|one| (one.code, one.mutations, one.description.as_str()))
        .collect();
    assert_eq!(found, [(1, 2, "begins with x"), (2, 2, "no description")]);
    assert_eq!(rejections[0].constraint, "org.example.Picky");
    assert_eq!(picky.asked.load(Ordering::Relaxed), 5);
}

#[test]
fn a_batch_that_passes_as_a_whole_is_not_checked_per_mutation() {
    let (picky, registry) = registry();
    let set =
        ConstraintSet::from_properties(&properties(&[("table.constraint.1", "Picky")]), &registry);
    assert!(
        set.screen(&environment(), batch(&[("x", 1)]))
            .rejections
            .is_empty()
    );
    assert_eq!(picky.asked.load(Ordering::Relaxed), 0);
}

#[test]
fn an_unknown_class_cannot_be_set_and_rejects_every_mutation_when_loaded() {
    let (_, registry) = registry();
    let check = |name: &str, value: &str| ConstraintSet::check_property(name, value, &registry);
    check("table.constraint.1", "org.example.Picky").expect("known");
    check("table.custom.constraint", "org.example.Gone").expect("no constraint");
    let error = check("table.constraint.1", "org.example.Gone").expect_err("unknown");
    assert_eq!(error.kind(), ErrorKind::ClassNotFound);
    assert!(error.to_string().contains("Picky"), "{error}");
    // A class of another package with the same short name is a different class.
    assert!(check("table.constraint.1", "org.elsewhere.Picky").is_err());

    let stored = properties(&[("table.constraint.1", "org.example.Gone")]);
    let set = ConstraintSet::from_properties(&stored, &registry);
    let Screened {
        kept, rejections, ..
    } = set.screen(&environment(), batch(&[("a", 1), ("b", 1)]));
    assert!(kept.is_empty());
    assert_eq!((rejections[0].code, rejections[0].mutations), (-1, 2));
}
