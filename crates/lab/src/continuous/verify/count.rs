//! Counts the rows of a partition: sorts its marks and looks at the marks of each row together.

use ostrakon_cell::Result;

use super::partitions::{Partition, Partitions, Spill, Stage};

/// Rows by what was found of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) referenced: u64,
    pub(super) unreferenced: u64,
    pub(super) undefined: u64,
    /// Some undefined rows.
    pub(super) undefined_rows: Vec<u64>,
}

impl Counts {
    fn row(&mut self, row: u64, there: bool, pointed_to: bool, examples: usize) {
        match (there, pointed_to) {
            (true, true) => self.referenced += 1,
            (true, false) => self.unreferenced += 1,
            (false, _) => {
                self.undefined += 1;
                if self.undefined_rows.len() < examples {
                    self.undefined_rows.push(row);
                }
            }
        }
    }
}

/// Counts partitions with bounded memory.
pub(super) struct Counter<'a> {
    pub(super) spill: &'a Spill,
    /// Bytes one thread may load.
    pub(super) load_bytes: u64,
    pub(super) examples: usize,
}

impl Counter<'_> {
    /// Counts the rows of a partition that covers `stretch` (first mark, number of marks).
    pub(super) fn count(
        &self,
        mut partition: Partition,
        stretch: (u64, u64),
        counts: &mut Counts,
    ) -> Result<()> {
        if partition.len * 8 <= self.load_bytes {
            let mut marks = Vec::with_capacity(partition.len as usize);
            partition.drain(self.spill, |some| {
                marks.extend_from_slice(some);
                Ok(())
            })?;
            self.count_marks(marks, counts);
            return Ok(());
        }
        let (low, width) = stretch;
        if width <= 2 {
            // All marks are of one row: there is nothing to sort.
            let mut seen = [false; 2];
            partition.drain(self.spill, |some| {
                for mark in some {
                    seen[(mark & 1) as usize] = true;
                }
                Ok(())
            })?;
            counts.row(low >> 1, seen[0], seen[1], self.examples);
            return Ok(());
        }
        // Rows that crowd in one stretch: cut it into finer ones.
        let parts = (partition.len * 16 / self.load_bytes)
            .clamp(2, 256)
            .next_power_of_two() as usize;
        let finer = Partitions::new(self.spill, (low, width), parts, self.load_bytes / 4);
        let mut stage = Stage::new(&finer);
        partition.drain(self.spill, |some| {
            some.iter().try_for_each(|mark| stage.push(*mark))
        })?;
        stage.finish()?;
        for at in 0..finer.len() {
            self.count(finer.take(at), finer.stretch(at), counts)?;
        }
        Ok(())
    }

    fn count_marks(&self, mut marks: Vec<u64>, counts: &mut Counts) {
        // The marks that a row is there sort before those that it is pointed to.
        marks.sort_unstable();
        for of_row in marks.chunk_by(|a, b| a >> 1 == b >> 1) {
            let there = of_row.first().is_some_and(|mark| mark & 1 == 0);
            let pointed_to = of_row.last().is_some_and(|mark| mark & 1 == 1);
            let row = of_row.first().map_or(0, |mark| mark >> 1);
            counts.row(row, there, pointed_to, self.examples);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::partitions::{defined, referenced};
    use super::*;
    use std::collections::BTreeMap;

    /// Counts the marks once with plenty of memory and once with next to none.
    fn count(marks: &[u64]) -> Counts {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Vec::new();
        for (kept_max, load_bytes) in [(1 << 20, 1 << 20), (0, 1024)] {
            let spill = Spill::new(folder.path(), kept_max).unwrap();
            let partitions = Partitions::new(&spill, (0, u64::MAX), 4, 4096);
            let mut stage = Stage::new(&partitions);
            for mark in marks {
                stage.push(*mark).unwrap();
            }
            stage.finish().unwrap();
            let counter = Counter {
                spill: &spill,
                load_bytes,
                examples: 3,
            };
            let mut counts = Counts::default();
            for at in 0..partitions.len() {
                counter
                    .count(partitions.take(at), partitions.stretch(at), &mut counts)
                    .unwrap();
            }
            all.push(counts);
        }
        assert_eq!(all[0], all[1]);
        all.remove(0)
    }

    #[test]
    fn a_plain_map_counts_the_same() {
        let mut rows: BTreeMap<u64, (bool, bool)> = BTreeMap::new();
        let mut marks = Vec::new();
        for at in 0..5_000_u64 {
            // A few hundred rows, half of them crowded at one end.
            let row = if at % 2 == 0 {
                at * at % 311
            } else {
                (at % 701) << 53
            };
            if at % 7 == 0 {
                let nowhere = (at % 97) << 40 | 1;
                rows.entry(nowhere).or_default().1 = true;
                marks.push(referenced(nowhere));
            } else if at % 3 == 0 {
                rows.entry(row).or_default().1 = true;
                marks.push(referenced(row));
            } else {
                rows.entry(row).or_default().0 = true;
                marks.push(defined(row));
            }
        }
        let counts = count(&marks);
        let of = |wanted| rows.values().filter(|found| **found == wanted).count() as u64;
        assert_eq!(counts.referenced, of((true, true)));
        assert_eq!(counts.unreferenced, of((true, false)));
        assert_eq!(counts.undefined, of((false, true)));
        assert!(counts.undefined > 3 && counts.undefined_rows.len() == 3);
    }

    #[test]
    fn a_row_everybody_points_to_needs_no_memory() {
        let mut marks = vec![referenced(7); 10_000];
        assert_eq!(count(&marks).undefined_rows, [7]);
        marks.push(defined(7));
        assert_eq!(count(&marks).referenced, 1);
    }
}
