//! Sums counts before they are written.

use ostrakon_cell::Result;

use super::writers::Writer;
use crate::matrix::Interner;
use crate::number::format_number;

/// Keys after which the counts are written: each costs about 30 bytes and its own.
const KEYS_MAX: usize = 1 << 20;

/// Bytes of keys after which the counts are written.
const BYTES_MAX: usize = 64 << 20;

/// Sums by key, for `N` columns.
pub(super) struct Sums<const N: usize> {
    keys: Interner,
    sums: Vec<[f64; N]>,
    columns: [&'static [u8]; N],
}

impl<const N: usize> Sums<N> {
    pub(super) fn new(columns: [&'static [u8]; N]) -> Self {
        Self {
            keys: Interner::default(),
            sums: Vec::new(),
            columns,
        }
    }

    /// Adds to one column of a key.
    pub(super) fn add(&mut self, key: &[u8], column: usize, weight: f64) -> Result<()> {
        let at = self.keys.intern(key)? as usize;
        if at == self.sums.len() {
            self.sums.push([0.0; N]);
        }
        self.sums[at][column] += weight;
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.sums.len() >= KEYS_MAX || self.keys.keys().bytes().len() >= BYTES_MAX
    }

    /// Writes the sums, those that are zero left out, and forgets them.
    pub(super) fn write(&mut self, writer: &mut Writer) -> Result<()> {
        let mut text = Vec::new();
        for (key, sums) in self.keys.keys().iter().zip(&self.sums) {
            for (column, &sum) in self.columns.iter().zip(sums) {
                if sum != 0.0 {
                    text.clear();
                    format_number(sum, &mut text)?;
                    writer.put(key, column, &text)?;
                }
            }
        }
        *self = Self::new(self.columns);
        Ok(())
    }
}
