//! Labels must be well-formed, and their writer must be able to read them.

use ostrakon_cell::visibility::validate;
use ostrakon_cell::{Constraint, ConstraintEnvironment, MutationRef, VisibilityEvaluator};

const MALFORMED: i16 = 1;
const NOT_AUTHORIZED: i16 = 2;

/// Rejects malformed labels, and those that the authorizations of the handle do not satisfy. A handle
/// without authorizations, such as the store itself, may write any well-formed label.
pub(super) struct VisibilityConstraint;

impl Constraint for VisibilityConstraint {
    fn names(&self) -> &[&str] {
        &[
            "org.apache.accumulo.core.data.constraints.VisibilityConstraint",
            "org.apache.accumulo.core.security.VisibilityConstraint",
            "org.apache.accumulo.core.constraints.VisibilityConstraint",
        ]
    }

    fn describe(&self) -> &str {
        "Rejects malformed visibilities, and those that the writer's authorizations do not satisfy."
    }

    fn describe_violation(&self, code: i16) -> Option<&str> {
        match code {
            MALFORMED => Some("malformed column visibility"),
            NOT_AUTHORIZED => Some("the writer is not authorized for the column visibility"),
            _ => None,
        }
    }

    fn check(
        &self,
        environment: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    ) {
        let mut reader = environment
            .authorizations
            .as_deref()
            .map(VisibilityEvaluator::new);
        // Updates of one mutation usually carry the same label.
        let mut last: &[u8] = &[];
        for update in mutation.updates() {
            if update.visibility == last {
                continue;
            }
            last = update.visibility;
            if last.is_empty() {
                continue;
            }
            if validate(last).is_err() {
                violated.push(MALFORMED);
            } else if let Some(reader) = &mut reader
                && !reader.evaluate(last).is_visible()
            {
                violated.push(NOT_AUTHORIZED);
            }
        }
    }
}
