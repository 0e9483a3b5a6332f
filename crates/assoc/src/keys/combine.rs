//! New texts from existing ones: `column|value`, concatenated values, keys cut in two.

use memchr::memmem;

use super::dictionary::{Keys, MISSING};
use super::text::Text;
use crate::error::{Error, Result};

/// For each pair of positions `left key + separator + right key`. [`MISSING`] on one side leaves the
/// other alone, without separator.
///
/// # Errors
/// [`Error::Uneven`] or [`Error::OutOfBounds`].
pub fn join(left: (&Keys, &[u32]), separator: &[u8], right: (&Keys, &[u32])) -> Result<Text> {
    check_positions(left.0, left.1)?;
    check_positions(right.0, right.1)?;
    if left.1.len() != right.1.len() {
        return Err(Error::Uneven {
            what: "right",
            expected: left.1.len(),
            found: right.1.len(),
        });
    }
    let mut text = Text::with_capacity(left.1.len(), 16 * left.1.len());
    for (mine, theirs) in left.1.iter().zip(right.1) {
        if *mine != MISSING {
            text.extend(left.0.at(*mine as usize));
        }
        if *mine != MISSING && *theirs != MISSING {
            text.extend(separator);
        }
        if *theirs != MISSING {
            text.extend(right.0.at(*theirs as usize));
        }
        text.close();
    }
    Ok(text)
}

/// For each group (`positions[starts[i]..starts[i + 1]]`) the keys end to end, `separator` between them.
///
/// # Errors
/// [`Error::BadOffsets`] or [`Error::OutOfBounds`].
pub fn concatenate(
    keys: &Keys,
    positions: &[u32],
    starts: &[u32],
    separator: &[u8],
) -> Result<Text> {
    check_positions(keys, positions)?;
    let mut text = Text::with_capacity(starts.len(), 8 * positions.len());
    for pair in starts.windows(2) {
        let group = positions
            .get(pair[0] as usize..pair[1] as usize)
            .ok_or(Error::BadOffsets)?;
        for (at, position) in group.iter().enumerate() {
            if at > 0 {
                text.extend(separator);
            }
            if *position != MISSING {
                text.extend(keys.at(*position as usize));
            }
        }
        text.close();
    }
    Ok(text)
}

impl Keys {
    /// Cuts each key at the first `separator`. A key without one is given back by its position.
    ///
    /// # Errors
    /// The position of the first key that cannot be cut.
    pub fn split_once(&self, separator: &[u8]) -> std::result::Result<(Text, Text), usize> {
        let size = self.text().bytes().len();
        let mut left = Text::with_capacity(self.len(), size);
        let mut right = Text::with_capacity(self.len(), size);
        for position in 0..self.len() {
            let key = self.at(position);
            let at = memmem::find(key, separator).ok_or(position)?;
            left.push(&key[..at]);
            right.push(&key[at + separator.len()..]);
        }
        Ok((left, right))
    }

    /// Position of the first key that holds `piece`.
    #[must_use]
    pub fn first_containing(&self, piece: &[u8]) -> Option<usize> {
        (0..self.len()).find(|position| memmem::find(self.at(*position), piece).is_some())
    }
}

fn check_positions(keys: &Keys, positions: &[u32]) -> Result<()> {
    let bad = positions
        .iter()
        .find(|position| **position != MISSING && **position as usize >= keys.len());
    match bad {
        Some(position) => Err(Error::OutOfBounds {
            what: "keys",
            position: (*position).into(),
            count: keys.len(),
        }),
        None => Ok(()),
    }
}
