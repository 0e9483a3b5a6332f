//! Errors of visibility expressions, and their positions.

use std::fmt;

use super::parse::{MAX_DEPTH, MAX_EXPRESSION_LENGTH};

/// A malformed visibility expression: what is wrong and at which byte.
///
/// It never holds the expression itself, so it may be logged; it shows one byte at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VisibilityError {
    kind: VisibilityErrorKind,
    position: usize,
}

/// The kind of error. Each kind says what [`VisibilityError::position`] points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VisibilityErrorKind {
    /// A byte that is not allowed in an unquoted term; the position is that byte's.
    BadCharacter {
        /// The byte found.
        byte: u8,
    },
    /// An operator in place of a term, or `""`; the position is the operator's or the first
    /// quote's.
    EmptyTerm,
    /// `()`; the position is that of the opening parenthesis.
    EmptyParentheses,
    /// Nothing follows an operator; the position is the operator's.
    TrailingOperator,
    /// Two operands without an operator between them; the position is the start of the second.
    MissingOperator,
    /// `&` and `|` on one level; the position is that of the first operator that differs from those
    /// before it.
    MixedOperators,
    /// A parenthesis that is never closed; the position is the innermost open one's.
    UnclosedParenthesis,
    /// A closing parenthesis that was never opened; the position is its own.
    UnmatchedParenthesis,
    /// A quote that is never closed; the position is the opening quote's.
    UnclosedQuote,
    /// A backslash inside quotes before something other than `"` or `\`; the position is the
    /// backslash's.
    BadEscape,
    /// Bytes inside quotes that are not UTF-8; the position is the first bad byte's.
    InvalidUtf8,
    /// More than [`MAX_DEPTH`] nested parentheses; the position is that of the first one too many.
    TooDeep,
    /// More than [`MAX_EXPRESSION_LENGTH`] bytes; the position is that limit.
    TooLong,
}

impl VisibilityError {
    #[cold]
    pub(super) const fn new(kind: VisibilityErrorKind, position: usize) -> Self {
        Self { kind, position }
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> VisibilityErrorKind {
        self.kind
    }

    /// The position, in bytes from the start of the expression, counted from 0.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }
}

impl std::error::Error for VisibilityError {}

impl fmt::Display for VisibilityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "visibility expression, byte {}: {}",
            self.position, self.kind
        )
    }
}

impl fmt::Display for VisibilityErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadCharacter { byte } => {
                if byte.is_ascii_graphic() || *byte == b' ' {
                    write!(f, "'{}'", char::from(*byte))?;
                } else {
                    write!(f, "byte 0x{byte:02x}")?;
                }
                f.write_str(
                    " cannot stand outside quotes; a plain term has letters, digits and _ - : . / \
                     only, put any other term in double quotes, and leave no white space between \
                     terms",
                )
            }
            Self::EmptyTerm => f.write_str(
                "a term is missing; write a term before the operator, and at least one character \
                 between quotes",
            ),
            Self::EmptyParentheses => {
                f.write_str("nothing stands between the parentheses; write a term there or remove them")
            }
            Self::TrailingOperator => {
                f.write_str("nothing follows the operator; write a term after it or remove it")
            }
            Self::MissingOperator => {
                f.write_str("two terms stand side by side; write '&' or '|' between them")
            }
            Self::MixedOperators => f.write_str(
                "'&' and '|' are mixed without parentheses; say which binds first, as in A&(B|C)",
            ),
            Self::UnclosedParenthesis => f.write_str("'(' is never closed; add the missing ')'"),
            Self::UnmatchedParenthesis => f.write_str("')' closes nothing; remove it or add the missing '('"),
            Self::UnclosedQuote => f.write_str("the quote is never closed; add the missing '\"'"),
            Self::BadEscape => {
                f.write_str("inside quotes a backslash may only stand before '\"' or another backslash; write \\\\ for a backslash")
            }
            Self::InvalidUtf8 => f.write_str("the quoted term is not UTF-8; encode it as UTF-8"),
            Self::TooDeep => write!(
                f,
                "more than {MAX_DEPTH} parentheses inside each other; remove needless ones or split the expression"
            ),
            Self::TooLong => {
                write!(f, "longer than {MAX_EXPRESSION_LENGTH} bytes; use fewer or shorter terms")
            }
        }
    }
}
