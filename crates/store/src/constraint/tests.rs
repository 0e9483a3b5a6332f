#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use ostrakon_cell::{Authorizations, ColumnUpdate, ConstraintEnvironment, MutationBatch};

use super::stock_constraints;

/// The violation codes of a mutation of one update.
fn codes(
    class: &str,
    environment: &ConstraintEnvironment,
    row: &str,
    update: ColumnUpdate<'_>,
) -> Vec<i16> {
    let mut batch = MutationBatch::new();
    batch.put(row.as_bytes(), update).unwrap();
    let registry = stock_constraints();
    let constraint = registry.get(class).unwrap();
    let mut violated = Vec::new();
    for mutation in batch.each_mutation() {
        constraint.check(environment, &mutation, &mut violated);
    }
    for code in &violated {
        assert!(
            constraint.describe_violation(*code).is_some(),
            "{class} {code}"
        );
    }
    violated
}

fn update<'a>(family: &'a str, label: &'a str, value: Option<&'a str>) -> ColumnUpdate<'a> {
    ColumnUpdate {
        family: family.as_bytes(),
        qualifier: b"q",
        visibility: label.as_bytes(),
        timestamp: None,
        value: value.map(str::as_bytes),
    }
}

#[test]
fn stock_constraints_give_accumulo_s_codes() {
    let nobody = ConstraintEnvironment::default();
    let examples = "org.apache.accumulo.examples.constraints.";
    let alpha = format!("{examples}AlphaNumKeyConstraint");
    assert_eq!(
        codes(&alpha, &nobody, "r1", update("f", "", Some("."))),
        [0_i16; 0]
    );
    assert_eq!(codes(&alpha, &nobody, "r-1", update("f", "", None)), [1]);
    assert_eq!(
        codes(&alpha, &nobody, "\u{e9}", update("f.", "", None)),
        [1, 2]
    );
    let dash = ColumnUpdate {
        qualifier: b"-",
        ..ColumnUpdate::default()
    };
    assert_eq!(codes(&alpha, &nobody, "r", dash), [3]);

    let numeric = format!("{examples}NumericValueConstraint");
    for (value, expected) in [
        (Some("0123"), vec![]),
        (Some("-1"), vec![1]),
        (Some("1.0"), vec![1]),
        (None, vec![]),
    ] {
        assert_eq!(
            codes(&numeric, &nobody, "-", update("f", "", value)),
            expected,
            "{value:?}"
        );
    }

    let no_delete = "NoDeleteConstraint";
    assert_eq!(
        codes(no_delete, &nobody, "r", update("f", "", Some(""))),
        [0_i16; 0]
    );
    assert_eq!(codes(no_delete, &nobody, "r", update("f", "", None)), [1]);
}

#[test]
fn labels_are_checked_against_the_writer_where_one_is_known() {
    let nobody = ConstraintEnvironment::default();
    let writer = ConstraintEnvironment {
        authorizations: Some(Arc::new(Authorizations::parse("a,b").unwrap())),
        ..ConstraintEnvironment::default()
    };
    let class = "org.apache.accumulo.core.data.constraints.VisibilityConstraint";
    for (label, without, with) in [
        ("", vec![], vec![]),
        ("a&b", vec![], vec![]),
        ("a&c", vec![], vec![2]),
        ("a&", vec![1], vec![1]),
    ] {
        assert_eq!(
            codes(class, &nobody, "r", update("f", label, None)),
            without,
            "{label}"
        );
        assert_eq!(
            codes(class, &writer, "r", update("f", label, None)),
            with,
            "{label}"
        );
    }
}
