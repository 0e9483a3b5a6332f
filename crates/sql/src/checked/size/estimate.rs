//! How many bytes a function returns, from its arguments.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

/// The functions whose values can be larger than their arguments together, or twice as large again and again. Of the
/// others, a value is at most some times as large as the arguments, however often they are applied.
pub(super) const NAMES: [&str; 13] = [
    "concat",
    "concat_ws",
    "encode",
    "lpad",
    "named_struct",
    "overlay",
    "regexp_match",
    "regexp_replace",
    "repeat",
    "replace",
    "rpad",
    "struct",
    "to_char",
];

/// The most bytes of a character, and of what a pattern of two characters stands for in a time.
const CHARACTER_MAX: u64 = 4;
const PATTERN_MAX: u64 = 16;
/// Bytes for each captured group beside its text.
const GROUP: u64 = 32;

/// How the size of a function's values depends on its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Growth {
    Concat,
    ConcatWith,
    Encode,
    Format,
    Matches,
    Overlay,
    Pad,
    Repeat,
    Replace,
    ReplaceMatches,
}

impl Growth {
    pub(super) fn of(function: &str) -> Option<Self> {
        Some(match function {
            "concat" | "named_struct" | "struct" => Self::Concat,
            "concat_ws" => Self::ConcatWith,
            "encode" => Self::Encode,
            "to_char" => Self::Format,
            "regexp_match" => Self::Matches,
            "overlay" => Self::Overlay,
            "lpad" | "rpad" => Self::Pad,
            "repeat" => Self::Repeat,
            "replace" => Self::Replace,
            "regexp_replace" => Self::ReplaceMatches,
            _ => return None,
        })
    }

    /// Whether values are often much smaller than the estimate.
    pub(super) fn is_rough(self) -> bool {
        matches!(
            self,
            Self::Format | Self::Matches | Self::Replace | Self::ReplaceMatches
        )
    }

    /// The most bytes of the value of each row.
    pub(super) fn sizes(self, args: &[ColumnarValue], rows: usize) -> Result<Vec<u64>> {
        let texts: Vec<Numbers> = args.iter().map(lengths).collect::<Result<_>>()?;
        let text = |place: usize, row: usize| texts.get(place).map_or(0, |texts| texts.get(row));
        let all = |row: usize| {
            let each = texts.iter().map(|texts| texts.get(row));
            each.fold(0_u64, u64::saturating_add)
        };
        Ok(match self {
            Self::Concat => each(rows, all),
            Self::Overlay => each(rows, |row| text(0, row).saturating_add(text(1, row))),
            Self::ConcatWith => {
                let gaps = args.len().saturating_sub(2) as u64;
                each(rows, |row| {
                    all(row).saturating_add(text(0, row).saturating_mul(gaps))
                })
            }
            Self::Encode => each(rows, |row| text(0, row).saturating_mul(2) + 4),
            Self::Format => each(rows, |row| text(1, row).saturating_mul(PATTERN_MAX) + 64),
            Self::Repeat => {
                let times = counts(args.get(1))?;
                each(rows, |row| text(0, row).saturating_mul(times.get(row)))
            }
            Self::Pad => {
                let wanted = counts(args.get(1))?;
                let width = match args.get(2) {
                    None => 1,
                    Some(fill) if constant(fill).is_some_and(str::is_ascii) => 1,
                    Some(_) => CHARACTER_MAX,
                };
                each(rows, |row| {
                    let wanted = wanted.get(row);
                    let kept = text(0, row).min(wanted.saturating_mul(CHARACTER_MAX));
                    kept.saturating_add(wanted.saturating_mul(width))
                })
            }
            Self::Replace => each(rows, |row| {
                let (length, from, to) = (text(0, row), text(1, row), text(2, row));
                let most = match from {
                    0 => (length + 1).saturating_mul(to),
                    _ => (length / from).saturating_mul(to.saturating_sub(from)),
                };
                length.saturating_add(most)
            }),
            Self::ReplaceMatches => {
                let replacement = args.get(2).and_then(constant);
                let is_one = match args.get(3) {
                    None => true,
                    Some(flags) => constant(flags).is_some_and(|flags| !flags.contains('g')),
                };
                each(rows, |row| {
                    let (length, to) = (text(0, row), text(2, row));
                    // Matches do not overlap, so that each reference to a group adds the text once at most.
                    let references = match replacement {
                        Some(text) => text.matches(['\\', '$']).count() as u64,
                        None => to / 2,
                    };
                    let matches = if is_one { 1 } else { length + 1 };
                    let groups = length.saturating_mul(references + 1);
                    groups.saturating_add(matches.saturating_mul(to))
                })
            }
            Self::Matches => {
                let groups = args.get(1).and_then(constant);
                let groups = groups.map(|pattern| pattern.matches('(').count() as u64);
                each(rows, |row| {
                    let groups = groups.unwrap_or(text(1, row)) + 1;
                    groups.saturating_mul(text(0, row).saturating_add(GROUP))
                })
            }
        })
    }
}

