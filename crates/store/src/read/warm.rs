//! Warming: loads the blocks of many point reads into the CPU caches together, before they are
//! needed.

use super::ranges::RangeList;
use crate::error::StoreResult;
use crate::sorted_file::Warmer;
use crate::tablet::TableVersion;

/// A tablet with more files is not warmed: most point reads need few of them.
const WARM_FILES: usize = 2;

/// Which ranges of a scan have been warmed.
#[derive(Default)]
pub(super) struct Warm {
    /// The first range that has not been warmed.
    pub(super) through: usize,
    /// The tablet of `files`.
    tablet: Option<usize>,
    files: Vec<Warmer>,
}

impl Warm {
    /// Warms the ranges in the tablet of the first one; returns the first range after them.
    pub(super) fn ahead(
        &mut self,
        version: &TableVersion,
        list: &RangeList,
        ranges: std::ops::Range<usize>,
    ) -> StoreResult<usize> {
        let next = ranges.start + 1;
        let Some(first) = list.row(ranges.start) else {
            return Ok(next);
        };
        let tablet = version.position(first);
        let Some(view) = version.tablets().get(tablet) else {
            return Ok(next);
        };
        let through = view.extent.through.as_deref();
        let inside = |row: &[u8]| through.is_none_or(|through| row <= through);
        let start = ranges.start;
        let rows = ranges
            .filter_map(|at| list.row(at))
            .take_while(|row| inside(row));
        if self.tablet != Some(tablet) {
            self.tablet = Some(tablet);
            self.files.clear();
            if view.files.len() <= WARM_FILES {
                // Unreadable files are reported by the reads that need them.
                let readers = view.files.iter().map(|file| file.file.reader());
                self.files
                    .extend(readers.filter_map(|reader| Warmer::new(reader).ok()));
            }
        }
        for file in &mut self.files {
            file.warm(rows.clone());
        }
        Ok(start + rows.count().max(1))
    }
}
