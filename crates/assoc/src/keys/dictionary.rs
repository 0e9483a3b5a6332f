//! The dictionary itself.

use std::cmp::Ordering;

use super::text::{Text, word_of};
use crate::error::{Error, Result};

/// Stands for "no position" in lists of positions.
pub const MISSING: u32 = u32::MAX;

/// Sorted, unique texts: by unsigned bytes, which for UTF-8 is code point order.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    text: Text,
    /// Prefix word of each key; decides most comparisons without a look at the bytes.
    words: Vec<u64>,
}

impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words && self.text == other.text
    }
}

impl Eq for Keys {}

impl Keys {
    /// Takes texts that are known to ascend strictly.
    pub(super) fn from_sorted(text: Text, words: Vec<u64>) -> Self {
        debug_assert_eq!(text.len(), words.len());
        let keys = Self { text, words };
        debug_assert!((1..keys.len()).all(|at| keys.compare(at - 1, &keys, at).is_lt()));
        keys
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The key at a position.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<&[u8]> {
        (position < self.len()).then(|| self.text.get(position))
    }

    /// The key at a position below [`Self::len`].
    pub(crate) fn at(&self, position: usize) -> &[u8] {
        self.text.get(position)
    }

    /// The keys as one buffer and offsets.
    #[must_use]
    pub fn text(&self) -> &Text {
        &self.text
    }

    /// Bytes in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.text.bytes().len() + 16 * self.words.len()
    }

    /// Length of the longest key, in bytes.
    #[must_use]
    pub fn longest(&self) -> usize {
        let offsets = self.text.offsets();
        offsets
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as usize)
            .max()
            .unwrap_or(0)
    }

    /// Orders a key of this dictionary against one of another.
    pub(super) fn compare(&self, mine: usize, other: &Self, theirs: usize) -> Ordering {
        self.words[mine]
            .cmp(&other.words[theirs])
            .then_with(|| self.at(mine).cmp(other.at(theirs)))
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Position of the first key that is not below `text`.
    #[must_use]
    pub fn lower_bound(&self, text: &[u8]) -> usize {
        self.bound(text, Ordering::is_lt)
    }

    /// Position of the first key above `text`.
    #[must_use]
    pub fn upper_bound(&self, text: &[u8]) -> usize {
        self.bound(text, Ordering::is_le)
    }

    fn bound(&self, text: &[u8], before: fn(Ordering) -> bool) -> usize {
        let word = word_of(text);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let order = self.words[middle]
                .cmp(&word)
                .then_with(|| self.at(middle).cmp(text));
            if before(order) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Position of a key, if it is there.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        let position = self.lower_bound(text);
        (self.get(position) == Some(text)).then_some(position)
    }

    /// The keys at positions that ascend strictly.
    ///
    /// # Errors
    /// [`Error::NotAscending`] or [`Error::OutOfBounds`].
    pub fn take(&self, positions: &[u32]) -> Result<Self> {
        if positions.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::NotAscending);
        }
        if let Some(&last) = positions.last()
            && last as usize >= self.len()
        {
            return Err(Error::OutOfBounds {
                what: "keys",
                position: last.into(),
                count: self.len(),
            });
        }
        Ok(self.pick(positions.iter().map(|position| *position as usize)))
    }

    /// The keys from one position up to another, both cut to the length.
    #[must_use]
    pub fn slice(&self, start: usize, stop: usize) -> Self {
        let stop = stop.min(self.len());
        self.pick(start.min(stop)..stop)
    }

    /// The keys at positions the caller has checked.
    fn pick(&self, positions: impl Iterator<Item = usize>) -> Self {
        let expected = positions.size_hint().0;
        let mut text = Text::with_capacity(expected, 8 * expected);
        let mut words = Vec::with_capacity(expected);
        for position in positions {
            text.push(self.at(position));
            words.push(self.words[position]);
        }
        Self::from_sorted(text, words)
    }

    /// All keys in UTF-32, each padded with NUL to `width` code points, as NumPy's `U` arrays; longer
    /// keys are cut. `None` when a key ends in NUL, which such an array cannot tell from padding.
    #[must_use]
    pub fn to_utf32(&self, width: usize) -> Option<Vec<u32>> {
        let mut units = vec![0; self.len() * width];
        for (position, cell) in units.chunks_exact_mut(width.max(1)).enumerate() {
            let key = self.at(position);
            if key.last() == Some(&0) {
                return None;
            }
            if key.is_ascii() {
                for (unit, byte) in cell.iter_mut().zip(key) {
                    *unit = u32::from(*byte);
                }
            } else {
                let characters = String::from_utf8_lossy(key);
                for (unit, character) in cell.iter_mut().zip(characters.chars()) {
                    *unit = character.into();
                }
            }
        }
        Some(units)
    }

    /// Length of the longest key, in code points.
    #[must_use]
    pub fn longest_in_characters(&self) -> usize {
        (0..self.len())
            .map(|position| {
                let key = self.at(position);
                // A code point starts at each byte that does not continue one.
                key.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
            })
            .max()
            .unwrap_or(0)
    }
}