fn each(rows: usize, size: impl Fn(usize) -> u64) -> Vec<u64> {
    (0..rows).map(size).collect()
}

/// A number for each row, or one for all.
enum Numbers {
    Same(u64),
    Each(Vec<u64>),
}

impl Numbers {
    fn get(&self, row: usize) -> u64 {
        match self {
            Self::Same(number) => *number,
            Self::Each(numbers) => numbers.get(row).copied().unwrap_or_default(),
        }
    }
}

/// The bytes of the values of an argument.
fn lengths(value: &ColumnarValue) -> Result<Numbers> {
    Ok(match value {
        ColumnarValue::Array(array) => Numbers::Each(lengths_of(array)),
        ColumnarValue::Scalar(scalar) => {
            let array = scalar.to_array_of_size(1)?;
            Numbers::Same(lengths_of(&array).first().copied().unwrap_or_default())
        }
    })
}

fn lengths_of(array: &ArrayRef) -> Vec<u64> {
    let wide = |length: usize| length as u64;
    match array.data_type() {
        DataType::Utf8 => {
            let lengths = array.as_string::<i32>().offsets().lengths();
            lengths.map(wide).collect()
        }
        DataType::LargeUtf8 => {
            let lengths = array.as_string::<i64>().offsets().lengths();
            lengths.map(wide).collect()
        }
        DataType::Binary => {
            let lengths = array.as_binary::<i32>().offsets().lengths();
            lengths.map(wide).collect()
        }
        DataType::LargeBinary => {
            let lengths = array.as_binary::<i64>().offsets().lengths();
            lengths.map(wide).collect()
        }
        DataType::Utf8View => array.as_string_view().lengths().map(u64::from).collect(),
        DataType::BinaryView => array.as_binary_view().lengths().map(u64::from).collect(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let lengths = lengths_of(dictionary.values());
            let most = lengths.into_iter().max().unwrap_or_default();
            vec![most; array.len()]
        }
        _ => {
            let bytes = array.get_array_memory_size() / array.len().max(1);
            vec![wide(bytes); array.len()]
        }
    }
}

/// The values of an argument that says how often or how long. None of them is less than nothing.
fn counts(value: Option<&ColumnarValue>) -> Result<Numbers> {
    let count = |number: Option<i64>| number.map_or(0, |number| number.max(0).cast_unsigned());
    let numbers = |array: &ArrayRef| -> Result<Vec<u64>> {
        let array = cast(array, &DataType::Int64)?;
        Ok(array
            .as_primitive::<Int64Type>()
            .iter()
            .map(count)
            .collect())
    };
    Ok(match value {
        None => Numbers::Same(0),
        Some(ColumnarValue::Array(array)) => Numbers::Each(numbers(array)?),
        Some(ColumnarValue::Scalar(scalar)) => {
            let found = numbers(&scalar.to_array_of_size(1)?)?;
            Numbers::Same(found.first().copied().unwrap_or_default())
        }
    })
}

/// The text of an argument that is the same for all rows.
fn constant(value: &ColumnarValue) -> Option<&str> {
    match value {
        ColumnarValue::Scalar(
            ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text),
        ) => Some(text.as_deref().unwrap_or_default()),
        _ => None,
    }
}
