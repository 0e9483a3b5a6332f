//! The only parser of the grammar. Parser, validator and evaluators are folds over it, so they
//! agree on what is an error.
//!
//! One pass from left to right, without allocation or recursion: a hostile expression costs time
//! proportional to its length and a fixed amount of stack.

use super::error::{VisibilityError, VisibilityErrorKind};

/// The maximum nesting of parentheses. People write about 3 levels; the limit bounds recursion over
/// the parsed tree.
pub const MAX_DEPTH: usize = 128;

/// The longest accepted expression, in bytes: 1 MiB, Accumulo's default limit for a whole key.
pub const MAX_EXPRESSION_LENGTH: usize = 1 << 20;

/// The operator that joins the operands of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
}

/// The computation of a walk. Calls come in post-order: when `join` is called, its two operands are
/// the last two values not yet joined.
pub(super) trait Fold {
    type Value: Copy + Default;

    /// A term: the bytes between the quotes with escapes kept, or the plain term. Never empty,
    /// always UTF-8. The two notations of one term (`a` and `"a"`) give the same bytes.
    fn term(&mut self, raw: &[u8]) -> Self::Value;

    /// Joins the value left of an operator (everything before it on this level) with the next
    /// operand.
    fn join(&mut self, operator: Operator, left: Self::Value, right: Self::Value) -> Self::Value;
}

/// One level of parentheses: its operator, once read, and the value so far.
#[derive(Clone, Copy, Default)]
struct Level<V> {
    operator: Option<Operator>,
    value: V,
}

/// Parses the whole expression. `None` for the empty one, which is visible to all.
pub(super) fn walk<F: Fold>(
    expression: &[u8],
    fold: &mut F,
) -> Result<Option<F::Value>, VisibilityError> {
    if expression.is_empty() {
        return Ok(None);
    }
    if expression.len() > MAX_EXPRESSION_LENGTH {
        return Err(VisibilityError::new(
            VisibilityErrorKind::TooLong,
            MAX_EXPRESSION_LENGTH,
        ));
    }
    let mut outer = [Level {
        operator: None,
        value: F::Value::default(),
    }; MAX_DEPTH];
    let mut depth = 0;
    let mut level = Level::<F::Value>::default();
    let mut at = 0;
    loop {
        // An operand must start here.
        let mut value = match expression.get(at) {
            Some(b'(') => {
                let Some(slot) = outer.get_mut(depth) else {
                    return Err(VisibilityError::new(VisibilityErrorKind::TooDeep, at));
                };
                *slot = level;
                level = Level::default();
                depth += 1;
                at += 1;
                continue;
            }
            Some(b'"') => {
                let raw = quoted(expression, at)?;
                at += raw.len() + 2;
                fold.term(raw)
            }
            _ => {
                let raw = plain(expression, at);
                if raw.is_empty() {
                    return Err(no_operand(expression, at));
                }
                at += raw.len();
                fold.term(raw)
            }
        };
        // An operand has ended: an operator, a closing parenthesis or the end must follow.
        loop {
            if let Some(operator) = level.operator {
                value = fold.join(operator, level.value, value);
            }
            let operator = match expression.get(at) {
                None if depth == 0 => return Ok(Some(value)),
                Some(b')') if depth > 0 => {
                    depth -= 1;
                    at += 1;
                    // The closed group is an operand of the level around it.
                    level = outer.get(depth).copied().unwrap_or_default();
                    continue;
                }
                Some(b'&') => Operator::And,
                Some(b'|') => Operator::Or,
                _ => return Err(no_operator(expression, at)),
            };
            if level.operator.is_some_and(|earlier| earlier != operator) {
                return Err(VisibilityError::new(
                    VisibilityErrorKind::MixedOperators,
                    at,
                ));
            }
            level = Level {
                operator: Some(operator),
                value,
            };
            at += 1;
            break;
        }
    }
}

/// Whether this byte is allowed in an unquoted term.
pub(super) const fn is_plain(byte: u8) -> bool {
    PLAIN[byte as usize]
}

