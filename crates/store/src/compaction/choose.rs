//! Which files of a tablet to merge next.

use std::fmt::Debug;
use std::ops::Range;

/// Parameters of the choice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChooseOptions {
    /// Files are worth merging when together they hold at least this many times the largest:
    /// `table.compaction.major.ratio`.
    pub ratio: f64,
    /// More files than this are merged whatever their sizes: `table.file.max`.
    pub max_files: usize,
}

/// Chooses which files of a tablet a background compaction merges next.
///
/// Any choice is correct: one that would break the order of the data is not carried out. A choice
/// determines only the cost of compaction.
pub trait ChooseFiles: Send + Sync + Debug {
    /// Chooses among files, given by size in bytes from the newest to the oldest; `None` when
    /// nothing is worth merging. Only a set that `is_allowed` is merged; all files together always
    /// are.
    fn choose(
        &self,
        sizes: &[u64],
        options: ChooseOptions,
        is_allowed: &dyn Fn(&Range<usize>) -> bool,
    ) -> Option<Range<usize>>;
}

/// Accumulo's rule, and the store's own: see [`choose`].
#[derive(Debug, Clone, Copy, Default)]
pub struct BySizeRatio;

impl ChooseFiles for BySizeRatio {
    fn choose(
        &self,
        sizes: &[u64],
        options: ChooseOptions,
        is_allowed: &dyn Fn(&Range<usize>) -> bool,
    ) -> Option<Range<usize>> {
        choose(sizes, options, is_allowed)
    }
}

/// Maximum number of files that one compaction reads: more would cost a deep merge and many open
/// blocks.
const MAX_FAN_IN: usize = 32;

/// Chooses among files, given by size from the newest to the oldest; `None` when nothing is worth
/// merging.
///
/// As in Accumulo a set is worth merging when its sum is at least `ratio` times its largest, which
/// bounds how often an entry is rewritten by the logarithm of the tablet's size. Unlike in
/// Accumulo, the set is always contiguous in age and one that `is_allowed`, so that of two entries
/// with equal keys the newer one still wins. All files together must be allowed. The widest such
/// set is chosen; of two equally wide sets the smaller.
#[must_use]
pub fn choose(
    sizes: &[u64],
    options: ChooseOptions,
    is_allowed: impl Fn(&Range<usize>) -> bool,
) -> Option<Range<usize>> {
    let mut best: Option<(usize, u64, Range<usize>)> = None;
    for start in 0..sizes.len() {
        let (mut sum, mut largest) = (0, 0);
        let ends = start..sizes.len().min(start + MAX_FAN_IN);
        for end in ends {
            let size = sizes[end];
            sum += size;
            largest = largest.max(size);
            let width = end + 1 - start;
            let worth = width > 1 && sum as f64 >= options.ratio * largest as f64;
            let better = best
                .as_ref()
                .is_none_or(|(wide, bytes, _)| width > *wide || (width == *wide && sum < *bytes));
            if worth && better && is_allowed(&(start..end + 1)) {
                best = Some((width, sum, start..end + 1));
            }
        }
    }
    if let Some((_, _, range)) = best {
        return Some(range);
    }
    let excess = sizes
        .len()
        .checked_sub(options.max_files)
        .filter(|excess| *excess > 0)?;
    // Wider than the fan-in only if no narrower set is allowed.
    ((excess + 1).min(MAX_FAN_IN)..=sizes.len()).find_map(|width| {
        (0..=sizes.len() - width)
            .map(|start| start..start + width)
            .filter(&is_allowed)
            .min_by_key(|range| sizes[range.clone()].iter().sum::<u64>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(sizes: &[u64]) -> Option<Range<usize>> {
        choose(
            sizes,
            ChooseOptions {
                ratio: 3.0,
                max_files: 6,
            },
            |_| true,
        )
    }

    #[test]
    fn equal_files_are_merged_three_at_a_time() {
        assert_eq!(chosen(&[10, 10]), None);
        assert_eq!(chosen(&[10, 10, 10]), Some(0..3));
        assert_eq!(chosen(&[10, 30]), None);
        assert_eq!(chosen(&[10, 10, 30]), None);
        assert_eq!(
            chosen(&[10, 10, 10, 30]),
            Some(0..3),
            "60 is less than three times 30"
        );
        assert_eq!(chosen(&[30, 30, 30]), Some(0..3));
        assert_eq!(chosen(&[10, 30, 30, 30]), Some(0..4));
    }

    #[test]
    fn sets_are_contiguous_in_age() {
        // The small ones are not neighbours: the large one between them prevents a merge.
        assert_eq!(chosen(&[1, 100, 1, 1]), None);
        assert_eq!(chosen(&[100, 1, 1, 1, 100]), Some(1..4));
    }

    #[test]
    fn above_the_file_limit_the_cheapest_set_is_merged() {
        let sizes = [1000, 400, 150, 60, 25, 10, 4, 1];
        assert_eq!(chosen(&sizes), Some(5..8));
        assert_eq!(chosen(&sizes[1..7]), None);
    }

    #[test]
    fn rewrites_and_files_are_bounded_for_any_sizes() {
        // Flushes of one size: counts rewrites per entry and files.
        let (mut files, mut written, mut most) = (Vec::new(), 0_u64, 0);
        for _ in 0..1000 {
            files.insert(0, 1_u64);
            while let Some(range) = choose(
                &files,
                ChooseOptions {
                    ratio: 3.0,
                    max_files: 15,
                },
                |_| true,
            ) {
                let sum: u64 = files[range.clone()].iter().sum();
                files.splice(range, [sum]);
                written += sum;
            }
            most = most.max(files.len());
        }
        assert_eq!(files.iter().sum::<u64>(), 1000);
        assert!(most <= 15, "{most} files");
        assert!(written <= 7 * 1000, "{written} rewritten");
    }
}
