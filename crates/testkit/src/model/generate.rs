//! Random operations from a seed.

use std::collections::HashMap;

use ostrakon_cell::Durability;
use ostrakon_store::clock::Random;

use super::operation::{Change, Operation, Style, Trouble};
use crate::disk::Crash;

/// Where the clock of a run starts, in milliseconds since 1970.
pub(super) const START_MILLIS: i64 = 1_700_000_000_000;

/// Milliseconds from one operation to the next.
pub(super) const STEP_MILLIS: i64 = 10;

/// What kind of operations are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// How many.
    pub operations: usize,
    /// Whether the source is closed, crashed and its disk disturbed.
    pub crashes: bool,
}

const TABLES: u64 = 3;
const FAMILIES: [&str; 4] = ["", "f", "g", "h\u{ff}"];
pub(super) const LABELS: [&str; 5] = ["", "a", "b", "a&b", "a|(b&c)"];

/// Properties that may change at any time without changing what is read.
const PROPERTIES: [(&str, Option<&str>); 16] = [
    ("table.durability", Some("sync")),
    ("table.durability", Some("flush")),
    ("table.durability", Some("log")),
    ("table.durability", Some("none")),
    ("table.durability", None),
    ("table.file.compress.type", Some("none")),
    ("table.file.compress.type", Some("zstd")),
    ("table.file.compress.type", None),
    ("table.file.compress.blocksize", Some("1K")),
    ("table.file.compress.blocksize", None),
    ("table.bloom.enabled", Some("true")),
    ("table.bloom.enabled", Some("false")),
    ("table.split.threshold", Some("4K")),
    ("table.split.threshold", None),
    ("table.groups.enabled", Some("left")),
    ("table.groups.enabled", None),
];

struct Generator {
    random: Random,
    step: usize,
    /// The time of the newest delete marker of each column: an explicit timestamp is never below
    /// it. Whether a put below a marker is seen depends on whether a compaction dropped the marker
    /// before, which no two sources need to agree on.
    deletes: HashMap<(u8, String, &'static str, String, &'static str), i64>,
    /// The last value written to the column of each row that is compared and set.
    compared: HashMap<(u8, String), String>,
}

/// The operations of a seed, numbered: the number gives the time, also when others are left out.
#[must_use]
pub fn generate(seed: u64, plan: Plan) -> Vec<(usize, Operation)> {
    let mut generator = Generator {
        random: Random::from_seed(seed),
        step: 0,
        deletes: HashMap::new(),
        compared: HashMap::new(),
    };
    let mut operations = vec![generator.create(0), generator.create(1)];
    while operations.len() < plan.operations {
        generator.step = operations.len();
        let next = generator.next(plan.crashes);
        operations.push(next);
    }
    operations.into_iter().enumerate().collect()
}

impl Generator {
    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    fn table(&mut self) -> u8 {
        // The first is there most of the time and gets most.
        if self.random.one_in(2) {
            0
        } else {
            self.below(TABLES) as u8
        }
    }

    fn row(&mut self) -> String {
        match self.below(20) {
            0 => String::new(),
            1 => "r\0".to_owned(),
            2 => format!("long {}", "x".repeat(self.below(300) as usize)),
            _ => format!("r{:02}", self.below(40)),
        }
    }

    fn maybe_row(&mut self) -> Option<String> {
        (!self.random.one_in(4)).then(|| self.row())
    }

    fn create(&mut self, table: u8) -> Operation {
        let versions = [Some(1), Some(1), Some(3), None][self.below(4) as usize];
        Operation::Create {
            table,
            style: Style {
                versions,
                logical: self.random.one_in(4),
                split: self.random.one_in(2),
            },
        }
    }

    fn change(&mut self, table: u8, row: &str, number: u64, explicit: bool) -> Change {
        let now = START_MILLIS + self.step as i64 * STEP_MILLIS;
        let family = FAMILIES[self.below(4) as usize];
        let qualifier = format!("q{}", self.below(4));
        let label = LABELS[self.below(5) as usize];
        let column = (table, row.to_owned(), family, qualifier.clone(), label);
        let delete = !explicit && self.random.one_in(5);
        let mut timestamp = None;
        if delete {
            self.deletes.insert(column, now);
        } else if explicit || self.random.one_in(4) {
            let lowest = self.deletes.get(&column).map_or(START_MILLIS, |at| at + 1);
            // Up to the present: a put in the future could lie under a later marker of now.
            let span = (now - lowest).max(1) as u64;
            timestamp = Some(lowest + self.below(span) as i64);
        }
        let padding = if self.random.one_in(8) {
            self.below(2_000)
        } else {
            self.below(20)
        };
        let value = format!("{}.{number}{}", self.step, "v".repeat(padding as usize));
        Change {
            row: row.to_owned(),
            family,
            qualifier,
            label,
            timestamp,
            value: (!delete).then_some(value),
        }
    }

