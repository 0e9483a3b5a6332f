//! Random operations from a seed.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use ostrakon_cell::{Durability, IteratorScope};
use ostrakon_store::clock::Random;

use super::keys::{Keys, START_MILLIS};
use super::operation::{Change, Expected, Guarded, Operation, PROBE, Step, Style, Trouble};
use crate::disk::Crash;

/// What kind of operations are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// How many.
    pub operations: usize,
    /// Whether the source is closed, crashed and its disk disturbed.
    pub crashes: bool,
    /// What no source can do yet.
    pub not_yet: &'static [NotYet],
}

/// What the operations leave out because an engine is known to get it wrong. Each goes when its fault
/// is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotYet {
    /// Deletes and puts of one column at one moment, clocks that stand and step back.
    SameMoment,
    /// Imports while something is in memory.
    ImportBesideMemory,
    /// Several files in one import with equal keys, files cut small, partial compactions.
    FilesOfOneAge,
}

const TABLES: u64 = 4;

/// A label that cannot be read, and one that no writer of a run may see.
const MALFORMED: &str = "a&";
const UNSEEN: &str = "d";

/// Keys that are kept to be written again.
const RECENT: usize = 16;

/// Properties that change how entries are kept and never what is read. `table.delete.behavior` is not among them: when
/// it makes a scan fail depends on when compactions run.
const PROPERTIES: [(&str, Option<&str>); 36] = [
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
    (
        "table.bloom.key.functor",
        Some("org.apache.accumulo.core.file.keyfunctor.ColumnFamilyFunctor"),
    ),
    ("table.bloom.key.functor", None),
    ("table.split.threshold", Some("4K")),
    ("table.split.threshold", None),
    ("table.groups.enabled", Some("left")),
    ("table.groups.enabled", Some("left,right")),
    ("table.groups.enabled", None),
    ("table.cache.block.enable", Some("false")),
    ("table.file.max", Some("2")),
    ("table.file.max", None),
    ("table.bloom.error.rate", Some("50%")),
    ("table.bloom.error.rate", None),
    ("table.cache.block.enable", None),
    ("table.compaction.major.everything.idle", Some("1ms")),
    ("table.compaction.major.everything.idle", None),
    ("table.compaction.major.ratio", Some("1.1")),
    ("table.compaction.major.ratio", None),
    ("table.group.left", Some("f")),
    ("table.group.left", Some("f,g")),
    // No row is longer.
    ("table.split.endrow.size.max", Some("1K")),
    ("table.split.endrow.size.max", None),
    ("table.custom.note", Some("kept")),
    ("table.custom.note", None),
    ("table.file.compress.type", Some("lz4")),
];

/// Powers of two that values have: a sum of a hundred of each fits into 63 bits.
pub(super) const POWERS: u32 = 56;

/// The powers of two that a column has had.
#[derive(Debug, Clone, Copy)]
struct Powers {
    /// The sum of all of them.
    used: u64,
    next: u32,
}

impl Powers {
    /// Columns begin with different ones, so that it shows if one is taken for another.
    fn beginning_at(column: &ColumnOfRow) -> Self {
        let mut hasher = DefaultHasher::new();
        column.hash(&mut hasher);
        Self {
            used: 0,
            next: (hasher.finish() % u64::from(POWERS)) as u32,
        }
    }

    /// One that is not used yet, as long as there is one.
    fn next(&mut self) -> u64 {
        if self.used.count_ones() == POWERS {
            self.used = 0;
        }
        while self.used >> self.next & 1 == 1 {
            self.next = (self.next + 1) % POWERS;
        }
        let power = 1 << self.next;
        self.used |= power;
        power
    }
}

/// Table, row, family, qualifier and label.
type ColumnOfRow = (u8, String, &'static str, String, &'static str);

pub(super) struct Generator {
    pub(super) random: Random,
    keys: Keys,
    plan: Plan,
    number: usize,
    millis: i64,
    /// The values that each column has had.
    values: HashMap<ColumnOfRow, Powers>,
    /// Tables as they probably are.
    styles: [Option<Style>; TABLES as usize],
    /// What is to come next, last first.
    queued: Vec<Operation>,
    /// Keys written lately with a timestamp, to be written once more.
    recent: VecDeque<Change>,
}

