//! Tables without deletes.

use ostrakon_cell::{Constraint, ConstraintEnvironment, MutationRef};

const DELETES: i16 = 1;

/// Rejects mutations with delete markers.
pub(super) struct NoDeleteConstraint;

impl Constraint for NoDeleteConstraint {
    fn names(&self) -> &[&str] {
        &[
            "org.apache.accumulo.core.data.constraints.NoDeleteConstraint",
            "org.apache.accumulo.core.constraints.NoDeleteConstraint",
        ]
    }

    fn describe(&self) -> &str {
        "Rejects mutations that delete."
    }

    fn describe_violation(&self, code: i16) -> Option<&str> {
        (code == DELETES).then_some("deletes are not allowed")
    }

    fn check(
        &self,
        _: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    ) {
        if mutation.updates().any(|update| update.deleted) {
            violated.push(DELETES);
        }
    }
}