    fn changes(&mut self, table: u8, mutations: u64, explicit: bool) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for _ in 0..=self.below(mutations) {
            let row = self.row();
            for _ in 0..=self.below(4) {
                let number = changes.len() as u64;
                let change = self.change(table, &row, number, explicit);
                changes.push(change);
            }
        }
        changes
    }

    fn write(&mut self) -> Operation {
        let table = self.table();
        let mutations = if self.random.one_in(10) { 150 } else { 6 };
        let durability = match self.below(8) {
            0 => Some(Durability::None),
            1 => Some(Durability::Log),
            2 => Some(Durability::Flush),
            3 => Some(Durability::Sync),
            _ => None,
        };
        Operation::Write {
            table,
            changes: self.changes(table, mutations, false),
            durability,
        }
    }

    fn compare_and_set(&mut self) -> Operation {
        let (table, row) = (self.table(), format!("cas{}", self.below(3)));
        let value = format!("{}", self.step);
        let known = self.compared.insert((table, row.clone()), value.clone());
        // Now and then a guess that is wrong.
        let expected = if self.random.one_in(4) {
            Some("wrong".to_owned())
        } else {
            known
        };
        Operation::CompareAndSet {
            table,
            row,
            expected,
            value,
        }
    }

    fn clone_table(&mut self) -> Operation {
        let (from, to) = (self.table(), self.below(TABLES) as u8);
        self.markers_follow(from, to);
        Operation::Clone { from, to }
    }

    /// The markers of one table may stand in another from now on.
    fn markers_follow(&mut self, from: u8, to: u8) {
        let copied: Vec<_> = self
            .deletes
            .iter()
            .filter(|(column, _)| column.0 == from)
            .map(|(column, at)| {
                let mut column = column.clone();
                column.0 = to;
                (column, *at)
            })
            .collect();
        for (column, at) in copied {
            let newest = self.deletes.entry(column).or_insert(at);
            *newest = at.max(*newest);
        }
    }

    fn rename(&mut self) -> Operation {
        let (from, to) = (self.table(), self.below(TABLES) as u8);
        self.markers_follow(from, to);
        Operation::Rename { from, to }
    }

    fn compact(&mut self) -> Operation {
        let whole = self.random.one_in(2);
        Operation::Compact {
            table: self.table(),
            start: if whole { None } else { self.maybe_row() },
            end: if whole { None } else { self.maybe_row() },
            wait: !self.random.one_in(4),
        }
    }

    fn property(&mut self) -> Operation {
        let (name, value) = PROPERTIES[self.below(PROPERTIES.len() as u64) as usize];
        Operation::Property {
            table: self.table(),
            name,
            value,
        }
    }

    fn trouble(&mut self) -> Operation {
        Operation::Trouble(match self.below(3) {
            0 => Trouble::SyncFails(self.below(6)),
            1 => Trouble::Stops(self.below(25)),
            _ => Trouble::Full(self.below(30_000)),
        })
    }

    fn next(&mut self, crashes: bool) -> Operation {
        let table = self.table();
        match self.below(if crashes { 1_000 } else { 920 }) {
            0..400 => self.write(),
            400..440 => self.compare_and_set(),
            440..460 => Operation::Bulk {
                table,
                changes: self.changes(table, 40, true),
            },
            460..480 => Operation::DeleteRows {
                table,
                start: self.maybe_row(),
                end: self.maybe_row(),
            },
            480..560 => Operation::Flush {
                table,
                wait: !self.random.one_in(4),
            },
            560..620 => self.compact(),
            620..650 => Operation::Split {
                table,
                rows: (0..=self.below(3))
                    .map(|_| format!("{}x", self.row()))
                    .collect(),
            },
            650..670 => Operation::Merge {
                table,
                start: self.maybe_row(),
                end: self.maybe_row(),
            },
            670..690 => {
                let table = self.below(TABLES) as u8;
                self.create(table)
            }
            690..697 => Operation::Delete { table },
            697..705 => self.rename(),
            705..725 => self.clone_table(),
            725..733 => Operation::Online {
                table,
                online: !self.random.one_in(4),
            },
            733..780 => self.property(),
            780..920 => Operation::Look {
                choice: self.random.next_u64(),
            },
            920..945 => Operation::Reopen,
            945..970 => Operation::Crash(Crash::ALL[self.below(4) as usize]),
            _ => self.trouble(),
        }
    }
}
