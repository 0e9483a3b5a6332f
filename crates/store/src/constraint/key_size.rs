//! Keys of bounded size.

use ostrakon_cell::{Constraint, ConstraintEnvironment, MAX_KEY_BYTES, MutationBatch, MutationRef};

const TOO_LARGE: i16 = 1;

/// Rejects keys over 1 MiB. No batch can hold one: its keys have the same limit, so that the
/// constraint costs nothing. It exists because properties of tables name it.
pub(super) struct DefaultKeySizeConstraint;

impl Constraint for DefaultKeySizeConstraint {
    fn names(&self) -> &[&str] {
        &[
            "org.apache.accumulo.core.data.constraints.DefaultKeySizeConstraint",
            "org.apache.accumulo.core.constraints.DefaultKeySizeConstraint",
        ]
    }

    fn describe(&self) -> &str {
        "Rejects keys of more than 1 MiB: row, family, qualifier and visibility together."
    }

    fn describe_violation(&self, code: i16) -> Option<&str> {
        (code == TOO_LARGE).then_some("the key is larger than 1 MiB")
    }

    fn check(
        &self,
        _: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    ) {
        let row = mutation.row().len();
        if mutation.updates().any(|update| {
            row + update.family.len() + update.qualifier.len() + update.visibility.len()
                > MAX_KEY_BYTES
        }) {
            violated.push(TOO_LARGE);
        }
    }

    fn passes_whole(&self, _: &MutationBatch) -> bool {
        true
    }
}