/// The operations of a seed.
#[must_use]
pub fn generate(seed: u64, plan: Plan) -> Vec<Step> {
    let mut random = Random::from_seed(seed);
    let keys = Keys::new(&mut random);
    let mut generator = Generator {
        random,
        keys,
        plan,
        number: 0,
        millis: START_MILLIS,
        values: HashMap::new(),
        styles: [None; TABLES as usize],
        queued: Vec::new(),
        recent: VecDeque::new(),
    };
    let mut steps = Vec::with_capacity(plan.operations);
    while steps.len() < plan.operations {
        generator.number = steps.len();
        generator.tick();
        let operation = match steps.len() {
            0 => generator.create(0),
            1 => generator.create(1),
            _ => match generator.queued.pop() {
                Some(next) => next,
                None => generator.next(),
            },
        };
        steps.push(Step {
            number: generator.number,
            millis: generator.millis,
            operation,
        });
    }
    steps
}

/// Writes of a seed to rows that begin with `prefix`, to tables of these styles.
#[must_use]
pub(super) fn writes(
    seed: u64,
    prefix: &'static str,
    plan: Plan,
    styles: &[Style],
) -> Vec<Operation> {
    let mut random = Random::from_seed(seed);
    let keys = Keys::new(&mut random).below(prefix);
    let mut generator = Generator {
        random,
        keys,
        plan,
        number: 0,
        millis: START_MILLIS,
        values: HashMap::new(),
        styles: [None; TABLES as usize],
        queued: Vec::new(),
        recent: VecDeque::new(),
    };
    for (place, style) in generator.styles.iter_mut().zip(styles) {
        *place = Some(*style);
    }
    (0..plan.operations)
        .map(|number| {
            generator.number = number;
            generator.tick();
            let table = generator.below(styles.len() as u64) as u8;
            generator.write_to(table, 6)
        })
        .collect()
}

impl Generator {
    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    fn avoids(&self, what: NotYet) -> bool {
        self.plan.not_yet.contains(&what)
    }

    /// The clock stands still most of the time.
    fn tick(&mut self) {
        if self.avoids(NotYet::SameMoment) {
            self.millis += 10;
            return;
        }
        self.millis += match self.below(40) {
            0..8 => 1,
            8..12 => 5,
            12 => 3_600_000,
            13..15 => -1,
            15 => -(self.below(5_000) as i64),
            _ => 0,
        };
    }

    fn table(&mut self) -> u8 {
        // The first is there most of the time and gets most.
        if self.random.one_in(2) {
            0
        } else {
            self.below(TABLES) as u8
        }
    }

    fn style(&self, table: u8) -> Option<Style> {
        self.styles.get(usize::from(table)).copied().flatten()
    }

    fn set_style(&mut self, table: u8, style: Option<Style>) {
        if let Some(place) = self.styles.get_mut(usize::from(table)) {
            *place = style;
        }
    }

    fn row(&mut self) -> String {
        self.keys.row(&mut self.random)
    }

    fn maybe_row(&mut self) -> Option<String> {
        (!self.random.one_in(4)).then(|| self.row())
    }

    fn create(&mut self, table: u8) -> Operation {
        let kind = self.below(5);
        let style = Style {
            versions: [Some(1), Some(1), Some(3), None, None][kind as usize],
            summed: kind == 4,
            logical: self.random.one_in(4),
            split: self.random.one_in(2),
        };
        if self.style(table).is_none() {
            self.set_style(table, Some(style));
        }
        Operation::Create { table, style }
    }

    /// The zeros before a value, which make some long.
    fn zeros(&mut self) -> String {
        let zeros = match self.below(16) {
            0 => self.below(1_500),
            1..5 => self.below(30),
            _ => 0,
        };
        "0".repeat(zeros as usize)
    }

