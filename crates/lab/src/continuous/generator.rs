//! Makes entries, without allocating.

use ostrakon_cell::{ColumnUpdate, Error, Result};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};

use super::layout::{
    COLUMN_BYTES, COUNT_AT, PREVIOUS_AT, ROW_BYTES, UUID_BYTES, VALUE_BYTES_MAX, crc32, format_row,
    hex4, hex8,
};
use super::rows::RowRange;

/// What a [`Generator`] draws from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// The numbers rows are drawn from.
    pub rows: RowRange,
    /// One more than the largest column family. Default 32,767, as in the suite; at most 65,536.
    pub family_max: u32,
    /// One more than the largest column qualifier. Default 32,767; at most 65,536.
    pub qualifier_max: u32,
    /// Whether values end in a checksum (8 bytes). Default yes, as in the suite; the paper's runs
    /// had none.
    pub checksum: bool,
    /// Start of the random sequence.
    pub seed: u64,
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        Self {
            rows: RowRange::default(),
            family_max: 32_767,
            qualifier_max: 32_767,
            checksum: true,
            seed: 0,
        }
    }
}

impl GeneratorOptions {
    /// Refuses empty ranges and numbers that do not fit into four digits.
    ///
    /// # Errors
    /// [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument).
    pub fn check(&self) -> Result<()> {
        self.rows.check()?;
        for (name, max) in [
            ("family max", self.family_max),
            ("qualifier max", self.qualifier_max),
        ] {
            if max == 0 || max > 1 << 16 {
                return Err(Error::invalid(
                    "families and qualifiers are numbers below 1 to 65,536",
                )
                .with(name, max));
            }
        }
        Ok(())
    }
}

/// The position of an entry, which the third step needs to write it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The row.
    pub row: u64,
    /// The column family.
    pub family: u16,
    /// The column qualifier.
    pub qualifier: u16,
}

/// Makes the entries of one ingest client.
///
/// The parts of an entry are in one buffer in the order in which the checksum covers them, so
/// that it is one call, and only what changes is written again.
#[derive(Debug)]
pub struct Generator {
    options: GeneratorOptions,
    random: Xoshiro256PlusPlus,
    /// `row family qualifier label value`; the value has room for its longest form.
    buffer: Vec<u8>,
    label_len: usize,
    count: u64,
}

const LABEL_AT: usize = ROW_BYTES + 2 * COLUMN_BYTES;

impl Generator {
    /// A client with a new random UUID.
    ///
    /// # Errors
    /// Those of [`GeneratorOptions::check`].
    pub fn new(options: GeneratorOptions) -> Result<Self> {
        options.check()?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
        let uuid = uuid(&mut random);
        let mut generator = Self {
            options,
            random,
            buffer: vec![b':'; LABEL_AT + VALUE_BYTES_MAX],
            label_len: 0,
            count: 0,
        };
        generator.value_mut()[..UUID_BYTES].copy_from_slice(&uuid);
        Ok(generator)
    }

    /// Sets the label of the entries made from now on.
    pub fn set_label(&mut self, label: &[u8]) {
        let old = LABEL_AT..LABEL_AT + self.label_len;
        self.buffer.splice(old, label.iter().copied());
        self.label_len = label.len();
    }

    /// The client's UUID.
    #[must_use]
    pub fn uuid(&self) -> &[u8] {
        &self.buffer[LABEL_AT + self.label_len..][..UUID_BYTES]
    }

    /// Takes the name of another client, of which this is a part. Bytes beyond a UUID's length are
    /// skipped.
    pub fn set_uuid(&mut self, uuid: &[u8]) {
        let len = uuid.len().min(UUID_BYTES);
        self.value_mut()[..len].copy_from_slice(&uuid[..len]);
    }

    /// Entries made so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The dice, for choices that belong to the same sequence.
    pub fn random(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.random
    }

    /// Draws a new place.
    #[inline]
    pub fn draw_place(&mut self) -> Place {
        Place {
            row: self.options.rows.draw(&mut self.random),
            family: self.random.random_range(0..self.options.family_max) as u16,
            qualifier: self.random.random_range(0..self.options.qualifier_max) as u16,
        }
    }

