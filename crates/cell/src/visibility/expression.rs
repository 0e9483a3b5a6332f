//! A validated visibility expression.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::authorizations::{Authorizations, escaped, unescaped};
use super::error::{VisibilityError, VisibilityErrorKind};
use super::evaluate::{evaluate, validate};
use super::normalise;
use super::parse::{Fold, Operator, is_plain, walk};

/// A valid visibility expression, kept as it was written. Equality and order are those of the text;
/// compare [`normalised`](Self::normalised) forms to treat `A|B` and `B|A` as equal.
///
/// ```
/// use ostrakon_cell::visibility::{Authorizations, VisibilityExpression};
///
/// let label = VisibilityExpression::parse("(b|a)&\"x y\"&(a|b)")?;
/// assert_eq!(label.to_string(), "(b|a)&\"x y\"&(a|b)");
/// assert_eq!(label.normalised().to_string(), "\"x y\"&(a|b)");
/// assert_eq!(label.terms(), ["a", "b", "x y"]);
///
/// let error = VisibilityExpression::parse("a&(b|").expect_err("something is missing");
/// assert_eq!(
///     error.to_string(),
///     "visibility expression, byte 4: nothing follows the operator; write a term after it or remove it"
/// );
/// # Ok::<(), ostrakon_cell::visibility::VisibilityError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VisibilityExpression {
    /// Passed `validate`.
    text: Box<str>,
}

impl VisibilityExpression {
    /// The expression without terms, which makes an entry visible to every reader.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Validates and stores an expression.
    ///
    /// # Errors
    ///
    /// What is malformed, and where.
    pub fn parse(expression: impl AsRef<[u8]>) -> Result<Self, VisibilityError> {
        let expression = expression.as_ref();
        validate(expression)?;
        match std::str::from_utf8(expression) {
            Ok(text) => Ok(Self { text: text.into() }),
            Err(bad) => Err(VisibilityError::new(
                VisibilityErrorKind::InvalidUtf8,
                bad.valid_up_to(),
            )),
        }
    }

    /// The expression as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The bytes of the expression as written, as a key stores them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Whether this is the empty expression, which every reader satisfies.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether a reader with `authorizations` sees an entry with this label.
    #[must_use]
    pub fn evaluate(&self, authorizations: &Authorizations) -> bool {
        evaluate(self.as_bytes(), authorizations) == Ok(true)
    }

    /// The names in the expression, without quotes and escapes, sorted, without duplicates.
    #[must_use]
    pub fn terms(&self) -> Vec<String> {
        struct Terms(Vec<String>);
        impl Fold for Terms {
            type Value = ();
            fn term(&mut self, raw: &[u8]) {
                let name: Vec<u8> = unescaped(raw).collect();
                self.0.push(String::from_utf8_lossy(&name).into_owned());
            }
            fn join(&mut self, _operator: Operator, _left: (), _right: ()) {}
        }
        let mut terms = Terms(Vec::new());
        let walked = walk(self.as_bytes(), &mut terms);
        debug_assert!(walked.is_ok(), "the text was validated when it was built");
        terms.0.sort_unstable();
        terms.0.dedup();
        terms.0
    }

    /// An equivalent expression in normal form, as Accumulo's `ColumnVisibility.flatten`: a group
    /// inside a group of the same operator is merged into it, operands are sorted (terms first,
    /// then `|` groups, then `&` groups, by number of operands and then one by one), duplicates are
    /// dropped, and only the necessary parentheses and quotes remain. Normalising twice changes
    /// nothing.
    ///
    /// There is no further logical simplification: `A|(A&B)` stays as it is.
    #[must_use]
    pub fn normalised(&self) -> Self {
        let text = normalise::normalised(self.as_bytes());
        debug_assert!(
            validate(text.as_bytes()).is_ok(),
            "normalising keeps the grammar"
        );
        Self {
            text: text.into_boxed_str(),
        }
    }
}

/// A name written as a term: unchanged if possible, else quoted and escaped.
///
/// ```
/// use ostrakon_cell::visibility::quote_term;
///
/// assert_eq!(quote_term("eu-west")?, "eu-west");
/// assert_eq!(quote_term("say \"hi\"")?, r#""say \"hi\"""#);
/// # Ok::<(), ostrakon_cell::visibility::VisibilityError>(())
/// ```
///
/// # Errors
///
/// An empty name cannot be written as a term.
pub fn quote_term(name: &str) -> Result<Cow<'_, str>, VisibilityError> {
    if name.is_empty() {
        return Err(VisibilityError::new(VisibilityErrorKind::EmptyTerm, 0));
    }
    if name.bytes().all(is_plain) {
        return Ok(Cow::Borrowed(name));
    }
    let inside = escaped(name.as_bytes());
    Ok(Cow::Owned(format!(
        "\"{}\"",
        String::from_utf8_lossy(&inside)
    )))
}

impl fmt::Display for VisibilityExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for VisibilityExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VisibilityExpression")
            .field(&self.text)
            .finish()
    }
}

impl AsRef<[u8]> for VisibilityExpression {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl FromStr for VisibilityExpression {
    type Err = VisibilityError;

    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        Self::parse(text)
    }
}

impl TryFrom<&[u8]> for VisibilityExpression {
    type Error = VisibilityError;

    fn try_from(expression: &[u8]) -> Result<Self, VisibilityError> {
        Self::parse(expression)
    }
}
