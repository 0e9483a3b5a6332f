//! Who may see an entry: labels, authorizations, and the check between them.
//!
//! Every entry carries a *column visibility*, a small expression over names. A reader holds
//! *authorizations*, a set of names. The reader sees the entry if the expression is true over that
//! set. Grammar and meaning are those of Apache Accumulo 2.1 (`ColumnVisibility`,
//! `Authorizations`):
//!
//! ```text
//! expression = "" | group
//! group      = operand { "&" operand } | operand { "|" operand }
//! operand    = term | "(" group ")"
//! term       = one or more of A-Z a-z 0-9 _ - : . /
//!            | '"' one or more UTF-8 characters, where '"' is written \" and '\' is written \\ '"'
//! ```
//!
//! The empty expression makes an entry visible to every reader. `&` and `|` do not mix on one
//! level: write `A&(B|C)`, not `A&B|C`. There is no negation and no white space outside quotes.
//!
//! Differences from Accumulo 2.1, all on the safe side or in rare cases:
//!
//! * a quoted term that is not UTF-8 is an error here (Accumulo takes any bytes);
//! * nesting is limited to [`MAX_DEPTH`], length to [`MAX_EXPRESSION_LENGTH`] bytes (Accumulo has
//!   no limit and runs out of stack);
//! * [`VisibilityExpression::normalised`] also drops needless quotes and the needless parentheses
//!   around a group that lost its duplicates, so that normalising twice changes nothing.
//!
//! # Which function to use
//!
//! | to | use |
//! |---|---|
//! | check, print or normalise what a user typed | [`VisibilityExpression`] |
//! | check a label on the write path, without building a tree | [`validate`] |
//! | check one label | [`evaluate`](fn@evaluate) |
//! | filter a scan | [`VisibilityEvaluator`], one per scan and thread |
//!
//! ```
//! use ostrakon_cell::visibility::{Authorizations, Verdict, VisibilityEvaluator};
//!
//! let held = Authorizations::parse("analyst,eu")?;
//! let mut evaluator = VisibilityEvaluator::new(&held);
//! assert_eq!(evaluator.evaluate(b"analyst&(eu|us)"), Verdict::Visible);
//! assert_eq!(evaluator.evaluate(b"analyst&admin"), Verdict::Hidden);
//! assert_eq!(evaluator.evaluate(b"analyst&"), Verdict::Unparsable);
//! # Ok::<(), ostrakon_cell::visibility::AuthorizationsError>(())
//! ```
//!
//! Every function here accepts any bytes and returns a value or an error; none panics. They are the
//! entry points for fuzzing.

mod authorizations;
pub(crate) mod base64;
mod cache;
mod conjoin;
mod error;
mod evaluate;
mod evaluator;
mod expression;
mod normalise;
mod parse;

#[cfg(test)]
mod tests;

pub use authorizations::{Authorizations, AuthorizationsError, AuthorizationsErrorKind};
pub use conjoin::conjoin;
pub use error::{VisibilityError, VisibilityErrorKind};
pub use evaluate::{evaluate, validate};
pub use evaluator::{DEFAULT_CACHED_LABELS, MAX_CACHED_LABEL_LENGTH, Verdict, VisibilityEvaluator};
pub use expression::{VisibilityExpression, quote_term};
pub use parse::{MAX_DEPTH, MAX_EXPRESSION_LENGTH};
