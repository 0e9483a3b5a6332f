//! Evaluates one label against one set of authorizations, directly on the bytes: no tree, no
//! allocation.

use super::authorizations::Authorizations;
use super::error::VisibilityError;
use super::parse::{Fold, Operator, walk};

/// Whether a reader with `authorizations` may see an entry with the label `expression`.
///
/// The whole label is parsed, even when the result is known early: a label with an error anywhere
/// is an error for every reader. To check many labels against one set use
/// [`VisibilityEvaluator`](super::VisibilityEvaluator), which is faster and caches verdicts.
///
/// ```
/// use ostrakon_cell::visibility::{Authorizations, VisibilityErrorKind, evaluate};
///
/// let held = Authorizations::new(["A", "b c"])?;
/// assert_eq!(evaluate(b"A&(B|\"b c\")", &held), Ok(true));
/// assert_eq!(evaluate(b"B", &held), Ok(false));
/// assert_eq!(evaluate(b"", &held), Ok(true));
/// let error = evaluate(b"A&B|C", &held).expect_err("operators are mixed");
/// assert_eq!((error.kind(), error.position()), (VisibilityErrorKind::MixedOperators, 3));
/// # Ok::<(), ostrakon_cell::visibility::AuthorizationsError>(())
/// ```
///
/// # Errors
///
/// A malformed label, whose entry no reader may see.
pub fn evaluate(
    expression: &[u8],
    authorizations: &Authorizations,
) -> Result<bool, VisibilityError> {
    evaluate_with(expression, |raw| authorizations.contains_escaped(raw))
}

/// Checks that a label is well-formed. For the write path: allocates nothing.
///
/// # Errors
///
/// What is malformed, and where.
pub fn validate(expression: &[u8]) -> Result<(), VisibilityError> {
    struct Nothing;
    impl Fold for Nothing {
        type Value = ();
        fn term(&mut self, _raw: &[u8]) {}
        fn join(&mut self, _operator: Operator, _left: (), _right: ()) {}
    }
    walk(expression, &mut Nothing).map(|_| ())
}

/// `holds` is called with each term, as passed to [`Fold::term`].
pub(super) fn evaluate_with(
    expression: &[u8],
    holds: impl FnMut(&[u8]) -> bool,
) -> Result<bool, VisibilityError> {
    struct Truth<H>(H);
    impl<H: FnMut(&[u8]) -> bool> Fold for Truth<H> {
        type Value = bool;
        fn term(&mut self, raw: &[u8]) -> bool {
            (self.0)(raw)
        }
        fn join(&mut self, operator: Operator, left: bool, right: bool) -> bool {
            match operator {
                Operator::And => left & right,
                Operator::Or => left | right,
            }
        }
    }
    Ok(walk(expression, &mut Truth(holds))?.unwrap_or(true))
}
