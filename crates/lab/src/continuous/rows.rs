//! The range of random rows, and split points that cut it evenly.

use ostrakon_cell::{Error, Range, Result};
use rand::RngExt;

use super::layout::format_row;

/// The numbers rows are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRange {
    /// The smallest row. Default 0.
    pub min: u64,
    /// One more than the largest row. Default 2^63 - 1, the largest long of Java.
    pub max: u64,
}

impl Default for RowRange {
    fn default() -> Self {
        Self {
            min: 0,
            max: i64::MAX as u64,
        }
    }
}

impl RowRange {
    /// Refuses a range without numbers, and numbers a row cannot hold.
    ///
    /// # Errors
    /// [`InvalidArgument`](ostrakon_cell::ErrorKind::InvalidArgument).
    pub fn check(&self) -> Result<()> {
        if self.min < self.max && self.max <= i64::MAX as u64 {
            return Ok(());
        }
        Err(
            Error::invalid("the smallest row must lie below the largest, and that below 2^63")
                .with("min", self.min)
                .with("max", self.max),
        )
    }

    #[inline]
    pub(super) fn draw(&self, random: &mut impl RngExt) -> u64 {
        random.random_range(self.min..self.max)
    }

    /// A range of `width` numbers, begun anywhere it fits.
    pub(super) fn draw_range(&self, random: &mut impl RngExt, width: u64) -> Range {
        let width = width.clamp(1, self.max - self.min);
        let start = random.random_range(self.min..=self.max - width);
        let (start, end) = (format_row(start), format_row(start + width));
        Range::rows(start.as_slice()..end.as_slice())
    }
}

/// `count` split points that cut the range into `count` + 1 tablets of the same width, as the suite
/// writes them: 16 digits without trailing zeros.
#[must_use]
pub fn even_splits(rows: RowRange, count: usize) -> Vec<Vec<u8>> {
    let width = u128::from(rows.max.saturating_sub(rows.min));
    let mut splits: Vec<Vec<u8>> = (1..=count as u128)
        .map(|at| {
            let row = rows.min + (width * at / (count as u128 + 1)) as u64;
            let mut split = format_row(row).to_vec();
            while split.last() == Some(&b'0') {
                split.pop();
            }
            split
        })
        .filter(|split| !split.is_empty())
        .collect();
    // A range narrower than the number of splits yields some twice.
    splits.dedup();
    splits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_range_in_four() {
        let splits = even_splits(RowRange::default(), 3);
        assert_eq!(
            splits,
            [
                b"1fffffffffffffff",
                b"3fffffffffffffff",
                b"5fffffffffffffff"
            ]
        );
    }

    #[test]
    fn trailing_zeros_go_and_narrow_ranges_give_fewer() {
        let rows = RowRange {
            min: 0,
            max: 1 << 62,
        };
        assert_eq!(even_splits(rows, 1), [b"2"]);
        let narrow = RowRange { min: 7, max: 9 };
        assert_eq!(
            even_splits(narrow, 5),
            [b"0000000000000007", b"0000000000000008"]
        );
        assert!(even_splits(rows, 0).is_empty());
    }

    #[test]
    fn empty_and_negative_ranges_are_refused() {
        assert!(RowRange { min: 5, max: 5 }.check().is_err());
        assert!(
            RowRange {
                min: 0,
                max: 1 << 63
            }
            .check()
            .is_err()
        );
        assert!(RowRange::default().check().is_ok());
    }
}