const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric()
            || matches!(byte as u8, b'_' | b'-' | b':' | b'.' | b'/');
        byte += 1;
    }
    table
};

/// The plain term that starts at `start`; empty if there is none.
fn plain(expression: &[u8], start: usize) -> &[u8] {
    let rest = expression.get(start..).unwrap_or_default();
    let length = rest
        .iter()
        .position(|byte| !is_plain(*byte))
        .unwrap_or(rest.len());
    rest.get(..length).unwrap_or_default()
}

/// The bytes between the quote at `open` and the one that closes it.
fn quoted(expression: &[u8], open: usize) -> Result<&[u8], VisibilityError> {
    let error = |kind, position| Err(VisibilityError::new(kind, position));
    let inside = expression.get(open + 1..).unwrap_or_default();
    let mut length = 0;
    loop {
        match inside.get(length) {
            None => return error(VisibilityErrorKind::UnclosedQuote, open),
            Some(b'"') => break,
            Some(b'\\') => {
                if !matches!(inside.get(length + 1), Some(b'"' | b'\\')) {
                    return error(VisibilityErrorKind::BadEscape, open + 1 + length);
                }
                length += 2;
            }
            Some(_) => length += 1,
        }
    }
    let raw = inside.get(..length).unwrap_or_default();
    if raw.is_empty() {
        return error(VisibilityErrorKind::EmptyTerm, open);
    }
    match std::str::from_utf8(raw) {
        Ok(_) => Ok(raw),
        Err(bad) => error(
            VisibilityErrorKind::InvalidUtf8,
            open + 1 + bad.valid_up_to(),
        ),
    }
}

/// The reason why no operand starts at `at`.
#[cold]
fn no_operand(expression: &[u8], at: usize) -> VisibilityError {
    use VisibilityErrorKind as Kind;
    let before = at
        .checked_sub(1)
        .and_then(|i| expression.get(i).map(|byte| (i, *byte)));
    let (kind, position) = match (expression.get(at), before) {
        (Some(b'&' | b'|'), _) => (Kind::EmptyTerm, at),
        (Some(b')'), Some((i, b'('))) => (Kind::EmptyParentheses, i),
        (None, Some((i, b'('))) => (Kind::UnclosedParenthesis, i),
        (Some(b')') | None, Some((i, _))) => (Kind::TrailingOperator, i),
        (Some(b')') | None, None) => (Kind::UnmatchedParenthesis, at),
        (Some(byte), _) => (Kind::BadCharacter { byte: *byte }, at),
    };
    VisibilityError::new(kind, position)
}

/// The reason why the byte at `at` cannot follow the operand before it.
#[cold]
fn no_operator(expression: &[u8], at: usize) -> VisibilityError {
    use VisibilityErrorKind as Kind;
    let (kind, position) = match expression.get(at) {
        None => (Kind::UnclosedParenthesis, innermost_open(expression)),
        Some(b')') => (Kind::UnmatchedParenthesis, at),
        Some(b'(' | b'"') => (Kind::MissingOperator, at),
        Some(byte) if is_plain(*byte) => (Kind::MissingOperator, at),
        Some(byte) => (Kind::BadCharacter { byte: *byte }, at),
    };
    VisibilityError::new(kind, position)
}

/// The last parenthesis still open at the end of an expression whose quotes are valid.
fn innermost_open(expression: &[u8]) -> usize {
    let mut closed = 0_usize;
    let mut quoted = false;
    for (at, byte) in expression.iter().enumerate().rev() {
        match byte {
            // Read backwards, a quote is escaped if an odd number of backslashes precedes it.
            b'"' => {
                let slashes = expression.get(..at).unwrap_or_default().iter().rev();
                if !quoted || slashes.take_while(|byte| **byte == b'\\').count() % 2 == 0 {
                    quoted = !quoted;
                }
            }
            b')' if !quoted => closed += 1,
            b'(' if !quoted => match closed.checked_sub(1) {
                Some(fewer) => closed = fewer,
                None => return at,
            },
            _ => {}
        }
    }
    0
}
