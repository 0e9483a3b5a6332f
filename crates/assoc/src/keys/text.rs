//! Lists of texts as they arrive: one buffer and offsets, in input order, with repeats.

use crate::error::{Error, Result, checked_count};

/// Texts in input order: `bytes[offsets[i]..offsets[i + 1]]` is the `i`-th. Offsets are signed, as in
/// Arrow's large strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
    offsets: Vec<i64>,
}

impl Text {
    /// An empty list with capacity for `count` texts of `size` bytes in all.
    #[must_use]
    pub fn with_capacity(count: usize, size: usize) -> Self {
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(0);
        Self {
            bytes: Vec::with_capacity(size),
            offsets,
        }
    }

    /// Texts of an iterator; for small lists and tests.
    #[must_use]
    pub fn from_strs<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut list = Self::with_capacity(0, 0);
        for text in texts {
            list.push(text.as_bytes());
        }
        list
    }

    /// Takes a buffer and its offsets.
    ///
    /// # Errors
    /// [`Error::BadOffsets`] when the offsets do not ascend within the buffer, [`Error::NotUtf8`]
    /// with the position of the first text that is not UTF-8, [`Error::TooLarge`].
    pub fn from_parts(bytes: &[u8], offsets: &[i64]) -> Result<Self> {
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
            return Ok(Self::with_capacity(0, 0));
        };
        let ascending = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
        let inside = usize::try_from(first)
            .ok()
            .zip(usize::try_from(last).ok())
            .and_then(|(first, last)| bytes.get(first..last));
        let Some(inside) = inside.filter(|_| ascending) else {
            return Err(Error::BadOffsets);
        };
        checked_count("texts", offsets.len())?;
        let text = Self {
            bytes: inside.to_vec(),
            offsets: offsets.iter().map(|offset| offset - first).collect(),
        };
        text.check_utf8()?;
        Ok(text)
    }

    /// Takes texts of one width, padded with NUL at the end, as NumPy's `S` arrays.
    ///
    /// # Errors
    /// [`Error::NotUtf8`] with the position of the first text that is not UTF-8.
    pub fn from_fixed(bytes: &[u8], width: usize) -> Result<Self> {
        let count = bytes.len().checked_div(width).unwrap_or(0);
        checked_count("texts", count)?;
        let mut text = Self::with_capacity(count, bytes.len());
        for cell in bytes.chunks_exact(width.max(1)) {
            let length = cell
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |at| at + 1);
            text.push(&cell[..length]);
        }
        text.check_utf8()?;
        Ok(text)
    }

    /// Takes texts of one width in UTF-32, padded with NUL at the end, as NumPy's `U` arrays.
    ///
    /// # Errors
    /// [`Error::NotUnicode`] with the position of the first text that holds a surrogate or a number
    /// beyond Unicode.
    pub fn from_utf32(units: &[u32], width: usize) -> Result<Self> {
        let count = units.len().checked_div(width).unwrap_or(0);
        checked_count("texts", count)?;
        let mut text = Self::with_capacity(count, units.len());
        for (position, cell) in units.chunks_exact(width.max(1)).enumerate() {
            let length = cell
                .iter()
                .rposition(|unit| *unit != 0)
                .map_or(0, |at| at + 1);
            let cell = &cell[..length];
            if cell.iter().fold(0, |all, unit| all | unit) < 0x80 {
                text.bytes.extend(cell.iter().map(|unit| *unit as u8));
            } else {
                for unit in cell {
                    let character = char::from_u32(*unit).ok_or(Error::NotUnicode { position })?;
                    let mut encoded = [0; 4];
                    let encoded = character.encode_utf8(&mut encoded);
                    text.bytes.extend_from_slice(encoded.as_bytes());
                }
            }
            text.close();
        }
        Ok(text)
    }

    /// Appends one text. The caller knows that it is UTF-8.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.close();
    }

    /// Appends to the text that [`Self::close`] will end.
    pub fn extend(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
    }

    /// Ends the text that [`Self::extend`] wrote.
    pub fn close(&mut self) {
        self.offsets.push(self.bytes.len() as i64);
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text at a position below [`Self::len`].
    #[must_use]
    pub fn get(&self, position: usize) -> &[u8] {
        &self.bytes[self.offsets[position] as usize..self.offsets[position + 1] as usize]
    }

    /// The texts without gaps.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Beginnings of the texts, and the end of the last.
    #[must_use]
    pub fn offsets(&self) -> &[i64] {
        &self.offsets
    }

    /// First eight bytes of each text as a big-endian number, padded with zero: different words
    /// order the texts, equal words decide nothing.
    pub(super) fn words(&self) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.len());
        for pair in self.offsets.windows(2) {
            words.push(word(&self.bytes, pair[0] as usize, pair[1] as usize));
        }
        words
    }

    fn check_utf8(&self) -> Result<()> {
        if self.bytes.is_ascii() {
            return Ok(());
        }
        // The whole may be valid while a cut goes through a character, so each text is looked at.
        for position in 0..self.len() {
            if std::str::from_utf8(self.get(position)).is_err() {
                return Err(Error::NotUtf8 { position });
            }
        }
        Ok(())
    }
}

/// The prefix word of `bytes[start..end]`.
fn word(bytes: &[u8], start: usize, end: usize) -> u64 {
    let length = end - start;
    if let Some(eight) = bytes.get(start..start + 8) {
        let mut whole = [0; 8];
        whole.copy_from_slice(eight);
        let whole = u64::from_be_bytes(whole);
        match length {
            0 => 0,
            1..8 => whole & (u64::MAX << (64 - 8 * length)),
            _ => whole,
        }
    } else {
        let mut whole = [0; 8];
        whole[..length].copy_from_slice(&bytes[start..end]);
        u64::from_be_bytes(whole)
    }
}

/// The prefix word of one text.
pub(super) fn word_of(text: &[u8]) -> u64 {
    word(text, 0, text.len())
}
