//! Blocks of C, for inputs that do not fit at once: their choice, and whether they are worth the reading.

use super::chunk::Side;
use crate::matrix::Keys;

/// The most blocks thought of.
const BLOCKS_MAX: u64 = 4096;

/// What a first reading found.
#[derive(Default)]
pub(super) struct Sizes {
    /// Matching entries, by the number of their column key.
    pub(super) left: Vec<u64>,
    pub(super) right: Vec<u64>,
    /// Entries read, whether they matched or not.
    pub(super) read: u64,
    /// Matching pairs.
    pub(super) products: u64,
}

impl Sizes {
    /// Counts what was collected and forgets it.
    pub(super) fn add(&mut self, left: &mut Side, right: &mut Side) {
        for meeting in 0..left.offsets.len() {
            self.products += left.row(meeting).len() as u64 * right.row(meeting).len() as u64;
        }
        count(&mut self.left, left);
        count(&mut self.right, right);
    }
}

fn count(entries: &mut Vec<u64>, side: &mut Side) {
    for &id in &side.ids {
        let at = id as usize;
        if at >= entries.len() {
            entries.resize(at + 1, 0);
        }
        entries[at] += 1;
    }
    *side = Side::default();
}

/// A division of C into parts of its rows and columns, each with about the same number of entries.
pub(super) struct Blocks {
    rows: u32,
    columns: u32,
    /// Part by the number of the key. Keys that were not there when it was cut are in part 0.
    row_parts: Vec<u32>,
    column_parts: Vec<u32>,
}

/// Number of a block: part of the rows, part of the columns.
pub(super) type Block = (u32, u32);

impl Blocks {
    /// The fewest blocks of which each one's inputs fit in `bytes`, given what an entry takes;
    /// `None` where reading both tables for each would take longer than to add up in the table.
    pub(super) fn plan(
        sizes: &Sizes,
        (rows, columns): (&Keys, &Keys),
        (left_bytes, right_bytes): (usize, usize),
        bytes: usize,
    ) -> Option<Self> {
        let left = sizes
            .left
            .iter()
            .sum::<u64>()
            .saturating_mul(left_bytes as u64);
        let right = sizes
            .right
            .iter()
            .sum::<u64>()
            .saturating_mul(right_bytes as u64);
        // Parts are cut between keys, so that some are larger than others.
        let bytes = bytes as u64 * 7 / 8;
        // Reading an entry again takes about as long as one partial product more in the table.
        let most = (sizes.products / sizes.read.max(1)).min(BLOCKS_MAX);
        let (parts, others) = (1..=most)
            .filter_map(|parts| {
                let rest = bytes
                    .checked_sub(left.div_ceil(parts))
                    .filter(|rest| *rest > 0)?;
                Some((parts, right.div_ceil(rest).max(1)))
            })
            // Each part of the columns makes separate files, which compactions will merge.
            .min_by_key(|(parts, others)| {
                let readings = parts.saturating_mul(*others).saturating_mul(sizes.read);
                readings.saturating_add((others - 1).saturating_mul(sizes.products / 4))
            })?;
        (parts.saturating_mul(others) <= most).then(|| Self {
            rows: parts as u32,
            columns: others as u32,
            row_parts: cut(rows, &sizes.left, parts),
            column_parts: cut(columns, &sizes.right, others),
        })
    }

    /// All of them: for each part of the columns those of the rows in ascending order.
    pub(super) fn all(&self) -> impl Iterator<Item = impl Iterator<Item = Block>> {
        (0..self.columns).map(|column| (0..self.rows).map(move |row| (row, column)))
    }

    /// How many parts the columns are cut into.
    pub(super) fn columns(&self) -> u64 {
        self.columns.into()
    }

    pub(super) fn has_row(&self, block: Block, id: u32) -> bool {
        self.row_parts.get(id as usize).copied().unwrap_or(0) == block.0
    }

    pub(super) fn has_column(&self, block: Block, id: u32) -> bool {
        self.column_parts.get(id as usize).copied().unwrap_or(0) == block.1
    }
}

/// For each key its part, ascending with the keys.
fn cut(keys: &Keys, entries: &[u64], parts: u64) -> Vec<u32> {
    let total = u128::from(entries.iter().sum::<u64>()).max(1);
    let mut before = 0_u64;
    let mut part_of = vec![0; keys.len()];
    for position in keys.sorted_positions() {
        let at = position as usize;
        part_of[at] =
            (u128::from(before) * u128::from(parts) / total).min(u128::from(parts) - 1) as u32;
        before += entries.get(at).copied().unwrap_or(0);
    }
    part_of
}
