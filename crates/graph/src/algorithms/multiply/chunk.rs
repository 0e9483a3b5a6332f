//! Matching rows, collected.

use super::Part;
use crate::matrix::{Keys, ranks};

/// Entries of matching rows, by number of the match.
#[derive(Default)]
pub(super) struct Side {
    pub(super) offsets: Vec<usize>,
    pub(super) ids: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl Side {
    pub(super) fn push(&mut self, id: u32, value: f64) {
        self.ids.push(id);
        self.values.push(value);
    }

    /// Ends a row.
    pub(super) fn close(&mut self) {
        self.offsets.push(self.ids.len());
    }

    pub(super) fn row(&self, at: usize) -> std::ops::Range<usize> {
        let start = if at == 0 { 0 } else { self.offsets[at - 1] };
        start..self.offsets[at]
    }
}

/// Collected rows, made ready for multiplying: numbers are ranks, the left side is transposed.
pub(super) struct Ready {
    /// Row keys of C, sorted; position → number in the dictionary.
    pub(super) rows: Keys,
    pub(super) row_order: Vec<u32>,
    pub(super) columns: Keys,
    pub(super) column_order: Vec<u32>,
    /// For each row of C the meetings it takes part in, and its values there.
    pub(super) left_offsets: Vec<usize>,
    pub(super) meetings: Vec<u32>,
    pub(super) left_values: Vec<f64>,
    /// For each meeting the entries of B, by rank of their column.
    pub(super) right: Side,
    /// Partial products of the rows of C before each.
    pub(super) products_before: Vec<u64>,
    /// For each row of C the first column with a key not smaller, and whether it is equal.
    pub(super) diagonal: Vec<(u32, bool)>,
}

impl Ready {
    pub(super) fn new(left: &Side, mut right: Side, rows: &Keys, columns: &Keys) -> Self {
        let row_order = rows.sorted_positions();
        let column_order = columns.sorted_positions();
        let (row_ranks, column_ranks) = (ranks(&row_order), ranks(&column_order));
        let (rows, columns) = (rows.pick(&row_order), columns.pick(&column_order));
        for id in &mut right.ids {
            *id = column_ranks[*id as usize];
        }
        for meeting in 0..right.offsets.len() {
            let span = right.row(meeting);
            if !right.ids[span.clone()].is_sorted() {
                let mut pairs: Vec<(u32, f64)> = right.ids[span.clone()]
                    .iter()
                    .copied()
                    .zip(right.values[span.clone()].iter().copied())
                    .collect();
                pairs.sort_by_key(|(id, _)| *id);
                for (at, (id, value)) in span.zip(pairs) {
                    right.ids[at] = id;
                    right.values[at] = value;
                }
            }
        }
        let mut left_offsets = vec![0_usize; rows.len() + 1];
        for &id in &left.ids {
            left_offsets[row_ranks[id as usize] as usize + 1] += 1;
        }
        for at in 1..left_offsets.len() {
            left_offsets[at] += left_offsets[at - 1];
        }
        let mut next = left_offsets.clone();
        let mut meetings = vec![0_u32; left.ids.len()];
        let mut left_values = vec![0.0; left.ids.len()];
        let mut products = vec![0_u64; rows.len()];
        for meeting in 0..left.offsets.len() {
            let partners = right.row(meeting).len() as u64;
            for at in left.row(meeting) {
                let row = row_ranks[left.ids[at] as usize] as usize;
                meetings[next[row]] = meeting as u32;
                left_values[next[row]] = left.values[at];
                next[row] += 1;
                products[row] += partners;
            }
        }
        let mut products_before = Vec::with_capacity(products.len() + 1);
        let mut sum = 0;
        products_before.push(0);
        for count in products {
            sum += count;
            products_before.push(sum);
        }
        let diagonal = diagonal(&rows, &columns);
        Self {
            rows,
            row_order,
            columns,
            column_order,
            left_offsets,
            meetings,
            left_values,
            right,
            products_before,
            diagonal,
        }
    }

    pub(super) fn products(&self) -> u64 {
        self.products_before.last().copied().unwrap_or(0)
    }

    /// Cuts the rows of C into ranges of about equal work.
    pub(super) fn split(&self, parts: usize) -> Vec<std::ops::Range<usize>> {
        let total = self.products();
        let border = |part: usize| {
            let wanted = (u128::from(total) * part as u128 / parts as u128) as u64;
            self.products_before[..self.rows.len()].partition_point(|&before| before < wanted)
        };
        (0..parts)
            .map(|part| {
                let end = if part + 1 == parts {
                    self.rows.len()
                } else {
                    border(part + 1)
                };
                border(part)..end
            })
            .filter(|range| !range.is_empty())
            .collect()
    }

    /// The entries of B in a meeting that row `row` of C is to see.
    #[inline]
    pub(super) fn partners(&self, meeting: u32, row: usize, part: Part) -> std::ops::Range<usize> {
        let span = self.right.row(meeting as usize);
        if part != Part::Upper {
            return span;
        }
        let (first, equal) = self.diagonal[row];
        let first = first + u32::from(equal);
        let skip = self.right.ids[span.clone()].partition_point(|&column| column < first);
        span.start + skip..span.end
    }
}

fn diagonal(rows: &Keys, columns: &Keys) -> Vec<(u32, bool)> {
    let mut at = 0;
    rows.iter()
        .map(|row| {
            while at < columns.len() && columns.get(at) < row {
                at += 1;
            }
            (at as u32, at < columns.len() && columns.get(at) == row)
        })
        .collect()
}
