//! Draws several bits of both ends of an edge from one random word.
//!
//! `levels` bits of both ends have 4^levels outcomes of known probability. Walker's alias method
//! (A. J. Walker, 1977; tables built as M. D. Vose, 1991) draws one of them with one lookup: half
//! of the word picks a cell, the other half decides between the cell's own outcome and its alias.

/// Outcomes of up to this many bits are drawn at once: the table, 8 KiB, stays in the first cache.
pub(super) const LEVELS_MAX: u32 = 5;

/// One cell: the threshold in the low 32 bits, then the cell's own outcome and its alias, 16 bits
/// each, an outcome being `out << levels | in`.
#[derive(Debug, Clone)]
pub(super) struct AliasTable {
    cells: Vec<u64>,
    levels: u32,
}

impl AliasTable {
    /// The table for `levels` bits, 1 to [`LEVELS_MAX`], of the quadrants' probabilities (A, B, C,
    /// D), which add up to 1. A quadrant is (bit of the row's vertex, bit of the column's).
    pub(super) fn new(levels: u32, quadrants: [f64; 4]) -> Self {
        debug_assert!((1..=LEVELS_MAX).contains(&levels));
        let outcomes = 1_usize << (2 * levels);
        let mut weights: Vec<f64> = (0..outcomes)
            .map(|outcome| {
                let (out, into) = (outcome >> levels, outcome & ((1 << levels) - 1));
                let each: f64 = (0..levels)
                    .map(|bit| quadrants[(out >> bit & 1) << 1 | (into >> bit & 1)])
                    .product();
                each * outcomes as f64
            })
            .collect();
        let mut alias: Vec<usize> = (0..outcomes).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..outcomes).partition(|&at| weights[at] < 1.0);
        let mut thresholds = vec![u32::MAX; outcomes];
        while let (Some(low), Some(&high)) = (small.pop(), large.last()) {
            thresholds[low] = (weights[low] * 4_294_967_296.0) as u32;
            alias[low] = high;
            weights[high] -= 1.0 - weights[low];
            if weights[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        // What is left has weight 1 but for rounding: it is its own alias.
        let cells = (0..outcomes)
            .map(|at| u64::from(thresholds[at]) | (at as u64) << 32 | (alias[at] as u64) << 48)
            .collect();
        Self { cells, levels }
    }

    /// The outcome of a random word: bits of the row's vertex and of the column's.
    #[inline(always)]
    pub(super) fn draw(&self, word: u64) -> (u64, u64) {
        let mask = self.cells.len() - 1;
        let cell = self.cells[(word >> 32) as usize & mask];
        let taken = if (word as u32) < cell as u32 {
            cell >> 32
        } else {
            cell >> 48
        } & 0xffff;
        (taken >> self.levels, taken & ((1 << self.levels) - 1))
    }

    pub(super) fn levels(&self) -> u32 {
        self.levels
    }
}
