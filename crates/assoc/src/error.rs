//! Errors in the input of a kernel.

use std::fmt;

/// Result of a kernel.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel refused its input. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// More keys, entries or products than 2³²−2. Work on parts of the array.
    TooLarge {
        /// What there are too many of.
        what: &'static str,
        /// How many.
        count: u64,
    },
    /// Lists that belong together differ in length.
    Uneven {
        /// What the shorter or longer list holds.
        what: &'static str,
        /// The length it should have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A position points outside the dictionary or matrix.
    OutOfBounds {
        /// What the position should have pointed at.
        what: &'static str,
        /// The position.
        position: u64,
        /// How many there are.
        count: usize,
    },
    /// Offsets that do not ascend, or leave the buffer.
    BadOffsets,
    /// The bytes of a key are not UTF-8.
    NotUtf8 {
        /// Position of the key in the list.
        position: usize,
    },
    /// A code unit of a UTF-32 key is not a Unicode scalar value.
    NotUnicode {
        /// Position of the key in the list.
        position: usize,
    },
    /// Positions that should ascend strictly do not.
    NotAscending,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { what, count } => write!(
                formatter,
                "{count} {what} are too many: an associative array holds fewer than 2^32; \
                 work on parts of it"
            ),
            Self::Uneven {
                what,
                expected,
                found,
            } => write!(
                formatter,
                "{what} has length {found} where {expected} was expected"
            ),
            Self::OutOfBounds {
                what,
                position,
                count,
            } => write!(
                formatter,
                "position {position} is outside the {count} {what}"
            ),
            Self::BadOffsets => {
                write!(formatter, "the offsets do not ascend or leave the buffer")
            }
            Self::NotUtf8 { position } => {
                write!(formatter, "the text at position {position} is not UTF-8")
            }
            Self::NotUnicode { position } => write!(
                formatter,
                "the text at position {position} holds a code point that is not a Unicode character"
            ),
            Self::NotAscending => write!(formatter, "the positions do not ascend"),
        }
    }
}

impl std::error::Error for Error {}

/// A count that must stay below the mark for "no position".
pub(crate) fn checked_count(what: &'static str, count: usize) -> Result<u32> {
    u32::try_from(count)
        .ok()
        .filter(|count| *count < u32::MAX)
        .ok_or(Error::TooLarge {
            what,
            count: count as u64,
        })
}
