//! What a generator knows of the tables of its script.

use std::collections::{HashMap, HashSet};

/// Row, family, qualifier and label, as words.
pub(super) type Column = (String, &'static str, &'static str, &'static str);

/// What is known of a table.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) name: String,
    /// Counts instead of a clock; scans do not show times.
    pub(super) logical: bool,
    /// Every update has a time.
    pub(super) timed: bool,
    /// Values are numbers, written in this way, and an iterator adds them up or compares them.
    pub(super) numeric: Option<&'static str>,
    /// Some values are no numbers, which the iterator skips.
    pub(super) lossy: bool,
    /// What a combiner adds up before it meets a marker depends on compactions.
    pub(super) no_deletes: bool,
    /// Reads and writes are refused.
    pub(super) offline: bool,
    /// A scan may ask for more versions than the table keeps: what is kept does not depend on compactions.
    pub(super) all_versions: bool,
    /// Rows were deleted, which the two sides leave different split points after.
    pub(super) rows_deleted: bool,
    /// The highest time of a marker of each column.
    pub(super) markers: HashMap<Column, i64>,
    /// Times of columns that may lie in files, or were deleted.
    settled: HashSet<(Column, i64)>,
    /// Those in memory.
    fresh: HashSet<(Column, i64)>,
    /// What was written last.
    pub(super) values: HashMap<Column, String>,
}

impl Table {
    /// A new one.
    pub(super) fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Memory may be in files from now on.
    pub(super) fn settle(&mut self) {
        self.settled.extend(self.fresh.drain());
    }

    /// Whether a column may have an entry of this time in a file.
    pub(super) fn is_settled(&self, column: &Column, time: i64) -> bool {
        self.settled.contains(&(column.clone(), time))
    }

    /// Remembers the time of an update.
    pub(super) fn touch(&mut self, column: &Column, time: i64, delete: bool) {
        self.fresh.insert((column.clone(), time));
        if delete {
            let marker = self.markers.entry(column.clone()).or_insert(time);
            *marker = time.max(*marker);
        }
    }

    /// The namespace with a dot behind it, or nothing.
    pub(super) fn namespace(&self) -> &str {
        self.name
            .find('.')
            .and_then(|dot| self.name.get(..=dot))
            .unwrap_or_default()
    }
}
