//! Keys and values of plain characters: the two constraints of Accumulo's examples.

use ostrakon_cell::{Constraint, ConstraintEnvironment, MutationRef};

const ROW: i16 = 1;
const FAMILY: i16 = 2;
const QUALIFIER: i16 = 3;

/// Rejects keys with anything but ASCII letters and digits in row, family or qualifier.
pub(super) struct AlphaNumKeyConstraint;

impl Constraint for AlphaNumKeyConstraint {
    fn names(&self) -> &[&str] {
        &[
            "org.apache.accumulo.examples.constraints.AlphaNumKeyConstraint",
            "org.apache.accumulo.test.constraints.AlphaNumKeyConstraint",
            "org.apache.accumulo.examples.simple.constraints.AlphaNumKeyConstraint",
        ]
    }

    fn describe(&self) -> &str {
        "Rejects rows, families and qualifiers with anything but ASCII letters and digits."
    }

    fn describe_violation(&self, code: i16) -> Option<&str> {
        match code {
            ROW => Some("the row has characters that are neither letter nor digit"),
            FAMILY => Some("the family has characters that are neither letter nor digit"),
            QUALIFIER => Some("the qualifier has characters that are neither letter nor digit"),
            _ => None,
        }
    }

    fn check(
        &self,
        _: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    ) {
        let plain = |part: &[u8]| part.iter().all(u8::is_ascii_alphanumeric);
        if !plain(mutation.row()) {
            violated.push(ROW);
        }
        if !mutation.updates().all(|update| plain(update.family)) {
            violated.push(FAMILY);
        }
        if !mutation.updates().all(|update| plain(update.qualifier)) {
            violated.push(QUALIFIER);
        }
    }
}

const NOT_NUMERIC: i16 = 1;

/// Rejects values with anything but ASCII digits. Deletes have no value and pass.
pub(super) struct NumericValueConstraint;

impl Constraint for NumericValueConstraint {
    fn names(&self) -> &[&str] {
        &[
            "org.apache.accumulo.examples.constraints.NumericValueConstraint",
            "org.apache.accumulo.test.constraints.NumericValueConstraint",
            "org.apache.accumulo.examples.simple.constraints.NumericValueConstraint",
        ]
    }

    fn describe(&self) -> &str {
        "Rejects values with anything but ASCII digits."
    }

    fn describe_violation(&self, code: i16) -> Option<&str> {
        (code == NOT_NUMERIC).then_some("the value is not numeric")
    }

    fn check(
        &self,
        _: &ConstraintEnvironment,
        mutation: &MutationRef<'_>,
        violated: &mut Vec<i16>,
    ) {
        let numeric = |value: &[u8]| value.iter().all(u8::is_ascii_digit);
        if !mutation.updates().all(|update| numeric(update.value)) {
            violated.push(NOT_NUMERIC);
        }
    }
}
