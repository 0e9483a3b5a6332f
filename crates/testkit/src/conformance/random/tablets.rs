//! Random flushes, compactions, and operations on ranges of rows.

use super::generator::Generator;

impl Generator {
    pub(super) fn flush(&mut self, at: usize) {
        let name = self.name(at);
        self.line(format!("flush {name}"));
        self.settle(at);
    }

    pub(super) fn settle(&mut self, at: usize) {
        if let Some(table) = self.tables.get_mut(at) {
            table.settle();
        }
    }

    /// What Accumulo flushes or compacts on the way is in files before, so that both sides begin alike.
    pub(super) fn prepare(&mut self, at: usize, compact: bool) {
        if self.explicit {
            let name = self.name(at);
            self.line(format!(
                "{} {name}",
                if compact { "compact" } else { "flush" }
            ));
        }
        self.settle(at);
    }

    fn borders(&mut self) -> String {
        let (mut start, mut end) = (self.below(12), self.below(12));
        if start > end && !self.random.one_in(10) {
            std::mem::swap(&mut start, &mut end);
        }
        let mut words = String::new();
        if !self.random.one_in(3) {
            words += &format!(" start=r{start:02}");
        }
        if !self.random.one_in(3) {
            words += &format!(" end=r{:02}", if start == end { end + 1 } else { end });
        }
        words
    }

    pub(super) fn compact(&mut self, at: usize) {
        let name = self.name(at);
        let mut line = format!("compact {name}");
        // Deleted rows leave different split points on the two sides, so that other tablets would be compacted.
        let whole = self.tables.get(at).is_some_and(|table| table.rows_deleted);
        let borders = self.explicit && self.random.one_in(3) && !whole;
        if borders {
            line += &self.borders();
        }
        if self.explicit && self.random.one_in(6) {
            line += " flush=no";
        } else if borders {
            // Accumulo flushes the tablets in between alone.
            self.line(format!("flush {name}"));
        }
        self.line(line);
        if self.explicit && self.random.one_in(3) {
            self.compaction_iterators(at);
        }
        self.settle(at);
    }

    fn compaction_iterators(&mut self, at: usize) {
        let numeric = self.tables.get(at).and_then(|table| table.numeric);
        let first = self.pick(&[
            "grep 7 GrepIterator term=v1 negate=true",
            "age 6 AgeOffFilter ttl=50 currentTime=100",
            "re 25 RegExFilter colqRegex=q matchSubstring=true",
            "req 28 ReqVisFilter negate=true",
        ]);
        self.line(format!("  iterator {first}"));
        match numeric {
            Some(encoding) if self.random.one_in(3) => {
                let class = self.pick(&["SummingCombiner", "MaxCombiner", "MinCombiner"]);
                self.line(format!(
                    "  iterator more 29 {class} type={encoding} all=true lossy=true"
                ));
            }
            _ if self.random.one_in(3) => {
                let versions = 1 + self.below(3);
                self.line(format!(
                    "  iterator more 29 VersioningIterator maxVersions={versions}"
                ));
            }
            _ => {}
        }
    }

    fn show_splits(&mut self, at: usize) {
        if self.tables.get(at).is_some_and(|table| !table.rows_deleted) {
            let name = self.name(at);
            self.line(format!("splits {name}"));
        }
    }

    pub(super) fn split(&mut self, at: usize) {
        self.prepare(at, false);
        let name = self.name(at);
        let rows: Vec<String> = (0..=self.below(2))
            .map(|_| format!("r{:02}", self.below(12)))
            .collect();
        self.line(format!("split {name} {}", rows.join(" ")));
        self.show_splits(at);
    }

    pub(super) fn merge(&mut self, at: usize) {
        self.prepare(at, true);
        let (name, borders) = (self.name(at), self.borders());
        self.line(format!("merge {name}{borders}"));
        self.show_splits(at);
    }

    pub(super) fn delete_rows(&mut self, at: usize) {
        self.prepare(at, true);
        let (name, borders) = (self.name(at), self.borders());
        self.line(format!("delete-rows {name}{borders}"));
        if let Some(table) = self.tables.get_mut(at) {
            table.rows_deleted = true;
        }
    }
}
