//! Merges marks whose eight row bytes are equal.

use ostrakon_cell::KeyRef;

use super::run::{Mark, gallop, mark_row};

/// The marks of one run that is being merged, from the first one not taken yet.
pub(super) struct TiedMarks<'a> {
    pub(super) marks: &'a [Mark],
    /// Subtracted from a mark, so that its chunk number is that of the merged run.
    pub(super) base: Mark,
}

/// Marks with the same eight row bytes: pieces of several runs, each in key order.
#[derive(Default)]
pub(super) struct Ties {
    marks: Vec<Mark>,
    /// The end of each piece, oldest run first.
    ends: Vec<usize>,
    merged: Vec<Mark>,
    merged_ends: Vec<usize>,
}

impl TiedMarks<'_> {
    /// Takes the marks of a row, and skips those of lower rows.
    pub(super) fn take(&mut self, row: u64) -> impl Iterator<Item = Mark> {
        let start = gallop(self.marks, 0, |mark| mark_row(mark) < row);
        let end = gallop(self.marks, start, |mark| mark_row(mark) == row);
        let taken = &self.marks[start..end];
        self.marks = &self.marks[end..];
        let base = self.base;
        taken.iter().map(move |mark| mark - base)
    }
}

impl Ties {
    /// Adds the marks of the next run.
    pub(super) fn add(&mut self, marks: impl Iterator<Item = Mark>) {
        let before = self.marks.len();
        self.marks.extend(marks);
        if self.marks.len() > before {
            self.ends.push(self.marks.len());
        }
    }

    pub(super) fn clear(&mut self) {
        self.marks.clear();
        self.ends.clear();
    }

    /// All marks in key order, for equal keys newest first. Neighbouring pieces are merged in pairs
    /// until one is left.
    pub(super) fn merge<'k>(&mut self, key_of: impl Fn(Mark) -> Option<KeyRef<'k>>) -> &[Mark] {
        while self.ends.len() > 1 {
            self.merged.clear();
            self.merged_ends.clear();
            let mut start = 0;
            for pair in self.ends.chunks(2) {
                let middle = pair[0];
                let end = *pair.last().unwrap_or(&middle);
                let (older, newer) = (&self.marks[start..middle], &self.marks[middle..end]);
                merge_two(older, newer, &key_of, &mut self.merged);
                self.merged_ends.push(self.merged.len());
                start = end;
            }
            std::mem::swap(&mut self.marks, &mut self.merged);
            std::mem::swap(&mut self.ends, &mut self.merged_ends);
        }
        &self.marks
    }
}

/// Appends two pieces merged; the newer one comes first if keys are equal. Each key is read once.
fn merge_two<'k>(
    mut older: &[Mark],
    mut newer: &[Mark],
    key_of: &impl Fn(Mark) -> Option<KeyRef<'k>>,
    out: &mut Vec<Mark>,
) {
    let first = |marks: &[Mark]| marks.first().map(|&mark| key_of(mark));
    let (mut old, mut new) = (first(older), first(newer));
    while let (Some(old_key), Some(new_key)) = (&old, &new) {
        if old_key < new_key {
            out.push(older[0]);
            older = &older[1..];
            old = first(older);
        } else {
            out.push(newer[0]);
            newer = &newer[1..];
            new = first(newer);
        }
    }
    out.extend_from_slice(older);
    out.extend_from_slice(newer);
}