    /// Makes the entry at `place` that points to `previous`. The result is valid until the next
    /// call.
    #[inline]
    pub fn make(&mut self, place: Place, previous: Option<u64>) -> (&[u8], ColumnUpdate<'_>) {
        self.buffer[..ROW_BYTES].copy_from_slice(&format_row(place.row));
        self.buffer[ROW_BYTES..][..COLUMN_BYTES].copy_from_slice(&hex4(place.family));
        self.buffer[ROW_BYTES + COLUMN_BYTES..][..COLUMN_BYTES]
            .copy_from_slice(&hex4(place.qualifier));
        let count = format_row(self.count);
        self.count += 1;
        let checksum = self.options.checksum;
        let value = self.value_mut();
        value[COUNT_AT..][..ROW_BYTES].copy_from_slice(&count);
        let mut len = PREVIOUS_AT;
        if let Some(previous) = previous {
            value[len..][..ROW_BYTES].copy_from_slice(&format_row(previous));
            len += ROW_BYTES;
        }
        value[len] = b':';
        len += 1;
        if checksum {
            let value_at = LABEL_AT + self.label_len;
            let sum = crc32(&self.buffer[..value_at + len]);
            self.value_mut()[len..][..8].copy_from_slice(&hex8(sum));
            len += 8;
        }
        let (row, rest) = self.buffer.split_at(ROW_BYTES);
        let (family, rest) = rest.split_at(COLUMN_BYTES);
        let (qualifier, rest) = rest.split_at(COLUMN_BYTES);
        let (visibility, value) = rest.split_at(self.label_len);
        let update = ColumnUpdate {
            family,
            qualifier,
            visibility,
            timestamp: None,
            value: Some(&value[..len]),
        };
        (row, update)
    }

    fn value_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[LABEL_AT + self.label_len..]
    }
}

/// A random UUID (version 4) as text.
fn uuid(random: &mut impl Rng) -> [u8; UUID_BYTES] {
    let high = random.next_u64() & !0xf000 | 0x4000;
    let low = random.next_u64() & !(3 << 62) | 1 << 63;
    let (high, low) = (format_row(high), format_row(low));
    let mut text = [b'-'; UUID_BYTES];
    for (at, digits) in [
        (0, &high[..8]),
        (9, &high[8..12]),
        (14, &high[12..]),
        (19, &low[..4]),
        (24, &low[4..]),
    ] {
        text[at..][..digits.len()].copy_from_slice(digits);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::layout::parse_entry;
    use super::*;
    use ostrakon_cell::{EntryRef, KeyRef};

    fn as_entry<'a>(row: &'a [u8], update: &ColumnUpdate<'a>) -> EntryRef<'a> {
        EntryRef {
            key: KeyRef {
                row,
                family: update.family,
                qualifier: update.qualifier,
                visibility: update.visibility,
                timestamp: 0,
                deleted: false,
            },
            value: update.value.unwrap(),
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        for (checksum, head, linked) in [(false, 55, 71), (true, 63, 79)] {
            let mut generator = Generator::new(GeneratorOptions {
                checksum,
                ..GeneratorOptions::default()
            })
            .unwrap();
            for label in [b"".as_slice(), b"A&(B|C)", b"A"] {
                generator.set_label(label);
                for previous in [None, Some(7), None] {
                    let place = generator.draw_place();
                    let writer = generator.uuid().to_vec();
                    let (row, update) = generator.make(place, previous);
                    let entry = as_entry(row, &update);
                    assert_eq!(entry.key.visibility, label);
                    assert_eq!(
                        entry.value.len(),
                        if previous.is_some() { linked } else { head }
                    );
                    let link = parse_entry(&entry).unwrap();
                    assert_eq!((link.row, link.previous), (place.row, previous));
                    assert_eq!((link.writer, link.checked), (writer.as_slice(), checksum));
                }
            }
            assert_eq!(generator.count(), 9);
        }
    }

    #[test]
    fn a_uuid_has_the_form_of_version_four() {
        let generator = Generator::new(GeneratorOptions::default()).unwrap();
        let text = std::str::from_utf8(generator.uuid()).unwrap();
        let groups: Vec<usize> = text.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
        assert_eq!(text.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&text.as_bytes()[19]));
    }

    #[test]
    fn columns_stay_below_their_maximum() {
        let mut generator = Generator::new(GeneratorOptions {
            family_max: 3,
            qualifier_max: 1,
            rows: RowRange { min: 10, max: 12 },
            ..GeneratorOptions::default()
        })
        .unwrap();
        for _ in 0..100 {
            let place = generator.draw_place();
            assert!(place.family < 3 && place.qualifier == 0 && (10..12).contains(&place.row));
        }
        assert!(
            Generator::new(GeneratorOptions {
                family_max: 70_000,
                ..GeneratorOptions::default()
            })
            .is_err()
        );
    }
}