    /// Adds their numbers to the values: powers of two, so that a sum tells its parts. Those of a column differ: of two equal
    /// ones, of which one was deleted, nobody could say which one a sum has.
    fn give_numbers(&mut self, table: u8, changes: &mut [Change]) {
        for change in changes {
            let Some(value) = &mut change.value else {
                continue;
            };
            let column = (
                table,
                change.row.clone(),
                change.family,
                change.qualifier.clone(),
                change.label,
            );
            let powers = match self.values.entry(column) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let powers = Powers::beginning_at(new.key());
                    new.insert(powers)
                }
            };
            value.push_str(&powers.next().to_string());
        }
    }

    /// A timestamp near those that the table sets: equal, lower, higher, sometimes far ahead.
    fn timestamp(&mut self, table: u8) -> i64 {
        if self.style(table).is_some_and(|style| style.logical) {
            return if self.random.one_in(2) {
                self.below(4) as i64
            } else {
                self.below(60) as i64
            };
        }
        match self.below(12) {
            0..6 => START_MILLIS + self.below(4) as i64,
            6 => self.millis + 20_000,
            _ => self.millis - 4 + self.below(8) as i64,
        }
    }

    fn change(&mut self, table: u8, row: &str, explicit: bool) -> Change {
        if self.random.one_in(2) && !self.recent.is_empty() {
            // The very key of an earlier write or import; the row is new where it must be.
            let at = self.below(self.recent.len() as u64) as usize;
            if let Some(again) = self
                .recent
                .get(at)
                .filter(|again| again.row == row)
                .cloned()
            {
                return Change {
                    value: (!self.random.one_in(6)).then(|| self.zeros()),
                    ..again
                };
            }
        }
        let (family, qualifier, label) = self.keys.column(&mut self.random);
        let delete = self.random.one_in(4);
        let timestamp = (explicit || self.random.one_in(3)).then(|| self.timestamp(table));
        let change = Change {
            row: row.to_owned(),
            family,
            qualifier,
            label,
            timestamp,
            value: (!delete).then(|| self.zeros()),
            apart: false,
        };
        if timestamp.is_some() {
            self.recent.push_back(change.clone());
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
        change
    }

    /// A row, often one of a recent key.
    fn row_again(&mut self) -> String {
        let at = self.below(2 * RECENT as u64) as usize;
        match self.recent.get(at) {
            Some(recent) => recent.row.clone(),
            None => self.row(),
        }
    }

    /// Mutations of several rows; several of one row now and then, and several updates of one key.
    fn changes(&mut self, table: u8, mutations: u64, explicit: bool) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        let mut row = self.row();
        for _ in 0..=self.below(mutations) {
            if !self.random.one_in(4) {
                row = self.row_again();
            }
            let mut apart = true;
            for _ in 0..=self.below(4) {
                let mut change = self.change(table, &row, explicit);
                if self.random.one_in(4)
                    && !self.avoids(NotYet::SameMoment)
                    && let Some(last) = changes.last().filter(|last| last.row == row)
                {
                    // The same column again, or the same key.
                    change.family = last.family;
                    change.qualifier.clone_from(&last.qualifier);
                    change.label = last.label;
                    if self.random.one_in(2) {
                        change.timestamp = last.timestamp;
                    }
                }
                change.apart = std::mem::take(&mut apart);
                changes.push(change);
            }
        }
        if self.avoids(NotYet::SameMoment) {
            // Each column once.
            let mut seen = HashSet::new();
            changes.retain(|one| {
                seen.insert((
                    one.row.clone(),
                    one.family,
                    one.qualifier.clone(),
                    one.label,
                ))
            });
        }
        self.give_numbers(table, &mut changes);
        changes
    }

    /// The update that tells the time of a batch.
    fn probe(&mut self, row: &str, part: usize) -> Change {
        Change {
            row: row.to_owned(),
            family: PROBE,
            qualifier: format!("{}.{part}", self.number),
            label: "",
            timestamp: None,
            value: Some("1".to_owned()),
            apart: true,
        }
    }

    /// Adds an update that nothing hides: it shows whether an import that failed has survived.
    fn add_trace(&mut self, changes: &mut Vec<Change>) {
        if let Some(row) = changes.first().map(|first| first.row.clone()) {
            let trace = Change {
                timestamp: Some(1),
                ..self.probe(&row, 0)
            };
            changes.insert(0, trace);
        }
    }

    fn write(&mut self) -> Operation {
        let table = self.table();
        let mutations = if self.random.one_in(10) { 100 } else { 6 };
        self.write_to(table, mutations)
    }

    fn write_to(&mut self, table: u8, mutations: u64) -> Operation {
        let durability = match self.below(8) {
            0 => Some(Durability::None),
            1 => Some(Durability::Log),
            2 => Some(Durability::Flush),
            3 => Some(Durability::Sync),
            _ => None,
        };
        let mut changes = self.changes(table, mutations, false);
        if changes.iter().any(|change| change.timestamp.is_none()) {
            let row = self.row();
            let probe = self.probe(&row, 0);
            changes.insert(0, probe);
        }
        Operation::Write {
            table,
            changes,
            durability,
        }
    }

    fn conditional(&mut self) -> Operation {
        let table = self.table();
        let mut list = Vec::new();
        for part in 0..=self.below(4) as usize {
            let row = self.keys.conditional_row(&mut self.random);
            let (family, qualifier, mut label) = self.keys.column(&mut self.random);
            let expected = match self.below(6) {
                0 => Expected::Absent,
                1 => Expected::Value("3".to_owned()),
                _ => Expected::Current,
            };
            let special = self.random.one_in(3);
            let mut changes = Vec::new();
            for _ in 0..=self.below(2) {
                let mut change = self.change(table, &row, false);
                if self.random.one_in(2) {
                    (change.family, change.label) = (family, label);
                    change.qualifier.clone_from(&qualifier);
                }
                if self.avoids(NotYet::SameMoment) && change.value.is_none() {
                    change.value = Some(self.zeros());
                }
                changes.push(change);
            }
            self.give_numbers(table, &mut changes);
            changes.insert(0, self.probe(&row, part));
            match self.below(24) {
                // Refused for what it says, and nothing else of the list is.
                0 => {
                    if let Some(last) = changes.last_mut() {
                        last.label = MALFORMED;
                    }
                }
                1 => label = UNSEEN,
                _ => {}
            }
            list.push(Guarded {
                row,
                family,
                qualifier,
                label,
                expected,
                timestamp: (special && self.random.one_in(2)).then(|| self.timestamp(table)),
                versions: special.then(|| 1 + self.below(2) as u32),
                changes,
            });
        }
        Operation::Conditional { table, list }
    }

    fn import(&mut self, table: u8) -> Operation {
        let import = if self.random.one_in(2) {
            let mut changes = self.changes(table, 40, true);
            self.add_trace(&mut changes);
            Operation::Bulk { table, changes }
        } else {
            let most = if self.avoids(NotYet::FilesOfOneAge) {
                1
            } else {
                4
            };
            let files = 1 + self.below(most);
            let mut files: Vec<_> = (0..files).map(|_| self.changes(table, 12, true)).collect();
            if let Some(first) = files.first_mut() {
                self.add_trace(first);
            }
            Operation::Import { table, files }
        };
        if self.avoids(NotYet::ImportBesideMemory) {
            self.queued.push(import);
            return Operation::Flush { table, wait: true };
        }
        import
    }

    /// The table `to` may have the values of `from` from now on, and may still have its own.
    fn copy_values(&mut self, from: u8, to: u8) {
        let mut copied = self.values.clone();
        copied.retain(|column, _| column.0 == from);
        for ((_, row, family, qualifier, label), powers) in copied {
            let own = self.values.entry((to, row, family, qualifier, label));
            own.or_insert(powers).used |= powers.used;
        }
    }

    fn clone_table(&mut self) -> Operation {
        let (from, to) = (self.table(), self.below(TABLES) as u8);
        if self.style(to).is_none() {
            self.set_style(to, self.style(from));
        }
        self.copy_values(from, to);
        Operation::Clone { from, to }
    }

    fn rename(&mut self) -> Operation {
        let (from, to) = (self.table(), self.below(TABLES) as u8);
        if self.style(to).is_none() {
            self.set_style(to, self.style(from));
            self.set_style(from, None);
        }
        self.copy_values(from, to);
        Operation::Rename { from, to }
    }

    fn delete(&mut self) -> Operation {
        let table = self.below(TABLES) as u8;
        self.set_style(table, None);
        if self.random.one_in(2) {
            // The name is used again at once.
            let again = self.create(table);
            self.queued.push(again);
        }
        Operation::Delete { table }
    }

    fn compact(&mut self) -> Operation {
        let whole = self.random.one_in(2);
        Operation::Compact {
            table: self.table(),
            start: if whole { None } else { self.maybe_row() },
            end: if whole { None } else { self.maybe_row() },
            flush: !self.random.one_in(3),
            wait: !self.random.one_in(4),
        }
    }

    fn property(&mut self) -> Operation {
        let table = self.table();
        let kept =
            |name: &str, value: Option<&str>| vec![(name.to_owned(), value.map(str::to_owned))];
        let style = self.style(table);
        let changes = match self.below(8) {
            0 if style.is_some_and(|style| style.versions.is_some()) => self.versions(),
            1 if style.is_some_and(|style| style.summed) => self.summing(),
            2 => {
                // By the key alone: what a filter of values hides cannot be compared.
                let term = self.random.one_in(2).then_some("q1");
                let mut changes = kept(
                    "table.iterator.scan.grep",
                    term.map(|_| "30,org.apache.accumulo.core.iterators.user.GrepIterator"),
                );
                // The probes have it too.
                changes.extend(kept("table.iterator.scan.grep.opt.term", term));
                changes
            }
            3 => {
                let on = self.random.one_in(2);
                let class = "org.apache.accumulo.core.data.constraints.NoDeleteConstraint";
                kept("table.constraint.9", on.then_some(class))
            }
            4 => {
                let label = self.random.one_in(2).then_some("a");
                kept("table.security.scan.visibility.default", label)
            }
            _ => {
                let (name, value) = PROPERTIES[self.below(PROPERTIES.len() as u64) as usize];
                kept(name, value)
            }
        };
        Operation::Property { table, changes }
    }

    /// Other limits of the versions, in one scope or in all.
    fn versions(&mut self) -> Vec<(String, Option<String>)> {
        let most = [1, 2, 5][self.below(3) as usize];
        let scopes = IteratorScope::ALL;
        let only = self.below(5) as usize;
        let chosen = scopes.iter().enumerate();
        chosen
            .filter(|(at, _)| only >= scopes.len() || *at == only)
            .map(|(_, scope)| {
                let name = format!("table.iterator.{}.vers.opt.maxVersions", scope.as_str());
                (name, Some(most.to_string()))
            })
            .collect()
    }

    /// Whether compactions add up too: that changes nothing for scans, which always do.
    fn summing(&mut self) -> Vec<(String, Option<String>)> {
        let scope = [IteratorScope::Minc, IteratorScope::Majc][self.below(2) as usize];
        let on = self.random.one_in(2);
        summing(scope)
            .into_iter()
            .map(|(name, value)| (name, on.then_some(value)))
            .collect()
    }

    fn trouble(&mut self) -> Operation {
        Operation::Trouble(match self.below(3) {
            0 => Trouble::SyncFails(self.below(6)),
            1 => Trouble::Stops(self.below(25)),
            _ => Trouble::Full(self.below(30_000)),
        })
    }

    fn next(&mut self) -> Operation {
        let table = self.table();
        match self.below(if self.plan.crashes { 1_000 } else { 920 }) {
            0..320 => self.write(),
            320..380 => self.conditional(),
            380..425 => self.import(table),
            425..440 => Operation::DeleteRows {
                table,
                start: self.maybe_row(),
                end: self.maybe_row(),
            },
            440..530 => Operation::Flush {
                table,
                wait: !self.random.one_in(4),
            },
            530..570 => self.compact(),
            570..650 if self.avoids(NotYet::FilesOfOneAge) => self.write(),
            675..700 if self.avoids(NotYet::FilesOfOneAge) => self.write(),
            570..650 => Operation::Maintain,
            650..675 => Operation::Split {
                table,
                rows: (0..=self.below(3))
                    .map(|_| format!("{}x", self.row()))
                    .collect(),
            },
            675..700 => Operation::Merge {
                table,
                start: self.maybe_row(),
                end: self.maybe_row(),
            },
            700..715 => {
                let table = self.below(TABLES) as u8;
                self.create(table)
            }
            715..722 => self.delete(),
            722..730 => self.rename(),
            730..750 => self.clone_table(),
            750..758 => Operation::Online {
                table,
                online: !self.random.one_in(4),
            },
            758..800 => self.property(),
            800..920 => Operation::Look {
                choice: self.random.next_u64(),
            },
            920..945 => Operation::Reopen,
            945..970 => Operation::Crash(Crash::ALL[self.below(4) as usize]),
            _ => self.trouble(),
        }
    }
}

/// The properties of the combiner of tables that are summed.
pub(super) fn summing(scope: IteratorScope) -> Vec<(String, String)> {
    let name = format!("table.iterator.{}.sum", scope.as_str());
    vec![
        (format!("{name}.opt.all"), "true".to_owned()),
        (format!("{name}.opt.type"), "STRING".to_owned()),
        (
            name,
            "10,org.apache.accumulo.core.iterators.user.SummingCombiner".to_owned(),
        ),
    ]
}
