//! Products that list the matching inner keys, or the matching pairs of values, as text.

use super::matrix::View;
use super::product::Inner;
use crate::error::{Error, Result, checked_count};
use crate::keys::{Keys, Text};

/// Which texts a product with text writes for each pair of matching entries.
#[derive(Clone, Copy, Debug)]
pub enum CatText<'a> {
    /// The inner key and the delimiter.
    Keys {
        /// Keys of the left matrix's columns.
        keys: &'a Keys,
        /// Written after each key.
        delimiter: &'a [u8],
    },
    /// Left value, pair delimiter, right value, pair delimiter, delimiter.
    Values {
        /// Values of the left matrix.
        left: &'a Keys,
        /// Values of the right matrix.
        right: &'a Keys,
        /// Written after each value.
        pair_delimiter: &'a [u8],
        /// Written after each pair.
        delimiter: &'a [u8],
    },
}

/// Starts, columns and texts of a product. Pairs are in order of the inner keys.
///
/// # Errors
/// As [`super::product()`]; [`Error::OutOfBounds`] for values that are not positions in their
/// dictionary.
pub fn cat_product(
    left: &View<'_, u32>,
    inner: Option<&[u32]>,
    right: &View<'_, u32>,
    write: CatText<'_>,
) -> Result<(Vec<u32>, Vec<u32>, Text)> {
    let inner = Inner::new(left, inner, right)?;
    match write {
        CatText::Keys { keys, .. } => {
            if keys.len() != left.width {
                return Err(Error::Uneven {
                    what: "keys",
                    expected: left.width,
                    found: keys.len(),
                });
            }
        }
        CatText::Values {
            left: mine,
            right: theirs,
            ..
        } => {
            check(left.values, mine)?;
            check(right.values, theirs)?;
        }
    }
    let mut starts = vec![0];
    let mut columns = Vec::new();
    let mut text = Text::with_capacity(0, 0);
    let mut order: Vec<u64> = Vec::new();
    let mut met: Vec<(u32, u32)> = Vec::new();
    for row in 0..left.height() {
        order.clear();
        met.clear();
        inner.each(left, right, row, |column, mine, theirs| {
            order.push(u64::from(column) << 32 | met.len() as u64);
            met.push((mine as u32, theirs as u32));
        });
        order.sort_unstable();
        for place in order.chunk_by(|one, other| one >> 32 == other >> 32) {
            columns.push((place[0] >> 32) as u32);
            for entry in place {
                let (mine, theirs) = met[*entry as u32 as usize];
                match write {
                    CatText::Keys { keys, delimiter } => {
                        text.extend(keys.at(left.columns[mine as usize] as usize));
                        text.extend(delimiter);
                    }
                    CatText::Values {
                        left: left_values,
                        right: right_values,
                        pair_delimiter,
                        delimiter,
                    } => {
                        text.extend(left_values.at(left.values[mine as usize] as usize));
                        text.extend(pair_delimiter);
                        text.extend(right_values.at(right.values[theirs as usize] as usize));
                        text.extend(pair_delimiter);
                        text.extend(delimiter);
                    }
                }
            }
            text.close();
        }
        checked_count("entries", columns.len())?;
        starts.push(columns.len() as u32);
    }
    Ok((starts, columns, text))
}

fn check(positions: &[u32], keys: &Keys) -> Result<()> {
    match positions.iter().max() {
        Some(&position) if position as usize >= keys.len() => Err(Error::OutOfBounds {
            what: "values",
            position: position.into(),
            count: keys.len(),
        }),
        _ => Ok(()),
    }
}
