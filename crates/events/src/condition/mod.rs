//! Conditions on events: a tree, the language it is written in, and its evaluation.

mod filter;
mod lexer;
mod limits;
mod parse;

use std::fmt;

pub use parse::parse_condition;

pub(crate) use filter::{Filter, Forms, Test, compile};
pub(crate) use limits::{check_length, check_limits};
pub(crate) use parse::as_name;

/// A condition on an event. A test of a field that an event does not have is false; [`Not`](Self::Not) makes it true.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Condition {
    /// Holds for every event.
    #[default]
    All,
    /// All of them hold.
    And(Vec<Condition>),
    /// At least one of them holds.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// A test of one field.
    Test {
        /// The field, or `time`.
        field: String,
        /// The test.
        operator: Operator,
    },
}

/// A test of a value. Literals are text; the type of the field decides what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operator {
    /// Equal.
    Equal(Vec<u8>),
    /// Equal to one of them.
    In(Vec<Vec<u8>>),
    /// Less.
    Less(Vec<u8>),
    /// Less or equal.
    AtMost(Vec<u8>),
    /// Greater.
    Greater(Vec<u8>),
    /// Greater or equal.
    AtLeast(Vec<u8>),
    /// Begins with these bytes.
    Prefix(Vec<u8>),
    /// Ends with these bytes.
    Suffix(Vec<u8>),
    /// Has these bytes somewhere.
    Contains(Vec<u8>),
    /// Some part matches the regular expression.
    Regex(String),
    /// An address of this network, such as `10.0.0.0/8` or `2001:db8::/32`.
    Network(String),
    /// The event has the field.
    Exists,
}

impl Condition {
    /// `field == value`
    #[must_use]
    pub fn equal(field: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        Self::test(field, Operator::Equal(value.into()))
    }

    /// A test of one field.
    #[must_use]
    pub fn test(field: impl Into<String>, operator: Operator) -> Self {
        Self::Test {
            field: field.into(),
            operator,
        }
    }

    /// All of them.
    #[must_use]
    pub fn all(mut parts: Vec<Self>) -> Self {
        parts.retain(|part| *part != Self::All);
        match parts.len() {
            0 => Self::All,
            1 => parts.remove(0),
            _ => Self::And(parts),
        }
    }

    /// The fields that it tests.
    pub(crate) fn fields(&self, out: &mut Vec<String>) {
        match self {
            Self::All => {}
            Self::And(parts) | Self::Or(parts) => {
                for part in parts {
                    part.fields(out);
                }
            }
            Self::Not(part) => part.fields(out),
            Self::Test { field, .. } => {
                if !out.contains(field) {
                    out.push(field.clone());
                }
            }
        }
    }
}

/// Text that [`parse_condition`] reads as the same condition.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list(f: &mut fmt::Formatter<'_>, parts: &[Condition], word: &str) -> fmt::Result {
            f.write_str("(")?;
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    write!(f, " {word} ")?;
                }
                write!(f, "{part}")?;
            }
            f.write_str(")")
        }
        match self {
            Self::All => f.write_str("true"),
            Self::And(parts) if parts.is_empty() => f.write_str("true"),
            Self::Or(parts) if parts.is_empty() => f.write_str("not true"),
            Self::And(parts) => list(f, parts, "and"),
            Self::Or(parts) => list(f, parts, "or"),
            Self::Not(part) => write!(f, "not ({part})"),
            Self::Test { field, operator } => write!(f, "`{field}` {operator}"),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(value) => write!(f, "== {}", Quoted(value)),
            Self::In(values) => {
                f.write_str("in (")?;
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{}", Quoted(value))?;
                }
                f.write_str(")")
            }
            Self::Less(value) => write!(f, "< {}", Quoted(value)),
            Self::AtMost(value) => write!(f, "<= {}", Quoted(value)),
            Self::Greater(value) => write!(f, "> {}", Quoted(value)),
            Self::AtLeast(value) => write!(f, ">= {}", Quoted(value)),
            Self::Prefix(value) => write!(f, "startswith {}", Quoted(value)),
            Self::Suffix(value) => write!(f, "endswith {}", Quoted(value)),
            Self::Contains(value) => write!(f, "contains {}", Quoted(value)),
            Self::Regex(value) => write!(f, "=~ {}", Quoted(value.as_bytes())),
            Self::Network(value) => write!(f, "in {}", Quoted(value.as_bytes())),
            Self::Exists => f.write_str("exists"),
        }
    }
}

/// A literal in quotes; bytes outside printable ASCII as `\xNN`.
struct Quoted<'a>(&'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for &byte in self.0 {
            match byte {
                b'\\' | b'\'' => write!(f, "\\{}", char::from(byte))?,
                0x20..=0x7e => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        f.write_str("'")
    }
}
