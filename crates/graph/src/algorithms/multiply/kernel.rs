//! The inner loop: one row of C at a time in a dense accumulator.

use std::ops::Range;

use ostrakon_cell::Result;

use super::Part;
use super::chunk::Ready;
use crate::semiring::Kernel;

/// Receives the finished rows of C: row rank, and its entries (column rank, value) in order.
pub(super) trait Receiver {
    fn row(&mut self, row: usize, entries: &[(u32, f64)]) -> Result<()>;
}

/// Multiplies rows of C.
pub(super) struct Rows<'a, R> {
    pub(super) ready: &'a Ready,
    pub(super) rows: Range<usize>,
    pub(super) part: Part,
    pub(super) receiver: &'a mut R,
}

impl<R: Receiver> Kernel for Rows<'_, R> {
    /// Partial products made.
    type Out = Result<u64>;

    fn run(
        self,
        plus: impl Fn(f64, f64) -> f64 + Copy + Sync,
        times: impl Fn(f64, f64) -> f64 + Copy + Sync,
    ) -> Result<u64> {
        let Self {
            ready,
            rows,
            part,
            receiver,
        } = self;
        let columns = ready.columns.len();
        let mut sums = vec![0.0_f64; columns];
        // A bit for every column with a sum, and the words that have any: the bits give the columns
        // in order without sorting them.
        let mut bits = vec![0_u64; columns.div_ceil(64)];
        let mut words: Vec<u32> = Vec::new();
        let mut entries: Vec<(u32, f64)> = Vec::new();
        let mut products = 0;
        for row in rows {
            let span = ready.left_offsets[row]..ready.left_offsets[row + 1];
            for (&meeting, &left) in ready.meetings[span.clone()]
                .iter()
                .zip(&ready.left_values[span])
            {
                let partners = ready.partners(meeting, row, part);
                products += partners.len() as u64;
                for (&column, &right) in ready.right.ids[partners.clone()]
                    .iter()
                    .zip(&ready.right.values[partners])
                {
                    let product = times(left, right);
                    let column = column as usize;
                    let (word, bit) = (column / 64, 1 << (column % 64));
                    if bits[word] & bit == 0 {
                        if bits[word] == 0 {
                            words.push(word as u32);
                        }
                        bits[word] |= bit;
                        sums[column] = product;
                    } else {
                        sums[column] = plus(sums[column], product);
                    }
                }
            }
            words.sort_unstable();
            entries.clear();
            let equal = match ready.diagonal[row] {
                (column, true) if part == Part::OffDiagonal => Some(column),
                _ => None,
            };
            for word in words.drain(..) {
                let mut rest = std::mem::take(&mut bits[word as usize]);
                while rest != 0 {
                    let column = word * 64 + rest.trailing_zeros();
                    rest &= rest - 1;
                    if equal != Some(column) {
                        entries.push((column, sums[column as usize]));
                    }
                }
            }
            if !entries.is_empty() {
                receiver.row(row, &entries)?;
            }
        }
        Ok(products)
    }
}
